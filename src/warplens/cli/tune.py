"""`warplens tune`: the best configuration of a kernel, by predicted time."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from warplens.cli._printing import clock

EPILOG = """a specification (TOML):
  source = "matmul.cu"
  kernel = "tiled<{TILE}>"            # other parameters become -D definitions
  grid = "(n // TILE, n // TILE)"     # expressions of parameters and constants
  block = "(TILE, TILE)"
  args = ["f32[1<<20]=rand", "f32[1<<20]=rand", "f32[1<<20]=0", "i32=1024"]
  restrictions = ["TILE * TILE <= 1024"]
  [constants]
  n = 1024
  [space]
  TILE = [8, 16, 32]
  UNROLL = [1, 2, 4]

examples:
  warplens tune matmul.toml --gpu H200 --gpu A100
  warplens tune matmul.toml --strategy tpe --evaluations 50 --record matmul.jsonl
"""


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
    option("spec", type=Path, metavar="SPEC", help="what to tune: a TOML file")
    option("--gpu", action="append", default=[], metavar="NAME",
           help="GPU to tune for (default: those of SPEC, else H200; repeatable)")  # fmt: skip
    option("--clock", type=clock, default="base", metavar="base|boost|MHZ",
           help="SM clock (default: base)")  # fmt: skip
    option("--strategy", default="exhaustive", metavar="NAME",
           help="exhaustive, random, tpe, evolutionary (default: exhaustive)")  # fmt: skip
    option("--budget", metavar="TIME", help="stop after this time, such as 90s or 10min")
    option("--evaluations", type=int, metavar="N", help="predict at most N configurations")
    option("--confirm", type=int, default=3, metavar="N",
           help="run the N best in full (default: 3)")  # fmt: skip
    option("--seed", type=int, default=0, help="seed of the strategy (default: 0)")
    option("--objective", default="gpu__time_duration.sum", metavar="METRIC",
           help="metric that is minimised (default: the duration)")  # fmt: skip
    option("--record", type=Path, metavar="FILE", help="keep answers here, and resume from them")
    option("--scheduler", metavar="ADDRESS", help="Dask scheduler, or local")
    option("--processes", type=int, metavar="N", help="processes (default: one per core)")
    option("--json", action="store_true", help="print JSON")
    option("-o", "--output", type=Path, metavar="OUT", help="write the output to this file")
    option("-f", "--force-overwrite", action="store_true", help="overwrite an existing OUT")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Executes the verb: 0 if a configuration was found, else 1."""
    from warplens.cli._printing import write_text
    from warplens.tune.reading import read_problem
    from warplens.tune.run import Search

    problem, named = read_problem(arguments.spec)
    search = Search(
        problem, tuple(arguments.gpu) or named or ("H200",), strategy=arguments.strategy,
        budget=arguments.budget, evaluations=arguments.evaluations, confirm=arguments.confirm,
        seed=arguments.seed, objective=arguments.objective, record=arguments.record,
        scheduler=arguments.scheduler, processes=arguments.processes, clock=arguments.clock,
        progress=_progress if sys.stderr.isatty() else None,
    )  # fmt: skip
    found = search.run()
    text = found.json() if arguments.json else str(found)
    write_text(text + "\n", arguments.output, overwrite=arguments.force_overwrite)
    return 0 if found.best is not None else 1


def _progress(stage: str, done: int, total: int) -> None:
    end = "\n" if done == total else ""
    print(f"\r{stage}: {done} of {total}", end=end, file=sys.stderr, flush=True)
