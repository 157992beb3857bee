"""What the engine and a thread of the program say to each other; `client.c` is the other side."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass

from warplens.driver.status import DriverError, Status

HELLO, REGISTRATIONS = -1, -2
(RETURN, READ, TEXT, WRITE, COPY, CALL, MAP, UNMAP, PRINT, SHARE, UNSHARE) = range(11)

_REQUEST = struct.Struct("<iIQQ")
_ANSWER = struct.Struct("<Ii6Q")
_WORD = struct.Struct("<Q")
_ROOM, _MOST_AT_ONCE = 1 << 16, 1 << 24
_MOST_WORDS, _MOST_BYTES, _MOST_TEXT = 1 << 12, 1 << 28, 1 << 24


class Malformed(EOFError):
    """A message that no library of ours sends; its connection ends."""


GONE = (EOFError, ConnectionError)  # the program has ended, or makes no sense any more


@dataclass(frozen=True, slots=True)
class Request:
    """A call: which, its words and further bytes, and how long the host was busy before it."""

    slot: int
    words: bytes
    data: bytes
    host_ns: int


class Peer:
    """A thread of the program. Results are kept until the call returns, then sent together."""

    def __init__(self, connection: socket.socket, file_of: Callable[[int], int]) -> None:
        self._connection = connection
        self._file_of = file_of
        self._read = bytearray()
        self._results: list[bytes] = []

    def request(self) -> Request | None:
        """The next call; None when the thread has ended."""
        head = self._take(_REQUEST.size, may_end=True)
        if head is None:
            return None
        slot, words, host_ns, nbytes = _REQUEST.unpack(head)
        if words > _MOST_WORDS or nbytes > _MOST_BYTES:
            raise Malformed(f"a call of {words} words and {nbytes} bytes")
        body = self._take(8 * words + nbytes) or b""
        return Request(slot, body[: 8 * words], body[8 * words :], host_ns)

    def returns(self, status: int) -> None:
        """Ends the call."""
        results = b"".join(self._results)
        self._results.clear()
        self._connection.sendall(
            _ANSWER.pack(RETURN, status, len(results), 0, 0, 0, 0, 0) + results
        )

    # --- what the driver reaches the caller's memory with ----------------------------------------

    def read(self, address: int, nbytes: int) -> bytes:
        """Bytes of the program's memory."""
        if not nbytes:
            return b""
        self._flush()
        self._ask(READ, 0, address, nbytes)
        return self._take(nbytes) or b""

    def text(self, address: int) -> bytes:
        """The bytes before the next zero byte."""
        self._flush()
        self._ask(TEXT, 0, address)
        nbytes = self._word()
        if nbytes > _MOST_TEXT:
            raise Malformed(f"a text of {nbytes} bytes")
        return self._take(nbytes) or b""

    def write(self, address: int, data: bytes) -> None:
        """Changes the program's memory, at the latest when the call returns."""
        self._results.append(struct.pack("<QQ", address, len(data)) + data)

    def copy(
        self, target: int, source: int, width: int, *, rows: int = 1,
        steps: tuple[int, int] = (0, 0),
    ) -> None:  # fmt: skip
        """Lets the program copy between its memory and the device's, which it shares."""
        self._flush()
        self._ask(COPY, 0, target, source, width, *steps, rows)
        self._word()

    def call(self, kind: int, function: int, *arguments: int) -> int:
        """Calls a function of the program in the calling thread."""
        self._flush()
        self._ask(CALL, kind, function, *arguments)
        return self._word()

    def map(self, address: int, nbytes: int, offset: int) -> None:
        """Lets the program's own code use device memory: pinned and managed."""
        self._ask(MAP, 0, address, nbytes, offset, self._file_of(address))
        self._word()

    def unmap(self, address: int, nbytes: int) -> None:
        """Ends that."""
        self._ask(UNMAP, 0, address, nbytes)
        self._word()

    def share(self, address: int, nbytes: int, offset: int, region: int) -> None:
        """Makes the program's own pages part of a region's file."""
        self._ask(SHARE, 0, address, nbytes, offset, region)
        self._word()

    def unshare(self, address: int, nbytes: int, offset: int, region: int) -> None:
        """Gives the program pages of its own again, with the same bytes."""
        self._ask(UNSHARE, 0, address, nbytes, offset, region)
        self._word()

    def print(self, text: bytes, *, is_error: bool = False) -> None:
        """Writes through the program's standard output, after what it has written there."""
        if text:
            answer = _ANSWER.pack(PRINT, 2 if is_error else 1, len(text), 0, 0, 0, 0, 0)
            self._connection.sendall(answer + text)

    # --- bytes -----------------------------------------------------------------------------------

    def _flush(self) -> None:
        for result in self._results:
            address, nbytes = struct.unpack_from("<QQ", result)
            self._connection.sendall(
                _ANSWER.pack(WRITE, 0, address, nbytes, 0, 0, 0, 0) + result[16:]
            )
        self._results.clear()

    def _ask(self, operation: int, status: int, *words: int) -> None:
        padded = (*words, 0, 0, 0, 0, 0, 0)[:6]
        try:
            message = _ANSWER.pack(operation, status, *padded)
        except struct.error as error:
            raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"{words}: {error}") from error
        self._connection.sendall(message)

    def _word(self) -> int:
        return int(_WORD.unpack(self._take(8) or b"")[0])

    def _take(self, nbytes: int, *, may_end: bool = False) -> bytes | None:
        while len(self._read) < nbytes:
            missing = nbytes - len(self._read)
            got = self._connection.recv(min(max(_ROOM, missing), _MOST_AT_ONCE))
            if not got:
                if may_end and not self._read:
                    return None
                raise EOFError
            self._read += got
        taken = bytes(self._read[:nbytes])
        del self._read[:nbytes]
        return taken
