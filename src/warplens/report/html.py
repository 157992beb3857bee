"""The HTML report: one file with everything in it, no network, from a result's plain data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import PurePath

from jinja2 import Environment, FunctionLoader
from markupsafe import Markup

from warplens.report import hot_lines
from warplens.report.numbers import NOT_AVAILABLE
from warplens.report.options import PrintOptions
from warplens.report.plots import (
    Plot,
    memory_plot,
    occupancy_plots,
    shown,
)
from warplens.report.roofline import roofline_plot
from warplens.report.rows import (
    BASIS_MARKS,
    LEGEND,
    body_cell,
    capability,
    dimensions,
    section_rows,
    value_cells,
)
from warplens.report.source_data import has_source, script_json, source_view
from warplens.report.states import warp_state_plot
from warplens.report.timeline import timeline_of, timeline_plot
from warplens.result import Body, LaunchResult, Result, Rule, Section, Value

_OPTIONS = PrintOptions(details="all")
_HOT_LINES = 8
_SCRIPTS = ("page", "listing", "source", "warp", "timeline", "schedule", "launches")
_TILES = (
    ("Duration", "gpu__time_duration.sum"),
    ("Elapsed cycles", "gpc__cycles_elapsed.max"),
    ("Warp instructions", "smsp__inst_executed.sum"),
    ("Registers per thread", "launch__registers_per_thread"),
    ("Waves per SM", "launch__waves_per_multiprocessor"),
    ("Achieved occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active"),
)
# The column of the source page that shows where the cause of a piece of advice lies.
_HEAT = {
    "UncoalescedGlobalAccess": "L2 Theoretical Sectors Global Excessive",
    "ExcessiveSectors": "L2 Theoretical Sectors Global Excessive",
    "UncoalescedSharedAccess": "L1 Wavefronts Shared Excessive",
    "ThreadDivergence": "Thread Instructions Executed",
    "LocalMemory": "L2 Theoretical Sectors Local",
    "AtomicContention": "Warp Stall Cycles",
    "CPIStall": "Warp Stall Cycles",
    "AddressArithmetic": "Instructions Executed",
    "IntegerDivision": "Instructions Executed",
    "PredicatedOff": "Instructions Executed",
}
# Counted efficiencies: label, metric, what 100 % is, what it means.
_EFFICIENCIES = (
    ("Theoretical occupancy", "sm__maximum_warps_per_active_cycle_pct", 100.0,
     "warps of this kernel that fit on an SM over its warp slots"),
    ("Active threads per warp", "smsp__thread_inst_executed_per_inst_executed.ratio", 32.0,
     "average active threads per warp instruction, of 32"),
    ("Predicated-on threads per warp",
     "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio", 32.0,
     "average predicated-on threads per warp instruction, of 32"),
    ("Branch efficiency", "smsp__sass_average_branch_targets_threads_uniform.pct", 100.0,
     "share of branches without divergence within a warp"),
    ("Global loads: bytes used per sector",
     "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio", 32.0,
     "bytes read by threads per 32-byte sector"),
    ("Global stores: bytes used per sector",
     "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio", 32.0,
     "bytes written by threads per 32-byte sector"),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A horizontal bar; `percent` is None where there is no value."""

    label: str
    percent: float | None
    told: str
    mark: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One row of a section's table."""

    name: str
    label: str
    unit: str
    number: str
    mark: str
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One rule as shown."""

    tag: str
    title: str
    text: str
    speedup: str
    kind: str
    basis: str
    where: str
    file: str
    line: int
    link: str
    section: str
    heat: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of a section."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionView:
    """A section as shown."""

    identifier: str
    title: str
    rows: tuple[Cell, ...]
    tables: tuple[Table, ...]
    advice: tuple[Advice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchView:
    """A launch as shown."""

    index: int
    share: float
    name: str
    function: str
    shape: str
    gpu: str
    capability: str
    tiles: tuple[tuple[str, str, str], ...]
    speed: tuple[Bar, ...]
    efficiency: tuple[Bar, ...]
    roofline: Plot | None
    occupancy: tuple[Plot, ...]
    memory: Plot | None
    states: Plot | None
    timeline: Plot | None
    sections: tuple[SectionView, ...]
    advice: tuple[Advice, ...]
    hottest: tuple[hot_lines.HotLine, ...]
    notes: tuple[str, ...]
    output: str
    has_source: bool


def html_page(result: Result) -> str:
    """The report of a result as one HTML document."""
    longest = max((_duration(launch) for launch in result.launches), default=0.0) or 1.0
    views = tuple(
        launch_view(index, launch, 100.0 * _duration(launch) / longest)
        for index, launch in enumerate(result.launches)
    )
    return page_of(
        "report.html.j2",
        launches=views,
        writer=result.writer,
        legend=tuple(LEGEND.values()),
        data=Markup(script_json(source_view(result))),
        style=Markup(style()),
        script=Markup(_script()),
        title=_title(result),
    )


def page_of(template: str, **values: object) -> str:
    """A template filled with values."""
    return _environment().get_template(template).render(**values)


def style() -> str:
    """The style sheet that all pages share."""
    return _file("report.css")


def _title(result: Result) -> str:
    names = list(dict.fromkeys(launch.function_name for launch in result.launches))
    if not names:
        return "warplens report"
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]}{more} - warplens report"


def _script() -> str:
    """All parts of the page's script, in one scope of their own."""
    parts = "\n".join(_file(f"{name}.js") for name in _SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


@cache
def _file(name: str) -> str:
    return resources.files("warplens.report").joinpath("templates", name).read_text("utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_file), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["svg"] = lambda plot: Markup(plot.svg)  # svg.py escapes its texts
    environment.filters["share"] = hot_lines.percent
    return environment


def _duration(launch: LaunchResult) -> float:
    value = launch.metrics.get("gpu__time_duration.sum")
    return float(value) if value is not None and isinstance(value.number, int | float) else 0.0


def launch_view(index: int, launch: LaunchResult, share: float = 100.0) -> LaunchView:
    """Everything shown of one launch, as text ready to print; `share` of the longest, in %."""
    charts = launch.charts
    sections = tuple(_section(section) for section in launch.sections)
    rules = [(rule, section) for section in launch.sections for rule in section.rules]
    return LaunchView(
        index=index,
        share=share,
        name=launch.kernel_name,
        function=launch.function_name,
        shape=f"{dimensions(launch.grid)} x {dimensions(launch.block)}",
        gpu=launch.gpu,
        capability=capability(launch),
        tiles=tuple(_tile(label, launch.metrics.get(name)) for label, name in _TILES),
        speed=_speed_of_light(launch),
        efficiency=_efficiency(launch),
        roofline=None if charts is None else roofline_plot(charts),
        occupancy=() if charts is None else occupancy_plots(charts),
        memory=None if charts is None else memory_plot(charts),
        states=warp_state_plot(launch),
        timeline=timeline_plot(timeline_of(launch)),
        sections=tuple(s for s in sections if s.rows or s.tables or s.advice),
        advice=tuple(_advice(*pair) for pair in sorted(rules, key=lambda pair: pair[0].rank)),
        hottest=hot_lines.hot_lines(launch, _HOT_LINES),
        notes=launch.notes,
        output=launch.output,
        has_source=has_source(launch),
    )


def _tile(label: str, value: Value | None) -> tuple[str, str, str]:
    told = shown(value)
    mark = BASIS_MARKS.get(value.basis, "") if value is not None and value.available else ""
    return label, told.removesuffix(mark).strip(), mark


def _speed_of_light(launch: LaunchResult) -> tuple[Bar, ...]:
    section = next((s for s in launch.sections if s.identifier == "SpeedOfLight"), None)
    rows = () if section is None else section.rows
    return tuple(
        _bar(row.label, row.value, 100.0, "of the sustained peak")
        for row in rows
        if row.value.unit == "%"
    )


def _efficiency(launch: LaunchResult) -> tuple[Bar, ...]:
    values = {} if launch.charts is None else launch.charts.values
    bars = []
    for label, name, full, hint in _EFFICIENCIES:
        value = values.get(name) or launch.metrics.get(name)
        is_used = value is not None and value.number not in (None, 0, 0.0)
        if value is not None and is_used:
            bars.append(_bar(label, value, full, hint))
    ideal = values.get("memory_l1_wavefronts_shared_ideal")
    passes = values.get("memory_l1_wavefronts_shared")
    if ideal is not None and passes is not None and passes.number:
        share = Value(100.0 * float(ideal) / float(passes), "%", passes.basis)
        hint = "wavefronts without bank conflicts over actual wavefronts"
        bars.append(_bar("Shared memory: ideal over actual wavefronts", share, 100.0, hint))
    return tuple(bars)


def _bar(label: str, value: Value, full: float, hint: str) -> Bar:
    number = value.number
    if not isinstance(number, int | float):
        return Bar(label=label, percent=None, told=NOT_AVAILABLE, mark="", hint=hint)
    percent = 100.0 * number / full
    told = f"{percent:.1f} %" if full == 100.0 else f"{number:.3g} of {full:.0f}"
    mark = BASIS_MARKS.get(value.basis, "")
    return Bar(label=label, percent=max(0.0, min(100.0, percent)), told=told, mark=mark, hint=hint)


def _section(section: Section) -> SectionView:
    cells = []
    is_roofline = section.identifier.endswith("RooflineChart")
    for row in section_rows(section, _OPTIONS):
        if is_roofline and not row.label:  # what its table is made from
            continue
        unit, number = value_cells(row.value, _OPTIONS)
        mark = BASIS_MARKS.get(row.value.basis, "") if row.value.available else ""
        cells.append(
            Cell(
                name=row.name,
                label=row.label or row.name,
                unit=unit,
                number=number,
                mark=mark,
                basis=row.value.basis,
            )
        )
    tables = tuple(
        Table(
            title=body.title,
            columns=body.columns,
            rows=tuple(tuple(body_cell(item, _OPTIONS) for item in row) for row in body.rows),
        )
        for body in section.bodies
        if body.rows and not (is_roofline and _is_idle(body))
    )
    return SectionView(
        identifier=section.identifier,
        title=section.title,
        rows=tuple(cells),
        tables=tables,
        advice=tuple(_advice(rule, section) for rule in section.rules),
    )


def _is_idle(body: Body) -> bool:
    """Whether a roofline's kind of work was not done at all."""
    place = body.columns.index("Performance") if "Performance" in body.columns else 0
    found = [row[place] for row in body.rows]
    return all(isinstance(one, Value) and not one.number for one in found)


def _advice(rule: Rule, section: Section) -> Advice:
    where = ""
    if rule.file and rule.line:
        where = f"{PurePath(rule.file).name}:{rule.line}"
    return Advice(
        tag=rule.tag,
        title=rule.title or rule.identifier,
        text=" ".join(rule.text.split()),
        speedup="" if rule.speedup is None else f"{rule.speedup:.3g}%",
        kind=rule.speedup_type,
        basis=rule.basis,
        where=where,
        file=rule.file or "",
        line=rule.line or 0,
        link=rule.link,
        section=section.identifier,
        heat=_HEAT.get(rule.identifier, ""),
    )
