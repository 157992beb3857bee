"""The pictures of the HTML report, drawn from a launch's plain data."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from warplens.report.numbers import NOT_AVAILABLE, cell
from warplens.report.rows import BASIS_MARKS
from warplens.report.svg import Axis, box, dot, figure, line, path, short, superscript, text
from warplens.result import Charts, OccupancyCurve, Roof, Value
from warplens.wording import count

_LEVEL_BYTES = (  # which counter there is depends on the chip
    ("l1", "l1tex__lsu_writeback_active_mem_lg.sum", 128),
    ("l1", "l1tex__lsu_writeback_active_mem_lgds.sum", 128),
    ("l2", "lts__lts2xbar_cycles_active.sum", 32),
    ("dram", "dram__bytes.sum", 1),
)
LEVEL_NAMES = {"l1": "L1", "l2": "L2", "dram": "DRAM"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A picture with its caption and the same data as a table."""

    title: str
    svg: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def shown(value: Value | None) -> str:
    """A value with unit and basis mark, as pictures print it."""
    if value is None or value.number is None:
        return NOT_AVAILABLE
    unit, number = cell(value)
    return f"{number} {unit} {BASIS_MARKS.get(value.basis, '')}".replace("  ", " ").strip()


def number_of(charts: Charts, name: str) -> float | None:
    """A metric's number, if there is one."""
    value = charts.values.get(name)
    found = None if value is None else value.number
    return float(found) if isinstance(found, int | float) else None


# --- occupancy ------------------------------------------------------------------------------------


def occupancy_plots(charts: Charts) -> tuple[Plot, ...]:
    """One step curve per resource."""
    return tuple(_occupancy(curve) for curve in charts.curves if curve.steps)


def _occupancy(curve: OccupancyCurve) -> Plot:
    first, last = curve.steps[0].first, max(curve.steps[-1].last, curve.steps[0].first + 1)
    x = Axis(low=first, high=last, start=46, end=392)
    y = Axis(low=0, high=curve.max_warps, start=186, end=16)
    parts = []
    for share in (0, 0.25, 0.5, 0.75, 1):
        warps = share * curve.max_warps
        parts.append(line((46, y.at(warps)), (392, y.at(warps)), "gridline"))
        parts.append(text(42, y.at(warps) + 4, f"{warps:g}", anchor="end", kind="tick"))
    for share in (0, 0.25, 0.5, 0.75, 1):
        value = first + share * (last - first)
        side = "end" if share == 1 else "middle"
        parts.append(text(x.at(value), 202, f"{value:,.0f}", anchor=side, kind="tick"))
    points = []
    begin = float(first)
    for step in curve.steps:  # a step begins where the one before ends: sizes are rounded up
        points.extend([(x.at(begin), y.at(step.warps)), (x.at(step.last), y.at(step.warps))])
        begin = float(step.last)
    parts.append(path(points, "curve"))
    here = next((s for s in curve.steps if s.first <= curve.present <= s.last), curve.steps[0])
    place = (x.at(curve.present), y.at(here.warps))
    parts.append(line((place[0], 186), place, "marker"))
    parts.append(dot(place, f"this launch: {curve.present:,}, {count(here.warps, 'warp')}"))
    parts.append(text(219, 220, curve.label, anchor="middle", kind="axis"))
    parts.append(
        '<text transform="translate(12 101) rotate(-90)" text-anchor="middle" '
        'class="axis">warps per SM</text>'
    )
    title = (
        f"{curve.label[0].upper()}{curve.label[1:]}: {curve.present:,} in this launch, "
        f"{here.warps} of {curve.max_warps} warps resident per SM, limited by "
        f"{', '.join(here.limiters) or 'no resource'}."
    )
    rows = tuple(
        (f"{s.first:,} to {s.last:,}" if s.last > s.first else f"{s.first:,}", str(s.warps),
         ", ".join(s.limiters))
        for s in curve.steps
    )  # fmt: skip
    return Plot(
        title=f"Occupancy over {curve.label}", svg=figure(400, 228, title, parts), note=title,
        columns=(curve.label, "warps per SM", "limited by"), rows=rows,
    )  # fmt: skip


# --- roofline -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflinePoint:
    """A precision at a memory level; `rate` is None where no time is known."""

    precision: str
    level: str
    intensity: float
    rate: float | None
    basis: str


def roofline_points(charts: Charts) -> tuple[RooflinePoint, ...]:
    """Where the launch stands, for every precision it used and level whose bytes are known."""
    seconds = number_of(charts, "gpu__time_duration.sum")
    points = []
    for precision, operations in charts.operations.items():
        for level, name, size in _LEVEL_BYTES:
            moved = number_of(charts, name)
            if moved:
                points.append(
                    RooflinePoint(
                        precision=precision,
                        level=level,
                        intensity=operations / (moved * size),
                        rate=operations / (seconds * 1e-9) if seconds else None,
                        basis=charts.values[name].basis,
                    )
                )
    return tuple(points)


def roofline_plot(charts: Charts) -> Plot | None:
    """Roofs of the GPU and the launch's points, on logarithmic axes."""
    memory = [roof for roof in charts.roofs if roof.kind == "memory"]
    compute = [roof for roof in charts.roofs if roof.kind == "compute"]
    if not memory or not compute:
        return None
    points = roofline_points(charts)
    x, y = _roofline_axes(memory, compute, points)
    parts = [*_roofline_grid(x, y)]
    peak = max(roof.rate for roof in compute)
    for position, roof in enumerate(memory):
        ridge = peak / roof.rate
        low = max(x.low, y.low / roof.rate)
        parts.append(path([(x.at(low), y.at(low * roof.rate)), (x.at(ridge), y.at(peak))], "roof"))
        # The lines lie close: each has its label at a height of its own, on a plain ground.
        height = y.start + (y.at(peak) - y.start) * (0.78 - 0.25 * position)
        rate = y.low * (y.high / y.low) ** ((height - y.start) / (y.end - y.start))
        label = f"{LEVEL_NAMES.get(roof.name, roof.name)} {short(roof.rate, 'B/s')}"
        parts.append(text(x.at(rate / roof.rate), height, label, anchor="middle", kind="onroof"))
    fastest = max(roof.rate for roof in memory)
    for roof in compute:
        start = x.at(roof.rate / fastest)
        parts.append(line((start, y.at(roof.rate)), (592, y.at(roof.rate)), "roof"))
        label = f"{roof.name} {short(roof.rate, 'op/s')}"
        parts.append(text(590, y.at(roof.rate) - 5, label, anchor="end", kind="tick"))
    for group in _together(points, x, y):
        parts.extend(_roofline_points(group, x, y, memory))
    rows = tuple(
        (p.precision, LEVEL_NAMES[p.level], f"{p.intensity:.4g}",
         NOT_AVAILABLE if p.rate is None else f"{short(p.rate, 'op/s')} ~")
        for p in points
    )  # fmt: skip
    note = _roofline_note(points)
    return Plot(
        title="Roofline", svg=figure(600, 330, f"Roofline. {note}", parts), note=note,
        columns=("operations", "level", "operations per byte", "achieved"), rows=rows,
    )  # fmt: skip


def _roofline_note(points: tuple[RooflinePoint, ...]) -> str:
    if not points:
        return "The launch executed no arithmetic instruction that the roofline counts."
    if points[0].rate is None:
        return (
            "Without a duration, the launch is a vertical line at its operations per byte, up to "
            "the roof. Operations and L1 bytes are counted."
        )
    return "Operations and L1 bytes are counted; duration, L2 and DRAM bytes are modelled (~)."


def _roofline_axes(
    memory: list[Roof], compute: list[Roof], points: tuple[RooflinePoint, ...]
) -> tuple[Axis, Axis]:
    peak = max(roof.rate for roof in compute)
    intensities = [p.intensity for p in points] + [peak / roof.rate for roof in memory]
    low, high = min(intensities) / 8, max(intensities) * 8
    rates = [p.rate for p in points if p.rate] + [low * 8 * min(roof.rate for roof in memory)]
    x = Axis(low=10 ** math.floor(math.log10(low)), high=10 ** math.ceil(math.log10(high)),
             start=62, end=592, is_log=True)  # fmt: skip
    y = Axis(low=10 ** math.floor(math.log10(min(rates) / 2)),
             high=10 ** math.ceil(math.log10(peak * 1.3)), start=284, end=14,
             is_log=True)  # fmt: skip
    return x, y


def _roofline_grid(x: Axis, y: Axis) -> Iterable[str]:
    for exponent in range(round(math.log10(x.low)), round(math.log10(x.high)) + 1):
        at = x.at(10.0**exponent)
        side = "end" if at > 590 else "middle"
        yield line((at, 14), (at, 284), "gridline")
        yield text(at, 300, superscript(exponent), anchor=side, kind="tick")
    for exponent in range(round(math.log10(y.low)), round(math.log10(y.high)) + 1):
        at = y.at(10.0**exponent)
        yield line((62, at), (592, at), "gridline")
        yield text(58, at + 4, superscript(exponent), anchor="end", kind="tick")
    yield text(327, 322, "operations per byte", anchor="middle", kind="axis")
    yield (
        '<text transform="translate(14 149) rotate(-90)" text-anchor="middle" '
        'class="axis">operations per second</text>'
    )


def _together(
    points: tuple[RooflinePoint, ...], x: Axis, y: Axis
) -> Iterable[tuple[RooflinePoint, ...]]:
    """Points that lie so close that one label must do for all."""
    groups: list[list[RooflinePoint]] = []
    for point in points:
        for group in groups:
            first = group[0]
            near = abs(x.at(point.intensity) - x.at(first.intensity)) < 60
            if point.precision == first.precision and near:
                group.append(point)
                break
        else:
            groups.append([point])
    return tuple(tuple(group) for group in groups)


def _roofline_points(
    group: tuple[RooflinePoint, ...], x: Axis, y: Axis, memory: list[Roof]
) -> Iterable[str]:
    for point in group:
        at, name = x.at(point.intensity), f"{point.precision}, {LEVEL_NAMES[point.level]}"
        if point.rate is not None:
            told = f"{name}: {point.intensity:.3g} op/byte, {short(point.rate, 'op/s')} ~"
            yield dot((at, y.at(point.rate)), told, f"point {point.level}")
            continue
        bandwidth = next((r.rate for r in memory if r.name == point.level), memory[0].rate)
        top = y.at(min(point.intensity * bandwidth, y.high))
        yield line((at, 284), (at, top), "marker")
    first, last = group[0], max(group, key=lambda one: one.intensity)
    levels = ", ".join(LEVEL_NAMES[one.level] for one in group)
    label, at = f"{first.precision}: {levels}", x.at(last.intensity)
    height = 278.0 if first.rate is None else y.at(first.rate) + 4
    side = "end" if at > 480 else "start"
    at = x.at(min(one.intensity for one in group)) - 8 if side == "end" else at + 8
    yield text(at, height, label, anchor=side, kind="pointlabel onplot")


# --- memory chart ---------------------------------------------------------------------------------

_L1 = "l1tex__t_{}_pipe_lsu_mem_{}_op_{}.sum"


def _total(charts: Charts, names: Iterable[str], size: int = 1, unit: str = "") -> Value | None:
    values = [charts.values[name] for name in names if name in charts.values]
    numbers = [v.number for v in values if isinstance(v.number, int | float)]
    if not numbers:
        return None
    basis = "model" if any(v.basis == "model" for v in values) else values[0].basis
    return Value(sum(numbers) * size, unit or values[0].unit, basis)


def memory_flows(charts: Charts) -> tuple[tuple[str, str, Value | None], ...]:
    """(from, to, traffic) of every arrow, reads from the right, writes to the right."""
    loads = [_L1.format("bytes", space, "ld") for space in ("global", "local")]
    stores = [_L1.format("bytes", *pair) for pair in
              (("global", "st"), ("local", "st"), ("global", "red"), ("global", "atom"))]
    wavefronts = charts.values.get("memory_l1_wavefronts_shared")
    shared = _total(charts, ["memory_l1_wavefronts_shared"], 128, "byte") if wavefronts else None
    return (
        ("L1/TEX", "Kernel", _total(charts, loads)),
        ("Kernel", "L1/TEX", _total(charts, stores)),
        ("Kernel", "Shared", shared),
        ("L2", "L1/TEX", _total(charts, ["lts__t_sectors_op_read.sum"], 32, "byte")),
        ("L1/TEX", "L2", _total(charts, [f"lts__t_sectors_op_{op}.sum" for op in
                                         ("write", "atom", "red")], 32, "byte")),
        ("DRAM", "L2", charts.values.get("dram__bytes_read.sum")),
        ("L2", "DRAM", charts.values.get("dram__bytes_write.sum")),
    )  # fmt: skip


def memory_plot(charts: Charts) -> Plot:
    """Boxes for every level with the traffic on the arrows between them."""
    flows = {(a, b): value for a, b, value in memory_flows(charts)}
    places = {"Kernel": (10, 20), "L1/TEX": (230, 20), "Shared": (230, 150), "L2": (450, 20),
              "DRAM": (670, 20)}  # fmt: skip
    parts = []
    hits = {
        "L1/TEX": charts.values.get("l1tex__t_sector_hit_rate.pct"),
        "L2": charts.values.get("lts__t_sector_hit_rate.pct"),
    }
    for name, (left, top) in places.items():
        height = 190 if name == "Kernel" else 90 if name != "Shared" else 60
        parts.append(box(left, top, 110, height, "block"))
        parts.append(text(left + 55, top + height / 2 + 4, name, anchor="middle", kind="boxname"))
        if name in hits:
            parts.append(text(left + 55, top + height / 2 + 24, f"hit {shown(hits[name])}",
                              anchor="middle", kind="tick"))  # fmt: skip
    levels = ("Kernel", "L1/TEX", "L2", "DRAM")
    for near, far in pairwise(levels):
        left, right = places[near][0] + 110, places[far][0]
        parts.append(_arrow(right, left, 48, flows.get((far, near))))
        parts.append(_arrow(left, right, 92, flows.get((near, far))))
    parts.append(_arrow(120, 230, 178, flows.get(("Kernel", "Shared"))))
    rows = tuple((a, b, shown(value)) for a, b, value in memory_flows(charts))
    note = (
        "Bytes per arrow: 32 per L1 sector, 128 per shared memory wavefront. ~: from the timing "
        "model; n/a: needs the timing model."
    )
    told = "; ".join(f"{a} to {b}: {value}" for a, b, value in rows)
    return Plot(title="Memory chart", svg=figure(790, 222, f"Memory chart. {told}", parts),
                note=note, columns=("from", "to", "traffic"), rows=rows)  # fmt: skip


def _arrow(start: float, end: float, y: float, value: Value | None) -> str:
    number = value.number if value is not None else None
    kind = "flow" if number else "flow empty"
    width = 1.5
    if isinstance(number, int | float) and number > 0:
        width = min(6.0, 1.0 + math.log10(number) / 2)
    gap = 4 if end > start else -4
    return (
        f'<line x1="{start + gap}" y1="{y}" x2="{end - gap}" y2="{y}" class="{kind}" '
        f'style="stroke-width:{width:.1f}" marker-end="url(#tip)"/>'
        + text((start + end) / 2, y - 8, shown(value), anchor="middle", kind="flowlabel")
    )
