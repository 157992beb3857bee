"""Lines that a grid changes, what L2 writes back of those that atomics change anywhere, and what it
completes of those that stores change in part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warplens.execute.trace import bytes_of
from warplens.timing.sharing import arrays_of, lines_of_grid
from warplens.timing.state import Ints
from warplens.timing.touched import Touched, beside_and_apart, distinct

_WRITE, _ATOMIC = 2, 4
_SECTORS, _SECTOR_BYTES = 4, 32  # of a line


@dataclass(frozen=True, slots=True)
class Grid:
    """All `blocks` of a launch, so many of the sampled ones of which run at once (a `wave`);
    `stride`: see `Touched.sm_of`; `extents`: first lines and ends of the allocations."""

    blocks: int
    wave: int
    stride: int
    extents: Ints | None


def changed_lines(touched: Touched, grid: Grid, kind: int = _WRITE) -> float:
    """Lines that all of the grid's blocks store to, or change by accesses of another kind: from
    those of sampled blocks that are not beside each other, and of sampled waves."""
    key = "changed_lines", grid.blocks, grid.stride, kind
    if key not in touched.known:
        touched.known[key] = _lines_of(touched, grid, touched.kind == kind)
    return touched.known[key]


def _lines_of(touched: Touched, grid: Grid, mine: npt.NDArray[np.bool_]) -> float:
    """Lines that all of the grid's blocks use in some uses of lines."""
    if not mine.any():
        return 0.0
    places, place = np.unique(touched.sm_of(grid.stride), return_inverse=True)
    _, apart = beside_and_apart(place, places)
    arrays = arrays_of(touched, grid.extents)
    return float(lines_of_grid(touched, mine, arrays, grid.wave, grid.blocks, apart).sum())


def first_added(touched: Touched, room: float, grid: Grid) -> float:
    """Of the lines that atomics of sampled blocks are the first to change, the part that no block
    of the grid that was not sampled has changed before; 1 where L2 has no `room` for all of them,
    so that they are fetched again and again."""
    mine = touched.kind == _ATOMIC
    ratio = grid.blocks / max(1, touched.sampled)
    if not mine.any() or ratio <= 1.0:
        return 1.0
    lines = changed_lines(touched, grid, _ATOMIC)
    seen = float(np.count_nonzero(touched.lines_of(mine)))
    return min(1.0, lines / seen / ratio) if lines <= room else 1.0


def written_back(touched: Touched, room: float, grid: Grid) -> float:
    """Sectors that L2 writes back for each that an atomic of the grid's blocks changes.

    L2 keeps so many changed lines at most (`room`), and then writes one back for each that changes
    anew. So of F lines that blocks come to in any order a block finds the part room / F changed
    already, and those that come until a line is written back change random sectors of it; of lines
    that one block alone comes to, each is written once (validation/data/scattered_adds_sm90.json).
    """
    mine = touched.kind == _ATOMIC
    if not mine.any():
        return 0.0
    n_blocks = len(touched.blocks)
    ratio = max(1.0, grid.blocks / n_blocks)
    lines = changed_lines(touched, grid, _ATOMIC)
    if lines <= room:
        return 0.0
    masks = touched.lines[touched.at[mine]] & 15
    visit = touched.used[mine].astype(np.int64) * n_blocks + touched.user[mine]
    visits = len(distinct(visit))
    each = sum(len(distinct(visit[masks >> bit & 1 > 0])) for bit in range(_SECTORS)) / visits
    changes = float(np.bitwise_count(masks).sum()) * ratio
    written = max(lines, visits * ratio * (1.0 - room / lines))  # lines, whenever they change anew
    part = each / _SECTORS
    others = visits * ratio / written - 1.0
    together = _SECTORS * (1.0 - (1.0 - part) * np.exp(-others * part))
    return max(0.0, written - room) * float(together) / changes


def completed(touched: Touched, fills: npt.NDArray[np.uint8], hits: npt.NDArray[np.uint8],
              kept: float, back: float, grid: Grid) -> float:  # fmt: skip
    """Of sectors that stores of the grid's blocks leave incomplete (`fills`, but what `hits` say is
    known), one for each time, the part that L2 reads from DRAM and writes back at once.

    L2 keeps so many incomplete sectors at most (`kept`), and then completes one for each further
    one; it has all of that from then on, and completes it no second time (of public suites on an
    H200: stores of words drawn by lot to 14.5 MB of sectors read and write 12.0 MB). Where the
    grid's stores are as many bytes as these sectors, blocks that were not sampled complete them:
    then it is as much as L2 writes `back` anyway."""
    mine = touched.kind == _WRITE
    left = fills[touched.at] & ~hits[touched.at] & 15
    mine &= left > 0
    if not mine.any():
        return 0.0
    ratio = max(1.0, grid.blocks / max(1, touched.sampled))
    times = float(np.bitwise_count(left[mine]).sum()) * ratio
    if times <= kept:
        return 0.0
    stored = ratio * _stored(touched, mine)
    lines = _lines_of(touched, grid, mine)
    seen = float(np.count_nonzero(touched.lines_of(mine)))
    part = min(1.0, times / ratio / seen / _SECTORS)
    untouched = float((1.0 - part) ** max(1.0, ratio * seen / lines))
    sectors = min(times, _SECTORS * max(seen, lines) * (1.0 - untouched))
    # What is replayed may come to sectors before all others, or after them.
    incomplete = fills[touched.at] * (touched.kind == _WRITE)
    first, of_all = (np.bitwise_count(one & 15) for one in (left * mine, incomplete))
    own = touched.is_replayed
    often = times / ratio / float(of_all.sum())
    own_often = float(first[own].sum()) / max(1.0, float(of_all[own].sum()))
    alone = max(0.0, sectors - kept) / times * (often / own_often if own_often else 1.0)
    sparse = min(1.0, 2.0 * max(0.0, 1.0 - stored / (_SECTOR_BYTES * sectors)))
    return float(back + (min(1.0, alone) - back) * sparse)


def _stored(touched: Touched, among: npt.NDArray[np.bool_]) -> float:
    """Bytes that sampled blocks store to the lines of some uses, all of a store's sectors alike."""
    mine = touched.lines_of(among)[touched.used] & (touched.kind == _WRITE)
    made, access = touched.context, touched.access
    sectors = np.bitwise_count(touched.lines[touched.at] & 15).astype(np.float64)
    each = bytes_of(made) / np.maximum(1.0, np.bincount(access, sectors, len(made)))
    return float((sectors * each[access])[mine].sum())
