"""`warplens cache`: what is kept on disk, and how to get rid of it."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "cache",
        help="show or clear the cache of compiled kernels",
        description="Cubins, disassembly and compiled code are cached on disk. "
        "WARPLENS_CACHE_DIR sets the directory; `off` disables the cache.",
    )
    parser.add_argument("action", choices=("info", "clear"))
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Executes the verb; returns the exit status."""
    from warplens.report.numbers import scaled
    from warplens.toolchain.cache import default_cache
    from warplens.wording import count

    cache = default_cache()
    if arguments.action == "clear":
        print(f"removed {count(cache.clear(), 'entry', 'entries')}")
        return 0
    info = cache.info()
    size, unit = scaled(info.size_bytes, "byte")
    limit, limit_unit = scaled(info.limit_bytes, "byte")
    print(f"directory  {info.directory if info.directory is not None else 'off'}")
    print(f"entries    {info.entries}")
    print(f"size       {size:.1f} {unit} of at most {limit:.1f} {limit_unit}")
    for kind, entries in sorted(info.kinds.items()):
        print(f"  {kind:<8} {entries}")
    return 0
