"""`warplens build`: a CUDA program from its sources, with nvcc from pip."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

EPILOG = """examples:
  warplens build app.cu -o app           for an H200
  warplens build --gpu 'RTX 4060' main.cu kernels.cu -rdc=true -std=c++20 -lm -o app
  warplens run ./app 100

What build does not know goes to nvcc. The program needs CUDA's shared runtime, which `warplens run`
brings; it also runs on a GPU where libcudart.so.13 is found.
exit status: 0 built, 2 a broken call or an error of nvcc
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "build",
        help="compile a CUDA program, host code and all",
        description="Compiles CUDA programs with NVIDIA's nvcc from pip and the host's C++ "
        "compiler, for the simulated GPU's architecture.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--gpu", metavar="NAME", help="GPU to compile for (H200)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="the program "
                        "(a.out)")  # fmt: skip
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Executes the verb; returns the exit status."""
    from warplens.cli._program import built
    from warplens.errors import InputError
    from warplens.gpus.find import find_gpu

    words = list(arguments.script_arguments)
    if not words:
        raise InputError("nothing to build", hint="For example: warplens build app.cu -o app")
    built(words, find_gpu(arguments.gpu or "H200").sm, arguments.output,
          must_run=arguments.gpu is not None)  # fmt: skip
    return 0
