"""`warplens tune`: the best configuration of a kernel, by predicted time."""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warplens.cli._printing import check_free, clock

if TYPE_CHECKING:
    from warplens.tune.problem import Problem
    from warplens.tune.result import Tuned

EPILOG = """a specification (TOML):
  source = "matmul.cu"
  kernel = "tiled<{TILE}>"            # other parameters become -D definitions
  grid = "(n // TILE, n // TILE)"     # expressions of parameters and constants
  block = "(TILE, TILE)"
  args = ["f32[1<<20]=rand", "f32[1<<20]=rand", "f32[1<<20]=0", "i32=1024"]
  restrictions = ["TILE * TILE <= 1024"]
  reference = { 2 = "expected.npy" }  # if there is one; rtol and atol say how near
  [constants]
  n = 1024
  [space]
  TILE = [8, 16, 32]
  UNROLL = [1, 2, 4]

examples:
  warplens tune matmul.toml --gpu H200 --gpu A100
  warplens tune matmul.toml --strategy tpe --evaluations 50 --record matmul.jsonl
  warplens tune matmul.toml --html matmul.html --cache-file matmul.json
  warplens tune matmul.toml --measured a100_T4.json.gz
  warplens tune convolution.json --strategy surrogate          (a T1 file)
  warplens tune script.py --gpu A100     (searches that a script makes, Kernel Tuner's too)
"""


_SEARCH = ("strategy", "budget", "evaluations", "confirm", "seed", "objective", "record",
           "scheduler", "processes", "timeout", "clock")  # fmt: skip
_WRITTEN = ("cache_file", "t4", "t1", "html")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "tune",
        help="search a kernel's configurations by predicted time",
        description="Compiles every configuration, predicts those that are worth it, runs the best "
        "in full and checks them against the reference.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = parser.add_argument
    option("spec", type=Path, metavar="SPEC|SCRIPT.py",
           help="a TOML file, a T1 file (.json) of Kernel Tuner's benchmark hub, or a script with "
           "warplens.tune or Kernel Tuner")  # fmt: skip
    _add_search(option)
    option("--measured", type=Path, metavar="FILE",
           help="compare with measured times: Kernel Tuner's cache, or T4 results")  # fmt: skip
    option("--cache-file", type=Path, metavar="FILE", help="write a cache file of Kernel Tuner")
    option("--t4", type=Path, metavar="FILE", help="write T4 results")
    option("--t1", type=Path, metavar="FILE", help="write the problem in the T1 format")
    option("--html", type=Path, metavar="FILE", help="write the landscape and the tables as a page")
    option("--json", action="store_true", help="print JSON")
    option("-o", "--output", type=Path, metavar="OUT", help="write the output to this file")
    option("-f", "--force-overwrite", action="store_true", help="overwrite existing files")
    return parser


def _add_search(option: Any) -> None:
    """How to search; what is not given is the script's, or the default."""
    option("--gpu", action="append", default=[], metavar="NAME",
           help="GPU to tune for (default: those of SPEC, else H200; repeatable)")  # fmt: skip
    option("--clock", type=clock, metavar="base|boost|MHZ", help="SM clock (default: base)")
    option("--strategy", metavar="NAME",
           help="exhaustive (default), random, tpe, evolutionary, surrogate")  # fmt: skip
    option("--budget", metavar="TIME", help="stop after this time, such as 90s or 10min")
    option("--evaluations", type=int, metavar="N", help="predict at most N configurations")
    option("--confirm", type=int, metavar="N", help="run the N best in full (default: 3)")
    option("--timeout", metavar="TIME", help="a full run that takes longer is a failure")
    option("--seed", type=int, help="seed of the strategy (default: 0)")
    option("--objective", metavar="METRIC",
           help="metric that is minimised (default: the duration)")  # fmt: skip
    option("--record", type=Path, metavar="FILE", help="keep answers here, and resume from them")
    option("--scheduler", metavar="ADDRESS", help="Dask scheduler, or local")
    option("--processes", type=int, metavar="N", help="processes (default: one per core)")


def run(arguments: argparse.Namespace) -> int:
    """Executes the verb: 0 if every search found a configuration, else 1."""
    for name in ("output", *_WRITTEN):
        check_free(getattr(arguments, name), overwrite=arguments.force_overwrite)
    if arguments.spec.suffix == ".py":
        return _script(arguments)
    from warplens.tune.measured import agreement, read_measured
    from warplens.tune.reading import read_problem
    from warplens.tune.run import Search
    from warplens.tune.t1 import read_t1
    from warplens.tune.t1_text import t1_text

    is_t1 = arguments.spec.suffix == ".json"
    problem, named = (read_t1(arguments.spec), ()) if is_t1 else read_problem(arguments.spec)
    measured = None if arguments.measured is None else read_measured(arguments.measured)
    given = _given(arguments)
    gpus = given.pop("gpus", None) or named or ("H200",)
    t1 = None if arguments.t1 is None else t1_text(problem, gpus[0])
    found = Search(problem, gpus, **given).run()
    _show(found, arguments)
    _write_files(found, problem, t1, arguments)
    if measured is not None:
        print(agreement(found, measured), file=sys.stderr if arguments.json else sys.stdout)
    return 0 if found.best is not None else 1


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings that the command line gives."""
    given = {n: getattr(arguments, n) for n in _SEARCH if getattr(arguments, n) is not None}
    if arguments.gpu:
        given["gpus"] = tuple(arguments.gpu)
    if sys.stderr.isatty():
        given["progress"] = _progress
    return given


def _script(arguments: argparse.Namespace) -> int:
    """Runs a script; every search that it makes is shown."""
    from warplens.cli._script import put_driver_in_place, run_script
    from warplens.errors import InputError
    from warplens.tune import settings

    if not arguments.spec.is_file():
        raise InputError(f"{arguments.spec}: no such file")
    for name in ("measured", *_WRITTEN):
        if getattr(arguments, name) is not None:
            raise InputError(f"--{name.replace('_', '-')} applies to a TOML file only")
    searches: list[Tuned] = []
    simulated = argparse.Namespace(
        gpu=arguments.gpu[:1] or ["H200"], clock=arguments.clock or "base"
    )
    put_driver_in_place(simulated, timed=True, prints=True, required=False)
    with settings.listening(searches.append, **_given(arguments)):
        status = run_script(arguments.spec, arguments.script_arguments, quiet=arguments.json)
    if searches:
        _show(searches, arguments)
    return status or int(any(found.best is None for found in searches))


def _show(found: Tuned | list[Tuned], arguments: argparse.Namespace) -> None:
    from warplens.cli._printing import write_text

    every = found if isinstance(found, list) else [found]
    text = "\n\n".join(one.json() if arguments.json else str(one) for one in every)
    write_text(text + "\n", arguments.output, overwrite=arguments.force_overwrite)


def _write_files(
    found: Tuned, problem: Problem, t1: str | None, arguments: argparse.Namespace
) -> None:
    """What else was asked for, of the first GPU."""
    from warplens.cli._printing import write_text
    from warplens.tune.measured import cache_text, t4_text

    gpu = found.gpus[0]
    texts = {
        arguments.cache_file: lambda: cache_text(
            found, gpu, problem.kernel, problem.space.values
        ),
        arguments.t4: lambda: t4_text(found, gpu),
        arguments.t1: lambda: t1 or "",
        arguments.html: found.html,
    }
    for path, made in texts.items():
        if path is not None:
            with redirect_stdout(sys.stderr):
                write_text(made(), path, overwrite=arguments.force_overwrite)


def _progress(stage: str, done: int, total: int) -> None:
    end = "\n" if done == total else ""
    print(f"\r{stage}: {done} of {total}", end=end, file=sys.stderr, flush=True)
