"""Stores that an SM may join on their way to L2: a warp's, one right after the other, to few lines.

A thread that writes the words of a short structure one by one writes each sector in several
instructions of its warp; L2 gets it once, if nothing else comes between (a quarter of the sectors
where four stores of 4 bytes, 16 bytes apart, follow each other). Whether they come in time the
replay tells (`joined` in sent.py); stores that spread over 32 lines never do (measured,
validation/data/joined_stores_sm90.json).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warplens.compiled import native
from warplens.execute.buffers import sparse
from warplens.execute.trace import ELSEWHERE, bytes_of
from warplens.timing.picking import chosen, taken
from warplens.timing.state import Ints, Records
from warplens.timing.touched import Touched

_WRITE = 2
_MOST_LINES = 24  # of a store
_NEAR = 48  # instructions from one store to the next, at most
_WHOLE = 0.9 * 32  # bytes of a sector, as told from the mean of an access


def joins(touched: Touched) -> npt.NDArray[np.uint8]:
    """Per element of the table of lines that the replayed SM uses: sectors that an earlier store of
    the warp has taken along, and << 4 those that it and later ones write as a whole."""
    found = sparse(len(touched.lines), np.uint8)
    context = touched.context
    order = chosen(touched.by_warp, taken(context["entry"] != ELSEWHERE, touched.by_warp))
    run = _runs(touched, order)
    if not len(order) or run[-1] + 1 == len(run):
        return found
    of_access = np.zeros(len(context), np.int64)
    of_access[order] = run
    in_run = np.zeros(len(context), np.bool_)
    in_run[order] = np.bincount(run)[run] > 1
    mine = np.flatnonzero(taken(in_run, touched.access))
    at, access, line = (taken(one, mine) for one in (touched.at, touched.access, touched.used))
    rank = np.zeros(len(context), np.int64)
    rank[order] = np.arange(len(order))
    key = of_access[access] * touched.n_lines + line
    by_key = np.lexsort((rank[access], key))
    at, access, key = at[by_key], access[by_key], key[by_key]
    sectors = touched.lines[at] & 15
    n_sectors = np.bincount(access, np.bitwise_count(sectors), len(context))  # whole accesses
    each = (bytes_of(context) / np.maximum(1, n_sectors))[access]
    group = np.cumsum(np.diff(key, prepend=-1) != 0) - 1
    for bit in range(4):
        has = np.flatnonzero(sectors >> bit & 1)
        later = np.diff(group[has], prepend=-1) == 0
        whole = np.bincount(group[has], each[has], int(group.max(initial=0)) + 1) >= _WHOLE
        found[at[has[later]]] |= 1 << bit
        found[at[has[whole[group[has]]]]] |= 16 << bit
    return found


def _runs(touched: Touched, order: Ints) -> Ints:
    """Per access of some, in the order of warps, the number of its run of stores to the same
    lines."""
    found = np.empty(len(order), np.int64)
    _number_runs(touched.context, touched.lines, touched.warp, order, found)
    return found


@native
def _number_runs(context: Records, lines: Ints, warp: Ints, by_warp: Ints, found: Ints) -> None:
    run, before, number, begin, n_lines = -1, -1, 0, 0, 0
    for i in range(by_warp.size):
        at = by_warp[i]
        access = context[at]
        n = access.n_lines
        if access.kind != _WRITE or n > _MOST_LINES or n <= 0:
            before = -1
            run += 1
        else:
            first = lines[min(access.first_line, lines.size - 1)] >> 4
            gap = access.instruction - number
            if (
                before != warp[at] or abs(first - begin) > 1 or abs(n - n_lines) > 1
                or gap <= 0 or gap > _NEAR
            ):  # fmt: skip
                run += 1
            before, number, begin, n_lines = warp[at], access.instruction, first, n
        found[i] = run
