"""DRAM rows: how long reads of a line take in DRAM, and how much of its row is moved with it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warplens.compiled import native
from warplens.execute.buffers import sparse
from warplens.timing.picking import chosen, taken
from warplens.timing.state import Floats, Ints
from warplens.timing.touched import (
    ROW_LINES,
    Numbers,
    Touched,
    numbered,
    order_of_pairs,
    users_of,
    which_of,
)

_READ, _WRITE, _ATOMIC = 1, 2, 4
_STEPS = (5**0.5 - 1.0) / 2.0, 2.0**0.5 - 1.0
_FIRST = 1.0 - np.exp(-1.0)  # whose lot is the mean
_LEAST = 0.2  # of the mean: the lot of the luckiest
# The part of a lot that lines of one row have in common, calibrated on the tuning half of two
# public suites, H200: the more, the closer together the warps of a block end, and the higher is
# the achieved occupancy of kernels that stream
_OF_ROWS = 0.7
# Bytes written, or read, within which DRAM still joins accesses to one row, and accesses of one
# kind that a warp makes one right after the other.
_JOINED_BYTES, _JOINED_ACCESSES = 128 << 10, 4
# Bytes of a row that L2 writes back at a time, of lines that several SMs have changed in place, a
# part each: fitted to three launches of a public suite, H200, that write 44 to 290 MB to DRAM
# (division of ddbp, fan2 of gaussian, swapGrid of ace). Where L2 keeps them they take no longer.
_CHANGED = 38.0
_OFTEN = 0.25  # of an allocation's lines: of two SMs beside the replayed one, one is looked at
_BITS = np.array([bin(mask).count("1") for mask in range(16)])
_BY_64 = np.array([(mask & 3 != 0) * 3 | (mask & 12 != 0) * 12 for mask in range(16)])


def lots(touched: Touched) -> Floats:
    """Per element of the table of lines that the replayed SM uses: how long reading it takes in
    DRAM beyond the shortest time, against the mean of that: exponentially distributed (measured,
    validation/data/loaded_sm90.json), most of it by rows.

    Rows are numbered in the order in which that SM first meets them, so where arrays lie does not
    matter, nor what other SMs use, and multiples of an irrational number spread the lots of any few
    of them evenly.
    """
    lots_of = sparse(len(touched.lines), np.float64)
    if not touched.n_lines:
        return lots_of
    mine = chosen(touched.at, touched.is_replayed)
    its = taken(touched.line, mine)
    rows, first = np.unique(touched.row[its], return_index=True)
    order = np.zeros(int(touched.row[-1]) + 1, np.int64)
    order[rows[np.argsort(first)]] = np.arange(len(rows))
    some = np.flatnonzero(which_of(its, touched.n_lines))  # of the lines, those that it uses
    row = order[touched.row[some]]
    of_line = row * ROW_LINES + (touched.lines[touched.first[some]] >> 4) % ROW_LINES
    numbers = zip((row, of_line), _STEPS, strict=True)
    both = [-np.log(1.0 - (n * step + _FIRST) % 1.0) for n, step in numbers]
    found = sparse(touched.n_lines, np.float64)
    found[some] = _LEAST + (1.0 - _LEAST) * (_OF_ROWS * both[0] + (1.0 - _OF_ROWS) * both[1])
    lots_of[mine] = found[its]
    return lots_of


def pieces(touched: Touched, begin_together: bool = False) -> npt.NDArray[np.float32]:
    """Per element of the table of lines that the replayed SM uses: how many bytes of its DRAM row
    are read, or written, about the same time; 0 where that is not known.

    About the same time are accesses of blocks that follow each other closely enough (measured,
    validation/data/pieces_sm90.json), and of a warp few of one kind in a row. L2 writes whole
    lines back, so all that is ever written of a line counts. Blocks that all `begin_together` come
    to the same accesses together: what each moves meanwhile is only what it moves by these.
    """
    found = sparse(len(touched.lines), np.float32)
    begins = np.diff(touched.blocks, prepend=touched.blocks[:1] - 2) > 1
    if begins.all():
        return found  # of the blocks beside those sampled nothing is known
    number = np.arange(len(begins))
    beside = number - np.maximum.accumulate(np.where(begins, number, 0))
    kinds = touched.context["kind"]
    turn = _turns(touched, kinds)
    uses = touched.kind, touched.access, touched.used, touched.at
    of_line = np.zeros(touched.n_lines, np.int64)
    for kind in (_READ, _WRITE, _ATOMIC):
        counts = np.zeros(len(_BITS), np.int64)
        _note_sectors(kind, *uses, touched.lines, of_line, _BY_64, counts)
        if not counts.any():
            continue
        each = 32.0 * int(counts @ _BITS) / len(begins)  # of a block
        if begin_together:
            each /= len(np.unique(turn[kinds == kind]))
        near = np.cumsum(begins) * len(begins) + beside // max(1, int(_JOINED_BYTES / each))
        both = taken(near, touched.block)
        both *= int(turn.max()) + 1
        both += turn
        names, group = numbered(both)
        del both
        some = _meeting(kind, uses, touched, group, len(names))
        of, line, at = (
            taken(group, taken(touched.access, some)), taken(touched.used, some),
            taken(touched.at, some),
        )  # fmt: skip
        order = order_of_pairs(of, line, len(names), touched.n_lines)
        _sum_rows(order, of, line, touched.row, at, kind, touched.lines, of_line, _BY_64, _BITS,
                  found)  # fmt: skip
    return found


def changed_in_place(touched: Touched, stride: int, extents: Ints | None,
                     pieces: npt.NDArray[np.float32]) -> None:  # fmt: skip
    """Enters how long pieces are that are written of lines that several SMs read and store to: in
    allocations where that is usual of what the replayed SM stores to.

    `extents`: first lines and ends of the allocations, ascending.
    """
    kind = touched.kind
    stores = touched.is_replayed & (kind == _WRITE)
    places, place = np.unique(touched.sm_of(stride), return_inverse=True)
    if not stores.any() or len(places) < 2 or places[1] != 1:
        return
    beside = taken(place < 2, touched.user)
    users = [users_of(touched, place, beside & (kind == one)) for one in (_READ, _WRITE)]
    line = chosen(touched.used, stores)
    its, shared = taken(touched.allocations(extents), line), np.minimum(*users)[line] > 1
    often = np.bincount(its, shared) >= _OFTEN * np.maximum(1, np.bincount(its))
    pieces[chosen(touched.at, stores)[often[its]]] = _CHANGED


@native
def _sum_rows(order: Ints, group: Ints, line: Ints, row: Ints, at: Ints, kind: int, lines: Ints,
              of_line: Ints, by_64: Ints, bits: Ints,
              found: npt.NDArray[np.float32]) -> None:  # fmt: skip
    """Gives every element, by its place, the bytes that its group moves of its row: of each line
    the sectors that any element names, of one stored to those of all stores. `order`: by group and
    line."""
    i = 0
    while i < order.size:
        j, moved = i, 0
        its_group, its_row = group[order[i]], row[line[order[i]]]
        while j < order.size and group[order[j]] == its_group and row[line[order[j]]] == its_row:
            its_line, mask = line[order[j]], 0
            while j < order.size and group[order[j]] == its_group and line[order[j]] == its_line:
                if kind == _WRITE:
                    mask |= of_line[its_line]
                else:
                    mask |= by_64[lines[at[order[j]]] & 15]
                j += 1
            moved += 32 * bits[mask]
        for k in range(i, j):
            found[at[order[k]]] = float(moved)
        i = j


def _turns(touched: Touched, kinds: Ints) -> Numbers:
    """Per access the number of its turn in its warp: a few accesses of one kind in a row."""
    found = np.empty(len(kinds), np.int32)
    _count_turns(touched.warp, touched.by_warp, np.ascontiguousarray(kinds), found)
    return found


@native
def _count_turns(warp: Ints, by_warp: Ints, kinds: npt.NDArray[np.uint8],
                 found: Numbers) -> None:  # fmt: skip
    before, kind, turn, in_run = -1, 0, 0, 0
    for i in range(by_warp.size):
        at = by_warp[i]
        if warp[at] != before:
            before, turn, in_run = warp[at], 0, 0
        elif kinds[at] != kind or in_run == _JOINED_ACCESSES:
            turn, in_run = turn + 1, 0
        kind = kinds[at]
        in_run += 1
        found[at] = turn


@native
def _note_sectors(kind: int, kinds: npt.NDArray[np.uint8], access: Ints, used: Ints, at: Ints,
                  lines: Ints, of_line: Ints, by_64: Ints, counts: Ints) -> None:  # fmt: skip
    """Counts uses of a kind by the sectors that are moved for them: those of a read by 64 bytes, of
    a line that is stored to all that any store names (`of_line`)."""
    for i in range(used.size):
        if kinds[i] == kind and kind == _WRITE:
            of_line[used[i]] |= lines[at[i]] & 15
        elif kinds[i] == kind:
            counts[by_64[lines[at[i]] & 15]] += 1
    if kind == _WRITE:
        for i in range(used.size):
            if kinds[i] == kind:
                counts[of_line[used[i]]] += 1


def _meeting(kind: int, uses: tuple[npt.NDArray[np.uint8], Ints, Ints, Ints], touched: Touched,
             group: Ints, groups: int) -> Ints:  # fmt: skip
    """Uses of a kind of rows that the replayed SM uses, and of groups that have uses of it."""
    found, met = np.empty(len(touched.used), np.int32), np.zeros(groups, np.uint8)
    rows = np.zeros(int(touched.row[-1]) + 1, np.uint8)
    replayed = touched.is_replayed.view(np.uint8)
    count = _find_meeting(kind, *uses, replayed, touched.row, group, rows, met, found)
    return found[:count]


@native
def _find_meeting(kind: int, kinds: npt.NDArray[np.uint8], access: Ints, used: Ints, at: Ints,
                  replayed: npt.NDArray[np.uint8], row: Ints, group: Ints,
                  rows: npt.NDArray[np.uint8], met: npt.NDArray[np.uint8],
                  found: Ints) -> int:  # fmt: skip
    for i in range(used.size):
        if replayed[i] and kinds[i] == kind:
            rows[row[used[i]]] = met[group[access[i]]] = 1
    n = 0
    for i in range(used.size):
        if kinds[i] == kind and met[group[access[i]]] and rows[row[used[i]]]:
            found[n] = i
            n += 1
    return n
