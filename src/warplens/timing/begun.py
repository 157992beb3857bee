"""What blocks that were not sampled have brought to L2 as they began.

In many kernels each block first reads a part of its own of an array, and then, in a loop, what the
others have read: n bodies, each of which is met by all. When a sampled block comes to these lines,
L2 holds them, though none of the sampled blocks has asked for them: all blocks that run together
have, as they began. Where the sampled blocks show how their first reads move along with their place
in the grid (see footprints.py), those of the others follow, and which of the lines are there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warplens.compiled import native
from warplens.execute.trace import picked
from warplens.timing.footprints import Footprints, footprints
from warplens.timing.picking import chosen, taken
from warplens.timing.state import Ints, Records
from warplens.timing.touched import Touched

Flags = npt.NDArray[np.bool_]
_READ = 1
_MOST = 32  # accesses with which a warp begins, at most
_LATER = 2  # times as many steps as beginning takes: from there on it is over everywhere
_LEAST = 0.02  # of the fetches that matter: fewer are not worth telling
_BLOCKS = 64  # whose first reads are looked at


@dataclass(frozen=True, slots=True)
class Grid:
    """All blocks of a launch: the sides of the grid, and how many run at once."""

    sides: tuple[int, int, int]
    at_once: int

    @property
    def blocks(self) -> int:
        """How many there are."""
        return self.sides[0] * self.sides[1] * self.sides[2]


@dataclass(frozen=True, slots=True)
class Begun:
    """Per fetch of L2 whether a block that was not sampled has made it as it began, and the sectors
    that all blocks of the grid read as they begin."""

    fetches: Flags
    sectors: float


def begun(touched: Touched, resident: int, grid: Grid, ordinal: Ints, when: Ints, wanted: Ints,
          fetches: npt.NDArray[np.int32]) -> Begun | None:  # fmt: skip
    """What is there when a sampled block comes to it, once beginning is over everywhere; None if
    hardly anything.

    `ordinal`: per access its number in its warp; `when`: per fetch its step, counted wave by wave
    of `resident` sampled blocks; `wanted`: numbers of the fetches that matter; `fetches`: per line
    of each access those of its halves.
    """
    first = _first(touched, ordinal)
    steps, begin = int(ordinal.max()) + 1, int(ordinal[first].max()) + 1
    if steps <= _LATER * begin:
        return None
    wave, step = np.divmod(when[wanted] - 1, steps)
    is_later = step >= _LATER * begin
    prints = _reads(touched, first, grid.sides) if is_later.any() else None
    if prints is None:
        return None
    number, wave = wanted[is_later], wave[is_later]
    half, earliest = np.zeros(len(when), np.int64), np.zeros(2 * touched.n_lines, np.int64)
    _note_halves(fetches, touched.line, half, earliest)
    # What L2 has held before and lost is fetched again, whoever brought it.
    is_new = earliest[half[number]] == number
    number, wave = number[is_new], wave[is_new]
    line, side = half[number] // 2, half[number] % 2
    address = 2 * (touched.lines[touched.first[line]] >> 4) + side
    held = number[_held(touched, resident, grid, prints, address, wave)]
    every = prints.lines(np.arange(grid.blocks)) if len(held) > _LEAST * len(wanted) else None
    if every is None:
        return None
    found = np.zeros(len(when), np.bool_)
    found[held] = True
    return Begun(found, 2.0 * every[1])


def _held(touched: Touched, resident: int, grid: Grid, prints: Footprints, halves: Ints,
          wave: Ints) -> Flags:  # fmt: skip
    """Which halves blocks of the same wave, or of earlier ones, have read as they began, as far as
    there are not too many blocks to tell."""
    found, ended = np.zeros(len(halves), np.bool_), 0
    for turn in np.unique(wave).tolist():
        last = int(touched.blocks[min((turn + 1) * resident, len(touched.blocks)) - 1])
        end = min(grid.blocks, (last // grid.at_once + 1) * grid.at_once)
        if end > ended:
            read = prints.read(np.arange(ended, end))
            if read is None:
                break
            found |= (wave >= turn) & np.isin(halves, read)
            ended = end
    return found


def _first(touched: Touched, ordinal: Ints) -> Ints:
    """Of some blocks the accesses of each warp before the first instruction that it repeats, at
    most `_MOST` of them, warp by warp."""
    n = len(touched.blocks)
    is_looked_at = np.zeros(n, np.bool_)
    is_looked_at[np.linspace(0, n - 1, min(n, _BLOCKS)).round().astype(np.int64)] = True
    some = np.flatnonzero(ordinal < _MOST)
    some = np.asarray(chosen(some, taken(is_looked_at, taken(touched.block, some))))
    some = some[np.lexsort((ordinal[some], touched.warp[some]))]
    instruction = touched.context["instruction"][some].astype(np.int64)
    found = np.zeros(len(some), np.bool_)
    seen = np.full(int(instruction.max()) + 1, -1)
    _mark(touched.warp[some], instruction, seen, found)
    return some[found]


@native
def _mark(warp: Ints, instruction: Ints, seen: Ints, found: Flags) -> None:
    """Marks the accesses of each warp before the first instruction that it repeats."""
    before, is_over = -1, False
    for i in range(warp.size):
        if warp[i] != before:
            before, is_over = warp[i], False
        is_over = is_over or seen[instruction[i]] == before
        seen[instruction[i]] = before
        found[i] = not is_over


def _reads(touched: Touched, first: Ints, sides: tuple[int, int, int]) -> Footprints | None:
    """What blocks read as they begin, in halves of lines, which is what DRAM is read by."""
    some = picked(touched.context, first)
    some = picked(some, (some["kind"] == _READ) & (some["n_lines"] > 0))
    if not len(some):
        return None
    halves = np.empty(2 * int(some["n_lines"].sum(dtype=np.int64)), np.int64)
    count = _split_lines(some, touched.lines, halves)
    return footprints(Touched.of(some, halves[:count]), sides)


@native
def _split_lines(accesses: Records, lines: Ints, halves: Ints) -> int:
    """Puts the halves of lines that accesses use into a table, to which these refer from then on;
    returns how many they are."""
    n = 0
    for i in range(accesses.size):
        access, begin = accesses[i], n
        for j in range(access.first_line, access.first_line + access.n_lines):
            line, sectors = lines[j] >> 4, lines[j] & 15
            if sectors & 3:
                halves[n] = 2 * line << 4 | sectors & 3
                n += 1
            if sectors & 12:
                halves[n] = (2 * line + 1) << 4 | sectors & 12
                n += 1
        access.first_line, access.n_lines = begin, n - begin
    return n


@native
def _note_halves(fetches: npt.NDArray[np.int32], line: Ints, half: Ints, earliest: Ints) -> None:
    """Notes which half of which line each fetch brings, and of each half the first fetch."""
    for i in range(line.size):
        for side in range(2):
            number, place = fetches[i, side], 2 * line[i] + side
            if number > 0:
                half[number] = place
                if earliest[place] == 0 or number < earliest[place]:
                    earliest[place] = number
