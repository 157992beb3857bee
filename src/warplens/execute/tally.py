"""How much each block of a run does: instructions, warp by warp.

An observer for blocks that run one after another on one worker.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.compiled import carray, cfunc, record_at
from warplens.execute.callbacks import ON_SPLIT, ignore_access, ignore_release, ignore_sync
from warplens.execute.native import peek32
from warplens.execute.observe import Observer
from warplens.lift import layout as at

# the observer's state
TALLY = np.dtype([
    ("n_blocks", "i8"), ("most_blocks", "i8"), ("block", "i8"),  # the last one's index
    ("sizes", "i8"), ("counts", "i8"),  # host addresses: see Tally
])  # fmt: skip

WARPS = 32  # of a block, at most


@cfunc(ON_SPLIT)
def _on_block(env: Any, warp: int, number: int, mask: int) -> None:
    slots = carray(env, (at.ENV_SLOTS,), np.int64)
    tally = record_at(slots[at.ENV_OBSERVER], TALLY)
    if slots[at.ENV_BLOCK] != tally.block and tally.n_blocks < tally.most_blocks:
        tally.n_blocks += 1
        tally.block = slots[at.ENV_BLOCK]
    counts = carray(tally.counts, (tally.n_blocks, WARPS), np.int64)
    sizes = carray(tally.sizes, (number + 1,), np.int64)
    counts[tally.n_blocks - 1, peek32(warp + at.WARP_INDEX) & WARPS - 1] += sizes[number]


class Tally:
    """Counts the instructions of `blocks` blocks, in the order in which they run."""

    def __init__(self, sizes: npt.NDArray[np.int64], blocks: int) -> None:
        """`sizes`: instructions of every lifted block."""
        self._sizes = np.ascontiguousarray(sizes)
        self._counts = np.zeros((max(1, blocks), WARPS), np.int64)
        self._state = np.zeros((), TALLY)
        self._state["block"], self._state["most_blocks"] = -1, blocks
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
        """Instructions by block, in the order in which they ran, and warp."""
        return self._counts[: self._state["n_blocks"]].copy()
