"""`--print-summary`: minimum, maximum and average of each metric over launches."""

from __future__ import annotations

from dataclasses import dataclass

from warplens.report.csv import quoted
from warplens.report.options import PrintOptions
from warplens.report.rows import capability, dimensions, row_name, section_rows, value_cells
from warplens.report.terminal import grid
from warplens.result import LaunchResult, MetricRow, Result, Value

_HEADINGS = (
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
    "Invocations",
    "Section Name",
    "Metric Name",
    "Metric Unit",
    "Minimum",
    "Maximum",
    "Average",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """One metric over the launches of a group."""

    section: str
    label: str
    unit: str
    minimum: str
    maximum: str
    average: str


def groups(result: Result, *, per_gpu: bool) -> tuple[tuple[LaunchResult, ...], ...]:
    """Launches that belong together: same GPU, and same kernel and shape unless `per_gpu`."""
    found: dict[object, list[LaunchResult]] = {}
    for launch in result.launches:
        shape = () if per_gpu else (launch.kernel_name, launch.grid, launch.block)
        found.setdefault((launch.gpu, shape), []).append(launch)
    return tuple(tuple(group) for group in found.values())


def summary_rows(
    group: tuple[LaunchResult, ...], options: PrintOptions
) -> tuple[SummaryRow, ...]:
    """Every metric of the group's sections; text and missing values are left out."""
    collected: dict[tuple[int, str, str], list[MetricRow]] = {}
    for launch in group:
        for section in launch.sections:
            for row in section_rows(section, options):
                collected.setdefault((section.order, section.title, row.name), []).append(row)
    rows = []
    for (_, title, _), found in collected.items():
        numbers = [r.value.number for r in found if isinstance(r.value.number, int | float)]
        if not numbers:
            continue
        unit, basis = found[0].value.unit, found[0].value.basis
        low, high, mean = (
            value_cells(Value(n, unit, basis), options)
            for n in (min(numbers), max(numbers), sum(numbers) / len(numbers))
        )
        rows.append(
            SummaryRow(
                section=title,
                label=row_name(found[0], options),
                unit=high[0],
                minimum=low[1],
                maximum=high[1],
                average=mean[1],
            )
        )
    return tuple(rows)


def _base(options: PrintOptions) -> PrintOptions:
    # Base units: one unit column must hold for all three numbers.
    return PrintOptions(
        units="base",
        details=options.details,
        metric_name=options.metric_name,
        always_float=options.always_float,
        separators=options.separators,
    )


def summary_page(result: Result, options: PrintOptions, *, per_gpu: bool) -> str:
    """The tables as text."""
    lines = []
    for group in groups(result, per_gpu=per_gpu):
        first = group[0]
        name = "all kernels" if per_gpu else first.kernel_name
        shape = "" if per_gpu else f" {dimensions(first.grid)}x{dimensions(first.block)}"
        lines.append(f"  {name}{shape}, {first.gpu}, Invocations {len(group)}")
        cells = [
            (row.label, row.unit, row.minimum, row.maximum, row.average)
            for row in summary_rows(group, _base(options))
        ]
        heading = ("Metric Name", "Metric Unit", "Minimum", "Maximum", "Average")
        lines.extend(f"    {line}" for line in grid(heading, cells))
        lines.append("")
    return "\n".join(lines) + "\n"


def summary_csv(result: Result, options: PrintOptions, *, per_gpu: bool) -> str:
    """The tables as comma-separated lines."""
    lines = [quoted(_HEADINGS)]
    for group in groups(result, per_gpu=per_gpu):
        first = group[0]
        start = (
            str(first.process_id),
            first.process_name,
            first.host,
            "" if per_gpu else first.kernel_name,
            "" if per_gpu else dimensions(first.block),
            "" if per_gpu else dimensions(first.grid),
            str(first.device),
            capability(first),
            str(len(group)),
        )
        lines.extend(
            quoted(
                (*start, row.section, row.label, row.unit, row.minimum, row.maximum, row.average)
            )
            for row in summary_rows(group, _base(options))
        )
    return "\n".join(lines) + "\n"
