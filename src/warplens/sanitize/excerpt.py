"""Source excerpts: a finding shows three lines around each of its accesses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import PurePath

from warplens.sanitize.finding import Finding
from warplens.toolchain.shipped import NAME

Source = tuple[str, tuple[str, ...]]  # the file's name and its lines
_MOST_BYTES = 4 << 20


def source_at(name: str, ptx: str) -> Source:
    """A file as line information names it, if it is still there; PTX that stands for itself."""
    if PurePath(name).name == NAME:
        added = ("\t.loc\t1 ", f'\t.file\t1 "{NAME}"')
        return name, tuple(row for row in ptx.splitlines() if not row.startswith(added))
    return _read(name)


@lru_cache(maxsize=16)
def _read(name: str) -> Source:
    try:
        with open(name, encoding="utf-8", errors="replace") as file:
            return name, tuple(file.read(_MOST_BYTES).splitlines())
    except OSError:
        return "", ()


def with_source(finding: Finding, source: Source) -> Finding:
    """The finding with the lines that it is about."""
    name, lines = source
    wanted = [
        place for access in finding.accesses
        for place in ((access.file or "", access.line or 0), *access.callers)
        if PurePath(place[0]).name == PurePath(name).name and 0 < place[1] <= len(lines)
    ]  # fmt: skip
    marked = {line for _, line in wanted}
    return replace(finding, source=tuple(_excerpt(marked, lines)))


def _excerpt(marked: set[int], lines: tuple[str, ...]) -> Iterator[str]:
    """The marked lines with one above and one below each."""
    shown = {line + step for line in marked for step in (-1, 0, 1)}
    for number in sorted(shown & set(range(1, len(lines) + 1))):
        mark = ">" if number in marked else " "
        yield f"{mark}{number:5} | {lines[number - 1].rstrip()}"
