"""How much each block of a run does: instructions, warp by warp.

An observer for blocks that run one after another on one worker.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.compiled import carray, cfunc
from warplens.execute.callbacks import ON_SPLIT, ignore_access, ignore_release, ignore_sync, peek64
from warplens.execute.native import peek32, poke64
from warplens.execute.observe import Observer
from warplens.lift import layout as at

# the observer's state, int64 slots
N_BLOCKS, BLOCK, AT_SIZES, AT_COUNTS, CAPACITY, N_STATE = range(6)

WARPS = 32  # of a block, at most


@cfunc(ON_SPLIT)
def _on_block(env: Any, warp: int, number: int, mask: int) -> None:
    slots = carray(env, (at.ENV_SLOTS,), np.int64)
    state = slots[at.ENV_OBSERVER]
    n = peek64(state + 8 * N_BLOCKS)
    if slots[at.ENV_BLOCK] != peek64(state + 8 * BLOCK) and n < peek64(state + 8 * CAPACITY):
        n += 1
        poke64(state + 8 * N_BLOCKS, n)
        poke64(state + 8 * BLOCK, slots[at.ENV_BLOCK])
    index = peek32(warp + at.WARP_INDEX) & WARPS - 1
    place = peek64(state + 8 * AT_COUNTS) + 8 * ((n - 1) * WARPS + index)
    poke64(place, peek64(place) + peek64(peek64(state + 8 * AT_SIZES) + 8 * number))


class Tally:
    """Counts the instructions of `blocks` blocks, in the order in which they run."""

    def __init__(self, sizes: npt.NDArray[np.int64], blocks: int) -> None:
        """`sizes`: instructions of every lifted block."""
        self._sizes = np.ascontiguousarray(sizes)
        self._counts = np.zeros((max(1, blocks), WARPS), np.int64)
        self._state = np.zeros(N_STATE, np.int64)
        self._state[[BLOCK, CAPACITY]] = -1, blocks
        self._state[AT_SIZES] = self._sizes.ctypes.data
        self._state[AT_COUNTS] = self._counts.ctypes.data

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
        return self._counts[: self._state[N_BLOCKS]].copy()
