"""The metric and section declarations, and how a name with its roll-up is evaluated.

A counter is declared once, by its base name; `.sum`, `.avg`, `.per_second` and the like follow
from ncu's rules. A ratio offers `.ratio`, `.pct` and `.max_rate`. A formula of None means that the
timing model gives the value; without one such a metric is not available.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from warplens import metrics as package
from warplens.errors import InputError, UnknownMetric
from warplens.gpus.spec import GpuSpec
from warplens.metrics.counters import Counters, Quantity
from warplens.metrics.near_names import near_names
from warplens.result import Body, Number, Value

Formula = Callable[[Counters], Quantity]
Instances = Callable[[Counters], Iterable[tuple[str, int | float]]]

ROLLUPS = ("sum", "avg", "min", "max")
RATIOS = ("ratio", "pct", "max_rate")
SUBMETRICS = (
    "per_second",
    "per_cycle_active",
    "per_cycle_elapsed",
    "peak_sustained",
    "peak_sustained_active",
    "peak_sustained_active.per_second",
    "peak_sustained_elapsed",
    "peak_sustained_elapsed.per_second",
    "pct_of_peak_sustained_active",
    "pct_of_peak_sustained_elapsed",
)
_THROUGHPUT = ("pct_of_peak_sustained_active", "pct_of_peak_sustained_elapsed")
BASES = ("exact", "definition", "model", "spec")
KINDS = ("plain", "counter", "ratio", "throughput")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One declaration.

    Attributes:
        name: the base name for counters and ratios, else the full name.
        kind: plain, counter, ratio or throughput.
        unit: ncu's unit of the counter's sum, or of the ratio.
        cycle_unit: the unit after `.per_cycle_*`; empty means "unit/cycle".
        max_rate: what a ratio's 100 % is.
        instances: gives the (correlation id, value) pairs of an instanced metric.
        per_instruction: whether the formula has a meaning for one instruction.
        exists: tells whether a GPU has this counter; None means that all have it.
        doc: one sentence of meaning, then advice if any.
    """

    name: str
    kind: str
    unit: str
    basis: str
    formula: Formula | None
    doc: str
    cycle_unit: str | None = None
    max_rate: float | None = None
    instances: Instances | None = None
    per_instruction: bool = False
    exists: Callable[[GpuSpec], bool] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a section. `since` and `until` bound the compute capability (inclusive)."""

    label: str
    name: str
    since: tuple[int, int] = (0, 0)
    until: tuple[int, int] = (99, 9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table of a section: each row is a label and one metric name (or "") per column."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionSpec:
    """One section: what is shown and in which sets."""

    identifier: str
    title: str
    order: int
    sets: frozenset[str]
    rows: tuple[Row, ...]
    extra: tuple[Row, ...] = ()
    tables: tuple[Table, ...] = ()
    instanced: tuple[str, ...] = ()  # metrics whose instances are printed as a table
    charts: tuple[Callable[[Counters], tuple[Body, ...]], ...] = ()  # tables that are computed


_METRICS: dict[str, Metric] = {}
_SECTIONS: dict[str, SectionSpec] = {}


def metric(
    name: str,
    *,
    unit: str,
    formula: Formula | None,
    basis: str = "exact",
    doc: str,
    kind: str = "plain",
    cycle_unit: str | None = None,
    max_rate: float | None = None,
    instances: Instances | None = None,
    per_instruction: bool = False,
    exists: Callable[[GpuSpec], bool] | None = None,
) -> None:
    """Declares one metric."""
    if name in _METRICS:
        raise ValueError(f"{name} is declared twice")
    if basis not in BASES or kind not in KINDS:
        raise ValueError(f"{name}: unknown basis {basis!r} or kind {kind!r}")
    _METRICS[name] = Metric(
        name=name,
        kind=kind,
        unit=unit,
        basis=basis,
        formula=formula,
        doc=doc,
        cycle_unit=cycle_unit,
        max_rate=max_rate,
        instances=instances,
        per_instruction=per_instruction,
        exists=exists,
    )


def section(spec: SectionSpec) -> None:
    """Declares one section."""
    if spec.identifier in _SECTIONS:
        raise ValueError(f"section {spec.identifier} is declared twice")
    _SECTIONS[spec.identifier] = spec


def rows(*pairs: tuple[str, str]) -> tuple[Row, ...]:
    """Rows without bounds, from (label, name) pairs."""
    return tuple(Row(label=label, name=name) for label, name in pairs)


@cache
def load_catalog() -> None:
    """Imports every module of this package, so that all declarations are there."""
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")


def all_metrics() -> tuple[Metric, ...]:
    """Every declaration, by name."""
    load_catalog()
    return tuple(_METRICS[name] for name in sorted(_METRICS))


def all_sections() -> tuple[SectionSpec, ...]:
    """Every section, in the order of a full report."""
    load_catalog()
    return tuple(sorted(_SECTIONS.values(), key=lambda spec: (spec.order, spec.identifier)))


def sets() -> tuple[str, ...]:
    """The names of the section sets."""
    return tuple(sorted({name for spec in all_sections() for name in spec.sets}))


def find_section(name: str) -> SectionSpec:
    """The section of that identifier or title."""
    for spec in all_sections():
        if name in (spec.identifier, spec.title):
            return spec
    raise UnknownMetric(
        f"no section named {name!r}", hint=_close(name, tuple(s.identifier for s in all_sections()))
    )


@cache
def _names() -> tuple[str, ...]:
    load_catalog()
    return tuple(sorted(_METRICS))


def _close(name: str, names: tuple[str, ...]) -> str:
    near = near_names(name, names)
    seen = "`warplens list sections` and `warplens list metrics` show all."
    return f"Did you mean {', '.join(near)}? {seen}" if near else seen


def suffixes(declared: Metric) -> tuple[str, ...]:
    """The suffixes a declaration offers; ("",) for a plain metric."""
    if declared.kind == "plain":
        return ("",)
    if declared.kind == "ratio":
        return RATIOS if declared.max_rate is not None else ("ratio",)
    if declared.kind == "throughput":
        return tuple(f"{rollup}.{sub}" for rollup in ROLLUPS for sub in _THROUGHPUT)
    subs = ("", *(f".{sub}" for sub in SUBMETRICS))
    return tuple(f"{rollup}{sub}" for rollup in ROLLUPS for sub in subs)


def resolve(name: str) -> tuple[Metric, str]:
    """A full name's declaration and suffix.

    Raises:
        UnknownMetric: no such metric, or a suffix that its kind does not have.
    """
    load_catalog()
    name = _without_trigger_group(name)
    if name in _METRICS and _METRICS[name].kind == "plain":
        return _METRICS[name], ""
    base, _, suffix = name.partition(".")
    declared = _METRICS.get(base)
    if declared is None:
        raise UnknownMetric(f"no metric named {name!r}", hint=_close(base, _names()))
    if suffix not in suffixes(declared):
        offered = ", ".join(f".{item}" for item in suffixes(declared)[:4])
        raise UnknownMetric(
            f"{base} is a {declared.kind}; {name!r} has no such value",
            hint=f"It has {offered} and others: see `warplens list metrics {base}`.",
        )
    return declared, suffix


def expand(name: str) -> tuple[str, ...]:
    """The full names that one item of `--metrics` means, as ncu expands it."""
    load_catalog()
    if name.startswith("regex:"):
        try:
            pattern = re.compile(name.removeprefix("regex:"))
        except re.error as error:
            raise InputError(f"{name}: not a regular expression ({error})") from error
        found = (base for base in sorted(_METRICS) if pattern.search(base))
        return tuple(full for base in found for full in _first_level(_METRICS[base]))
    if name in _METRICS:
        return _first_level(_METRICS[name])
    sampled = tuple(full for full in sorted(_METRICS) if name.startswith("pmsampling:")
                    and full.startswith(_without_trigger_group(name) + "."))  # fmt: skip
    if sampled:
        return sampled
    resolve(name)
    return (name,)


def _without_trigger_group(name: str) -> str:
    """Newer chips put the group of counters before a sampled metric: `TPC.TriageCompute.`."""
    if not name.startswith("pmsampling:"):
        return name
    return re.sub(r"^(pmsampling:)\w+\.Triage\w+\.", r"\1", name)


def _first_level(declared: Metric) -> tuple[str, ...]:
    if declared.kind == "plain":
        return (declared.name,)
    if declared.kind == "throughput":
        return tuple(f"{declared.name}.{item}" for item in suffixes(declared)[:2])
    if declared.kind == "ratio":
        return tuple(f"{declared.name}.{item}" for item in suffixes(declared))
    return tuple(f"{declared.name}.{rollup}" for rollup in sorted(ROLLUPS))


def evaluate(name: str, counters: Counters) -> Value:
    """The value of a metric by its full name; counts of sampled blocks only are a model's."""
    value = _evaluate(name, counters)
    counted = value.basis in ("exact", "definition") and not name.startswith(("launch__", "device"))
    if counters.is_sampled and counted:
        return Value(value.number, value.unit, "model", value.instances)
    return value


def _evaluate(name: str, counters: Counters) -> Value:
    declared, suffix = resolve(name)
    if declared.exists is not None and not declared.exists(counters.gpu):
        return Value(None, unit_of(declared, suffix), declared.basis)
    if declared.kind == "counter":
        return _counter(declared, suffix, counters)
    if declared.formula is None:
        asked = declared.name if declared.kind == "plain" else name
        samples: tuple[tuple[str, int | float], ...] = ()
        if declared.instances is not None and counters.timing is not None:
            samples = tuple(declared.instances(counters))
        unit = unit_of(declared, suffix)
        return Value(_timed(asked, counters), unit, declared.basis, samples)
    number = declared.formula(counters)
    if declared.kind == "ratio":
        number = _ratio(declared, suffix, number)
    pairs = tuple(declared.instances(counters)) if declared.instances is not None else ()
    return Value(_plain(number), unit_of(declared, suffix), declared.basis, pairs)


def _ratio(declared: Metric, suffix: str, number: Any) -> Any:
    if suffix == "max_rate":
        return declared.max_rate
    if suffix == "pct" and declared.max_rate is not None and number is not None:
        return 100.0 * number / declared.max_rate
    return number


def _timed(name: str, counters: Counters) -> Number:
    return None if counters.timing is None else _plain(counters.timing.value(name))


def _plain(number: Any) -> Number:
    if isinstance(number, np.generic):
        number = number.item()
    if isinstance(number, float) and not math.isfinite(number):
        return None
    if number is None or isinstance(number, str | int | float):
        return number
    raise TypeError(f"{number!r} is not a metric's value")


def unit_of(declared: Metric, suffix: str) -> str:
    """The unit of a metric with its suffix."""
    _, _, sub = suffix.partition(".")
    if declared.kind == "ratio":
        return "%" if suffix == "pct" else declared.unit
    if declared.kind == "throughput" or sub.startswith("pct_of"):
        return "%"
    if declared.kind == "plain" or not sub:
        return declared.unit
    if sub.endswith("per_second"):
        return "hz" if declared.unit == "cycle" else f"{declared.unit}/s"
    if declared.cycle_unit is not None:
        return declared.cycle_unit
    return f"{declared.unit}/cycle"


def _counter(declared: Metric, suffix: str, counters: Counters) -> Value:
    name = f"{declared.name}.{suffix}"
    rollup, _, sub = suffix.partition(".")
    unit = unit_of(declared, suffix)
    if declared.formula is None:
        return Value(_timed(name, counters), unit, declared.basis)
    if sub:
        return Value(_submetric(declared, rollup, sub, counters), unit, "model")
    total = declared.formula(counters)
    if rollup == "sum":
        return Value(_plain(total), unit, declared.basis)
    if rollup in ("min", "max"):  # depends on which unit ran which block
        return Value(_timed(name, counters), unit, "model")
    count = counters.gpu.units(declared.name.partition("__")[0])
    number = None if count is None else total / count
    if number is not None and float(number).is_integer():
        number = int(number)
    return Value(_plain(number), unit, declared.basis)


def _submetric(declared: Metric, rollup: str, sub: str, counters: Counters) -> Number:
    """A counted value over time: the count is exact, the time and the peak are the model's."""
    timing = counters.timing
    if timing is None:
        return None
    if sub.startswith("peak_sustained"):
        return _plain(timing.value(f"{declared.name}.{rollup}.{sub}"))
    value = evaluate(f"{declared.name}.{rollup}", counters).number
    unit = declared.name.partition("__")[0]
    span = {
        "per_second": "gpu__time_duration.sum",
        "per_cycle_active": f"{unit}__cycles_active.avg",
        "pct_of_peak_sustained_active": f"{unit}__cycles_active.avg",
    }.get(sub, f"{unit}__cycles_elapsed.avg")
    over = timing.value(span)
    if not isinstance(value, int | float) or not over:
        return None
    if sub == "per_second":
        return _plain(value / (over * 1e-9))
    if sub.startswith("per_cycle"):
        return _plain(value / over)
    peak = timing.value(f"{declared.name}.{rollup}.peak_sustained")
    return None if not peak else _plain(100.0 * value / over / peak)
