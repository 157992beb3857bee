"""Two kernels' SASS side by side, aligned by what the instructions do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from warplens.report.numbers import number_text
from warplens.result import LaunchResult, Number, SourceTable

_NAMES = re.compile(r"\b(?:U?R\d+|U?P\d+|B\d+|SB\d+)\b|\.reuse|0x[0-9a-f]+")
_WIDTH = 52


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One instruction of one kernel: its text, and how often warps executed it."""

    text: str
    executed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Instructions that stand for each other; `mark` is " ", "|" (changed), "<" or ">"."""

    mark: str
    before: Side | None
    after: Side | None


def aligned(before: LaunchResult, after: LaunchResult) -> tuple[Pair, ...]:
    """The instructions of both, in order; those that differ in registers only are alike."""
    if before.source is None or after.source is None:
        return ()
    old, new = before.source, after.source
    keys = [[_NAMES.sub("_", text.strip()) for text in table.sass] for table in (old, new)]
    pairs: list[Pair] = []
    steps = SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_opcodes()
    left, right = _sides(old), _sides(new)
    for what, a, b, c, d in steps:
        for before_one, after_one in zip_longest(left[a:b], right[c:d]):
            both = "|" if what != "equal" else " "
            mark = ">" if before_one is None else "<" if after_one is None else both
            pairs.append(Pair(mark=mark, before=before_one, after=after_one))
    return tuple(pairs)


def sass_page(before: LaunchResult, after: LaunchResult) -> list[str]:
    """The alignment as text: executions and SASS of both sides, a mark between them."""
    pairs = aligned(before, after)
    if not pairs:
        return ["(one of the results holds no source page)"]
    lines = [f"{'executed':>12}  {'A':<{_WIDTH}}    {'executed':>12}  B"]
    for pair in pairs:
        left, right = (side or Side(text="", executed="") for side in (pair.before, pair.after))
        text = left.text if len(left.text) <= _WIDTH else left.text[: _WIDTH - 3] + "..."
        lines.append(f"{left.executed:>12}  {text:<{_WIDTH}}  {pair.mark} {right.executed:>12}  "
                     f"{right.text}".rstrip())
    return lines


def _sides(table: SourceTable) -> list[Side]:
    """Every instruction of a kernel."""
    column = next((c.values for c in table.columns if c.metric == "inst_executed"), ())
    return [
        Side(text=text.strip(), executed=_told(value))
        for text, value in zip_longest(table.sass, column[: len(table.sass)], fillvalue=None)
        if text is not None
    ]


def _told(value: Number) -> str:
    return number_text(value, separators=True) if isinstance(value, int | float) else ""
