"""Puts a launch's metrics into sections, raw values and a source table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from warplens.errors import UnknownMetric
from warplens.metrics.classes import InstructionClass
from warplens.metrics.counters import Array, Counters, Sources, per_instruction, per_line
from warplens.metrics.registry import (
    Row,
    SectionSpec,
    Table,
    all_metrics,
    all_sections,
    evaluate,
    expand,
    find_section,
    resolve,
    sets,
    unit_of,
)
from warplens.metrics.source_counters import SOURCE_COLUMNS
from warplens.result import (
    Body,
    LineTable,
    MetricRow,
    Number,
    Section,
    SourceColumn,
    SourceTable,
    Value,
)
from warplens.toolchain.ptx_lines import kernel_lines

COMMAND_LINE = "Command line profiler metrics"
_SPACES = {
    "generic": "Generic",
    "global": "Global",
    "local": "Local",
    "shared": "Shared",
    "constant": "Constant",
    "surface": "Surface",
    "texture": "Texture",
    "dshared": "Distributed Shared",
    "tma": "Global",
    "tmem": "Tensor",
}
_OPERATIONS = {
    "ld": "Load",
    "ldsm": "Load",
    "st": "Store",
    "stsm": "Store",
    "stas": "Store",
    "atom": "Atomic",
    "red": "Reduction",
    "redas": "Reduction",
    "ldgsts": "Load",
}


def choose_sections(
    *, section_set: str | None = None, sections: Sequence[str] = ()
) -> tuple[SectionSpec, ...]:
    """The sections of a set and those named (identifier, title or `regex:`), in report order."""
    wanted: set[str] = set()
    if section_set is not None:
        if section_set not in sets():
            raise UnknownMetric(
                f"no section set named {section_set!r}", hint=f"There are {', '.join(sets())}."
            )
        wanted |= {spec.identifier for spec in all_sections() if section_set in spec.sets}
    for name in sections:
        if name.startswith("regex:"):
            wanted |= _matching(name.removeprefix("regex:"))
        else:
            wanted.add(find_section(name).identifier)
    return tuple(spec for spec in all_sections() if spec.identifier in wanted)


def _matching(expression: str) -> set[str]:
    try:
        pattern = re.compile(expression)
    except re.error as error:
        raise UnknownMetric(f"{expression!r} is not a regular expression: {error}") from error
    return {spec.identifier for spec in all_sections() if pattern.search(spec.identifier)}


def build_section(spec: SectionSpec, counters: Counters) -> Section:
    """One section with its values."""
    major, minor = (int(part) for part in counters.gpu.compute_capability.split("."))

    def filled(rows: Iterable[Row]) -> tuple[MetricRow, ...]:
        return tuple(
            MetricRow(name=row.name, label=row.label, value=evaluate(row.name, counters))
            for row in rows
            if row.since <= (major, minor) <= row.until
        )

    instanced = tuple(_instances_body(name, counters) for name in spec.instanced)
    return Section(
        identifier=spec.identifier,
        title=spec.title,
        order=spec.order,
        rows=filled(spec.rows),
        extra=filled(spec.extra),
        bodies=(
            *(_body(table, counters) for table in spec.tables),
            *instanced,
            *(body for chart in spec.charts for body in chart(counters)),
        ),
    )


def _body(table: Table, counters: Counters) -> Body:
    def cell(name: str) -> Value | str:
        return evaluate(name, counters) if name else ""

    rows = tuple((row[0], *(cell(name) for name in row[1:])) for row in table.rows)
    return Body(title=table.title, columns=table.columns, rows=rows)


def _instances_body(name: str, counters: Counters) -> Body:
    value = evaluate(name, counters)
    rows = tuple(
        (key, Value(number, value.unit, value.basis)) for key, number in value.instances
    )
    return Body(title=name, columns=("Instance", "Value"), rows=rows)


def command_line_section(names: Iterable[str], counters: Counters) -> Section:
    """The section of the metrics asked for by `--metrics`."""
    full = dict.fromkeys(name for item in names for name in expand(item))
    rows = tuple(
        MetricRow(name=name, label=name, value=evaluate(name, counters)) for name in full
    )
    return Section(identifier="CommandLine", title=COMMAND_LINE, order=0, rows=rows)


def metrics_of(sections: Iterable[Section], counters: Counters) -> dict[str, Value]:
    """The raw page of a set of sections: every metric they show, and the GPU's attributes."""
    found: dict[str, Value] = {}
    for section in sections:
        found.update({row.name: row.value for row in (*section.rows, *section.extra)})
    for spec in all_sections():
        if any(section.identifier == spec.identifier for section in sections):
            names = [name for table in spec.tables for row in table.rows for name in row[1:]]
            names += spec.instanced
            found.update({name: evaluate(name, counters) for name in names if name})
    for declared in all_metrics():
        if declared.name.startswith("device__attribute_"):
            found[declared.name] = evaluate(declared.name, counters)
    return dict(sorted(found.items()))


def all_values(counters: Counters) -> dict[str, Value]:
    """Every declared metric with its first-level roll-ups."""
    return {
        name: evaluate(name, counters)
        for declared in all_metrics()
        for name in expand(declared.name)
    }


def breakdown(name: str, sources: Sources) -> tuple[Number, ...]:
    """A metric's value for every instruction of the kernel."""
    declared, suffix = resolve(name)
    if not declared.per_instruction or declared.formula is None or "." in suffix:
        raise UnknownMetric(
            f"{name} has no value per instruction", hint="Counts and ratios of counts have values "
                "per instruction."
        )
    values = declared.formula(per_instruction(sources))
    if suffix == "pct" and declared.max_rate is not None:
        values = values * (100.0 / declared.max_rate)
    size = len(sources.execution.kernel.instructions)
    items: list[Any] = np.broadcast_to(np.asarray(values), (size,)).tolist()
    return tuple(items)


def by_line(name: str, sources: Sources) -> dict[tuple[str, int], Number]:
    """A metric's value for every source line that has instructions."""
    lines, groups = _line_groups(sources)
    return dict(zip(lines, _line_values(name, sources, groups, len(lines)), strict=True))


def _line_groups(sources: Sources) -> tuple[tuple[tuple[str, int], ...], Array]:
    """All (file, line) pairs in order, and the position of each instruction's pair among them."""
    places = [(one.file or "", one.line or 0) for one in sources.execution.kernel.instructions]
    lines = tuple(sorted(set(places)))
    position = {place: index for index, place in enumerate(lines)}
    return lines, np.array([position[place] for place in places], np.int64)


def _line_values(
    name: str, sources: Sources, groups: Array, n_lines: int
) -> tuple[Number, ...]:
    declared, suffix = resolve(name)
    if not declared.per_instruction or declared.formula is None or "." in suffix:
        raise UnknownMetric(f"{name} has no value per source line")
    values = np.asarray(declared.formula(per_line(sources, groups)))
    if suffix == "pct" and declared.max_rate is not None:
        values = values * (100.0 / declared.max_rate)
    items: list[Any] = np.broadcast_to(values, (n_lines,)).tolist()
    return tuple(items)


def line_table(sources: Sources, texts: dict[str, str] | None = None) -> LineTable:
    """The source page per source line; instructions without a line are left out."""
    lines, groups = _line_groups(sources)
    kept = [index for index, (_, number) in enumerate(lines) if number]
    columns = []
    for column in SOURCE_COLUMNS:
        if column.metric in _DESCRIBED:
            continue
        declared, suffix = resolve(column.metric)
        values = _line_values(column.metric, sources, groups, len(lines))
        columns.append(
            SourceColumn(
                heading=column.heading,
                metric=column.metric,
                unit=unit_of(declared, suffix),
                basis=declared.basis,
                values=tuple(values[index] for index in kept),
            )
        )
    return LineTable(
        files=tuple(_shown_file(lines[index][0], texts or {}) or "" for index in kept),
        lines=tuple(lines[index][1] for index in kept),
        columns=tuple(columns),
    )


def source_table(
    sources: Sources, texts: dict[str, str] | None = None, ptx: str = ""
) -> SourceTable:
    """The source page: one row per instruction. `texts` holds sources that are not on disk."""
    instructions = sources.execution.kernel.instructions
    lines = kernel_lines(ptx, sources.execution.kernel.name)
    files = tuple(_shown_file(one.file, texts or {}) for one in instructions)
    callers = tuple(
        tuple((_shown_file(file, texts or {}) or "", line) for file, line in one.callers)
        for one in instructions
    )
    calling = {file for calls in callers for file, _ in calls}
    return SourceTable(
        addresses=tuple(one.address for one in instructions),
        sass=tuple(one.text for one in instructions),
        files=files,
        lines=tuple(one.line for one in instructions),
        columns=tuple(_column(c.heading, c.metric, sources) for c in SOURCE_COLUMNS),
        sources=_source_texts({*filter(None, files), *calling}, texts or {}),
        ptx=tuple(one.text for one in lines),
        ptx_files=tuple(_shown_file(one.file, texts or {}) for one in lines),
        ptx_lines=tuple(one.line for one in lines),
        callers=callers if any(callers) else (),
    )


def _shown_file(file: str | None, texts: dict[str, str]) -> str | None:
    """A source given as text has no folder; the compiler wrote the working directory before it."""
    name = None if file is None else Path(file).name
    return name if name in texts else file


def _source_texts(files: set[str], texts: dict[str, str]) -> dict[str, str]:
    found = {name: text for name, text in texts.items() if name in files}
    for name in sorted(files - found.keys()):
        try:
            found[name] = Path(name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
    return found


def _column(heading: str, name: str, sources: Sources) -> SourceColumn:
    if name in _DESCRIBED:
        describe = _DESCRIBED[name]
        texts = tuple(describe(one) for one in sources.classes.instructions)
        return SourceColumn(heading=heading, metric=name, unit="", basis="exact", values=texts)
    declared, suffix = resolve(name)
    return SourceColumn(
        heading=heading,
        metric=name,
        unit=unit_of(declared, suffix),
        basis=declared.basis,
        values=breakdown(name, sources),
    )


def _size(one: InstructionClass) -> str | None:
    return str(one.width) if one.space and one.width else None


_DESCRIBED: dict[str, Callable[[InstructionClass], str | None]] = {
    "memory_type": lambda one: _SPACES.get(one.space),
    "memory_access_type": lambda one: _OPERATIONS.get(one.op),
    "memory_access_size_type": _size,
}
