"""How much each block of a run does: instructions, warp by warp, and passes through L1's data.

An observer for blocks that run on one worker. Blocks whose names are known may take turns, as long
ones do; others are told apart by running one after another.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.compiled import carray, cfunc, native, record_at
from warplens.execute import coalescing
from warplens.execute.callbacks import (
    ON_ACCESS,
    ON_SPLIT,
    ignore_release,
    ignore_sync,
    lane_addresses,
    lane_offsets,
)
from warplens.execute.native import peek32
from warplens.execute.observe import Observer
from warplens.lift import layout as at

# the observer's state
TALLY = np.dtype([
    ("n_blocks", "i8"), ("most_blocks", "i8"), ("block", "i8"),  # the last one's index
    ("row", "i8"),  # of the block that runs
    ("names", "i8"), ("n_names", "i8"),  # blocks, ascending (host address); 0: not known
    ("sizes", "i8"), ("counts", "i8"), ("passes", "i8"),  # host addresses: see Tally
    ("accesses", "i8"),  # so far
])  # fmt: skip

WARPS = 32  # of a block, at most
# One of so many accesses is looked at, drawn by its number; and lines of an access
LOOKED_AT, _MOST_LINES = 8, 64


@native
def row_of(names: int, n_names: int, block: int) -> int:
    """Where a block stands among names (their host address)."""
    table = carray(names, (n_names,), np.int64)
    low, high = 0, n_names - 1
    while low < high:
        middle = (low + high) // 2
        if table[middle] < block:
            low = middle + 1
        else:
            high = middle
    return int(low)


@cfunc(ON_SPLIT)
def _on_block(env: Any, warp: int, number: int, mask: int) -> None:
    slots = carray(env, (at.ENV_SLOTS,), np.int64)
    tally = record_at(slots[at.ENV_OBSERVER], TALLY)
    block = slots[at.ENV_BLOCK]
    if block != tally.block and tally.n_names > 0:
        tally.block, tally.row = block, row_of(tally.names, tally.n_names, block)
    elif block != tally.block and tally.n_blocks < tally.most_blocks:
        tally.block, tally.row = block, tally.n_blocks
        tally.n_blocks += 1
    counts = carray(tally.counts, (tally.row + 1, WARPS), np.int64)
    sizes = carray(tally.sizes, (number + 1,), np.int64)
    counts[tally.row, peek32(warp + at.WARP_INDEX) & WARPS - 1] += sizes[number]


@native
def _is_drawn(number: int) -> bool:
    return number * 0x9E3779B1 >> 16 & LOOKED_AT - 1 == 0


@cfunc(ON_ACCESS)
def _on_access(env: Any, warp: int, inst: int, mask: int, space: int, kind: int, size: int,
               base: int, host: int) -> None:  # fmt: skip
    if space != at.SPACE_GLOBAL and space != at.SPACE_SHARED:
        return
    slots = carray(env, (at.ENV_SLOTS,), np.int64)
    tally, lanes = record_at(slots[at.ENV_OBSERVER], TALLY), mask & 0xFFFFFFFF
    tally.accesses += 1
    if lanes == 0 or not _is_drawn(tally.accesses):
        return
    if space == at.SPACE_SHARED:
        found = coalescing.shared_passes(lane_offsets(warp), lanes, size, kind == at.ACCESS_READ)
        if kind == at.ACCESS_ATOMIC:
            found = max(found, coalescing.most_lanes_on_a_word(lane_offsets(warp), lanes))
    else:
        lines = np.empty(_MOST_LINES, np.int64)
        found = coalescing.global_lines(lane_addresses(warp), lanes, size, lines, 0)
        if kind == at.ACCESS_READ:
            found = coalescing.global_passes(lane_addresses(warp), lanes, size, found)
    carray(tally.passes, (tally.row + 1,), np.int64)[tally.row] += found


class Tally:
    """Counts the instructions of `blocks` blocks, in the order in which they run, or of those of
    some names, ascending; and passes through L1's data, of some of their accesses."""

    def __init__(self, sizes: npt.NDArray[np.int64], blocks: int,
                 names: npt.NDArray[np.int64] | None = None) -> None:  # fmt: skip
        """`sizes`: instructions of every lifted block."""
        self._sizes = np.ascontiguousarray(sizes)
        self._counts = np.zeros((max(1, blocks), WARPS), np.int64)
        self._passes = np.zeros(max(1, blocks), np.int64)
        self._state = np.zeros((), TALLY)
        self._state["block"], self._state["most_blocks"] = -1, blocks
        if names is not None:
            self._names = np.ascontiguousarray(names)
            self._state["names"], self._state["n_names"] = self._names.ctypes.data, len(names)
            self._state["n_blocks"] = blocks
        self._state["sizes"] = self._sizes.ctypes.data
        self._state["counts"] = self._counts.ctypes.data
        self._state["passes"] = self._passes.ctypes.data

    @property
    def observer(self) -> Observer:
        """The native functions, with this tally's state."""
        return Observer(
            block=int(_on_block.address), access=int(_on_access.address),
            sync=int(ignore_sync.address), release=int(ignore_release.address),
            state=self._state.ctypes.data,
        )  # fmt: skip

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Instructions by block, in the order in which they ran or of their names, and warp."""
        return self._counts[: self._state["n_blocks"]].copy()

    @property
    def passes(self) -> npt.NDArray[np.int64]:
        """Of each block, through L1's data, for global and shared memory: as those that were looked
        at tell."""
        return self._passes[: self._state["n_blocks"]] * LOOKED_AT
