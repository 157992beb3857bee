"""`warplens run`: a program that needs a GPU, on a machine without one."""

from __future__ import annotations

import argparse
import runpy
from pathlib import Path
from typing import Any

from warplens.cli._printing import clock

EPILOG = """examples:
  warplens run script.py                 numba-cuda, Triton, cuda.core and others find an H200
  warplens run --gpu 'RTX 4090' script.py 100
  warplens run app.cu 100                built with nvcc (pip install "warplens[programs]")
  warplens run --gpu A100 --gpu A100 ./app 100

Nothing but the program's own output is printed. exit status: the program's
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "run",
        help="run a program on a simulated GPU",
        description="Runs a Python script in which every package that uses CUDA's driver finds a "
        "simulated GPU, or a CUDA program. The GPU's name ends in (warplens).",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", metavar="script.py|app.cu|./app",
                        help="what to run; its arguments follow")  # fmt: skip
    parser.add_argument("--gpu", action="append", default=[], metavar="NAME",
                        help="GPU to simulate (H200); programs may have several")  # fmt: skip
    parser.add_argument("--clock", type=clock, default="base", metavar="base|boost|MHZ",
                        help="SM clock (base)")  # fmt: skip
    parser.add_argument("-X", "--nvcc-option", action="append", default=[], metavar="OPTION",
                        help="option of nvcc for a .cu file, as in -X=-std=c++20 "
                        "(repeatable)")  # fmt: skip
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Executes the verb; returns the program's exit status."""
    from warplens.cli._program import is_program

    script = Path(arguments.target)
    if script.suffix == ".cu" or is_program(arguments.target):
        return _run_program(arguments)
    return _run_script(arguments, script)


def _run_program(arguments: argparse.Namespace) -> int:
    from warplens.cli._program import program_of, program_words, settings_of
    from warplens.programs.process import end_like, run_program

    gpu = (arguments.gpu or ["H200"])[0]
    with program_of(arguments.target, arguments.nvcc_option, gpu) as program:
        status = run_program(program, program_words(arguments), settings_of(arguments),
                             ends=True)  # fmt: skip
    end_like(status)


def _run_script(arguments: argparse.Namespace, script: Path) -> int:
    from warplens.cli._script import as_main, put_driver_in_place
    from warplens.errors import InputError

    if not script.is_file():
        raise InputError(f"{script}: no such file")
    if script.suffix != ".py":
        raise InputError(
            f"{script} is no Python script, .cu file or program", hint="Is it executable?"
        )
    put_driver_in_place(arguments, timed=False, prints=True, required=True)
    with as_main(script, arguments.script_arguments, quiet=False):
        runpy.run_path(str(script), run_name="__main__")
    return 0
