"""The PM-sampling timeline of the HTML report: a strip per counter, warp states stacked below."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from warplens.report.numbers import number_text, scaled
from warplens.report.plots import Plot
from warplens.report.states import colour_of, letter_of
from warplens.report.svg import Point, box, figure, line, text
from warplens.result import LaunchResult, MetricRow
from warplens.wording import count

LEFT, RIGHT, WIDTH = 210.0, 900.0, 1000
_STRIP, _GAP, _STACK = 30.0, 8.0, 150.0
_MOST_SAMPLES = 300  # more are joined: a screen shows no more
_MOST_STATES = 8
_STATE = "pmsampling:smsp__warps_issue_stalled_"
_UNITS = {"inst/cycle": "inst/cyc", "wavefront": "passes"}
_TWICE = ("Average Active Warps Per Cycle", "Executed Instructions")  # others look the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One counter over time; values belong to the samples that end at the timeline's times."""

    name: str
    label: str
    unit: str
    values: tuple[float, ...]
    mean: float | None = None

    @property
    def top(self) -> float:
        """The value at a strip's upper edge."""
        return 100.0 if self.unit == "%" else max(self.values, default=0.0) or 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What was sampled of a launch: ends of the samples in ns, counters, and warps by state."""

    times: tuple[float, ...]
    series: tuple[Series, ...]
    states: tuple[Series, ...]


def timeline_of(launch: LaunchResult) -> Timeline | None:
    """The sampled counters of a launch in which something happened."""
    section = next((s for s in launch.sections if s.identifier == "PmSampling"), None)
    times, series = _series(() if section is None else section.extra)
    other, warps = _series(_states(launch))
    if not times and not other:
        return None
    ends = times or other
    clock = _clock(launch)
    steps = [end - begin for begin, end in zip((0.0, *ends), ends, strict=False)]
    per_cycle = tuple(
        Series(
            name=one.name,
            label=one.label,
            unit="warp",
            values=tuple(
                value / (step * clock) if step else 0.0
                for value, step in zip(one.values, steps, strict=True)
            ),
        )
        for one in warps
        if len(one.values) == len(ends)
    )
    return Timeline(times=ends, series=series, states=per_cycle)


def _clock(launch: LaunchResult) -> float:
    """SM cycles per ns."""
    try:
        return float(launch.properties.get("clock_mhz", "1000")) * 1e-3
    except ValueError:
        return 1.0


def _states(launch: LaunchResult) -> Iterable[MetricRow]:
    """Sampled warp states: of their section, or those that are kept for pictures."""
    values = {} if launch.charts is None else launch.charts.values
    for name, value in {**values, **launch.metrics}.items():
        if name.startswith(_STATE):
            label = name.removeprefix(_STATE).partition(".")[0].replace("_", " ")
            yield MetricRow(name=name, label=label, value=value)


def _series(rows: Iterable[MetricRow]) -> tuple[tuple[float, ...], tuple[Series, ...]]:
    times: tuple[float, ...] = ()
    found = []
    for row in rows:
        values = tuple(float(value) for _, value in row.value.instances)
        if not any(values):
            continue
        ends = tuple(float(key) for key, _ in row.value.instances)
        times = times or _joined_times(ends)
        mean = row.value.number if isinstance(row.value.number, int | float) else None
        found.append(
            Series(name=row.name, label=row.label, unit=row.value.unit,
                   values=_joined(values, is_sum=".sum" in row.name and "per_" not in row.name),
                   mean=mean)
        )  # fmt: skip
    return times, tuple(one for one in found if len(one.values) == len(times))


def _chunk(n: int) -> int:
    return -(-n // _MOST_SAMPLES)


def _joined_times(ends: tuple[float, ...]) -> tuple[float, ...]:
    step = _chunk(len(ends))
    return tuple(ends[min(i + step, len(ends)) - 1] for i in range(0, len(ends), step))


def _joined(values: tuple[float, ...], *, is_sum: bool) -> tuple[float, ...]:
    step = _chunk(len(values))
    if step <= 1:
        return values
    parts = [values[i : i + step] for i in range(0, len(values), step)]
    return tuple(sum(part) / (1 if is_sum else len(part)) for part in parts)


def timeline_data(timeline: Timeline | None) -> dict[str, Any] | None:
    """The same for the page's script: what the cursor reads out."""
    if timeline is None:
        return None
    return {
        "times": [_digits(time) for time in timeline.times],
        "rows": [
            [one.label, one.unit, [_digits(value) for value in one.values]]
            for one in (*timeline.series, *timeline.states)
        ],
    }


def _digits(value: float) -> int | float:
    short = float(f"{value:.4g}")
    return int(short) if short.is_integer() else short


# --- the picture ----------------------------------------------------------------------------------


def timeline_plot(timeline: Timeline | None) -> Plot | None:
    """Strips over one axis of time."""
    if timeline is None:
        return None
    parts: list[str] = []
    y = 12.0
    for one in timeline.series:
        if one.label in _TWICE:
            continue
        parts.extend(_strip(one, timeline.times, y))
        y += _STRIP + _GAP
    if timeline.states:
        parts.extend(_stack(timeline, y + 4))
        y += _STACK + 12
    parts.extend(_time_axis(timeline.times[-1], y))
    parts.append(f'<line class="cursor" x1="{LEFT}" y1="8" x2="{LEFT}" y2="{y:.0f}"/>')
    rows = tuple(
        (one.label, one.unit, *(_shown(number) for number in _summary(one, timeline.times)))
        for one in (*timeline.series, *timeline.states)
    )
    told = f"{count(len(timeline.times), 'sample')} over {_time(timeline.times[-1])}."
    note = (
        f"{told} From the timing model (~): averages over all SMs, with launch overhead, ramp-up, "
        "steady state and tail. Warps by state are those of one scheduler."
    )
    return Plot(
        title="Counters over time", svg=figure(WIDTH, int(y + 34), f"Timeline. {told}", parts),
        note=note, columns=("counter", "unit", "lowest", "mean", "highest"), rows=rows,
    )  # fmt: skip


def _summary(one: Series, times: tuple[float, ...]) -> tuple[float, float, float]:
    steps = [end - begin for begin, end in zip((0.0, *times), times, strict=False)]
    weighted = sum(v * s for v, s in zip(one.values, steps, strict=True)) / (times[-1] or 1.0)
    return min(one.values), weighted, max(one.values)


def _shown(number: float) -> str:
    return number_text(_digits(number), separators=True)


def _time(ns: float) -> str:
    number, unit = scaled(ns, "ns")
    return f"{number:.4g} {unit}"


def _stairs(values: tuple[float, ...], times: tuple[float, ...], top: float, y: float,
            height: float) -> list[Point]:  # fmt: skip
    """The corners of a staircase from left to right."""
    scale = (RIGHT - LEFT) / (times[-1] or 1.0)
    x, corners = LEFT, []
    for end, value in zip(times, values, strict=True):
        level = round(y + height - height * min(1.0, value / top), 1)
        corners.append((round(x, 1), level))
        x = LEFT + scale * end
        corners.append((round(x, 1), level))
    return corners


def _walk(corners: Iterable[Point]) -> str:
    """Path commands through corners that are straight below or beside each other."""
    parts: list[str] = []
    at: Point | None = None
    for x, y in corners:
        if at is None:
            parts.append(f"L{x:g} {y:g}")
        elif x != at[0]:
            parts.append(f"H{x:g}")
        elif y != at[1]:
            parts.append(f"V{y:g}")
        at = (x, y)
    joined = "".join(parts)
    return re.sub(r"(?:H[\d.]+)+(H[\d.]+)", r"\1", joined)  # a level that goes on is one line


def _strip(one: Series, times: tuple[float, ...], y: float) -> list[str]:
    bottom = y + _STRIP
    stairs = "M" + _walk(_stairs(one.values, times, one.top, y, _STRIP))[1:]
    most = f"{_shown(one.top)} {_UNITS.get(one.unit, one.unit)}".strip()
    return [
        text(LEFT - 8, y + 19, one.label, anchor="end", kind="tick"),
        line((LEFT, bottom), (RIGHT, bottom), "gridline"),
        f'<path d="{stairs}V{bottom:g}H{LEFT:g}z" class="strip"/>',
        text(RIGHT + 6, y + 9, most, kind="tick"),
        text(RIGHT + 6, bottom, "0", kind="tick"),
    ]


def _stack(timeline: Timeline, y: float) -> list[str]:
    """Warps by state, the most frequent at the bottom; a letter stands in every broad area."""
    states = sorted(timeline.states, key=lambda one: -sum(one.values))[:_MOST_STATES]
    n = len(timeline.times)
    totals = [sum(one.values[i] for one in timeline.states) for i in range(n)]
    top = max(totals) or 1.0
    below = (0.0,) * n
    parts = [
        text(LEFT - 8, y + 9, "Warps by state", anchor="end", kind="tick"),
        text(RIGHT + 6, y + 9, f"{_shown(top)} warp", kind="tick"),
        text(RIGHT + 6, y + _STACK, "0", kind="tick"),
    ]
    for number, one in enumerate(states):
        above = tuple(a + b for a, b in zip(below, one.values, strict=True))
        upper = _walk(_stairs(above, timeline.times, top, y, _STACK))
        lower = _walk(reversed(_stairs(below, timeline.times, top, y, _STACK)))
        letter = letter_of(one.label)
        parts.append(f'<path d="M{upper[1:]}{lower}z" class="area {colour_of(one.label)}"/>')
        parts.extend(_letter(letter, one.values, below, timeline.times, top, y))
        at = y + _STACK - 4 - 15 * number  # in the order of the areas
        parts.append(text(LEFT - 24, at, f"{one.label} {letter}", anchor="end", kind="tick"))
        parts.append(box(LEFT - 19, at - 9, 11, 11, f"area {colour_of(one.label)}"))
        below = above
    return parts


def _letter(letter: str, values: tuple[float, ...], below: tuple[float, ...],
            times: tuple[float, ...], top: float, y: float) -> list[str]:  # fmt: skip
    """The letter where its area is highest, if it fits there."""
    place = max(range(len(values)), key=lambda i: values[i])
    if values[place] / top * _STACK < 13:
        return []
    begin = times[place - 1] if place else 0.0
    x = LEFT + (RIGHT - LEFT) * (begin + times[place]) / 2 / (times[-1] or 1.0)
    middle = below[place] + values[place] / 2
    at = y + _STACK - _STACK * middle / top + 4
    return [text(min(max(x, LEFT + 6), RIGHT - 6), at, letter, anchor="middle", kind="letter")]


def _time_axis(end: float, y: float) -> list[str]:
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = LEFT + share * (RIGHT - LEFT)
        parts.append(line((x, 8), (x, y), "gridline"))
        parts.append(text(x, y + 14, _time(share * end) if share else "0", anchor="middle",
                          kind="tick"))  # fmt: skip
    parts.append(text((LEFT + RIGHT) / 2, y + 30, "time", anchor="middle", kind="axis"))
    return parts
