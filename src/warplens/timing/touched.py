"""What the sampled blocks touch: their lines and DRAM rows, numbered without gaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warplens.compiled import native
from warplens.execute.trace import lines_of, warps_of
from warplens.timing.state import PAGE_LINES, Ints, Records

_READ = 1
_TABLE = 32  # places of a table for each use of a line, up to which it is quicker than sorting
_WORD = 32  # units that an element of a mask stands for
_SPARSE = 8  # places of a table for each value: beyond that sorting is as quick
ROW_LINES = 16  # of what DRAM has open at once: 2 KiB


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """Global accesses of sampled blocks (see execute/trace.py).

    Attributes:
        context: the accesses; lines: the table of lines that they refer to.
        blocks: indices of the blocks, ascending; block: per access its place among them.
        warp: per access a number for its warp; by_warp: accesses warp by warp, in order.
        at: places in `lines` of one access after the other; access: which access that is; used:
            which line's number stands there; user: the place of the access's block.
        line: per element of `lines` the line's number, ascending with addresses, of `n_lines`.
        row: per line its DRAM row's number, ascending likewise.
        first: per line where in `lines` it stands first.
        offset: the first block of the SM that is replayed.
        sampled: blocks, those that touch nothing among them.
    """

    context: Records
    lines: Ints
    blocks: Ints
    block: Ints
    warp: Ints
    by_warp: Ints
    at: Ints
    access: Ints
    used: Ints
    user: Ints
    line: Ints
    row: Ints
    first: Ints
    offset: int = 0
    sampled: int = 0

    @property
    def pages(self) -> int:
        """Pages of memory that lines lie in."""
        found = self.lines[self.first] // (PAGE_LINES << 4)
        return int(np.count_nonzero(np.diff(found))) + min(1, len(found))

    @property
    def part_read(self) -> float:
        """The part of the lines that anything reads."""
        reads = (self.context["kind"] == _READ)[self.access]
        return float(np.count_nonzero(self.lines_of(reads))) / max(1, self.n_lines)

    def lines_of(self, among: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which lines some uses are of."""
        return _which(self.used[among], self.n_lines)

    def allocations(self, extents: Ints | None) -> Ints:
        """Per line the number of its allocation, from first lines and ends of all, ascending; all
        the same where those are not known."""
        names = self.lines[self.first] >> 4
        if extents is None:
            return np.zeros(len(names), np.int64)
        return np.searchsorted(extents[:, 0], names, "right")

    def sm_of(self, stride: int) -> Ints:
        """Per block the SM that runs it, from the one that is replayed; every `stride`-th block of
        the grid runs on the same."""
        found: Ints = (self.blocks - self.offset) % stride
        return found

    def turns(self) -> Ints:
        """Per access how many its warp has made before."""
        return ranks(self.warp, self.by_warp)

    def steps(self, resident: int) -> Ints:
        """Per access when it is made: of a wave of `resident` blocks every warp makes its first
        one, then every warp its second, and so on; then comes the next wave."""
        turns = self.turns()
        wave = self.block // max(1, resident)
        return np.asarray(wave * (int(turns.max(initial=0)) + 1) + turns)

    @property
    def n_lines(self) -> int:
        """How many lines there are."""
        return len(self.row)

    @classmethod
    def of(cls, context: Records, lines: Ints, offset: int = 0, sampled: int = 0) -> Touched:
        """Of a trace's tables."""
        blocks, block = numbered(context["block"])
        access = np.repeat(np.arange(len(context)), context["n_lines"])
        at, warp = lines_of(context), warps_of(context)
        names, line = numbered(lines >> 4)
        first = np.empty(len(names), np.int64)
        first[line[::-1]] = np.arange(len(lines) - 1, -1, -1)  # the last one written stays
        row = np.cumsum(np.diff(names // ROW_LINES, prepend=-1) != 0) - 1
        by_warp = np.argsort(warp, kind="stable")
        return cls(
            context=context, lines=lines, blocks=blocks, block=block, warp=warp, by_warp=by_warp,
            at=at, access=access, used=line[at], user=block[access], line=line, row=row,
            first=first, offset=offset, sampled=max(sampled, len(blocks)),
        )  # fmt: skip


def ranks(groups: Ints, order: Ints) -> Ints:
    """Per element how many of its group, a number from 0 on, come before it; `order` sorts the
    groups and keeps what is equal as it was."""
    begins = np.diff(groups[order], prepend=-1) != 0
    number = np.arange(len(begins))
    found = np.empty(len(begins), np.int64)
    found[order] = number - np.maximum.accumulate(np.where(begins, number, 0))
    return found


def numbered(values: Ints) -> tuple[Ints, Ints]:
    """Values without repetitions, ascending, and per element the place of its value among them.

    As `np.unique`; where values lie close together with a table in place of sorting.
    """
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if high - low > _SPARSE * len(values) + 1024:
        names, place = np.unique(values, return_inverse=True)
        return names, place
    offsets = values - low
    there = np.zeros(high - low + 1, np.bool_)
    there[offsets] = True
    if not len(values):
        there[0] = False
    rank = np.cumsum(there) - 1
    return np.flatnonzero(there) + low, rank[offsets]


@native
def _sort_by(keys: Ints, before: Ints, after: Ints, counts: Ints) -> None:
    """Sorts indices by their keys, those of equal keys in the order in which they stood."""
    for i in range(counts.size):
        counts[i] = 0
    for i in range(keys.size):
        counts[keys[i]] += 1
    total = 0
    for i in range(counts.size):
        count = counts[i]
        counts[i] = total
        total += count
    for i in range(before.size):
        index = before[i]
        after[counts[keys[index]]] = index
        counts[keys[index]] += 1


def order_of_pairs(group: Ints, item: Ints, groups: int, items: int) -> Ints:
    """Indices by group and, within one, by item; of equal pairs in the order of indices."""
    by_item, order = np.empty(len(item), np.int64), np.empty(len(item), np.int64)
    _sort_by(item, np.arange(len(item)), by_item, np.empty(items, np.int64))
    _sort_by(group, by_item, order, np.empty(groups, np.int64))
    return order


def distinct(values: Ints) -> Ints:
    """Values without repetitions, ascending: by sorting, several times as quick for millions of
    them as NumPy's hashing."""
    found: Ints = np.sort(values)
    return np.asarray(found[np.diff(found, prepend=found[:1] - 1) != 0])


def different(group: Ints, item: Ints) -> Ints:
    """How many different items each group has; both numbered from 0."""
    items = int(item.max()) + 1 if len(item) else 1
    return np.bincount(distinct(group * items + item) // items)


def beside_and_apart(place: Ints, places: Ints) -> tuple[int, npt.NDArray[np.bool_]]:
    """How many of the sampled SMs (`places`, ascending) lie beside each other, the first among
    them, and which blocks, by the `place` of their SM, run on the first or on one that does not."""
    beside = int(np.argmax(np.append(np.diff(places) != 1, True))) + 1
    return beside, (place == 0) | (place >= beside)


def _which(values: Ints, count: int) -> npt.NDArray[np.bool_]:
    """Which of the numbers below `count` there are among some values."""
    found = np.zeros(count, np.bool_)
    found[values] = True
    return found


def meeting(place: Ints, group: Ints, some: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which uses are at a place and by a group of `some` of them, and so may meet those."""
    places = _which(place[some], int(place.max()) + 1)
    groups = _which(group[some], int(group.max()) + 1)
    return np.asarray(places[place] & groups[group])


def masks_of(touched: Touched, unit: Ints, among: npt.NDArray[np.bool_]) -> Ints:
    """Which units (of blocks) use each line in some of its uses, as bits: rows of `_WORD` units an
    element, for `counted`."""
    words = (int(unit.max()) if len(unit) else 0) // _WORD + 1
    found = np.zeros((touched.n_lines, words), np.int64)
    _mark(touched.used, touched.user, unit, among.view(np.uint8), found)
    return found


def counted(masks: Ints) -> Ints:
    """How many units there are in each row of masks."""
    found: Ints = np.bitwise_count(masks).sum(axis=1, dtype=np.int64)
    return found


def users_of(touched: Touched, unit: Ints, among: npt.NDArray[np.bool_]) -> Ints:
    """How many units (of blocks) use each line."""
    units = int(unit.max()) + 1 if len(unit) else 1
    if touched.n_lines * units <= _TABLE * len(touched.used):
        return counted(masks_of(touched, unit, among))
    pairs = distinct(touched.used[among] * units + unit[touched.user[among]])
    return np.bincount(pairs // units, minlength=touched.n_lines)


@native
def _mark(used: Ints, user: Ints, unit: Ints, among: npt.NDArray[np.uint8], masks: Ints) -> None:
    for i in range(used.size):
        if among[i]:
            number = unit[user[i]]
            masks[used[i], number // _WORD] |= 1 << number % _WORD
