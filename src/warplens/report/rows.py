"""The prepared rows that text and CSV pages share: filtered, sorted and formatted."""

from __future__ import annotations

from collections.abc import Iterable

from warplens.report.numbers import cell, number_text
from warplens.report.options import PrintOptions
from warplens.result import (
    LaunchResult,
    LineTable,
    MetricRow,
    Result,
    Section,
    SourceColumn,
    SourceTable,
    Value,
)

COMMAND_LINE_SECTION = "Command line profiler metrics"
BASIS_MARKS = {"model": "~", "definition": "="}
LEGEND = {
    "model": "~ estimated by the timing model, not counted",
    "definition": "= counted by ncu's documented definition; hardware counters add arbitration "
                  "noise",
}


def section_rows(section: Section, options: PrintOptions) -> tuple[MetricRow, ...]:
    """A section's rows in ncu's order: by metric name, byte by byte."""
    if options.details == "body":
        return ()
    rows: Iterable[MetricRow] = section.rows
    if options.details == "all":
        rows = (*section.rows, *section.extra)
    return tuple(sorted(rows, key=lambda row: row.name))


def row_name(row: MetricRow, options: PrintOptions) -> str:
    """What the name column shows."""
    if options.metric_name == "name" or not row.label:
        return row.name
    if options.metric_name == "label-name":
        return f"{row.label} ({row.name})"
    return row.label


def value_cells(value: Value, options: PrintOptions) -> tuple[str, str]:
    """Unit and value as text, with instances if asked for: `6 (1; 2; 3)`, `3 (a: 1; b: 2)`."""
    with_instances = options.instances != "none" and bool(value.instances)
    unit, text = cell(
        value,
        units="base" if with_instances else options.units,  # one unit holds for all of them
        separators=options.separators,
        always_float=options.always_float,
    )
    if not with_instances:
        return unit, text
    shown = []
    for key, number in value.instances:
        one = number_text(
            number, separators=options.separators, always_float=options.always_float
        )
        shown.append(f"{key}: {one}" if options.instances == "details" else one)
    return unit, f"{text} ({'; '.join(shown)})"


def body_cell(item: Value | str, options: PrintOptions) -> str:
    """One cell of a body table."""
    if isinstance(item, str):
        return item
    unit, number = value_cells(item, options)
    return f"{number} {unit}" if unit and item.available else number


def source_row(table: SourceTable, index: int, *, separators: bool) -> tuple[str, ...]:
    """Address, SASS and every column's value of one instruction."""
    cells = [f"0x{table.addresses[index]:x}", f"      {table.sass[index]} "]
    cells.extend(_source_cell(column, index, separators) for column in table.columns)
    return tuple(cells)


def line_headings(table: LineTable) -> tuple[str, ...]:
    """The column headings of the source page by source line."""
    return ("#", "File", "Source", *(column.heading for column in table.columns))


def line_row(launch: LaunchResult, index: int, *, separators: bool) -> tuple[str, ...]:
    """Line number, file, text and every column's value of one source line."""
    table = launch.by_line
    assert table is not None
    file, number = table.files[index], table.lines[index]
    texts = {} if launch.source is None else launch.source.sources
    lines = texts.get(file, "").splitlines()
    text = lines[number - 1].rstrip() if number <= len(lines) else ""
    values = (_source_cell(column, index, separators) for column in table.columns)
    return (str(number), file, text, *values)


def _source_cell(column: SourceColumn, index: int, separators: bool) -> str:
    number = column.values[index]
    if number is None:
        return "-"
    if isinstance(number, str):
        return number
    return number_text(number, separators=separators)


def source_headings(table: SourceTable) -> tuple[str, ...]:
    """The column headings of the source page."""
    return ("Address", "Source", *(column.heading for column in table.columns))


def raw_names(result: Result) -> tuple[str, ...]:
    """Every metric of any launch, sorted."""
    return tuple(sorted({name for launch in result.launches for name in launch.metrics}))


def dimensions(size: tuple[int, int, int]) -> str:
    """`(x, y, z)`."""
    return "({}, {}, {})".format(*size)


def capability(launch: LaunchResult) -> str:
    """`8.9`."""
    return "{}.{}".format(*launch.compute_capability)
