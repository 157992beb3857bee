"""How much work each block of a grid is, told from those that were run.

Blocks are run at places strewn over the grid until the mean of their work is known well enough. The
work of the others follows from those that were run: from the nearest in the order of the grid, or
from those with the same place along some of its axes, whichever tells the known ones best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np
import numpy.typing as npt

from warplens.execute.tally import LOOKED_AT

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_MOST = 4096  # blocks, however short they are
_BUDGET = 24_000_000  # warp instructions run to learn the work
_UNSURE, _MOST_BUDGET = 0.08, 96_000_000  # the same where the error of the mean is more than so
_SURE = 0.02  # of the mean work: its standard error that is good enough
_SURELY = 1.5  # times what may be run: whatever further blocks tell, it is too much
_LEAST = 64  # blocks of a grid that differ
ALIKE = 0.1  # standard deviation of the blocks' work over its mean
LONGER = 1.4  # times the median: a block that makes the end of the grid by itself
_MOST_CELLS = 40_000_000  # pairs of a cell of the grid and a known block
_MOST_PAIRS = 512  # known blocks among which keys are compared
_LEAST_PASSES = 2000.0  # of one block, if blocks are to be compared by them
_SAME = 1e-12  # of squares of distances
_OF_A_KIND = 0.08  # of the most work: between blocks of which one stands for the other
_KINDS = 4  # of blocks that are told apart
_BY_CHANCE = 3.0  # times what passes differ by that are told from some of the accesses
_TELLS = 0.8  # of the spread: what a key must leave of it at most, to be worth more than chance


@dataclass(frozen=True, kw_only=True)
class Works:
    """Work of some blocks: warp instructions, and those of each block's longest warp.

    Attributes:
        places: blocks that were run, ascending; whole, longest: their work.
        passes: through L1's data, about as many; None: not known.
        error: standard error of the mean over its value; is_known: small enough.
    """

    grid: tuple[int, int, int]
    places: Ints
    whole: Floats
    longest: Floats
    passes: Floats | None = None
    error: float = 0.0
    is_known: bool = True

    @property
    def total(self) -> int:
        """Blocks of the grid."""
        return prod(self.grid)

    @property
    def spread(self) -> float:
        """Standard deviation of the work over its mean; of the longest warps', if that is more."""
        parts = [float(one.std() / max(1.0, one.mean())) for one in (self.whole, self.longest)]
        return max(parts)

    @property
    def differ(self) -> bool:
        """Whether blocks are of unlike work."""
        if len(self.places) < 2:
            return False
        longest = float(self.longest.max())
        return self.spread > ALIKE or longest > LONGER * float(np.median(self.longest))

    @cached_property
    def every(self) -> tuple[Floats, Floats]:
        """The work of all blocks of the grid, and of their longest warps."""
        return self.whole[self._known_as], self.longest[self._known_as]

    @cached_property
    def every_passes(self) -> Floats | None:
        """The passes of all blocks of the grid, if they are so many that some tell."""
        if self.passes is None or float(self.passes.max(initial=0.0)) < _LEAST_PASSES:
            return None
        return self.passes[self._known_as]

    @cached_property
    def _known_as(self) -> Ints:
        """For each block of the grid the one whose work it takes."""
        if len(self.places) == self.total:
            return np.arange(self.total)
        source = nearest(self.grid, self.places, self.whole)[0]
        source[self.places] = np.arange(len(self.places))
        return source


Way = tuple[int, ...]
Counted = Callable[[Ints], tuple[Ints, Ints]]  # of blocks: instructions of their warps, passes


def kinds(works: Works, fresh: Floats | None = None) -> tuple[Ints, Floats]:
    """Of a grid's blocks some that stand for all, the one with most work first, and how many each
    stands for: a block between two of them is in part like either.

    Their instructions, those of their longest warps and their passes tell blocks apart, passes
    unless they differ by chance, and what part of their loads is `fresh`, if that is known.
    """
    told, passes = [*works.every], works.every_passes
    if passes is not None and passes.std() > _BY_CHANCE * np.sqrt(LOOKED_AT * passes.mean()):
        told.append(passes)
    parts = [one / max(1.0, float(one.max())) for one in told]
    at = np.stack(parts if fresh is None else [*parts, fresh], axis=1)
    chosen = [int(at.sum(axis=1).argmax())]
    while len(chosen) < _KINDS:
        apart = _apart(at, at[chosen]).min(axis=1)
        if apart.max() <= _OF_A_KIND**2:
            break
        chosen.append(int(apart.argmax()))
    near = 1.0 / np.maximum(_SAME, _apart(at, at[chosen]))
    shares: Floats = (near / near.sum(axis=1)[:, None]).sum(axis=0)
    return np.array(chosen), shares


def strewn(total: int, parts: int, turn: int = 0) -> Ints:
    """A block of each of so many equal parts of the grid, wherever in it, the same every time."""
    parts = min(parts, total)
    number = np.arange(parts, dtype=np.uint64) + np.uint64(turn * 0x10001)
    drawn = _scrambled(number) / 2.0**64
    return np.unique(((np.arange(parts) + drawn) * total / parts).astype(np.int64))


def all_works(known: Works, counted: Counted) -> Works:
    """Runs more blocks until the spread of the work is known, or has cost enough."""
    total, spent = known.total, float(known.whole.sum())
    turn = 0
    while len(known.places) < total and not _is_sure(known):
        turn += 1
        wanted = min(total, _MOST, max(_LEAST, 2 * len(known.places)))
        if wanted <= len(known.places):
            break
        fresh = strewn(total, wanted, turn) if wanted < total else np.arange(total)
        fresh = np.setdiff1d(fresh, known.places)
        cost = float(known.whole.mean()) * len(fresh)
        budget = _MOST_BUDGET if _error(known) > _UNSURE else _BUDGET
        if spent + cost > budget:
            room = int((budget - spent) / max(1.0, float(known.whole.mean())))
            if room < 8:
                break
            fresh = fresh[np.unique(np.linspace(0, len(fresh) - 1, room).astype(np.int64))]
        known = joined(known, works_of(known.grid, fresh, *counted(fresh)))
        spent = float(known.whole.sum())
    error = _error(known)
    return replace(known, error=error, is_known=error <= 2 * _SURE)


def may_be_counted(known: Works) -> bool:
    """Whether `all_works` may come to all blocks of the grid: not where those known tell surely
    that there is too much to run."""
    budget = _BUDGET if _error(known) <= _SURE else _MOST_BUDGET
    return known.total * float(known.whole.mean()) <= _SURELY * budget


def joined(known: Works, more: Works) -> Works:
    """The work of both."""
    places = np.concatenate([known.places, more.places])
    places, first = np.unique(places, return_index=True)
    both = None
    if known.passes is not None and more.passes is not None:
        both = np.concatenate([known.passes, more.passes])[first]
    return Works(
        grid=known.grid, places=places,
        whole=np.concatenate([known.whole, more.whole])[first],
        longest=np.concatenate([known.longest, more.longest])[first],
        passes=both,
    )  # fmt: skip


def works_of(grid: tuple[int, int, int], places: Ints, warps: Ints,
             passes: Ints | None = None) -> Works:  # fmt: skip
    """Of instructions by block and warp, and of passes by block."""
    return Works(
        grid=grid, places=places, whole=warps.sum(axis=1).astype(np.float64),
        longest=warps.max(axis=1).astype(np.float64),
        passes=None if passes is None else passes.astype(np.float64),
    )  # fmt: skip


def _is_sure(known: Works) -> bool:
    return _error(known) <= _SURE and len(known.places) >= min(known.total, 4 * _LEAST)


def _error(known: Works) -> float:
    """Standard error of the mean work over it: of what a block's neighbours do not tell."""
    if len(known.places) == known.total:
        return 0.0
    left = nearest(known.grid, known.places, known.whole)[1]
    part = 1.0 - len(known.places) / known.total
    return float(left * np.sqrt(part / len(known.places)) / max(1.0, float(known.whole.mean())))


def nearest(grid: tuple[int, int, int], places: Ints, whole: Floats) -> tuple[Ints, float]:
    """For each block of the grid the known one whose work it takes, and the standard deviation of
    the work from what is told so.

    Of several that are as near any is taken, not their mean: as many long blocks as there are make
    the grid's end.
    """
    ways = _ways(grid, len(places))
    some = np.unique(np.linspace(0, len(places) - 1, _MOST_PAIRS).astype(np.int64))
    errors = [_left(_at(grid, places[some], way), whole[some]) for way in ways]
    best = int(np.argmin(errors))
    if errors[best] > _TELLS * float(whole[some].std()):
        return _lot(np.arange(prod(grid)), np.int64(len(places))), float(whole.std())
    return _sources(grid, places, ways[best]), errors[best]


def _ways(grid: tuple[int, int, int], known: int) -> list[Way]:
    """In the grid's order (), and along some of its axes."""
    axes = [axis for axis, size in enumerate(grid) if size > 1]
    found: list[Way] = [()]
    for count in range(1, len(axes)):
        for way in combinations(axes, count):
            if prod(grid[axis] for axis in way) * known <= _MOST_CELLS:
                found.append(way)
    return found


def _at(grid: tuple[int, int, int], blocks: Ints, way: Way) -> Floats:
    """Where blocks lie, seen in one way: parts of the axes' lengths."""
    if not way:
        return blocks[:, None] / prod(grid)
    before = (1, grid[0], grid[0] * grid[1])
    return np.stack([blocks // before[axis] % grid[axis] / grid[axis] for axis in way], axis=1)


def _apart(here: Floats, there: Floats) -> Floats:
    """Squares of the distances between some places and others."""
    found = np.zeros((len(here), len(there)))
    for axis in range(here.shape[1]):
        found += (here[:, None, axis] - there[None, :, axis]) ** 2
    return found


def _left(at: Floats, whole: Floats) -> float:
    """Standard deviation of the work of known blocks from that of their nearest."""
    apart = _apart(at, at)
    np.fill_diagonal(apart, np.inf)
    near = apart <= apart.min(axis=1)[:, None] + _SAME
    told = (near @ whole) / near.sum(axis=1)
    return float(np.sqrt(((told - whole) ** 2).mean()))


def _sources(grid: tuple[int, int, int], places: Ints, way: Way) -> Ints:
    """The nearest known block of each block of the grid, seen in one way."""
    every = np.arange(prod(grid))
    if not way:
        after = np.clip(np.searchsorted(places, every), 1, len(places) - 1)
        is_before = every - places[after - 1] <= places[after] - every
        return np.where(is_before, after - 1, after)
    before = (1, grid[0], grid[0] * grid[1])
    cell, cells = np.zeros(len(every), np.int64), np.zeros(1, np.int64)
    for axis in way:
        cell = cell * grid[axis] + every // before[axis] % grid[axis]
        cells = (cells[:, None] + before[axis] * np.arange(grid[axis])).ravel()
    apart = _apart(_at(grid, cells, way), _at(grid, places, way))
    near = apart <= apart.min(axis=1)[:, None] + _SAME
    order = np.argsort(~near, axis=1, kind="stable")
    found: Ints = order[cell, _lot(every, near.sum(axis=1)[cell])]
    return found


def _lot(numbers: Ints, most: npt.NDArray[np.int64] | np.int64) -> Ints:
    """A number below `most` for each, always the same."""
    drawn = _scrambled(numbers.astype(np.uint64)) >> np.uint64(32)
    return (drawn % np.asarray(most).astype(np.uint64)).astype(np.int64)


def _scrambled(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Numbers without order, always the same (the finaliser of SplitMix64)."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ numbers >> np.uint64(shift)) * np.uint64(factor)
    return numbers ^ numbers >> np.uint64(31)
