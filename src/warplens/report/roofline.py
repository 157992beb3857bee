"""The roofline of the HTML report, drawn from a launch's plain data."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from warplens.report.numbers import NOT_AVAILABLE
from warplens.report.places import Places, Spot
from warplens.report.plots import Plot, number_of
from warplens.report.svg import Axis, dot, figure, line, path, short, superscript, text
from warplens.result import Charts, Roof

_LEVEL_BYTES = (  # which counter there is depends on the chip
    ("l1", "l1tex__lsu_writeback_active_mem_lg.sum", 128),
    ("l1", "l1tex__lsu_writeback_active_mem_lgds.sum", 128),
    ("l2", "lts__lts2xbar_cycles_active.sum", 32),
    ("dram", "dram__bytes.sum", 1),
)
LEVEL_NAMES = {"l1": "L1", "l2": "L2", "dram": "DRAM"}


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
    for roof in memory:
        ridge = peak / roof.rate
        low = max(x.low, y.low / roof.rate)
        parts.append(path([(x.at(low), y.at(low * roof.rate)), (x.at(ridge), y.at(peak))], "roof"))
    fastest = max(roof.rate for roof in memory)
    for roof in compute:
        start = x.at(roof.rate / fastest)
        parts.append(line((start, y.at(roof.rate)), (592, y.at(roof.rate)), "roof"))
    for group in _together(points, x):
        parts.extend(_marks(group, x, y, memory))
    parts.extend(_labels(memory, compute, points, x, y))
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
    points: tuple[RooflinePoint, ...], x: Axis
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


def _marks(
    group: tuple[RooflinePoint, ...], x: Axis, y: Axis, memory: list[Roof]
) -> Iterable[str]:
    """A dot for every point, or a line where no time is known."""
    for point in group:
        at, name = x.at(point.intensity), f"{point.precision}, {LEVEL_NAMES[point.level]}"
        if point.rate is not None:
            told = f"{name}: {point.intensity:.3g} op/byte, {short(point.rate, 'op/s')} ~"
            yield dot((at, y.at(point.rate)), told, f"point {point.level}")
            continue
        bandwidth = next((r.rate for r in memory if r.name == point.level), memory[0].rate)
        top = y.at(min(point.intensity * bandwidth, y.high))
        yield line((at, 284), (at, top), "marker")


def _labels(
    memory: list[Roof], compute: list[Roof], points: tuple[RooflinePoint, ...], x: Axis, y: Axis
) -> Iterable[str]:
    """Names of points and roofs, each at the first place where no other one stands."""
    places = Places(62, 14, 598, 284)
    for point in points:
        if point.rate is not None:
            at, height = x.at(point.intensity), y.at(point.rate)
            places.take(at - 5, height - 5, at + 5, height + 5)
    for group in _together(points, x):
        levels = ", ".join(LEVEL_NAMES[one.level] for one in group)
        label = f"{group[0].precision}: {levels}"
        yield places.text(label, _beside(group, x, y), kind="pointlabel onplot")
    fastest = max(roof.rate for roof in memory)
    for roof in compute:
        start, height = x.at(roof.rate / fastest), y.at(roof.rate)
        right = range(590, min(560, int(start)), -30)
        spots = [(at, height + dy, "end") for at in right for dy in (-5.0, 13.0)]
        yield places.text(f"{roof.name} {short(roof.rate, 'op/s')}", spots, kind="tick onplot")
    for position, roof in enumerate(memory):
        label = f"{LEVEL_NAMES.get(roof.name, roof.name)} {short(roof.rate, 'B/s')}"
        peak = max(one.rate for one in compute)
        yield places.text(label, _along(roof, peak, position, x, y), kind="onroof")


def _beside(group: tuple[RooflinePoint, ...], x: Axis, y: Axis) -> Iterable[Spot]:
    """To the right of points, to their left, then further and further above and below."""
    left, right = (x.at(pick(one.intensity for one in group)) for pick in (min, max))
    rate = group[0].rate
    height = 278.0 if rate is None else y.at(rate) + 4
    for far in (0, 15, 30, 45, 60, 90, 120):
        for dy in dict.fromkeys((-far, far)):
            yield right + 8, height + dy, "start"
            yield left - 8, height + dy, "end"
            if far:
                yield (left + right) / 2, height + dy, "middle"


def _along(roof: Roof, peak: float, position: int, x: Axis, y: Axis) -> Iterable[Spot]:
    """Places on the sloping line of a memory level; the lines lie close, so each begins at a
    height of its own."""
    first = 0.78 - 0.25 * position
    steps = sorted((0.05 * n for n in range(1, 20)), key=lambda share: abs(share - first))
    for share in (first, *steps):
        height = y.start + (y.at(peak) - y.start) * share
        rate = y.low * (y.high / y.low) ** ((height - y.start) / (y.end - y.start))
        yield x.at(rate / roof.rate), height, "middle"
