"""`warplens ptx`: the PTX of a source file, all of it or of one kernel."""

from __future__ import annotations

import argparse
import re
from typing import Any

from warplens.cli._code import add_code_options, compiled_ptx

EPILOG = """examples:
  warplens ptx reduce.cu -k 'reduce<256>' --gpu H200
  warplens ptx reduce.cu
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "ptx",
        help="print a kernel's PTX",
        description="Compiles a source file and prints its PTX; nothing is executed.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_code_options(parser)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Executes the verb; returns the exit status."""
    text, kernel = compiled_ptx(arguments)
    print(text if kernel is None else entry(text, kernel), end="")
    return 0


def entry(ptx: str, mangled: str) -> str:
    """The `.entry` of one kernel, from its directives to its closing brace."""
    found = re.search(rf"^[^\n]*\.entry\s+{re.escape(mangled)}\s*\(", ptx, re.MULTILINE)
    if found is None:
        return ptx
    begin = ptx.index("{", found.end())
    depth = 0
    for place in range(begin, len(ptx)):
        depth += {"{": 1, "}": -1}.get(ptx[place], 0)
        if depth == 0:
            return ptx[found.start() : place + 1] + "\n"
    return ptx[found.start() :]
