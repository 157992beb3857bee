"""One page of the reference, and how its Markdown is put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

BASES = {
    "exact": "counted from the executed SASS",
    "definition": "counted by ncu's documented definition; hardware counters add arbitration noise",
    "model": "estimated by the timing model",
    "spec": "from the GPU's specification file",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What is known of one name.

    Attributes:
        kind: "rule", "metric", "section", "check" or "opcode".
        name: as reports spell it; aliases: other spellings, such as a section's title.
        body: gives the Markdown below the heading.
    """

    kind: str
    name: str
    aliases: tuple[str, ...] = ()
    body: Callable[[], str]

    @property
    def markdown(self) -> str:
        """The whole page."""
        return f"# {self.name}\n\n{self.body().strip()}\n"


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(headings) + " |", "|" + " --- |" * len(headings)]
    lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    return "\n".join(lines)


def _cell(text: object) -> str:
    return " ".join(str(text).split()).replace("|", "\\|")
