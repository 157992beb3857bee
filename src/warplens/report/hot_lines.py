"""The source lines of a kernel by their share of time: where to look first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from warplens.result import LaunchResult, LineTable, Number

HEADINGS = ("Time", "Instructions", "Sectors", "Top Stall", "Line", "Source")
_STALLS = "warp_stall_cycles"
_INSTRUCTIONS = "inst_executed"
_SECTORS = ("memory_l2_theoretical_sectors_global", "memory_l2_theoretical_sectors_local")
_TEXT_WIDTH = 72


@dataclass(frozen=True, slots=True, kw_only=True)
class HotLine:
    """One source line with its shares of the launch, in percent.

    Attributes:
        time: share of the warp cycles that the timing model gives; None without one.
        instructions: share of the executed warp instructions.
        sectors: share of the 32-byte sectors of global and local memory asked for; None where the
            launch has none.
        stall: the state in which most of the line's warp cycles pass; empty without a model.
        inlined: `file.py:30` of every kernel's line into which the line's code was inlined.
        text: the line as written, without indentation; empty if the source is not at hand.
    """

    file: str
    line: int
    time: float | None
    instructions: float
    sectors: float | None
    stall: str
    text: str
    inlined: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """`file.cu:12`, without the folder."""
        return f"{PurePath(self.file).name}:{self.line}"


def hot_lines(launch: LaunchResult, most: int = 10) -> tuple[HotLine, ...]:
    """The `most` lines that take most of the time, or of the instructions without a time."""
    table = launch.by_line
    if table is None or not table.lines or most <= 0:
        return ()
    time = _shares(_column(table, _STALLS))
    instructions = _shares(_column(table, _INSTRUCTIONS)) or [0.0] * len(table.lines)
    sectors = _shares(_sum(table, _SECTORS))
    order = sorted(
        range(len(table.lines)),
        key=lambda i: (-(time or instructions)[i], -instructions[i], table.lines[i]),
    )
    return tuple(
        HotLine(
            file=table.files[i],
            line=table.lines[i],
            time=None if time is None else time[i],
            instructions=instructions[i],
            sectors=None if sectors is None else sectors[i],
            stall=_top_stall(table, i),
            text=_text(launch, table.files[i], table.lines[i]),
            inlined=_inlined(launch, table.files[i], table.lines[i]),
        )
        for i in order[:most]
        if instructions[i] > 0
    )


def cells(one: HotLine) -> tuple[str, ...]:
    """The line as the columns of `HEADINGS`."""
    into = f"  [inlined at {', '.join(one.inlined)}]" if one.inlined else ""
    text = one.text + into
    if len(text) > _TEXT_WIDTH:
        text = one.text[: max(0, _TEXT_WIDTH - 3 - len(into))] + "..." + into
    shares = (percent(share) for share in (one.time, one.instructions, one.sectors))
    return (*shares, one.stall or "-", one.where, text)


def percent(share: float | None) -> str:
    """`12.5%`, or a dash where there is nothing to share."""
    return "-" if share is None else f"{share:.1f}%"


def _column(table: LineTable, metric: str) -> Sequence[Number] | None:
    return next((c.values for c in table.columns if c.metric == metric), None)


def _sum(table: LineTable, metrics: Sequence[str]) -> Sequence[Number] | None:
    found = [values for name in metrics if (values := _column(table, name)) is not None]
    return [sum(map(_number, row)) for row in zip(*found, strict=True)] if found else None


def _shares(values: Sequence[Number] | None) -> list[float] | None:
    """Percent of the sum; None where there is nothing to share."""
    numbers = [_number(value) for value in values or ()]
    total = sum(numbers)
    return [100.0 * number / total for number in numbers] if total else None


def _number(value: Number) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _inlined(launch: LaunchResult, file: str, line: int) -> tuple[str, ...]:
    """The kernel's lines that hold a line's code, which was inlined there."""
    table = launch.source
    if table is None or not table.callers:
        return ()
    found = {
        calls[-1]
        for *place, calls in zip(table.files, table.lines, table.callers, strict=True)
        if calls and place == [file, line]
    }
    return tuple(f"{PurePath(name).name}:{at}" for name, at in sorted(found))


def _top_stall(table: LineTable, index: int) -> str:
    states = {
        column.metric.removeprefix(_STALLS + "_"): _number(column.values[index])
        for column in table.columns
        if column.metric.startswith(_STALLS + "_")
    }
    top = max(states, key=lambda name: states[name], default="")
    return top if top and states[top] > 0 else ""


def _text(launch: LaunchResult, file: str, line: int) -> str:
    texts = {} if launch.source is None else launch.source.sources
    lines = texts.get(file, "").splitlines()
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""
