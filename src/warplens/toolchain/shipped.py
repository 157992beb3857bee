"""PTX that came beside machine code, as nvcc puts it into programs: assembled in another way."""

from __future__ import annotations

import re
from collections.abc import Sequence

from warplens.toolchain.nvjitlink import PTX, LinkInput, link

NAME = "kernel.ptx"  # of PTX without line information, whose lines are its own
_TARGET = re.compile(r"^\s*\.target\s+sm_(\d+)([af]?)", re.MULTILINE)
_FIRST = re.compile(r"^\s*\.address_size\s+\d+\s*$", re.MULTILINE)
_PLACED = re.compile(r"^\s*\.loc\s", re.MULTILINE)
_CODE = re.compile(r"\s*(?:@!?%\w+\s+)?[a-z][\w.:]*(?:\s|;)")


def with_places(ptx: str) -> str:
    """The text with the place of every instruction; its own line where the compiler gave none."""
    first = _FIRST.search(ptx)
    if first is None or _PLACED.search(ptx):
        return ptx
    found: list[str] = []
    depth, is_whole = 0, True  # nested braces; whether the last statement has ended
    for number, row in enumerate(ptx.splitlines(), 1):
        text = row.split("//")[0].rstrip()
        if depth and is_whole and _CODE.match(text):
            found.append(f"\t.loc\t1 {number} 0")
        found.append(row)
        depth += text.count("{") - text.count("}")
        is_whole = not text or text.endswith((";", "{", "}", ":"))
    head = ptx[: first.end()].count("\n") + 1  # before it there are no instructions
    return "\n".join([*found[:head], f'\t.file\t1 "{NAME}"', *found[head:], ""])


def assembled(ptx: str, *, sm: int, options: Sequence[str]) -> bytes:
    """A cubin of the text.

    Raises:
        CompileError: it does not assemble by itself, as code that waits to be linked.
    """
    target = _TARGET.search(ptx)
    features = target[2] if target is not None and int(target[1]) == sm else ""
    return link(
        [LinkInput(kind=PTX, data=ptx.encode("utf-8", "surrogateescape"), name="ptx")],
        sm=sm, features=features, options=options,
    )  # fmt: skip
