"""A comparison as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from warplens.report.html import page_of, style
from warplens.report.numbers import NOT_AVAILABLE, cell
from warplens.report.rows import BASIS_MARKS, LEGEND
from warplens.result import Change, Comparison, LaunchComparison, Value
from warplens.wording import change as percentage


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """One metric on both sides; `width` is a bar's length in percent, `side` its direction, and
    `verdict` better, worse or nothing."""

    name: str
    before: str
    after: str
    change: str
    width: float
    side: str
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PairView:
    """A pair of launches as shown."""

    before: str
    after: str
    reasons: tuple[str, ...]
    rows: tuple[ChangeRow, ...]


def comparison_html(
    comparison: Comparison, failed: Sequence[str] = (), *, show_all: bool = False
) -> str:
    """Every pair with what changed and why, then what failed."""
    pairs = tuple(_pair(pair, show_all) for pair in comparison.launches)
    return page_of(
        "compare.html.j2",
        pairs=pairs,
        failed=tuple(failed),
        legend=tuple(LEGEND.values()),
        style=Markup(style()),
    )


def _pair(pair: LaunchComparison, show_all: bool) -> PairView:
    changes = [one for one in pair.changes if show_all or one.is_visible(1)]
    return PairView(
        before=pair.before or "(no such launch)",
        after=pair.after or "(no such launch)",
        reasons=pair.reasons,
        rows=tuple(_row(one) for one in changes) if pair.before and pair.after else (),
    )


def _row(change: Change) -> ChangeRow:
    percent = change.percent
    return ChangeRow(
        name=change.metric,
        before=_text(change.before),
        after=_text(change.after),
        change="" if percent is None else percentage(percent),
        width=min(100.0, abs(percent or 0.0)),
        side="more" if (percent or 0.0) > 0 else "less",
        verdict={True: "better", False: "worse", None: ""}[change.is_better],
    )


def _text(value: Value | None) -> str:
    if value is None or value.number is None:
        return NOT_AVAILABLE
    unit, number = cell(value)
    return f"{number} {unit} {BASIS_MARKS.get(value.basis, '')}".replace("  ", " ").strip()
