"""`warplens cache`: what is kept on disk, and how to get rid of it."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "cache",
        help="show, clear or prepare the cache of compiled code",
        description="Cubins, disassembly and compiled code are cached on disk. "
        "WARPLENS_CACHE_DIR sets the directory; `off` disables the cache. `prepare` compiles "
        "what every first run needs into the installation, for all its users.",
    )
    parser.add_argument("action", choices=("info", "clear", "prepare"))
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Executes the verb; returns the exit status."""
    from warplens.cli._prepare import prepare
    from warplens.report.numbers import scaled
    from warplens.toolchain.cache import SHIPPED, default_cache
    from warplens.wording import count

    if arguments.action == "prepare":
        ready = prepare()
        print(f"{count(ready, 'function')} compiled in {SHIPPED}")
        return 0
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
