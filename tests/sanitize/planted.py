"""Reads the Markdown cases: a kernel with a planted bug, a launch line, a repaired twin.

A case is a `## Title`, some words, a line `Launch: --grid 1 --block 64 --arg 'i32[64]=0'` and two
code blocks in CUDA C++: first the bug, with `// error: [check]` on every line that must be found,
then the twin without it. The kernel is called `kernel`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "cases"
_ERROR = re.compile(r"//\s*error:\s*\[([\w-]+)\]")
_BLOCK = re.compile(r"```cuda\n(.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """One case.

    Attributes:
        expected: (line of the source, check) of every planted mistake.
    """

    name: str
    file: str
    bug: str
    twin: str
    expected: tuple[tuple[int, str], ...]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    arguments: tuple[str, ...]


def cases() -> Iterator[Planted]:
    """Every case of every file."""
    for path in sorted(FOLDER.glob("*.md")):
        sections = re.split(r"^## ", path.read_text(), flags=re.MULTILINE)
        for section in sections[1:]:
            yield _case(path.stem, section)


def _case(file: str, section: str) -> Planted:
    title = section.splitlines()[0].strip()
    words = shlex.split(next(
        row.removeprefix("Launch:") for row in section.splitlines() if row.startswith("Launch:")
    ))  # fmt: skip
    given: dict[str, list[str]] = {"--grid": [], "--block": [], "--arg": [], "--shared": []}
    for option, value in zip(words[::2], words[1::2], strict=True):
        given[option].append(value)
    bug, twin = _BLOCK.findall(section)
    expected = [
        (number, check)
        for number, row in enumerate(bug.splitlines(), 1)
        for check in _ERROR.findall(row)
    ]
    assert expected, f"{file}: {title} expects nothing"
    return Planted(
        name=title,
        file=file,
        bug=bug,
        twin=twin,
        expected=tuple(expected),
        grid=tuple(map(int, given["--grid"][0].split(","))),
        block=tuple(map(int, given["--block"][0].split(","))),
        shared=int(given["--shared"][0]) if given["--shared"] else 0,
        arguments=tuple(given["--arg"]),
    )
