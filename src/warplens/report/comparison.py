"""A comparison as text: one table per pair of launches."""

from __future__ import annotations

from collections.abc import Sequence

from warplens.report.numbers import NOT_AVAILABLE, number_text
from warplens.report.terminal import grid
from warplens.result import Change, Comparison, LaunchComparison, Value
from warplens.wording import change as percentage

_DECIMALS = 2


def comparison_page(
    comparison: Comparison, failed: Sequence[str] = (), *, show_all: bool = False
) -> str:
    """Every pair with its changed metrics, then what failed."""
    lines: list[str] = []
    for pair in comparison.launches:
        lines.extend((*_pair(pair, show_all), ""))
    lines.extend(f"FAILED  {text}" for text in failed)
    return "\n".join(lines).rstrip("\n") + "\n"


def _pair(pair: LaunchComparison, show_all: bool) -> list[str]:
    lines = [f"A  {pair.before or '(no such launch)'}", f"B  {pair.after or '(no such launch)'}"]
    if not pair.before or not pair.after:
        return lines
    lines.extend(f"   {sentence}" for sentence in pair.reasons)
    shown = [change for change in pair.changes if show_all or change.is_visible(_DECIMALS)]
    if not shown:
        return [*lines, "   no difference"]
    rows = [
        (
            change.metric,
            _unit(change),
            _number(change.before),
            _number(change.after),
            "" if change.percent is None else percentage(change.percent, _DECIMALS),
            {True: "better", False: "worse", None: ""}[change.is_better],
        )
        for change in shown
    ]
    return [*lines, *grid(("Metric Name", "Metric Unit", "A", "B", "Change", ""), rows)]


def _unit(change: Change) -> str:
    value = change.after or change.before
    return "" if value is None else value.unit


def _number(value: Value | None) -> str:
    if value is None or value.number is None:
        return NOT_AVAILABLE
    if isinstance(value.number, str):
        return value.number
    return number_text(value.number, separators=True)


def several_page(
    comparisons: Sequence[Comparison], labels: Sequence[str], *, show_all: bool = False
) -> str:
    """The first result beside each of the others: a column each, its change behind it."""
    lines: list[str] = []
    for pairs in zip(*(one.launches for one in comparisons), strict=False):
        if not pairs[0].before:
            continue
        for label, heading in zip(labels, (pairs[0].before, *(p.after for p in pairs)),
                                  strict=True):  # fmt: skip
            lines.append(f"{label}: {heading or '(no such launch)'}")
        found = [{change.metric: change for change in pair.changes} for pair in pairs]
        names = [n for n in found[0] if show_all or any(
            n in one and one[n].is_visible(_DECIMALS) for one in found)]  # fmt: skip
        rows = [_several(name, [one.get(name) for one in found]) for name in names]
        headings = ("Metric Name", "Metric Unit", labels[0],
                    *(text for label in labels[1:] for text in (label, "Change")))  # fmt: skip
        lines += [*grid(headings, rows), ""] if rows else ["no difference", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _several(name: str, changes: Sequence[Change | None]) -> tuple[str, ...]:
    known = next(change for change in changes if change is not None)
    cells = [name, _unit(known), _number(known.before)]
    for change in changes:
        percent = None if change is None else change.percent
        cells.append(_number(None if change is None else change.after))
        cells.append("" if percent is None else percentage(percent, _DECIMALS))
    return tuple(cells)
