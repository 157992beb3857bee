"""One kernel on several GPUs: the details page with one column per GPU."""

from __future__ import annotations

from dataclasses import replace

from warplens.report.numbers import scaled
from warplens.report.options import PrintOptions
from warplens.report.rows import (
    BASIS_MARKS,
    LEGEND,
    dimensions,
    row_name,
    section_rows,
    value_cells,
)
from warplens.report.terminal import grid
from warplens.result import LaunchResult, Result, Section, Value


def is_comparison(result: Result) -> bool:
    """Whether the launches are one kernel on several GPUs."""
    kernels = {(launch.function_name, launch.grid, launch.block) for launch in result.launches}
    gpus = [launch.gpu for launch in result.launches]
    return len(kernels) == 1 and len(gpus) > 1 and len(set(gpus)) == len(gpus)


def columns_page(result: Result, options: PrintOptions) -> str:
    """Every section as a table: name, unit, then one value column per GPU."""
    first = result.launches[0]
    lines = [
        f"[{first.process_id}] {first.process_name}@{first.host}",
        f"  {first.kernel_name} {dimensions(first.grid)}x{dimensions(first.block)}",
    ]
    lines.extend(f"    {line}" if line else "" for line in _predictions(result))
    identifiers = dict.fromkeys(s.identifier for x in result.launches for s in x.sections)
    for identifier in identifiers:
        lines.extend(f"    {line}" if line else "" for line in _table(result, identifier, options))
    bases = {
        row.value.basis
        for launch in result.launches
        for section in launch.sections
        for row in section.rows
        if row.value.available
    }
    lines.extend(f"    {text}" for basis, text in LEGEND.items() if basis in bases)
    for launch in result.launches:
        lines.extend(f"    {launch.gpu}: {note}" for note in launch.notes)
    return "\n".join(lines) + "\n"


def _predictions(result: Result) -> list[str]:
    """Modelled time, limiter and error band, a row per GPU; the fastest first."""
    told = [launch for launch in result.launches if "predicted_ns" in launch.properties]
    if not told:
        return []
    rows = []
    for launch in sorted(told, key=lambda one: float(one.properties["predicted_ns"])):
        known = launch.properties
        time, error = float(known["predicted_ns"]), float(known["error_percent"]) / 100
        band = f"{time / (1 + error) / 1e3:,.1f} - {time * (1 + error) / 1e3:,.1f}"
        rows.append(
            (launch.gpu, known["clock_mhz"], f"{time / 1e3:,.1f}", band, known["limiter"])
        )
    heading = ("GPU", "SM MHz", "predicted us ~", "90 % within", "limited by")
    return ["Predicted time", *grid(heading, rows), ""]


def _find(launch: LaunchResult, identifier: str) -> Section | None:
    return next((s for s in launch.sections if s.identifier == identifier), None)


def _table(result: Result, identifier: str, options: PrintOptions) -> list[str]:
    names: dict[str, tuple[str, str]] = {}
    values: list[dict[str, Value]] = []
    title = identifier
    for launch in result.launches:
        section = _find(launch, identifier)
        found: dict[str, Value] = {}
        if section is not None:
            title = section.title
            for row in section_rows(section, options):
                names.setdefault(row.name, (row_name(row, options), row.value.unit))
                found[row.name] = row.value
        values.append(found)
    if not names:
        return []
    rows = []
    for name, (label, unit) in sorted(names.items()):
        found_values = [found.get(name) for found in values]
        told, cells = _in_one_unit(found_values, unit, options)
        rows.append((label, told, *cells))
    heading = ("Metric Name", "Metric Unit", *(launch.gpu for launch in result.launches))
    return [f"Section: {title}", *grid(heading, rows), ""]


def _in_one_unit(
    values: list[Value | None], unit: str, options: PrintOptions
) -> tuple[str, list[str]]:
    """One unit for the whole row, that of its largest value, and every GPU's cell in it."""
    numbers = [v.number for v in values if v is not None and isinstance(v.number, int | float)]
    divisor = 1.0
    if options.units == "auto" and numbers:
        largest = max(numbers, key=abs)
        shown, unit = scaled(largest, unit)
        divisor = largest / shown if shown else 1.0
    base = replace(options, units="base")
    return unit, [_cell(value, divisor, base) for value in values]


def _cell(value: Value | None, divisor: float, options: PrintOptions) -> str:
    if value is None:
        return "-"
    if divisor != 1.0 and isinstance(value.number, int | float):
        value = Value(value.number / divisor, value.unit, value.basis)
    mark = BASIS_MARKS.get(value.basis, "") if value.available else ""
    return value_cells(value, options)[1] + (f" {mark}" if mark else "")
