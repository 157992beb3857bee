"""The comma-separated pages: details, raw and source, field for field as ncu writes them."""

from __future__ import annotations

from collections.abc import Iterable

from warplens.report.options import PrintOptions
from warplens.report.rows import (
    COMMAND_LINE_SECTION,
    capability,
    dimensions,
    line_headings,
    line_row,
    raw_names,
    row_name,
    section_rows,
    source_headings,
    source_row,
    value_cells,
)
from warplens.result import LaunchResult, Result, Rule, Section

_LAUNCH = (
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Context",
    "Stream",
)
_DETAILS = (
    *_LAUNCH,
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
    "Section Name",
    "Metric Name",
    "Metric Unit",
    "Metric Value",
)
_RULES = (
    "Rule Name",
    "Rule Type",
    "Rule Description",
    "Estimated Speedup Type",
    "Estimated Speedup",
)
DEFAULTS = PrintOptions(units="base", separators=False)


def quoted(fields: Iterable[str]) -> str:
    """One line of fields in double quotes."""
    return ",".join('"' + field.replace('"', '""') + '"' for field in fields)


def details_csv(result: Result, options: PrintOptions = DEFAULTS) -> str:
    """The details page: 15 columns of metrics only, or 20 with rules."""
    only_metrics = all(
        section.title == COMMAND_LINE_SECTION
        for launch in result.launches
        for section in launch.sections
    )
    lines = [quoted(_DETAILS if only_metrics else (*_DETAILS, *_RULES))]
    for launch in result.launches:
        first = _launch_fields(launch)
        for section in launch.sections:
            lines.extend(_section_lines(first, section, options, only_metrics))
    return "\n".join(lines) + "\n"


def _launch_fields(launch: LaunchResult) -> tuple[str, ...]:
    return (
        str(launch.id),
        str(launch.process_id),
        launch.process_name,
        launch.host,
        launch.kernel_name,
        str(launch.context),
        str(launch.stream),
        dimensions(launch.block),
        dimensions(launch.grid),
        str(launch.device),
        capability(launch),
    )


def _section_lines(
    first: tuple[str, ...], section: Section, options: PrintOptions, only_metrics: bool
) -> list[str]:
    # A metric row of the rules' table ends in one comma: 16 fields, as ncu writes it.
    tail = "" if only_metrics else ","
    lines = [
        quoted((*first, section.title, row_name(row, options), *value_cells(row.value, options)))
        + tail
        for row in section_rows(section, options)
    ]
    lines.extend(_rule_line(first, section.identifier, rule) for rule in section.rules)
    return lines


def _rule_line(first: tuple[str, ...], identifier: str, rule: Rule) -> str:
    speedup = "" if rule.speedup is None else f"{rule.speedup:.2f}"
    text = " ".join(rule.text.split())
    kind = rule.speedup_type if rule.speedup is not None else ""
    return quoted(
        (*first, identifier, "", "", "", rule.identifier, rule.tag, text, kind, speedup)
    )


def raw_csv(result: Result, options: PrintOptions = DEFAULTS) -> str:
    """The raw page: a heading row, a row of units, then one row per launch."""
    names = raw_names(result)
    units: dict[str, str] = {}
    rows = []
    for launch in result.launches:
        fields = list(_launch_fields(launch))
        for name in names:
            value = launch.metrics.get(name)
            unit, text = value_cells(value, options) if value else ("", "")
            units.setdefault(name, unit)
            fields.append(text)
        rows.append(quoted(fields))
    heading = (*_DETAILS[:11], *names)
    unit_row = ("",) * 11 + tuple(units.get(name, "") for name in names)
    return "\n".join([quoted(heading), quoted(unit_row), *rows]) + "\n"


def line_csv(result: Result, options: PrintOptions = DEFAULTS) -> str:
    """The source page by source line: kernel name, headings, one row per line."""
    lines: list[str] = []
    for launch in result.launches:
        if launch.by_line is None:
            continue
        lines.append(quoted(("Kernel Name", launch.kernel_name)) + ",")
        lines.append(quoted(line_headings(launch.by_line)))
        lines.extend(
            quoted(line_row(launch, index, separators=options.separators))
            for index in range(len(launch.by_line.lines))
        )
    return "\n".join(lines) + "\n" if lines else ""


def source_csv(result: Result, options: PrintOptions = DEFAULTS) -> str:
    """The source page: kernel name, headings, one row per instruction, for every launch."""
    lines: list[str] = []
    for launch in result.launches:
        if launch.source is None:
            continue
        lines.append(quoted(("Kernel Name", launch.kernel_name)) + ",")
        lines.append(quoted(source_headings(launch.source)))
        lines.extend(
            quoted(source_row(launch.source, index, separators=options.separators))
            for index in range(len(launch.source.addresses))
        )
    return "\n".join(lines) + "\n" if lines else ""
