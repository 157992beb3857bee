"""The engine: serves the calls of the programs that were started with its name."""

from __future__ import annotations

import gc
import os
import secrets
import socket
import struct
import sys
import threading
from collections.abc import Mapping

from warplens.driver.cells import serve
from warplens.programs.calls import Call, calls
from warplens.programs.program import Program, Settings
from warplens.programs.wire import HELLO, REGISTRATIONS, Malformed, Peer

_MOST_REGIONS = 20
_CREDENTIALS = struct.Struct("<iII")
_TURN_SECONDS = 0.0005  # a thread that compiles lets one that answers go on


class Engine:
    """Listens at a socket without a place in the file system; only the same user is served."""

    def __init__(self, settings: Settings) -> None:
        sys.setswitchinterval(min(sys.getswitchinterval(), _TURN_SECONDS))
        self.settings = settings
        self.name = f"warplens-{os.getpid()}-{secrets.token_hex(16)}"
        self._calls: Mapping[int, Call] = calls()
        self._programs: dict[int, Program] = {}
        self._ended: list[Program] = []
        self._lock = threading.Lock()
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind("\0" + self.name)
        self._listening.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Serves nobody new; tells of faults that no program has asked for."""
        self._listening.close()
        with self._lock:
            programs, self._programs = list(self._programs.values()), {}
        for program in (*programs, *self._ended):
            for fault in program.faults.values():
                print(f"warplens: nobody looked at a kernel's error: {fault}", file=sys.stderr)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            size = _CREDENTIALS.size
            raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
            if _CREDENTIALS.unpack(raw)[1] != os.getuid():
                connection.close()
                continue
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        program: Program | None = None
        try:
            with connection:
                peer = Peer(connection, lambda address: program.file_of(address) if program else 0)
                program = self._greeted(peer, connection)
                if program is not None:
                    _serve_thread(program, peer, self._calls)
        except (Malformed, struct.error) as error:
            print(f"warplens: a connection is closed: {error}", file=sys.stderr)
        except (EOFError, OSError):
            pass  # the program has ended, however it did
        finally:
            serve(None)
            if program is not None:
                self._left(program)

    def _greeted(self, peer: Peer, connection: socket.socket) -> Program | None:
        hello = peer.request()
        if hello is None or hello.slot != HELLO:
            return None
        nonce, process, is_first = struct.unpack("<QQQ", hello.words)
        with self._lock:
            program = self._programs.get(nonce)
            if program is None:
                if not is_first:
                    return None
                program = self._programs[nonce] = Program(self.settings, process)
            program.n_threads += 1
            program.nonce = nonce
        if is_first:
            firsts = [region.first for region in program.regions]
            spans = [region.span for region in program.regions]
            pad = [0] * (_MOST_REGIONS - len(firsts))
            told = struct.pack(f"<{1 + 2 * _MOST_REGIONS}Q", len(firsts), *firsts, *pad, *spans,
                               *pad)  # fmt: skip
            socket.send_fds(connection, [told], [region.file for region in program.regions])
        return program

    def _left(self, program: Program) -> None:
        with self._lock:
            program.n_threads -= 1
            if not program.n_threads:
                self._programs.pop(program.nonce, None)
                if program.faults:
                    self._ended.append(program)


def _serve_thread(program: Program, peer: Peer, known: Mapping[int, Call]) -> None:
    serve(peer)
    program.served_by(peer)
    is_settled = False
    while (request := peer.request()) is not None:
        if request.slot == REGISTRATIONS:
            program.register(request.data)
            peer.returns(0)
        else:
            call = known.get(request.slot)
            if call is None:
                raise Malformed(f"there is no call {request.slot}")
            peer.returns(call(program, request))
            if program.has_code and not is_settled:
                gc.freeze()  # modules and tables stay; looking through them again costs launches
                is_settled = True
