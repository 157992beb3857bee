"""A program reaches nothing of the profiler, nor of other programs, nor another user anything."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs.conftest import WARPLENS, built
from warplens.programs import engine as engines
from warplens.programs.engine import Engine
from warplens.programs.program import Settings
from warplens.programs.wire import HELLO

SECRET = "what only the profiler knows...."
# A profiler with a secret whose address it gives its program, and which it shows in the end.
_PROFILER = """
import ctypes, sys
from pathlib import Path
from warplens.programs.process import run_program
from warplens.programs.program import Settings
secret = ctypes.create_string_buffer({secret!r}.encode(), 8192)
status = run_program(Path({program!r}), [hex(ctypes.addressof(secret))], Settings())
sys.stdout.write("kept\\n" if secret.value.decode() == {secret!r} else "changed\\n")
sys.exit(status)
"""
_OTHER_USER = 65534


@pytest.fixture(scope="session")
def isolation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that tries."""
    return built(tmp_path_factory, "isolation")


def test_a_program_does_not_reach_the_profilers_memory(isolation: Path) -> None:
    """Copies, fills, frees, registrations and kernels at an address of the profiler: refused, or
    about the program's own memory; the profiler's is neither told nor changed."""
    script = _PROFILER.format(secret=SECRET, program=str(isolation))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                          timeout=300, check=False)  # fmt: skip
    *tried, kept = done.stdout.splitlines()

    assert done.returncode == 0, done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert kept == "kept"
    ended = dict(line.split(": ", 1) for line in tried)
    assert len(ended) == 16
    assert {how.split()[0] for how in ended.values()} <= {"refused", "signal"}, ended
    kernels = [how for what, how in ended.items() if what.startswith("kernel")]
    assert [how.split()[0] for how in kernels] == ["refused"] * 3


def _hello() -> bytes:
    words = struct.pack("<QQQ", 12345, os.getpid(), 1)
    return struct.pack("<iIQQ", HELLO, len(words) // 8, 0, 0) + words


def test_the_same_user_is_served() -> None:
    """What the next tests send is a greeting that the engine answers."""
    engine = Engine(Settings())
    try:
        with socket.socket(socket.AF_UNIX) as program:
            program.connect("\0" + engine.name)
            program.sendall(_hello())
            assert len(program.recv(4096)) > 0
    finally:
        engine.close()


def test_another_user_is_not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine looks at who has connected, and hangs up before it reads."""
    real = os.getuid()
    monkeypatch.setattr(engines.os, "getuid", lambda: real + 1)
    engine = Engine(Settings())
    try:
        with socket.socket(socket.AF_UNIX) as program:
            program.settimeout(20)
            program.connect("\0" + engine.name)
            assert program.recv(1) == b""
    finally:
        engine.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_users_process_is_not_served() -> None:
    """A process of another user that knows the socket's name gets nothing."""
    engine = Engine(Settings())
    try:
        child = os.fork()
        if not child:
            os._exit(_knocked(engine.name))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        engine.close()


def _knocked(name: str) -> int:
    """As another user: how many bytes the engine gives, at most 100; 101: something else failed."""
    try:
        os.setuid(_OTHER_USER)
        with socket.socket(socket.AF_UNIX) as program:
            program.settimeout(20)
            program.connect("\0" + name)
            try:
                program.sendall(_hello())
                return len(program.recv(100))
            except (BrokenPipeError, ConnectionResetError):
                return 0
    except BaseException:
        return 101


def test_a_crash_beside_changes_nothing(many: Path) -> None:
    """While one program computes, another one faults and a third is killed by a signal."""
    words = (["streams", "3"], ["fault"], ["abort"], ["streams", "3"])
    runs = [subprocess.Popen([*WARPLENS, "run", str(many), *one], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            for one in words]  # fmt: skip
    printed = [one.communicate(timeout=300)[0] for one in runs]

    assert [printed[0], printed[3]] == ["right\n"] * 2
    assert "an illegal memory access" in printed[1]
    assert [one.returncode for one in runs] == [0, 1, -6, 0]
