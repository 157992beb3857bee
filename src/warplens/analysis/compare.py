"""Compares two results: pairs their launches and lists every metric that changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from warplens.analysis.change_reasons import reasons
from warplens.analysis.directions import more_is_better, rank
from warplens.errors import InputError
from warplens.result import Change, Comparison, LaunchComparison, LaunchResult, Result, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """A metric and by how many percent it may grow."""

    metric: str
    percent: float


def compare(before: Result, after: Result, *, metrics: Sequence[str] = ()) -> Comparison:
    """Pairs launches by function name and order, and compares their metrics.

    The metrics that say most come first, then those that changed most.
    """
    return Comparison(
        launches=tuple(_pair(old, new, metrics) for old, new in paired(before, after))
    )


def paired(
    before: Result, after: Result
) -> tuple[tuple[LaunchResult | None, LaunchResult | None], ...]:
    """The launches that belong together, those without a partner too.

    Two results of one launch each are a pair whatever the kernels are called.
    """
    if len(before.launches) == len(after.launches) == 1:
        return ((before.launches[0], after.launches[0]),)
    rest = list(after.launches)
    pairs: list[tuple[LaunchResult | None, LaunchResult | None]] = []
    for old in before.launches:
        new = next((x for x in rest if x.function_name == old.function_name), None)
        if new is not None:
            rest.remove(new)
        pairs.append((old, new))
    return (*pairs, *((None, new) for new in rest))


def _pair(
    old: LaunchResult | None, new: LaunchResult | None, metrics: Sequence[str]
) -> LaunchComparison:
    old_values = {} if old is None else old.metrics
    new_values = {} if new is None else new.metrics
    names = sorted(old_values.keys() | new_values.keys())
    if metrics:
        unknown = [name for name in metrics if name not in names]
        if unknown:
            raise InputError(f"neither result has a metric {unknown[0]!r}")
        names = list(metrics)
    changes = [_change(name, old_values.get(name), new_values.get(name)) for name in names]
    if not metrics:
        changes.sort(key=lambda change: rank(change.metric, change.percent))
    return LaunchComparison(
        before=_heading(old),
        after=_heading(new),
        changes=tuple(changes),
        reasons=() if old is None or new is None else reasons(old, new),
    )


def _change(name: str, old: Value | None, new: Value | None) -> Change:
    percent = _percent(old, new)
    good = more_is_better(name)
    better = None if good is None or not percent else (percent > 0) == good
    return Change(metric=name, before=old, after=new, percent=percent, is_better=better)


def _heading(launch: LaunchResult | None) -> str:
    if launch is None:
        return ""
    grid, block = "x".join(map(str, launch.grid)), "x".join(map(str, launch.block))
    return f"{launch.kernel_name} {grid} x {block} on {launch.gpu}"


def _percent(old: Value | None, new: Value | None) -> float | None:
    if old is None or new is None:
        return None
    if not isinstance(old.number, int | float) or not isinstance(new.number, int | float):
        return None
    if old.number == 0:
        return 0.0 if new.number == 0 else None
    return 100.0 * (new.number - old.number) / abs(old.number)


def threshold(text: str) -> Threshold:
    """Reads `METRIC:5%`.

    >>> threshold("smsp__inst_executed.sum:5%").percent
    5.0
    """
    match = re.fullmatch(r"\s*([\w.]+)\s*:\s*(\d+(?:\.\d+)?)\s*%?\s*", text)
    if match is None:
        raise InputError(f"{text!r} is not of the form METRIC:PERCENT%")
    return Threshold(metric=match[1], percent=float(match[2]))


def failures(comparison: Comparison, limits: Sequence[Threshold]) -> tuple[str, ...]:
    """A sentence for every metric that grew beyond its limit, or that cannot be compared."""
    found = []
    for limit in limits:
        seen = False
        for pair in comparison.launches:
            for change in pair.changes:
                if change.metric != limit.metric or not (pair.before and pair.after):
                    continue
                seen = True
                if _grew(change, limit.percent):
                    found.append(
                        f"{limit.metric} of {pair.after}: {change.before} -> {change.after}, "
                        f"an increase of more than {limit.percent:g} %"
                    )
        if not seen:
            found.append(f"{limit.metric}: no pair of launches has this metric in both results")
    return tuple(found)


def _grew(change: Change, percent: float) -> bool:
    if change.percent is not None:
        return change.percent > percent
    old = None if change.before is None else change.before.number
    new = None if change.after is None else change.after.number
    return isinstance(new, int | float) and old == 0 and new > 0
