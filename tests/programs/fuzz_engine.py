"""Sends an engine what no library of ours would send, and looks whether its memory was touched.

Run by `test_robust.py` in a process of its own: a crash of the engine ends that process.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import socket
import struct
import sys
import threading

import numpy as np

from warplens.programs.calls import calls, runtime_slots
from warplens.programs.engine import Engine
from warplens.programs.program import Settings
from warplens.programs.wire import HELLO, REGISTRATIONS

ANSWER = struct.Struct("<Ii6Q")
RETURN, READ, TEXT, WRITE, COPY, CALL, MAP, UNMAP, PRINT, SHARE, UNSHARE = range(11)
WAITING = {"cudaGraphDebugDotPrint", "cuGraphDebugDotPrint", "cudaLibraryLoadFromFile",
           "cuLibraryLoadFromFile", "cuModuleLoad"}  # these open files by name  # fmt: skip
SECRET = b"the profiler's own bytes" * 200


class Client:
    """A program that answers whatever it is asked."""

    def __init__(self, name: str, source: random.Random) -> None:
        self.random, self.copies = source, []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(20)
        self.socket.connect("\0" + name)
        self.results = bytearray()

    def hello(self) -> list[tuple[int, int]]:
        """Where the GPUs' addresses are."""
        nonce = self.random.getrandbits(63) | 1
        self.send(HELLO, struct.pack("<QQQ", nonce, os.getpid(), 1))
        told, files, _, _ = socket.recv_fds(self.socket, 8 * 41, 20)
        for file in files:
            os.close(file)
        words = struct.unpack("<41Q", told)
        return list(zip(words[1 : 1 + words[0]], words[21 : 21 + words[0]], strict=True))

    def send(self, slot: int, words: bytes, data: bytes = b"") -> None:
        """One message."""
        head = struct.pack("<iIQQ", slot, len(words) // 8, 0, len(data))
        self.socket.sendall(head + words + data)

    def take(self, nbytes: int) -> bytes:
        """So many bytes, or the end."""
        found = b""
        while len(found) < nbytes:
            got = self.socket.recv(min(nbytes - len(found), 1 << 20))
            if not got:
                raise EOFError
            found += got
        return found

    def answer(self) -> int:
        """Serves until the call returns; gives its status."""
        for _ in range(3000):  # then the program has enough of being asked
            kind, status, a, b, _c, *_ = ANSWER.unpack(self.take(ANSWER.size))
            if kind == RETURN:
                self.results += self.take(a)
                return status
            if kind == READ:
                if b > 1 << 24:
                    raise EOFError  # more than this program has
                self.socket.sendall(self.random.randbytes(b))
            elif kind == TEXT:
                self.socket.sendall(struct.pack("<Q", 5) + b"a\0b%n")
            elif kind == WRITE:
                self.results += self.take(b)
            elif kind == PRINT:
                self.take(a)
            else:
                self.socket.sendall(bytes(8))
        raise EOFError


def nonsense(name: str, source: random.Random) -> None:
    """Bytes that are no messages, lengths that no memory has, calls that do not exist."""
    for data in (
        source.randbytes(300), struct.pack("<iIQQ", HELLO, 3, 0, 1 << 62),
        struct.pack("<iIQQ", HELLO, 0xFFFFFFFF, 0, 0), struct.pack("<iIQQ", HELLO, 0, 0, 0),
        struct.pack("<iIQQ", 5, 1, 0, 0) + bytes(8), b"",
    ):  # fmt: skip
        client = Client(name, source)
        client.socket.sendall(data)
        client.socket.close()
    for slot, words, data in (
        (1 << 30, bytes(8), b""), (-77, bytes(80), b""), (REGISTRATIONS, b"", b"\xff" * 40),
        (REGISTRATIONS, b"", struct.pack("<QQ", 1 << 60, 1 << 60)), (3, b"", b""),
    ):  # fmt: skip
        client = Client(name, source)
        client.hello()
        client.send(slot, words, data)
        with contextlib.suppress(EOFError, OSError):
            client.answer()
        client.socket.close()


def every_call(name: str, source: random.Random, secret: int, rounds: int) -> bytes:
    """Every function with words that point at the engine's memory, at devices' ends, nowhere."""
    slots = sorted(calls())
    known = runtime_slots()
    forbidden = {known[one] for one in WAITING if one in known}
    heard = bytearray()
    for _ in range(rounds):
        source.shuffle(slots)
        client, regions = None, []
        for slot in slots:
            if slot in forbidden:
                continue
            if client is None:
                client = Client(name, source)
                regions = client.hello()
                client.send(known["cudaMalloc"], struct.pack("<QQ", 0x1000, 1 << 16))
                client.answer()
            words = struct.pack("<40Q", *(word(source, secret, regions) for _ in range(40)))
            try:
                client.send(slot, words, source.randbytes(source.choice((0, 8, 64))))
                client.answer()
            except (EOFError, OSError):
                heard += client.results
                client.socket.close()
                client = None
        if client is not None:
            heard += client.results
            client.socket.close()
    return bytes(heard)


def word(source: random.Random, secret: int, regions: list[tuple[int, int]]) -> int:
    """A number that may hurt."""
    first, span = source.choice(regions)
    return source.choice((
        0, 1, 2, 4, source.randrange(64), 1 << 16, 0xFFFFFFFF, (1 << 64) - 1, 1 << 63, secret,
        secret + 8, first, first + span - 8, first + source.randrange(1 << 18), first - 8,
        source.getrandbits(64), 0x1000, (1 << 64) - first,
    ))  # fmt: skip


def copies(name: str, source: random.Random, secret: int) -> bytes:
    """Copies and fills between device memory and the engine's, with sizes that wrap around."""
    client = Client(name, source)
    regions = client.hello()
    known = runtime_slots()
    client.send(known["cudaMalloc"], struct.pack("<QQ", 0x1000, 1 << 16))
    client.answer()
    address = struct.unpack_from("<Q", client.results, 16)[0]
    for target, origin, size, kind in (
        (address, secret, 4096, 3), (secret, address, 4096, 3), (secret, address, 64, 4),
        (address, address + 8, (1 << 64) - 8, 3), (address - 8, address, 16, 3),
        (address + (1 << 16) - 8, address, 16, 3), (secret, address, 4096, 2),
        (address, secret, (1 << 64) - 1, 1), (regions[0][0], address, 64, 4),
        (address, 0x4000, (1 << 64) - address, 1), (address, 0x4000, 1 << 40, 1),
    ):  # fmt: skip
        try:
            client.send(known["cudaMemcpy"], struct.pack("<QQQi4x", target, origin, size, kind))
            client.answer()
        except (EOFError, OSError):
            client.socket.close()
            client = Client(name, source)
            client.hello()
    for slot, words in (
        ("cudaMemset", struct.pack("<Qi4xQ", secret, 0, 4096)),
        ("cudaMemset", struct.pack("<Qi4xQ", address, 0, (1 << 64) - 1)),
        ("cudaMemset2D", struct.pack("<QQi4xQQ", address, 1 << 63, 0, 8, 4)),
        ("cudaFree", struct.pack("<Q", secret)),
        ("cudaHostRegister", struct.pack("<QQI4x", secret, (1 << 64) - 4096, 0)),
    ):
        try:
            client.send(known[slot], words)
            client.answer()
        except (EOFError, OSError):
            break
    client.socket.close()
    return bytes(client.results)


def main() -> int:
    """0 if the engine lives and its secret was neither changed nor told."""
    seed, rounds = int(sys.argv[1]), int(sys.argv[2])
    source = random.Random(seed)
    engine = Engine(Settings(gpus=("H200",)))
    kept = np.frombuffer(SECRET, np.uint8).copy()
    address = kept.ctypes.data
    assert ctypes.string_at(address, 8) == SECRET[:8]
    nonsense(engine.name, source)
    heard = copies(engine.name, source, address)
    heard += every_call(engine.name, source, address, rounds)
    assert kept.tobytes() == SECRET, "the engine's memory was changed"
    assert SECRET[:24] not in heard, "the engine's memory was told"
    client = Client(engine.name, source)
    client.hello()
    client.send(runtime_slots()["cudaGetDeviceCount"], struct.pack("<Q", 0x1000))
    assert client.answer() == 0
    client.socket.close()
    engine.close()
    print(f"{threading.active_count()} threads, {len(heard)} bytes heard")
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)
