"""Records one warp instruction by instruction: masks, registers, addresses of its accesses."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.compiled import carray, cfunc, native
from warplens.execute.callbacks import ON_ACCESS, ON_SPLIT, ignore_release, ignore_sync, peek64
from warplens.execute.native import peek32, poke32, poke64
from warplens.execute.observe import Observer
from warplens.lift import layout as at

# header of the recorder's state, int64 slots
(
    BLOCK, WARP, N_STEPS, CAP_STEPS, AT_STEPS, WORDS, AT_PLACES, N_ACCESSES, CAP_ACCESSES,
    AT_ACCESSES, OVERFLOW,
) = range(11)  # fmt: skip
# words of a step's state before its registers: predicates, uniform predicates, uniform registers
PREDICATES, UNIFORM_PREDICATES, UNIFORM, REGISTERS = 0, 8, 16, 272
ACCESS_WORDS = 72  # step, instruction, mask, space, kind, size, 2 unused, 32 addresses of 2 words
MAX_BYTES = 128 << 20


@native
def _copy(to: int, start: int, words: int) -> None:
    for k in range(words):
        poke32(to + 4 * k, peek32(start + 4 * k))


@cfunc(ON_SPLIT)
def _on_block(env: Any, warp: int, number: int, mask: int) -> None:
    slots = carray(env, (at.ENV_SLOTS,), np.int64)
    state = slots[at.ENV_OBSERVER]
    if slots[at.ENV_BLOCK] != peek64(state + 8 * BLOCK):
        return
    if peek32(warp + at.WARP_INDEX) != peek64(state + 8 * WARP):
        return
    n = peek64(state + 8 * N_STEPS)
    if n >= peek64(state + 8 * CAP_STEPS):
        poke64(state + 8 * OVERFLOW, 1)
        return
    words = peek64(state + 8 * WORDS)
    row = peek64(state + 8 * AT_STEPS) + 4 * words * n
    _copy(row + 4 * PREDICATES, warp + at.WARP_PREDICATES, 8)
    _copy(row + 4 * UNIFORM_PREDICATES, warp + at.WARP_UNIFORM_PREDICATES, 8)
    _copy(row + 4 * UNIFORM, warp + at.WARP_UNIFORM, 256)
    _copy(row + 4 * REGISTERS, warp + at.WARP_REGISTERS, words - REGISTERS)
    place = peek64(state + 8 * AT_PLACES) + 8 * n
    poke32(place, number)
    poke32(place + 4, mask)
    poke64(state + 8 * N_STEPS, n + 1)


@cfunc(ON_ACCESS)
def _on_access(env: Any, warp: int, inst: int, mask: int, space: int, kind: int, size: int,
               base: int, host: int) -> None:  # fmt: skip
    slots = carray(env, (at.ENV_SLOTS,), np.int64)
    state = slots[at.ENV_OBSERVER]
    if slots[at.ENV_BLOCK] != peek64(state + 8 * BLOCK) or space > at.SPACE_LOCAL:
        return
    if peek32(warp + at.WARP_INDEX) != peek64(state + 8 * WARP):
        return
    n = peek64(state + 8 * N_ACCESSES)
    if n >= peek64(state + 8 * CAP_ACCESSES):
        poke64(state + 8 * OVERFLOW, 1)
        return
    row = peek64(state + 8 * AT_ACCESSES) + 4 * ACCESS_WORDS * n
    poke32(row, peek64(state + 8 * N_STEPS) - 1)
    poke32(row + 4, inst)
    poke32(row + 8, mask)
    poke32(row + 12, space)
    poke32(row + 16, kind)
    poke32(row + 20, size)
    for lane in range(32):
        if space == at.SPACE_GLOBAL:
            _copy(row + 32 + 8 * lane, warp + at.WARP_SCRATCH + 128 * 20 + 8 * lane, 2)
        else:
            poke32(row + 32 + 8 * lane, peek32(warp + at.WARP_SCRATCH + 4 * lane))
            poke32(row + 36 + 8 * lane, 0)
    poke64(state + 8 * N_ACCESSES, n + 1)


class StepRecorder:
    """The tables that one warp fills."""

    def __init__(self, block: int, warp: int, n_registers: int) -> None:
        words = REGISTERS + 32 * n_registers
        most = max(16, MAX_BYTES // (4 * words))
        self._steps = np.zeros((most, words), np.uint32)
        self._places = np.zeros((most, 2), np.uint32)
        self._accesses = np.zeros((max(16, most), ACCESS_WORDS), np.uint32)
        self.header = np.zeros(OVERFLOW + 1, np.int64)
        self.header[[BLOCK, WARP, CAP_STEPS, WORDS]] = block, warp, most, words
        self.header[CAP_ACCESSES] = len(self._accesses)
        self.header[AT_STEPS] = self._steps.ctypes.data
        self.header[AT_PLACES] = self._places.ctypes.data
        self.header[AT_ACCESSES] = self._accesses.ctypes.data

    @property
    def observer(self) -> Observer:
        """The native functions, with this recorder's state."""
        return Observer(
            block=_on_block.address,
            access=_on_access.address,
            sync=ignore_sync.address,
            release=ignore_release.address,
            state=self.header.ctypes.data,
        )

    @property
    def overflowed(self) -> bool:
        """Whether the warp ran longer than the tables."""
        return bool(self.header[OVERFLOW])

    @property
    def states(self) -> npt.NDArray[np.uint32]:
        """The state before every step."""
        return self._steps[: self.header[N_STEPS]]

    @property
    def places(self) -> npt.NDArray[np.uint32]:
        """(instruction, mask) of every step."""
        return self._places[: self.header[N_STEPS]]

    @property
    def accesses(self) -> npt.NDArray[np.uint32]:
        """One row per access, see ACCESS_WORDS."""
        return self._accesses[: self.header[N_ACCESSES]]
