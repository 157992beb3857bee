"""Starts a program with the engine behind it, and passes on signals and how it ended."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from warplens.errors import InputError, ToolchainError, Unsupported
from warplens.programs.engine import Engine
from warplens.programs.library import NVTX, RUNTIMES, libraries
from warplens.programs.program import Settings
from warplens.toolchain import packages
from warplens.toolchain.elf import ElfError, ElfFile

_DEATH_SIGNAL, _DUMPABLE = 1, 4  # PR_SET_PDEATHSIG, PR_SET_DUMPABLE
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1,
              signal.SIGUSR2)  # fmt: skip
_LOOK_AGAIN = 0.2  # seconds
_FROM_KERNEL = 0x80  # si_code of a signal that the terminal sent to the whole process group


def run_program(
    path: Path, words: Sequence[str], settings: Settings, *, is_quiet: bool = False
) -> int:
    """Runs a program to its end.

    Args:
        is_quiet: what it prints goes to standard error.

    Returns:
        Its exit status; if a signal ended it, minus the signal's number.
    """
    if not sys.platform.startswith("linux"):
        raise Unsupported("programs run on Linux only")
    waited = {*_PASSED_ON, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)  # in the engine's threads as well
    engine = Engine(settings)
    try:
        environment = _environment(path, libraries(), engine.name)
        if settings.has_ranges:
            environment.setdefault("NVTX_INJECTION64_PATH", str(libraries() / NVTX))
        child = _started(path, words, environment, before, is_quiet)
        return _supervised(child, waited)
    finally:
        engine.close()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _environment(path: Path, folder: Path, name: str) -> dict[str, str]:
    found = dict(os.environ)
    if _holds_runtime(path):
        found["WARPLENS_STATIC_RUNTIME"] = "1"
        preloaded = [str(folder / RUNTIMES[0]), *filter(None, [found.get("LD_PRELOAD")])]
        found["LD_PRELOAD"] = ":".join(preloaded)
    paths = [str(folder), *_compilers(), *filter(None, [found.get("LD_LIBRARY_PATH")])]
    found["LD_LIBRARY_PATH"] = ":".join(paths)
    found["WARPLENS_ENGINE"] = name
    return found


def _compilers() -> list[str]:
    """Where NVRTC and nvJitLink are, which run without a GPU."""
    try:
        return [str(packages.find_binary("nvidia-cuda-nvrtc", "libnvrtc.so.13").parent)]
    except ToolchainError:
        return []


def _holds_runtime(path: Path) -> bool:
    """Whether a program was linked with CUDA's runtime as a part of it, nvcc's usual way."""
    with path.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return False
    try:
        found = ElfFile(path.read_bytes())
    except ElfError:
        return False
    return any(one.name == "__cudaRegisterFatBinary" and one.section for one in found.symbols)


def _started(
    path: Path, words: Sequence[str], environment: Mapping[str, str], mask: Iterable[int],
    is_quiet: bool,
) -> subprocess.Popen[bytes]:  # fmt: skip
    libc, parent = ctypes.CDLL(None), os.getpid()

    def prepare() -> None:  # in the child: it ends with us, and takes signals as usual
        libc.prctl(_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    sys.stdout.flush()
    try:
        return subprocess.Popen(
            [str(path), *words], executable=str(path.resolve()), env=dict(environment),
            preexec_fn=prepare, stdout=sys.stderr if is_quiet else None,
        )  # fmt: skip
    except OSError as error:
        raise InputError(f"{path} cannot be started: {error.strerror}") from error


def _supervised(child: subprocess.Popen[bytes], waited: Iterable[int]) -> int:
    """Waits for the program's end and hands signals on; gives its status.

    The wait has a limit, since threads that others started (NumPy's) may take SIGCHLD away.
    """
    while True:
        status = child.poll()
        if status is not None:
            return status
        found = signal.sigtimedwait(waited, _LOOK_AGAIN)
        if found is None or found.si_signo == signal.SIGCHLD or found.si_code == _FROM_KERNEL:
            continue
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(found.si_signo)


def end_like(status: int) -> NoReturn:
    """Ends this process as the program ended: with its exit status, or by the signal that ended it.

    At once, without Python's own end: threads of the engine may still compile, and LLVM must not be
    taken down under them.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    if status >= 0:
        os._exit(status)
    number = -status
    ctypes.CDLL(None).prctl(_DUMPABLE, 0)  # the program has left its own core
    with contextlib.suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    os._exit(128 + number)
