"""Assertions on metrics, with messages that say where the value comes from."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from warplens.errors import InputError, UnknownMetric
from warplens.wording import number as number_text

if TYPE_CHECKING:
    from warplens.result import LaunchResult, Value
    from warplens.session.launch import Launch

_COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}
_PLACES = 3


def assert_metric(run: Launch | LaunchResult, metric: str, comparison: str, bound: float) -> None:
    """Fails unless a launch's metric satisfies the comparison.

    Args:
        run: a launch, or one of a loaded result.
        metric: its full name, such as "smsp__inst_executed.sum".
        comparison: one of < <= == != >= >.
        bound: in the metric's base unit (ns, byte, %).

    Raises:
        AssertionError: it does not, or the metric has no value; the message gives the kernel, the
            value, its basis, and the source lines that contribute most.
    """
    __tracebackhide__ = True
    if comparison not in _COMPARISONS:
        raise InputError(f"comparison {comparison!r} is not one of {' '.join(_COMPARISONS)}")
    value = _value(run, metric)
    number = value.number
    if not isinstance(number, int | float):
        raise AssertionError(f"{metric} of {_name(run)} is not a number: {value}")
    is_met = _COMPARISONS[comparison](number, bound)
    if comparison in ("==", "!=") and isinstance(number, float):
        is_met = math.isclose(number, bound, rel_tol=1e-9) == (comparison == "==")
    if not is_met:
        raise AssertionError("\n".join(_message(run, metric, value, f"{comparison} "
            f"{number_text(bound, 6)}")))


def _value(run: Any, metric: str) -> Value:
    metrics = run.metrics
    if callable(metrics):  # a launch computes what is asked for
        value: Value = run[metric]
        return value
    if metric not in metrics:
        raise UnknownMetric(f"the result of {_name(run)} has no metric {metric!r}")
    found: Value = metrics[metric]
    return found


def _name(run: Any) -> str:
    grid, block = ("x".join(map(str, size)) for size in (run.grid, run.block))
    gpu = run.gpu if isinstance(run.gpu, str) else run.gpu.name
    return f"{run.function_name} {grid} x {block} on {gpu}"


def _message(run: Any, metric: str, value: Value, wanted: str) -> list[str]:
    lines = [
        f"{metric} of {_name(run)}",
        f"  is      {value} ({value.basis})",
        f"  must be {wanted}",
    ]
    for (file, line), number in _worst_lines(run, metric):
        lines.append(f"  most at {file.rsplit('/', 1)[-1]}:{line}: {number_text(number)}")
    return lines


def _worst_lines(run: Any, metric: str) -> list[tuple[tuple[str, int], float]]:
    """The source lines with most of a metric that is counted per instruction."""
    if not hasattr(run, "per_line") or not metric.endswith((".sum", "")) or ".ratio" in metric:
        return []
    try:
        found = run.per_line(metric)
    except UnknownMetric:
        return []
    numbers = [(place, n) for place, n in found.items() if isinstance(n, int | float) and n > 0]
    return sorted(numbers, key=lambda item: -item[1])[:_PLACES]
