"""Builds and runs whole CUDA programs for the verbs that take them."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warplens.cli._printing import LaunchFilter, nothing_matched
from warplens.errors import InputError

if TYPE_CHECKING:
    from warplens.programs.program import Settings
    from warplens.programs.ranges import Active
    from warplens.result import LaunchResult
    from warplens.result.system import SystemTimeline
    from warplens.sanitize.report import Report
    from warplens.session.host_memory import HostMemory
    from warplens.session.launch import Launch
    from warplens.session.listeners import PendingLaunch

_MAIN = re.compile(r"^[^/\n]*\bmain\s*\(", re.MULTILINE)
_OF_ONE_LAUNCH = ("grid", "block", "arg", "save_arg")

_SOURCES = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c")


def is_program(target: str) -> bool:
    """Whether a target is a program that was built before."""
    path = Path(target)
    if path.suffix in (".py", ".cu", ".cubin", ".ptx", ".fatbin") or not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(20)
    is_elf = head[:4] == b"\x7fELF"
    return (is_elf and head[18] in (62, 183)) or (head[:2] == b"#!" and os.access(path, os.X_OK))


def built(
    words: Sequence[str], sm: int, output: Path | None, *, must_run: bool = True
) -> None:
    """Compiles with nvcc."""
    from warplens.programs.library import libraries
    from warplens.toolchain import nvcc

    nvcc.run(nvcc.command(words, sm=sm, libraries=libraries(), output=output,
                          must_run=must_run))  # fmt: skip


@contextmanager
def program_of(target: str, options: Sequence[str], gpu: str) -> Iterator[Path]:
    """The program to run: the target itself, or what is built of it for the time being."""
    from warplens.gpus.find import find_gpu

    path = Path(target)
    if not path.is_file():
        raise InputError(f"{target}: no such file")
    if path.suffix not in _SOURCES:
        yield path
        return
    folder = Path(tempfile.mkdtemp(prefix="warplens-build-"))
    try:
        program = folder / path.stem
        built([target, "-lineinfo", *options], find_gpu(gpu).sm, program)
        yield program
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def settings_of(arguments: argparse.Namespace) -> Settings:
    """What the program runs on."""
    from warplens.programs.program import Settings

    return Settings(gpus=tuple(arguments.gpu or ("H200",)), clock=arguments.clock)


def program_words(arguments: argparse.Namespace) -> list[str]:
    """The program's own arguments: what follows it, without the `--` that may come first."""
    words = list(arguments.script_arguments)
    return words[1:] if words[:1] == ["--"] else words


def is_whole(arguments: argparse.Namespace) -> bool:
    """Whether `profile` and `sanitize` were given a program rather than a kernel to launch."""
    if any(getattr(arguments, name) for name in _OF_ONE_LAUNCH):
        return False
    path = Path(arguments.target)
    if path.suffix == ".cu" and path.is_file():
        return _MAIN.search(path.read_text(errors="replace")) is not None
    return is_program(arguments.target)


def nvcc_options(arguments: argparse.Namespace) -> list[str]:
    """The options of the verb that say how to compile."""
    include = [f"-I{folder}" for folder in arguments.include]
    return [*include, *(f"-D{name}" for name in arguments.define), *arguments.option]


def _names(launch: Launch) -> dict[str, str]:
    kernel = launch.execution.kernel
    return {
        "function": launch.function_name, "demangled": kernel.demangled, "mangled": kernel.name,
    }  # fmt: skip


def profile_program(
    arguments: argparse.Namespace, launches: list[LaunchResult],
    collect: Callable[[Launch, argparse.Namespace, int], LaunchResult], *, with_timeline: bool,
    with_launches: bool,
) -> tuple[int, SystemTimeline | None]:  # fmt: skip
    """Runs a program; `launches` gets its launches. Returns how it ended, and its timeline."""
    from warplens.programs.timeline import Recorder

    chosen = LaunchFilter(arguments, kernel=arguments.kernel_name)
    lock, name = threading.Lock(), Path(arguments.target).stem

    def listener(launch: Launch, process: int, ranges: Active) -> None:
        with lock:
            if with_launches and chosen.keeps(_names(launch), ranges):
                result = collect(launch, arguments, len(launches))
                launches.append(replace(result, process_name=name, process_id=process))

    settings = settings_of(arguments)
    settings.timed = arguments.timing != "off"
    settings.on_launch = listener
    settings.has_ranges = bool(with_timeline or arguments.nvtx_include or arguments.nvtx_exclude)
    settings.from_start = arguments.profile_from_start == "on"
    settings.obeys_program = not arguments.disable_profiler_start_stop
    settings.keeps_caches = arguments.cache_control == "none" and settings.timed
    recorder = settings.recorder = (
        Recorder() if with_timeline or settings.keeps_caches else None
    )
    status = _run(arguments, settings, is_quiet=arguments.csv or arguments.json)
    if with_launches and not launches:
        nothing_matched(chosen.seen)
    if recorder is None or not with_timeline:
        return status, None
    return status, _timeline(settings, recorder)


def _timeline(settings: Settings, recorder: Any) -> SystemTimeline:
    from warplens.analysis.transfers import link_name
    from warplens.gpus.find import find_gpu
    from warplens.result.system import SystemTimeline

    specs = [find_gpu(gpu) for gpu in settings.gpus]
    return SystemTimeline(
        gpus=tuple(spec.name for spec in specs), link=link_name(specs[0]),
        calls=tuple(recorder.calls), work=tuple(recorder.work), ranges=tuple(recorder.ranges),
    )  # fmt: skip


def sanitize_program(
    arguments: argparse.Namespace, reports: list[Report],
    checked: Callable[[PendingLaunch, tuple[Any, ...]], Report],
    of_host: Callable[[HostMemory], list[Report]],
) -> int:  # fmt: skip
    """Runs a program; every launch is checked first and then runs as usual. Returns its end.

    Args:
        of_host: what is to be reported of the host's allocations and frees at the end.
    """
    from warplens.naming import bare_name
    from warplens.session.listeners import checking

    chosen = LaunchFilter(arguments, kernel=arguments.kernel_name)
    lock = threading.Lock()

    def check(pending: PendingLaunch, values: tuple[Any, ...]) -> None:
        names = {
            "function": bare_name(pending.sass.demangled),
            "demangled": pending.sass.demangled, "mangled": pending.sass.name,
        }  # fmt: skip
        with lock:
            if chosen.keeps(names):
                reports.append(checked(pending, values))

    with checking(check) as host:
        status = _run(arguments, settings_of(arguments), is_quiet=arguments.json)
    reports += of_host(host)
    if not reports:
        nothing_matched(chosen.seen)
    return status


def _run(arguments: argparse.Namespace, settings: Settings, *, is_quiet: bool) -> int:
    from warplens.programs.process import run_program

    gpu = (arguments.gpu or ["H200"])[0]
    with program_of(arguments.target, nvcc_options(arguments), gpu) as program:
        status = run_program(program, program_words(arguments), settings, is_quiet=is_quiet)
    if status:
        what = f"code ({status})" if status > 0 else f"signal ({-status})"
        print(f"==ERROR== The application returned an error {what}.", file=sys.stderr)
    return status
