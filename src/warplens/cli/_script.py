"""Runs a Python script and collects every launch it makes through the API."""

from __future__ import annotations

import argparse
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from warplens.cli._printing import LaunchFilter, nothing_matched
from warplens.errors import InputError, WarplensError

if TYPE_CHECKING:
    from warplens.result import LaunchResult
    from warplens.session.launch import Launch


# Options that are easily put behind the script, where they are the script's own.
_OWN_OPTIONS = frozenset({
    "-o", "--export", "-f", "--force-overwrite", "--gpu", "--set", "--section", "--metrics",
    "--page", "--csv", "--json", "-k", "--kernel-name", "--tool", "--timing", "--lines",
})  # fmt: skip
Collect = Callable[["Launch", argparse.Namespace, int], "LaunchResult"]


def profile_script(
    arguments: argparse.Namespace, launches: list[LaunchResult], collect: Collect
) -> int:
    """Runs the script; `launches` gets its launches, also when it fails. Returns the status."""
    from warplens.session.listeners import listening

    script = Path(arguments.target)
    refuse_launch_options(arguments, script)
    chosen = LaunchFilter(arguments, kernel=arguments.kernel_name)

    def listener(launch: Launch) -> None:
        sys.stdout.write(launch.output)  # as CUDA shows what a kernel prints
        kernel = launch.execution.kernel
        names = {
            "function": launch.function_name,
            "demangled": kernel.demangled,
            "mangled": kernel.name,
        }
        if chosen.keeps(names):
            result = collect(launch, arguments, len(launches))
            launches.append(replace(result, process_name=script.name))

    timed = arguments.timing != "off"
    put_driver_in_place(arguments, timed=timed, prints=False, required=False)
    with listening(listener):
        is_quiet = arguments.csv or arguments.json
        status = run_script(script, arguments.script_arguments, quiet=is_quiet)
    if not launches:
        nothing_matched(chosen.seen)
    return status


def refuse_launch_options(arguments: argparse.Namespace, script: Path) -> None:
    """Raises InputError for a missing script and for options that only kernels of a file take."""
    if not script.is_file():
        raise InputError(f"{script}: no such file")
    stray = [w for w in arguments.script_arguments if w.partition("=")[0] in _OWN_OPTIONS]
    if stray:
        print(f"warplens: {' '.join(stray)} stands after {script} and is passed to it; options of "
              "warplens stand before the script", file=sys.stderr)  # fmt: skip
    for name in ("grid", "block", "arg", "save_arg"):
        if getattr(arguments, name):
            raise InputError(
                f"--{name.replace('_', '-')} applies to .cu files and cubins only",
                hint="A script launches its kernels itself.",
            )
    if getattr(arguments, "interleave", False):
        raise InputError(
            "--interleave applies to .cu files and cubins only",
            hint="In a script: Device(options=LaunchOptions(interleave=True)).",
        )
    if len(arguments.gpu) > 1:
        raise InputError("a script has one simulated GPU", hint="Give --gpu once.")


def put_driver_in_place(
    arguments: argparse.Namespace, *, timed: bool, prints: bool, required: bool
) -> None:
    """Lets what the script imports find a simulated GPU: numba-cuda, Triton, cuda.core and others.

    Without `required`, a machine on which that cannot be only says so: the script may use warplens
    alone.
    """
    try:
        import warplens.cuda as cuda
    except WarplensError as error:
        if required:
            raise
        print(f"warplens: no simulated driver for other packages: {error}", file=sys.stderr)
        return
    cuda.prepare(*arguments.gpu, clock=arguments.clock, timed=timed, prints=prints)


def run_script(script: Path, words: list[str], *, quiet: bool) -> int:
    """Runs the script as __main__ and says how it ended, as ncu does."""
    code = 0
    with as_main(script, words, quiet=quiet):
        try:
            runpy.run_path(str(script), run_name="__main__")
        except SystemExit as error:
            code = _exit_code(error)
        except WarplensError as error:
            print(f"warplens: error: {error}{_where(error, script)}", file=sys.stderr)
            code = error.exit_code
        except Exception:
            # The script's own mistake: its traceback is what its author needs.
            traceback.print_exc()
            code = 1
    if code:
        print(f"==ERROR== The application returned an error code ({code}).", file=sys.stderr)
    return 2 if code else 0


def _where(error: BaseException, script: Path) -> str:
    """The script's line that the error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == script]
    return f"\n  at {script}:{lines[-1]}" if lines else ""


def _exit_code(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code
    print(error.code, file=sys.stderr)
    return 1


@contextmanager
def as_main(script: Path, words: list[str], *, quiet: bool) -> Iterator[None]:
    """Sets what a script sees of the process; its output must not mix with CSV or JSON."""
    saved = (sys.argv, sys.path, sys.stdout)
    sys.argv = [str(script), *words]
    sys.path = [str(script.resolve().parent), *sys.path]
    if quiet:
        sys.stdout = sys.stderr
    try:
        yield
    finally:
        sys.argv, sys.path, sys.stdout = saved
