"""Grids whose blocks are of unlike length: every block's cycles, and when the last SM ends.

The replay tells how long a block takes for its work and what an SM gets done; the work of the
others is known (works.py). So each block of the grid is given a length and put on an SM
(placement.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from warplens.timing.placement import Placement, place, speeds_of
from warplens.timing.state import Record
from warplens.timing.works import Works

Floats = npt.NDArray[np.float64]
MOST_PLACED = 4_000_000  # blocks
_PLACED, _MOST_PLACED_AGAIN = 9, 100_000  # times; blocks of a grid that is placed so often
_SPREAD = 0.005  # of a block's length, that nobody knows better
_SHARPNESS = 3.0  # of the bend from blocks at full speed to blocks that share an SM
_STEPS = 40  # of the search for the length of blocks
_SHORTEST = 0.02  # of the time that they took among others
_LEAST_BLOCKS = 4  # replayed, to tell what a block costs beyond its instructions
_ALIKE = 0.05  # standard deviation of their work over its mean: too little to tell that from
_FAR_APART = 0.5  # the same for fewer blocks, of which one alone may be late by chance
_FLATTEST = 0.3  # of the mean cycles of an instruction
_LEAST_RATE = 0.1  # of what its busiest unit can do, if one block alone is no faster than several
_BESIDE = 1.5  # blocks of an SM, from which on it shows how much they keep each other waiting
_SAME = 0.01  # of a span: blocks beside the longest one do too little to tell what it asks of an SM
_FULL = 0.97  # of what its busiest unit can do an SM does at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Of a block: `start` cycles, `each` more per instruction of its longest warp, alone on an SM
    that never keeps it waiting, and whose busiest unit takes `part` of a block's share."""

    start: float
    each: float
    part: float = 1.0

    def lengths(self, longest: Floats) -> Floats:
        """Cycles of blocks that have an SM for themselves."""
        return np.maximum(1.0, self.start + self.each * longest)

    def loads(self, busy: Floats, longest: Floats) -> Floats:
        """What blocks ask of an SM meanwhile, which keep its busiest unit `busy`."""
        return self.part * busy / self.lengths(longest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What a replay says of blocks.

    Attributes:
        numbers: of the blocks in the sample.
        whole, longest, cycles: the work of each, that of its longest warp, and its time; passes:
            through L1's data.
        span, warp_cycles, instructions: of all, and of all warps.
        issue, memory: cycles of the busiest units, see `busiest`.
        pace: where only windows of blocks were replayed, instructions a cycle, and the blocks
            resident meanwhile.
        alone: cycles of the block with the longest warp when it has the SM for itself, or of
            windows those of an instruction of its longest warp; 0: not known. briefest: cycles of
            the block with the shortest one, alone as well; 0: not known.
        beside: cycles of two of the block with the longest warp on one SM; 0: not known.
    """

    numbers: npt.NDArray[np.int64]
    whole: Floats
    longest: Floats
    cycles: Floats
    passes: Floats
    span: float
    warp_cycles: float
    instructions: float
    issue: float
    memory: float
    pace: tuple[float, float]
    alone: float = 0.0
    briefest: float = 0.0
    beside: float = 0.0

    @property
    def ends_with_longest(self) -> bool:
        """Whether the others do too little beside the longest block, alone on an SM, to tell what
        it asks of one."""
        return self.alone > 0.0 and abs(self.span - self.alone) <= _SAME * self.alone

    @property
    def rate(self) -> float:
        """Instructions a cycle with the busiest unit always busy."""
        return self.instructions / max(1.0, self.issue, self.memory)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A grid on the chip: where its blocks go, and cycles of all its warps."""

    placement: Placement
    warp_cycles: float
    cost: Cost


def grid_of(works: Works, replayed: Replayed, spec: Record, sms: int,
            early: tuple[int, int] = (0, 0)) -> Grid:  # fmt: skip
    """Places the whole grid; `early`: see `first_turns`."""
    whole, longest = works.every
    speeds = speeds_of(_SHARPNESS)
    slots, gaps = int(spec["resident"]), _gaps(spec)
    busy, busy_of_replayed = _busy(works, replayed)
    if len(replayed.whole):
        cost = _fitted(replayed, busy_of_replayed, spec, speeds)
    else:
        cost = _of_windows(works, replayed)
    lengths, loads = cost.lengths(longest), cost.loads(busy, longest)
    found = _usual([
        place(lengths * factors, loads, sms, slots, gaps, speeds, early)
        for factors in _unlike(len(lengths))
    ])  # fmt: skip
    # Warps that have ended before their block's longest are not there any more.
    living = whole / np.maximum(1.0, longest)
    warp_cycles = float((found.durations * living).sum())
    if len(replayed.whole):  # as many of a placed block's as when the replayed ones are placed
        lengths = cost.lengths(replayed.longest)
        loads = cost.loads(busy_of_replayed, replayed.longest)
        again = place(lengths, loads, 1, slots, gaps, speeds).durations
        mine = again * replayed.whole / np.maximum(1.0, replayed.longest)
        warp_cycles *= replayed.warp_cycles / max(1.0, float(mine.sum()))
    return Grid(placement=found, warp_cycles=warp_cycles, cost=cost)


def _busy(works: Works, replayed: Replayed) -> tuple[Floats, Floats]:
    """Cycles for which every block of the grid keeps an SM's busiest unit busy, and those of the
    replayed blocks: in proportion to instructions, or to passes through L1's data if that is
    more."""
    whole, passes = works.every[0], works.every_passes
    mine = float(replayed.passes.sum())
    if passes is None or not mine:
        return whole / replayed.rate, replayed.whole / replayed.rate
    ended = float(replayed.whole.sum()) / max(1.0, replayed.instructions)
    each = replayed.memory * ended / mine
    part = replayed.issue / max(1.0, replayed.instructions)
    return (np.maximum(whole * part, passes * each),
            np.maximum(replayed.whole * part, replayed.passes * each))  # fmt: skip


def _unlike(blocks: int) -> Iterator[Floats]:
    """Factors for the lengths of blocks, each time others: by chance two long ones may share an
    SM."""
    yield np.ones(blocks)
    for seed in range(1, _PLACED if blocks <= _MOST_PLACED_AGAIN else 1):
        yield 1.0 + _SPREAD * np.random.default_rng(seed).standard_normal(blocks)


def _usual(found: list[Placement]) -> Placement:
    """The one that ends in the middle of them."""
    return sorted(found, key=lambda one: one.makespan)[len(found) // 2]


def _gaps(spec: Record) -> tuple[float, float]:
    """Cycles between two starts of blocks on an SM: of the first ones, and later."""
    return float(spec["launch_first"]), float(spec["launch_interval"])


def _line(longest: Floats, cycles: Floats) -> tuple[float, float]:
    """Cycles of a block that does nothing, and those of an instruction of its longest warp."""
    each = float(cycles.sum() / max(1.0, longest.sum()))
    unlike = _ALIKE if len(longest) >= _LEAST_BLOCKS else _FAR_APART
    if longest.std() <= unlike * longest.mean():
        return 0.0, each
    slope = float(np.cov(longest, cycles)[0, 1] / longest.var(ddof=1))
    slope = min(max(slope, _FLATTEST * each), each)
    return max(0.0, float(cycles.mean() - slope * longest.mean())), slope


def _between(longest: Floats, briefest: float, alone: float) -> tuple[float, float]:
    """The same from the shortest and the longest block, each alone."""
    least, most = float(longest.min()), float(longest.max())
    each = max(0.0, alone - briefest) / max(1.0, most - least)
    return max(0.0, alone - each * most), each


def _fitted(replayed: Replayed, busy: Floats, spec: Record, speeds: Floats) -> Cost:
    """Blocks so long that those that were replayed, placed on an SM, end when the replay did. If it
    is known how long one is alone, an SM gets as much done as then follows from the others."""
    slots, gaps = int(spec["resident"]), _gaps(spec)
    start, each = _line(replayed.longest, replayed.cycles)

    def span(tried: Cost) -> float:
        lengths = tried.lengths(replayed.longest)
        loads = tried.loads(busy, replayed.longest)
        return place(lengths, loads, 1, slots, gaps, speeds).makespan

    def cost(factor: float, part: float = 1.0) -> Cost:
        return Cost(start=factor * start, each=factor * each, part=part)

    if replayed.alone:
        most, least = int(replayed.longest.argmax()), int(replayed.longest.argmin())
        length = start + each * float(replayed.longest[most])

        def alone(part: float) -> Cost:
            long = _unslowed(replayed.alone, part * float(busy[most]))
            if not replayed.briefest:
                return cost(long / length, part)
            brief = _unslowed(replayed.briefest, part * float(busy[least]))
            found = _between(replayed.longest, brief, long)
            return Cost(start=found[0], each=found[1], part=part)

        # Two blocks do not take longer beside each other than one after the other.
        most_part = max(1.0, _FULL * replayed.alone / max(1.0, float(busy[most])))
        if replayed.beside:
            return _searched(alone, partial(_span_of_two, replayed, busy, spec, speeds),
                             replayed.beside, _LEAST_RATE, most_part)  # fmt: skip
        if replayed.ends_with_longest:
            return alone(1.0)
        if span(alone(1.0)) <= replayed.span:
            return _searched(alone, span, replayed.span, 1.0, min(most_part, 1.0 / _LEAST_RATE))
    return _searched(cost, span, replayed.span, _SHORTEST, 1.0 / _SHORTEST)


def _span_of_two(replayed: Replayed, busy: Floats, spec: Record, speeds: Floats,
                 tried: Cost) -> float:  # fmt: skip
    """Cycles of two of the longest block on an SM that has nothing else."""
    most = int(replayed.longest.argmax())
    longest = np.repeat(replayed.longest[most], 2)
    loads = tried.loads(np.repeat(busy[most], 2), longest)
    slots, gaps = int(spec["resident"]), _gaps(spec)
    return place(tried.lengths(longest), loads, 1, slots, gaps, speeds).makespan


def _unslowed(cycles: float, busy: float) -> float:
    """Cycles of a block on an SM that never keeps it waiting, which takes some alone on one whose
    busiest unit it keeps `busy` meanwhile."""
    used = min(_FULL, busy / cycles)
    return float(cycles * (1.0 - used**_SHARPNESS) ** (1.0 / _SHARPNESS))


def _searched(cost: Callable[[float], Cost], span: Callable[[Cost], float], wanted: float,
              low: float, high: float) -> Cost:  # fmt: skip
    """The cost of a family, by one number with which it grows, that gives the wanted span."""
    for _ in range(_STEPS):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if span(cost(middle)) > wanted else (middle, high)
    return cost(low)


def _of_windows(works: Works, replayed: Replayed) -> Cost:
    """Blocks so long that an SM full of them has the pace of the windows, and one alone its own."""
    whole, longest = works.every
    pace, resident = replayed.pace
    if not replayed.alone:
        warps = float(whole.sum()) / float(longest.sum())  # that go on as long as the longest one
        used = min(_FULL, pace / replayed.rate)
        load, rate = _load_of(used), pace / used
        return Cost(start=0.0, each=resident * warps / (load * rate), part=replayed.rate / rate)
    most = int(longest.argmax())  # what was replayed alone is of this kind
    warps = float(whole[most]) / max(1.0, float(longest[most]))
    if resident >= _BESIDE:
        load = _load_of_one(resident * warps / (pace * replayed.alone), resident)
    else:
        load = _load_of(min(_FULL, pace / replayed.rate))
    each = replayed.alone * (1.0 + load**_SHARPNESS) ** (-1.0 / _SHARPNESS)
    return Cost(start=0.0, each=each, part=load * each * replayed.rate / warps)


def _load_of(used: float) -> float:
    """What is asked of an SM of which so much is used."""
    return float(used / (1.0 - used**_SHARPNESS) ** (1.0 / _SHARPNESS))


def _load_of_one(slower: float, blocks: float) -> float:
    """What a block asks of an SM on which so many take so many times as long as one alone."""
    most = blocks**_SHARPNESS
    power = min(max(slower, 1.0 / _FULL) ** _SHARPNESS, _FULL * most)
    return float(((power - 1.0) / (most - power)) ** (1.0 / _SHARPNESS))


def busiest(replay_sm: Record, spec: Record) -> tuple[float, float]:
    """Cycles that a replay would take at least: of the unit that instructions keep busiest, and of
    L1, of waits for memory, or of the slice of L2 that adds most for all SMs."""
    parts, sm = int(spec["sub_partitions"]), replay_sm
    sectors = float(sm["l2_read"] + sm["l2_write"] + sm["l2_atomic"])
    issue = max(float(sm["issue_active"]), float(sm["pipe_busy"].max())) / parts
    memory = max(
        float(sm["tag_cycles"]), float(sm["data_cycles"]), float(sm["dram_busy"]),
        32.0 * sectors / float(spec["l2_rate"]), float(sm["slice_work"].max()),
    )  # fmt: skip
    return issue, memory
