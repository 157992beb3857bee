"""Starts a program with the engine behind it, and passes on signals and how it ended."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from warplens.errors import InputError, ToolchainError, Unsupported
from warplens.programs.engine import Engine
from warplens.programs.library import NVTX, RUNTIMES, libraries
from warplens.programs.program import Settings
from warplens.programs.undefined import library_of_undefined
from warplens.toolchain import packages
from warplens.toolchain.elf import ElfError, ElfFile

_DEATH_SIGNAL, _DUMPABLE = 1, 4  # PR_SET_PDEATHSIG, PR_SET_DUMPABLE
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1,
              signal.SIGUSR2)  # fmt: skip
_OF_TERMINALS = (signal.SIGINT, signal.SIGQUIT)
_ONLY_IN_12 = "cudaThreadSynchronize"  # a function that CUDA 13's runtime has no more
_LOOK_AGAIN = 0.2  # seconds
_FROM_KERNEL = 0x80  # si_code of a signal that the terminal sent to the whole process group


def run_program(
    path: Path, words: Sequence[str], settings: Settings, *, is_quiet: bool = False,
    ends: bool = False,
) -> int:  # fmt: skip
    """Runs a program to its end.

    Args:
        is_quiet: what it prints goes to standard error.
        ends: `end_like` comes next, so that signals stay blocked; they were for the program.

    Returns:
        Its exit status; if a signal ended it, minus the signal's number.
    """
    if not sys.platform.startswith("linux"):
        raise Unsupported("programs run on Linux only")
    waited = {*_PASSED_ON, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)  # in the engine's threads as well
    engine, heard = Engine(settings), deque[int]()
    try:
        environment = _environment(path, libraries(), engine.name)
        if settings.has_ranges:
            environment.setdefault("NVTX_INJECTION64_PATH", str(libraries() / NVTX))
        with _hearing(heard, for_good=ends):
            child = _started(path, words, environment, before, is_quiet)
            status = _supervised(child, waited, heard)
            # What is still on its way was meant for the program as well.
            while signal.sigtimedwait(_PASSED_ON, 0) is not None:
                pass
        before = {*before, *_PASSED_ON} if ends else before
        return status
    finally:
        engine.close()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _hearing(heard: deque[int], *, for_good: bool) -> Iterator[None]:
    """Notes signals that a thread took which was started before they were blocked (NumPy's)."""
    kept = {}
    if threading.current_thread() is threading.main_thread():
        for number in _PASSED_ON:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                kept[number] = signal.signal(number, lambda found, _: heard.append(found))
    try:
        yield
    finally:
        for number, handler in () if for_good else kept.items():
            signal.signal(number, handler)


def _environment(path: Path, folder: Path, name: str) -> dict[str, str]:
    found, program, preloaded = dict(os.environ), _elf_of(path), []
    if program is not None and (runtime := _runtime_inside(program)):
        found["WARPLENS_STATIC_RUNTIME"] = "1"
        preloaded.append(str(folder / runtime))
    if program is not None and (lacking := library_of_undefined(program, folder)):
        preloaded.append(str(lacking))
    if preloaded:
        preloaded += filter(None, [found.get("LD_PRELOAD")])
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


def _elf_of(path: Path) -> ElfFile | None:
    with path.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return None
    try:
        return ElfFile(path.read_bytes())
    except ElfError:
        return None


def _runtime_inside(program: ElfFile) -> str:
    """The library to take for CUDA's runtime that was linked into a program, nvcc's usual way."""
    names = {one.name for one in program.symbols if one.section}
    if "__cudaRegisterFatBinary" not in names:
        return ""
    return RUNTIMES[1] if _ONLY_IN_12 in names else RUNTIMES[0]


def _started(
    path: Path, words: Sequence[str], environment: Mapping[str, str], mask: Iterable[int],
    is_quiet: bool,
) -> subprocess.Popen[bytes]:  # fmt: skip
    libc, parent = ctypes.CDLL(None), os.getpid()

    def prepare() -> None:  # in the child: it ends with us, and takes signals as usual
        libc.prctl(_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        for number in _PASSED_ON:  # one that comes before `exec` ends it too
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    sys.stdout.flush()
    try:
        return subprocess.Popen(
            [str(path), *words], executable=str(path.resolve()), env=dict(environment),
            preexec_fn=prepare, stdout=sys.stderr if is_quiet else None,
        )  # fmt: skip
    except OSError as error:
        raise InputError(f"{path} cannot be started: {error.strerror}") from error


def _supervised(
    child: subprocess.Popen[bytes], waited: Iterable[int], heard: deque[int]
) -> int:
    """Waits for the program's end and hands signals on; gives its status.

    The wait has a limit, since threads that others started (NumPy's) may take signals away.
    """
    while True:
        status = child.poll()
        if status is not None:
            return status
        while heard:
            number = heard.popleft()
            if not (number in _OF_TERMINALS and _is_in_front()):
                child.send_signal(number)
        found = signal.sigtimedwait(waited, _LOOK_AGAIN)
        if found is None or found.si_signo == signal.SIGCHLD or found.si_code == _FROM_KERNEL:
            continue
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(found.si_signo)


def _is_in_front() -> bool:
    """Whether a terminal's keys reach this process, and so the program, which is of its group."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


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
