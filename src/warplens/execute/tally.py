"""How much each block of a run does: instructions, warp by warp.

An observer for blocks that run on one worker. Blocks whose names are known may take turns, as long
ones do; others are told apart by running one after another.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.compiled import carray, cfunc, native, record_at
from warplens.execute.callbacks import ON_SPLIT, ignore_access, ignore_release, ignore_sync
from warplens.execute.native import peek32
from warplens.execute.observe import Observer
from warplens.lift import layout as at

# the observer's state
TALLY = np.dtype([
    ("n_blocks", "i8"), ("most_blocks", "i8"), ("block", "i8"),  # the last one's index
    ("row", "i8"),  # of the block that runs
    ("names", "i8"), ("n_names", "i8"),  # blocks, ascending (host address); 0: not known
    ("sizes", "i8"), ("counts", "i8"),  # host addresses: see Tally
])  # fmt: skip

WARPS = 32  # of a block, at most


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


class Tally:
    """Counts the instructions of `blocks` blocks, in the order in which they run, or of those of
    some names, ascending."""

    def __init__(self, sizes: npt.NDArray[np.int64], blocks: int,
                 names: npt.NDArray[np.int64] | None = None) -> None:  # fmt: skip
        """`sizes`: instructions of every lifted block."""
        self._sizes = np.ascontiguousarray(sizes)
        self._counts = np.zeros((max(1, blocks), WARPS), np.int64)
        self._state = np.zeros((), TALLY)
        self._state["block"], self._state["most_blocks"] = -1, blocks
        if names is not None:
            self._names = np.ascontiguousarray(names)
            self._state["names"], self._state["n_names"] = self._names.ctypes.data, len(names)
            self._state["n_blocks"] = blocks
        self._state["sizes"] = self._sizes.ctypes.data
        self._state["counts"] = self._counts.ctypes.data

    @property
    def observer(self) -> Observer:
        """The native functions, with this tally's state."""
        return Observer(
            block=int(_on_block.address), access=int(ignore_access.address),
            sync=int(ignore_sync.address), release=int(ignore_release.address),
            state=self._state.ctypes.data,
        )  # fmt: skip

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Instructions by block, in the order in which they ran or of their names, and warp."""
        return self._counts[: self._state["n_blocks"]].copy()
