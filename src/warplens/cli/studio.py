"""`warplens studio`: a local web page to edit kernels, run them, and see what they cost."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

EPILOG = """examples:
  warplens studio                       the tutorials' kernels, with exercises
  warplens studio reduce.cu             a file; Ctrl-S in the page saves it
  warplens studio kernels/ --port 8000  the sources of a folder
  warplens studio result.wlens          a result, with its source

The page is served to this machine only, at an address with a token that is printed at the start.
Kernels run in processes of their own, which can be stopped and are limited in time and memory.
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "studio",
        help="edit, run and compare kernels in a local web page",
        description="Serves a page with an editor, machine code, what-if sliders and reports.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = parser.add_argument
    option("target", nargs="?", type=Path, metavar="FILE|DIR|RESULT.wlens",
           help="what to open (default: the gallery)")  # fmt: skip
    option("--port", type=int, default=0, metavar="N", help="port of 127.0.0.1 (default: a free "
           "one)")  # fmt: skip
    option("--seconds", type=float, default=60.0, metavar="S",
           help="limit of a run (default: 60)")  # fmt: skip
    option("--memory", type=float, default=16.0, metavar="GIB",
           help="limit of a worker's address space (default: 16)")  # fmt: skip
    option("--build-editor", action="store_true",
           help="make the page's editor out of npm's packages, in a source checkout")  # fmt: skip
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Executes the verb; returns the exit status."""
    from warplens.errors import InputError, ToolchainError

    if arguments.build_editor:
        from warplens.studio.bundle import build

        print(build())
        return 0
    if arguments.seconds <= 0 or arguments.memory <= 0:
        raise InputError("--seconds and --memory are positive")
    try:
        from warplens.studio.serve import Limits, serve
    except ModuleNotFoundError as error:
        raise ToolchainError(
            f"the studio needs {error.name}", hint="pip install 'warplens[studio]'"
        ) from error
    limits = Limits(seconds=arguments.seconds, memory=int(arguments.memory * (1 << 30)))
    serve(arguments.target, port=arguments.port, limits=limits)
    return 0
