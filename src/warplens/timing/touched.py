"""What the sampled blocks touch: their lines and DRAM rows, numbered without gaps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.compiled import native
from warplens.execute.rounds import Rounds
from warplens.execute.sorting import sort_by, sorted_by
from warplens.execute.trace import warps_of
from warplens.timing.once import once
from warplens.timing.picking import taken
from warplens.timing.state import PAGE_LINES, Ints, Records

Words = npt.NDArray[np.uint32]
Numbers = npt.NDArray[np.int32]  # of what one table holds: half of what 64 bits would take
_READ, _WRITE, _ATOMIC = 1, 2, 4
_TABLE = 32  # places of a table for each use of a line, up to which it is quicker than sorting
_WORD = 32  # units that an element of a mask stands for
# Bits of a table for each value, beyond which sorting is as quick: of a table of so many in all
# for fewer values, since it takes memory, too
_SPARSE, _SPARSER, _SMALL = 32, 96, 1 << 26
# What this table is made of, or follows from what it is made of
_TOLD_APART_BY = "block", "warp", "first_line", "n_lines", "kind"
ROW_LINES = 16  # of what DRAM has open at once: 2 KiB


@dataclass(frozen=True, kw_only=True)
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
        rounds: the SMs of blocks; None: all in turn.
        orders: of the accesses in L2, by the blocks of a wave, where several models look at the
            same ones; None: one alone does.
    """

    context: Records
    lines: Ints
    blocks: Ints
    block: Numbers
    warp: Ints
    by_warp: Numbers
    at: Numbers
    access: Numbers
    used: Numbers
    user: Numbers
    line: Numbers
    row: Numbers
    first: Numbers
    offset: int = 0
    sampled: int = 0
    rounds: Rounds | None = None
    orders: dict[int, Ints] | None = None

    @property
    def pages(self) -> int:
        """Pages of memory that lines lie in."""
        found = self.lines[self.first] // (PAGE_LINES << 4)
        return int(np.count_nonzero(np.diff(found))) + min(1, len(found))

    @property
    def part_copied(self) -> float:
        """The part of the lines that anything loads or stores to, not those that only atomics
        change."""
        used = self.lines_of(self.kind != _ATOMIC)
        return float(used.mean()) if len(used) else 0.0

    @once
    def kind(self) -> npt.NDArray[np.uint8]:
        """Per use of a line the kind of its access."""
        return np.repeat(self.context["kind"], self.context["n_lines"])

    @once
    def is_replayed(self) -> npt.NDArray[np.bool_]:
        """Which uses are by the SM that is replayed."""
        return np.repeat(self.context["entry"] == 0, self.context["n_lines"])

    @once
    def known(self) -> dict[tuple[object, ...], float]:
        """What has been counted, by the question: it may be asked again."""
        return {}

    def lines_of(self, among: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which lines some uses are of."""
        found = np.zeros(self.n_lines, np.bool_)
        _note_lines(self.used, np.ascontiguousarray(among).view(np.uint8), found.view(np.uint8))
        return found

    def allocations(self, extents: Ints | None) -> Ints:
        """Per line the number of its allocation, from first lines and ends of all, ascending; all
        the same where those are not known."""
        names = self.lines[self.first] >> 4
        if extents is None:
            return np.zeros(len(names), np.int64)
        begins = np.append(np.searchsorted(names, extents[:, 0]), len(names))
        return np.repeat(np.arange(len(begins)), np.diff(begins, prepend=0))

    def sm_of(self, stride: int) -> Ints:
        """Per block which of `stride` SMs runs it, counted from the one that is replayed."""
        rounds = self.rounds or Rounds(stride)
        found: Ints = (rounds.sm_of(self.blocks) - self.offset) % stride
        return found

    @once
    def by_line(self) -> Numbers:
        """Uses by line, those of a line in order."""
        return sorted_by(self.used, self.n_lines)

    @once
    def users_by_line(self) -> tuple[Numbers, Numbers]:
        """The users of `by_line`, and where in it each line's begin."""
        counts = times_of(self.used)
        begins = np.full(self.n_lines + 1, len(self.used), np.int32)
        begins[0] = 0
        np.cumsum(counts, out=begins[1 : len(counts) + 1])
        return taken(self.user, self.by_line), begins

    @once
    def turns(self) -> Numbers:
        """Per access how many its warp has made before."""
        return ranks(self.warp, self.by_warp)

    def steps(self, resident: int) -> Ints:
        """Per access when it is made: of a wave of `resident` blocks every warp makes its first
        one, then every warp its second, and so on; then comes the next wave."""
        turns = self.turns
        wave = np.arange(len(self.blocks)) // max(1, resident) * (int(turns.max(initial=0)) + 1)
        found: Ints = taken(wave, self.block)
        found += turns
        return found

    @property
    def n_lines(self) -> int:
        """How many lines there are."""
        return len(self.row)

    def seen_from(self, context: Records, offset: int) -> Touched:
        """The same accesses (see `are_same`) where another SM is replayed."""
        found = replace(self, context=context, offset=offset)
        vars(found).update(kind=self.kind, turns=self.turns)
        return found

    @classmethod
    def of(cls, context: Records, lines: Ints, offset: int = 0, sampled: int = 0,
           rounds: Rounds | None = None) -> Touched:  # fmt: skip
        """Of a trace's tables."""
        blocks, block = numbered(context["block"])
        warp = warps_of(context)
        names, line = numbered(lines >> 4)
        first = firsts(line, len(names))
        row = np.cumsum(np.diff(names // ROW_LINES, prepend=-1) != 0, dtype=np.int32) - 1
        warps, its_warp = numbered(warp)
        by_warp = sorted_by(its_warp, len(warps))
        del its_warp
        uses = int(context["n_lines"].sum(dtype=np.int64))
        at, access, user = (np.empty(uses, np.int32) for _ in range(3))
        _spread(context, block, at, access, user)
        in_order = uses == len(line) and bool((at[1:] > at[:-1]).all())
        used = line if in_order else taken(line, at)
        return cls(
            context=context, lines=lines, blocks=blocks, block=block, warp=warp, by_warp=by_warp,
            at=at, access=access, used=used, user=user, line=line, row=row,
            first=first, offset=offset, sampled=max(sampled, len(blocks)), rounds=rounds,
        )  # fmt: skip


def are_same(context: Records, lines: Ints, others: Records, other_lines: Ints) -> bool:
    """Whether two traces have the same accesses, whichever SM is replayed."""
    if len(context) != len(others) or not np.array_equal(lines, other_lines):
        return False
    return all(np.array_equal(context[name], others[name]) for name in _TOLD_APART_BY)


@native
def _spread(context: Records, block: Numbers, at: Numbers, access: Numbers,
            user: Numbers) -> None:  # fmt: skip
    """Fills in the uses of lines, one access after the other."""
    n = 0
    for i in range(context.size):
        first, its = context[i].first_line, block[i]
        for place in range(first, first + context[i].n_lines):
            at[n], access[n], user[n] = place, i, its
            n += 1


@native
def _note_lines(used: Numbers, among: npt.NDArray[np.uint8], found: npt.NDArray[np.uint8]) -> None:
    for i in range(used.size):
        if among[i]:
            found[used[i]] = 1


@native
def _first_of(values: Numbers, found: Numbers) -> None:
    for i in range(values.size - 1, -1, -1):
        found[values[i]] = i


def firsts(values: Numbers, count: int) -> Numbers:
    """Per number below `count`, all of which are among some values, where it stands first."""
    found = np.empty(count, np.int32)
    _first_of(values, found)
    return found


@native
def _rank(groups: npt.NDArray[Any], order: Numbers, found: Numbers) -> None:
    before, rank = -1, 0
    for i in range(order.size):
        at = order[i]
        rank = rank + 1 if groups[at] == before else 0
        before = groups[at]
        found[at] = rank


def ranks(groups: npt.NDArray[Any], order: Numbers) -> Numbers:
    """Per element how many of its group, a number from 0 on, come before it; `order` sorts the
    groups and keeps what is equal as it was. Elements that are not in it are left as they are."""
    found = np.zeros(len(groups), np.int32)
    _rank(groups, order, found)
    return found


@native
def _ones_of(word: int) -> int:
    """How many of 32 bits are set."""
    word -= word >> 1 & 0x55555555
    word = (word & 0x33333333) + (word >> 2 & 0x33333333)
    return ((word + (word >> 4) & 0x0F0F0F0F) * 0x01010101 >> 24) & 0xFF


@native
def _note_bits(values: Ints, low: int, there: Words) -> None:
    for i in range(values.size):
        at = values[i] - low
        there[at // _WORD] |= 1 << at % _WORD


@native
def _names_of(there: Words, low: int, names: Ints) -> None:
    n = 0
    for i in range(there.size):
        left = int(there[i])
        while left:
            rest = left & left - 1
            names[n] = low + _WORD * i + _ones_of((left ^ rest) - 1)
            left = rest
            n += 1


@native
def _places_of(values: Ints, low: int, there: Words, before: Numbers, found: Numbers) -> None:
    for i in range(values.size):
        at = values[i] - low
        word = at // _WORD
        found[i] = before[word] + _ones_of(there[word] & (1 << at % _WORD) - 1)


def _bits_of(values: Ints) -> tuple[int, Words] | None:
    """The least of some values, and a bit for each number from it on that is among them; None where
    they lie so far apart, or are so few, that sorting is as quick."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    most = max(_SPARSE * len(values) + 1024, min(_SPARSER * len(values), _SMALL))
    if not len(values) or high - low > most:
        return None
    there = np.zeros((high - low) // _WORD + 1, np.uint32)
    _note_bits(values, low, there)
    return low, there


def numbered(values: npt.NDArray[Any]) -> tuple[Ints, Numbers]:
    """Values without repetitions, ascending, and per element the place of its value among them.

    As `np.unique`; where values lie close together with a table in place of sorting.
    """
    values = np.ascontiguousarray(values, np.int64)
    table = _bits_of(values)
    if table is None:
        names, inverse = np.unique(values, return_inverse=True)
        return names, inverse.astype(np.int32)
    low, there = table
    before = _before(there)
    names = np.empty(int(before[-1]) + int(np.bitwise_count(there[-1])), np.int64)
    place = np.empty(len(values), np.int32)
    _names_of(there, low, names)
    _places_of(values, low, there, before, place)
    return names, place


def numbers_of(values: Ints) -> Numbers:
    """Per element the place of its value among all, as `numbered` gives it: of many values that are
    nearly all different the list of them takes as much room."""
    table = _bits_of(values)
    if table is None:
        return numbered(values)[1]
    place = np.empty(len(values), np.int32)
    _places_of(values, *table, _before(table[1]), place)
    return place


def _before(there: Words) -> Numbers:
    """Per word of a table how many bits are set before it."""
    ones = np.bitwise_count(there)
    before = np.cumsum(ones, dtype=np.int32)
    before -= ones
    return before


def order_of_pairs(group: Numbers, item: Numbers, groups: int, items: int) -> Numbers:
    """Indices by group and, within one, by item; of equal pairs in the order of indices."""
    by_item, order = np.empty((2, len(item)), np.int32)
    sort_by(item, np.arange(len(item), dtype=np.int32), by_item, np.empty(items, np.int64))
    sort_by(group, by_item, order, np.empty(groups, np.int64))
    return order


def distinct(values: Ints) -> Ints:
    """Values without repetitions, ascending: with a table, or by sorting, several times as quick
    for millions of them as NumPy's hashing."""
    values = np.ascontiguousarray(values, np.int64)
    table = _bits_of(values)
    if table is None:
        found: Ints = np.sort(values)
        return np.asarray(found[np.diff(found, prepend=found[:1] - 1) != 0])
    low, there = table
    names = np.empty(int(np.bitwise_count(there).sum(dtype=np.int64)), np.int64)
    _names_of(there, low, names)
    return names


@native
def _count_different(order: Numbers, group: npt.NDArray[Any], key: npt.NDArray[Any],
                     value: npt.NDArray[Any], last: Ints, found: Ints) -> None:  # fmt: skip
    """Counts for its group what has another value than the one before it with its key."""
    for i in range(order.size):
        its_key, its_value = key[order[i]], value[order[i]]
        if last[its_key] != its_value + 1:
            last[its_key] = its_value + 1
            found[group[order[i]]] += 1


def different(group: npt.NDArray[Any], item: npt.NDArray[Any],
              by_item: Numbers | None = None) -> Ints:  # fmt: skip
    """How many different items each group has; both numbered from 0. `by_item`: indices in an order
    in which those of an item follow each other, if one is known: few items are sorted quickly."""
    groups, items = ((int(one.max()) + 1 if len(one) else 0) for one in (group, item))
    found = np.zeros(groups, np.int64)
    if by_item is not None:
        _count_different(by_item, group, group, item, np.zeros(groups, np.int64), found)
    else:
        by_group = sorted_by(group, groups)
        _count_different(by_group, group, item, group, np.zeros(items, np.int64), found)
    return found


@native
def _count(values: Ints, found: Ints) -> None:
    for i in range(values.size):
        found[values[i]] += 1


def times_of(values: Ints, least: int = 0) -> Ints:
    """How often each number is among some that are not below 0, `least` numbers at least:
    `np.bincount`, which would first make 64 bits of each."""
    found = np.zeros(max(least, int(values.max(initial=-1)) + 1), np.int64)
    _count(values, found)
    return found


def beside_and_apart(place: Ints, places: Ints) -> tuple[int, npt.NDArray[np.bool_]]:
    """How many of the sampled SMs (`places`, ascending) lie beside each other, the first among
    them, and which blocks, by the `place` of their SM, run on the first or on one that does not."""
    beside = int(np.argmax(np.append(np.diff(places) != 1, True))) + 1
    return beside, (place == 0) | (place >= beside)


def which_of(values: Ints, count: int) -> npt.NDArray[np.bool_]:
    """Which of the numbers below `count` there are among some values."""
    found = np.zeros(count, np.bool_)
    found[values] = True
    return found


def masks_of(touched: Touched, unit: Ints, among: npt.NDArray[np.bool_]) -> Words:
    """Which units (of blocks) use each line in some of its uses, as bits: rows of `_WORD` units an
    element, for `counted`."""
    words = (int(unit.max()) if len(unit) else 0) // _WORD + 1
    found = np.zeros((touched.n_lines, words), np.uint32)
    _mark(touched.used, touched.user, unit, among.view(np.uint8), found)
    return found


@native
def _count_bits(masks: Words, others: Words, found: Ints) -> None:
    for i in range(masks.shape[0]):
        count = 0
        for j in range(masks.shape[1]):
            both = masks[i, j] & others[i, j]
            if both:
                count += _ones_of(both)
        found[i] = count


def counted(masks: Words, others: Words | None = None) -> Ints:
    """How many units there are in each row of masks, and in the same one of others."""
    found = np.empty(len(masks), np.int64)
    _count_bits(masks, masks if others is None else others, found)
    return found


def users_of(touched: Touched, unit: Ints, among: npt.NDArray[np.bool_]) -> Ints:
    """How many units (of blocks) use each line."""
    units = int(unit.max()) + 1 if len(unit) else 1
    if touched.n_lines * units <= _TABLE * len(touched.used):
        return counted(masks_of(touched, unit, among))
    found = np.zeros(touched.n_lines, np.int64)
    _count_users(touched.by_line, *touched.users_by_line, unit, among.view(np.uint8),
                 np.zeros(units, np.int64), found)  # fmt: skip
    return found


@native
def _count_users(order: Numbers, users: Numbers, begins: Numbers, unit: Ints,
                 among: npt.NDArray[np.uint8], seen: Ints, found: Ints) -> None:  # fmt: skip
    for line in range(found.size):
        count = 0
        for i in range(begins[line], begins[line + 1]):
            if among[order[i]]:
                its = unit[users[i]]
                if seen[its] != line + 1:
                    seen[its] = line + 1
                    count += 1
        found[line] = count


@native
def _mark(used: Numbers, user: Numbers, unit: Ints, among: npt.NDArray[np.uint8],
          masks: Words) -> None:  # fmt: skip
    for i in range(used.size):
        if among[i]:
            number = unit[user[i]]
            masks[used[i], number // _WORD] |= 1 << number % _WORD
