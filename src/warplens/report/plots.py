"""The pictures of the HTML report, drawn from a launch's plain data."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from warplens.report.numbers import NOT_AVAILABLE, cell
from warplens.report.rows import BASIS_MARKS
from warplens.report.svg import Axis, box, dot, figure, line, path, text
from warplens.result import Charts, OccupancyCurve, Value
from warplens.wording import count


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
