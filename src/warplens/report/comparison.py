"""A comparison as text: one table per pair of launches."""

from __future__ import annotations

from collections.abc import Sequence

from warplens.report.numbers import NOT_AVAILABLE, number_text
from warplens.report.terminal import grid
from warplens.result import Change, Comparison, LaunchComparison, Value
from warplens.wording import change as percentage


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
    shown = [change for change in pair.changes if show_all or change.is_changed]
    if not shown:
        return [*lines, "   no difference"]
    rows = [
        (
            change.metric,
            _unit(change),
            _number(change.before),
            _number(change.after),
            "" if change.percent is None else percentage(change.percent, 2),
        )
        for change in shown
    ]
    return [*lines, *grid(("Metric Name", "Metric Unit", "A", "B", "Change"), rows)]


def _unit(change: Change) -> str:
    value = change.after or change.before
    return "" if value is None else value.unit


def _number(value: Value | None) -> str:
    if value is None or value.number is None:
        return NOT_AVAILABLE
    if isinstance(value.number, str):
        return value.number
    return number_text(value.number, separators=True)
