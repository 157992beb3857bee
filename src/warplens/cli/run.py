"""`warplens run`: a Python program that needs a GPU, on a machine without one."""

from __future__ import annotations

import argparse
import runpy
from pathlib import Path
from typing import Any

EPILOG = """examples:
  warplens run script.py                 numba-cuda, Triton, cuda.core and others find an H200
  warplens run --gpu 'RTX 4090' script.py 100

Nothing but the program's own output is printed. exit status: the program's
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "run",
        help="run a Python program on a simulated GPU",
        description="Runs a Python script in which every package that uses CUDA's driver finds a "
        "simulated GPU. Its name ends in (warplens).",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", metavar="script.py", help="what to run; its arguments follow")
    parser.add_argument("--gpu", action="append", default=[], metavar="NAME",
                        help="GPU to simulate (H200)")  # fmt: skip
    parser.add_argument("--clock", default="base", metavar="base|boost|MHZ", help="SM clock (base)")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Executes the verb; returns the program's exit status."""
    from warplens.cli._script import as_main, put_driver_in_place
    from warplens.errors import InputError

    script = Path(arguments.target)
    if not script.is_file():
        raise InputError(f"{script}: no such file")
    if script.suffix != ".py":
        raise InputError(f"{script} is not a Python script", hint="Its name must end in .py.")
    if len(arguments.gpu) > 1:
        raise InputError("a script has one simulated GPU", hint="Give --gpu once.")
    put_driver_in_place(arguments, timed=False, prints=True, required=True)
    with as_main(script, arguments.script_arguments, quiet=False):
        runpy.run_path(str(script), run_name="__main__")
    return 0
