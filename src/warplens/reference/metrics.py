"""Pages of metrics and of sections."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

from warplens.metrics.registry import (
    RATIOS,
    ROLLUPS,
    SUBMETRICS,
    Metric,
    Row,
    SectionSpec,
    all_metrics,
    all_sections,
    resolve,
    suffixes,
    unit_of,
)
from warplens.reference.page import BASES, Page, table

_ROLLUP = {
    "sum": "sum over all unit instances",
    "avg": "average over unit instances",
    "min": "minimum over unit instances",
    "max": "maximum over unit instances",
}
_RATIO = {
    "ratio": "the ratio",
    "pct": "percent of the maximum ratio",
    "max_rate": "the maximum ratio",
}


def metric_pages() -> Iterator[Page]:
    """One page for each declaration."""
    for one in all_metrics():
        yield Page(kind="metric", name=one.name, body=partial(_metric, one))


def full_metric_page(name: str) -> Page:
    """The page of a full name, such as `smsp__inst_executed.sum.per_second`.

    Raises:
        UnknownMetric: no such metric, or a suffix that its kind does not have.
    """
    declared, suffix = resolve(name)

    def body() -> str:
        unit = unit_of(declared, suffix) or "none"
        return f"The value `.{suffix}` has the unit {unit}.\n\n{_metric(declared)}"

    return Page(kind="metric", name=name, body=body)


def _metric(one: Metric) -> str:
    kind = "" if one.kind == "plain" else f" ({one.kind})"
    parts = [
        f"A metric{kind}; unit: {one.unit or 'none'}.",
        one.doc,
        f"Basis `{one.basis}`: {BASES[one.basis]}.",
        *_values(one),
    ]
    inside = _sections_of().get(one.name, {})
    if inside:
        parts.append("Shown in " + ", ".join(f"`{name}`" for name in inside) + ".")
    return "\n\n".join(parts)


def _values(one: Metric) -> Iterator[str]:
    """What may follow its name."""
    if one.kind == "plain":
        return
    if one.kind == "ratio":
        rows = [(f"`.{name}`", _RATIO[name]) for name in RATIOS if name in suffixes(one)]
        yield table(("value", "meaning"), rows)
        return
    yield table(("value", "meaning"), [(f"`.{name}`", _ROLLUP[name]) for name in ROLLUPS])
    offered = suffixes(one)
    further = [sub for sub in SUBMETRICS if f"{ROLLUPS[0]}.{sub}" in offered]
    only = "Followed by one of" if f"{ROLLUPS[0]}" not in offered else "May be followed by"
    yield f"{only}: " + ", ".join(f"`.{sub}`" for sub in further) + "."


@cache
def _sections_of() -> dict[str, dict[str, None]]:
    """The sections that show a metric, by its base name."""
    found: dict[str, dict[str, None]] = {}
    for spec in all_sections():
        for full in _names(spec):
            found.setdefault(resolve(full)[0].name, {})[spec.identifier] = None
    return found


def _names(spec: SectionSpec) -> Iterator[str]:
    yield from (row.name for row in (*spec.rows, *spec.extra))
    yield from (name for part in spec.tables for row in part.rows for name in row[1:] if name)
    yield from spec.instanced


def section_pages() -> Iterator[Page]:
    """One page for each section."""
    for spec in all_sections():
        yield Page(kind="section", name=spec.identifier, aliases=(spec.title,),
                   body=partial(_section, spec))  # fmt: skip


def _section(spec: SectionSpec) -> str:
    parts = [f"The section *{spec.title}*, in the sets {', '.join(sorted(spec.sets))}."]
    rows = [*spec.rows, *spec.extra]
    if rows:
        parts.append(table(("row", "metric", "meaning"), map(_row, rows)))
    parts += [_table(part.title, part.columns, part.rows) for part in spec.tables]
    for name in spec.instanced:
        parts.append(f"All values of `{name}`: {resolve(name)[0].doc}")
    return "\n\n".join(parts)


def _row(row: Row) -> tuple[str, str, str]:
    return row.label, f"`{row.name}`", resolve(row.name)[0].doc


def _table(title: str, columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> str:
    cells = [(row[0], *(f"`{name}`" if name else "" for name in row[1:])) for row in rows]
    width = max(map(len, cells), default=0)
    headings = (columns if len(columns) == width else ("", *columns))[:width]
    return f"**{title}**\n\n{table(headings, cells)}"
