"""`warplens calibrate`: measures the GPU of this machine and writes its constants."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

EPILOG = """examples:
  warplens calibrate -o my-card.toml
  warplens profile app.cu --gpu my-card.toml --clock boost
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "calibrate",
        help="measure this machine's GPU for better predictions",
        description="Runs small kernels on the GPU of this machine, needs its driver only, writes "
        "the constants it found as a file that --gpu and Device() take, and prints what that is "
        "worth on kernels that nothing was fitted to.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = parser.add_argument
    option("-o", "--output", type=Path, default=Path("card.toml"), metavar="FILE.toml",
           help="the file to write (default: card.toml)")  # fmt: skip
    option("--device", type=int, default=0, metavar="N", help="the GPU's number (default: 0)")
    option("-f", "--force", action="store_true", help="overwrite an existing file")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Executes the verb; returns the exit status."""
    from warplens.calibrate import RealCard, calibrate
    from warplens.errors import InputError

    if arguments.output.exists() and not arguments.force:
        raise InputError(f"{arguments.output} exists", hint="--force overwrites it.")
    found = calibrate(RealCard(arguments.device), lambda text: print(text, file=sys.stderr))
    print(f"{'constant':28s} {'before':>12s} {'measured':>12s}")
    for key, (value, _) in found.measured.items():
        print(f"{key:28s} {float(found.base.value(key, 0.0) or 0.0):12g} {value:12g}")
    heading = "kernel, nothing fitted to it"
    print(f"\n{heading:28s} {'measured us':>12s} {'before':>9s} {'after':>9s}")
    for one in found.held:
        before, after = (100 * (p / one.measured - 1) for p in (one.before, one.after))
        print(f"{one.name:28s} {one.measured / 1e3:12.1f} {before:+8.1f}% {after:+8.1f}%")
    print(f"{'mean error':28s} {'':12s} {100 * found.before:8.1f}% {100 * found.after:8.1f}%")
    arguments.output.write_text(found.toml(), encoding="utf-8")
    print(f"\nwritten: {arguments.output}")
    return 0
