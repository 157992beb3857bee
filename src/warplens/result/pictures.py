"""What the pictures of a report are drawn from: curves, roofs, one warp's steps, a schedule."""

from __future__ import annotations

from dataclasses import dataclass, field

from warplens.result.values import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class OccupancyStep:
    """Inputs from `first` to `last` that give the same number of warps per SM."""

    first: int
    last: int
    warps: int
    limiters: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OccupancyCurve:
    """Warps per SM over one resource, with the launch's own point."""

    axis: str
    label: str
    present: int
    max_warps: int
    steps: tuple[OccupancyStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Roof:
    """A line of the roofline: operations/s of a precision, or bytes/s of a memory level."""

    name: str
    rate: float
    kind: str  # "compute" or "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Charts:
    """What plots need beyond sections: occupancy curves, roofs, and metrics by name."""

    curves: tuple[OccupancyCurve, ...] = ()
    roofs: tuple[Roof, ...] = ()
    operations: dict[str, int] = field(default_factory=dict)  # precision -> operations executed
    values: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WarpAccess:
    """One access of a step: sectors it touches, or words per bank of shared memory."""

    space: str
    what: str  # "load" or "store"
    size: int
    lanes: int
    pieces: tuple[tuple[int, int], ...]  # (sector, lanes in it) or (bank, words of it)


@dataclass(frozen=True, slots=True, kw_only=True)
class WarpStep:
    """One executed instruction of a warp: lanes as masks, and the registers it changed."""

    instruction: int
    mask: int
    executing: int
    changed: tuple[tuple[int, tuple[int, ...]], ...] = ()
    accesses: tuple[WarpAccess, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WarpTrace:
    """A warp stepped through its SASS; `steps` may end before the warp does."""

    block: int
    warp: int
    total: int
    steps: tuple[WarpStep, ...]


# state of a warp -> its letter in schedules and timelines
STATE_LETTERS = {
    "selected": "*", "not_selected": "n", "wait": "w", "long_scoreboard": "L",
    "short_scoreboard": "S", "barrier": "B", "membar": "M", "lg_throttle": "g",
    "mio_throttle": "m", "math_pipe_throttle": "p", "no_instruction": "i",
    "branch_resolving": "b", "dispatch_stall": "d", "imc_miss": "c", "drain": "D",
    "sleeping": "z", "tex_throttle": "t", "gmma": "G", "misc": "?",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleWindow:
    """Some cycles of an SM: what every warp did or waited for.

    Attributes:
        states: names; spans refer to them by position.
        spans: (warp, begin, end, state, instruction) of every stretch of one state.
        blocks: (warp, begin, block): which block a warp belongs to from a cycle on.
    """

    sm: int
    first: int
    cycles: int
    sub_partitions: int
    warps: int
    states: tuple[str, ...]
    spans: tuple[tuple[int, int, int, int, int], ...]
    blocks: tuple[tuple[int, int, int], ...] = ()
