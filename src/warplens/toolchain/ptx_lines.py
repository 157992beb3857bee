"""A kernel's PTX line by line, each with the source line that it was made of."""

from __future__ import annotations

import re
from typing import NamedTuple

from warplens.toolchain.paths import unescaped

_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"((?:\\.|[^"\\])*)"', re.MULTILINE)


class PtxLine(NamedTuple):
    """One line; its place is unknown for declarations and labels."""

    text: str
    file: str | None
    line: int | None


def kernel_lines(ptx: str, mangled: str) -> tuple[PtxLine, ...]:
    """The lines of one kernel's `.entry`, without `.loc`; none if it is not there."""
    begin = re.search(rf"^[^\n]*\.entry\s+{re.escape(mangled)}\s*\(", ptx, re.MULTILINE)
    if begin is None:
        return ()
    files = {int(number): unescaped(path) for number, path in _FILE.findall(ptx)}
    found: list[PtxLine] = []
    place: tuple[str | None, int | None] = (None, None)
    depth = 0
    for text in ptx[begin.start() :].splitlines():
        loc = _LOC.match(text)
        if loc is not None:
            file, number = files.get(int(loc[1])), int(loc[2])
            place = (file, number) if file and number else (None, None)
            continue
        depth += text.count("{") - text.count("}")
        if text.strip():
            is_code = depth > 0 and text.startswith("\t") and not text.strip().startswith(".")
            where = place if is_code else (None, None)
            found.append(PtxLine(text.rstrip().expandtabs(4), *where))
        if depth == 0 and "}" in text:
            break
    return tuple(found)
