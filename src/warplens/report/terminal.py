"""The text pages: details, raw and source, in ncu's layout."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath

from warplens.report import hot_lines
from warplens.report.options import PrintOptions
from warplens.report.rows import (
    BASIS_MARKS,
    LEGEND,
    body_cell,
    capability,
    dimensions,
    line_headings,
    line_row,
    row_name,
    section_rows,
    source_headings,
    source_row,
    value_cells,
)
from warplens.result import LaunchResult, Result, Rule, Section

_WIDTH = 120
_HEADINGS = ("Metric Name", "Metric Unit", "Metric Value")


def details_page(result: Result, options: PrintOptions | None = None) -> str:
    """The details page of every launch."""
    chosen = options or PrintOptions()
    return _page(result, lambda launch: _details(launch, chosen))


def raw_page(result: Result, options: PrintOptions | None = None) -> str:
    """Every metric of every launch as name, unit and value."""
    chosen = options or PrintOptions()

    def lines(launch: LaunchResult) -> list[str]:
        rows = [
            (name, *value_cells(value, chosen), BASIS_MARKS.get(value.basis, ""))
            for name, value in sorted(launch.metrics.items())
        ]
        return [*metric_table(rows), "", *_closing(launch)]

    return _page(result, lines)


def source_page(result: Result, options: PrintOptions | None = None) -> str:
    """The SASS of every launch with its per-instruction values."""
    chosen = options or PrintOptions()
    return _page(result, lambda launch: _source(launch, chosen))


def line_page(result: Result, options: PrintOptions | None = None) -> str:
    """The source lines of every launch with their values."""
    chosen = options or PrintOptions()
    return _page(result, lambda launch: _by_line(launch, chosen))


def _page(result: Result, lines_of: Callable[[LaunchResult], list[str]]) -> str:
    lines: list[str] = []
    process: tuple[int, str, str] | None = None
    for launch in result.launches:
        now = (launch.process_id, launch.process_name, launch.host)
        if now != process:
            lines.append("[{}] {}@{}".format(*now))
            process = now
        lines.append(f"  {launch_heading(launch)}")
        lines.extend(f"    {line}" if line else "" for line in lines_of(launch))
    return "\n".join(lines) + "\n" if lines else ""


def launch_heading(launch: LaunchResult) -> str:
    """The line that names a launch."""
    return (
        f"{launch.kernel_name} {dimensions(launch.grid)}x{dimensions(launch.block)}, "
        f"Context {launch.context}, Stream {launch.stream}, Device {launch.device}, "
        f"CC {capability(launch)}"
    )


def _details(launch: LaunchResult, options: PrintOptions) -> list[str]:
    lines: list[str] = []
    for section in launch.sections:
        lines.extend(_section(section, options))
    return [*lines, *_hottest(launch, options.lines), *_closing(launch)]


def _hottest(launch: LaunchResult, most: int) -> list[str]:
    """The source lines that take most of the time, where the result knows them."""
    rows = [hot_lines.cells(one) for one in hot_lines.hot_lines(launch, most)]
    if not rows:
        return []
    shares = [row[:3] for row in rows]
    numbers = _left_table(hot_lines.HEADINGS[:3], shares, n_left=0)
    texts = _left_table(hot_lines.HEADINGS[3:], [row[3:] for row in rows], n_left=3)
    table = [f"{left} {right}".rstrip() for left, right in zip(numbers, texts, strict=True)]
    return ["Hottest Source Lines", *table, ""]


def _section(section: Section, options: PrintOptions) -> list[str]:
    rows = [
        (
            row_name(row, options),
            *value_cells(row.value, options),
            BASIS_MARKS.get(row.value.basis, "") if row.value.available else "",
        )
        for row in section_rows(section, options)
    ]
    bodies = section.bodies if options.details != "header" else ()
    if not rows and not bodies and not section.rules:
        return []
    lines = [f"Section: {section.title}"]
    if rows:
        lines += [*metric_table(rows), ""]
    for body in bodies:
        cells = [tuple(body_cell(item, options) for item in row) for row in body.rows]
        lines += [f"Table Name : {body.title}", *grid(body.columns, cells), ""]
    if section.rules:
        lines += [*_rules(section.rules), ""]
    return lines


def metric_table(rows: Sequence[tuple[str, str, str, str]]) -> list[str]:
    """Name, unit and value columns; the basis mark stands after the table's right edge."""
    plain = [row[:3] for row in rows]
    lines = grid(_HEADINGS, plain)
    for index, row in enumerate(rows):
        if row[3]:
            lines[index + 3] += f" {row[3]}"
    return lines


def grid(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table between dashes: the first column left-aligned, the others right-aligned."""
    cells = [tuple(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
    dashes = " ".join("-" * width for width in widths)

    def line(row: Sequence[str]) -> str:
        first = row[0].ljust(widths[0])
        rest = (text.rjust(w) for text, w in zip(row[1:], widths[1:], strict=True))
        return " ".join((first, *rest))

    heading = " ".join(
        text.ljust(w) if i == 0 else text.rjust(w)
        for i, (text, w) in enumerate(zip(headings, widths, strict=True))
    )
    return [dashes, heading, dashes, *map(line, cells), dashes]


def _rules(rules: Sequence[Rule]) -> list[str]:
    lines: list[str] = []
    for index, rule in enumerate(rules):
        if index:
            lines.append("-" * 5 + " " + "-" * (_WIDTH - 10))
        text = textwrap.wrap(rule.text, _WIDTH - 10) or [""]
        if rule.speedup is not None:
            kind = "Est. Local Speedup" if rule.speedup_type == "local" else "Est. Speedup"
            text.insert(0, f"{kind}: {rule.speedup:.4g}%")
        for number, line in enumerate(text):
            tag = rule.tag if number == 0 else ""
            lines.append(f"{tag:<6}{line:<{_WIDTH - 10}}")
    return lines


def _closing(launch: LaunchResult) -> list[str]:
    """What the marks mean, and how the run was made."""
    shown = {row.value.basis for s in launch.sections for row in s.rows if row.value.available}
    if not launch.sections:
        shown = {value.basis for value in launch.metrics.values() if value.available}
    lines = [text for basis, text in LEGEND.items() if basis in shown]
    lines.extend(launch.notes)
    return [*lines, ""] if lines else []


def _source(launch: LaunchResult, options: PrintOptions) -> list[str]:
    """The source page; columns in which nothing happened are left out of the text form."""
    table = launch.source
    if table is None:
        return ["(this result holds no source page)", ""]
    rows = []
    for index in range(len(table.addresses)):
        cells = source_row(table, index, separators=options.separators)
        places = ((table.files[index] or "", table.lines[index]), *table.inlined(index))
        named = [f"{PurePath(file).name}:{line}" for file, line in places if line]
        where = " < ".join(named) or "-"
        rows.append((cells[0], where, cells[1].strip(), *cells[2:]))
    address, source, *rest = source_headings(table)
    return [*_used_columns((address, "Line", source, *rest), rows), ""]


def _by_line(launch: LaunchResult, options: PrintOptions) -> list[str]:
    table = launch.by_line
    if table is None:
        return ["(this result holds no source page)", ""]
    rows = []
    for index in range(len(table.lines)):
        number, file, *rest = line_row(launch, index, separators=options.separators)
        rows.append((number, PurePath(file).name, *rest))
    return [*_used_columns(line_headings(table), rows), ""]


def _used_columns(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table without the columns in which nothing happened."""
    kept = [i for i in range(len(headings)) if i < 4 or {row[i] for row in rows} - {"0", "-"}]
    shown = [tuple(row[i] for i in kept) for row in rows]
    return _left_table([headings[i] for i in kept], shown, n_left=3)


def _left_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, n_left: int
) -> list[str]:
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]

    def line(row: Sequence[str]) -> str:
        return " ".join(
            text.ljust(w) if i < n_left else text.rjust(w)
            for i, (text, w) in enumerate(zip(row, widths, strict=True))
        )

    dashes = " ".join("-" * width for width in widths)
    return [dashes, line(headings), dashes, *map(line, rows), dashes]
