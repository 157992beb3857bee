"""Source excerpts: a finding shows three lines around each of its accesses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

from warplens.sanitize.finding import Finding

Source = tuple[str, tuple[str, ...]]  # the file's name and its lines


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
