"""Records one warp instruction by instruction: masks, registers, addresses of its accesses."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.compiled import carray, cfunc, native, record_at
from warplens.execute.callbacks import (
    ON_ACCESS,
    ON_SPLIT,
    ignore_release,
    ignore_sync,
    lane_addresses,
    lane_offsets,
)
from warplens.execute.native import peek32, poke32
from warplens.execute.observe import Observer
from warplens.lift import layout as at

# the recorder's state
STEPS = np.dtype([
    ("block", "i8"), ("warp", "i8"), ("overflowed", "i8"),
    # host addresses of the tables, rows in use, rows that there are, words of a step's state
    ("states", "i8"), ("places", "i8"), ("n_steps", "i8"), ("most_steps", "i8"), ("words", "i8"),
    ("accesses", "i8"), ("n_accesses", "i8"), ("most_accesses", "i8"),
])  # fmt: skip
PLACE = np.dtype([("instruction", "u4"), ("mask", "u4")])
ACCESS = np.dtype([
    ("step", "u4"), ("instruction", "u4"), ("mask", "u4"), ("space", "u4"), ("kind", "u4"),
    ("size", "u4"), ("addresses", "i8", (32,)),
])  # fmt: skip
# words of a step's state before its registers: predicates, uniform predicates, uniform registers
PREDICATES, UNIFORM_PREDICATES, UNIFORM, REGISTERS = 0, 8, 16, 272
MAX_BYTES = 128 << 20


@native
def _copy(to: int, start: int, words: int) -> None:
    for k in range(words):
        poke32(to + 4 * k, peek32(start + 4 * k))


@cfunc(ON_SPLIT)
def _on_block(env: Any, warp: int, number: int, mask: int) -> None:
    slots = carray(env, (at.ENV_SLOTS,), np.int64)
    header = record_at(slots[at.ENV_OBSERVER], STEPS)
    if slots[at.ENV_BLOCK] != header.block or peek32(warp + at.WARP_INDEX) != header.warp:
        return
    n, words = header.n_steps, header.words
    if n >= header.most_steps:
        header.overflowed = 1
        return
    row = header.states + 4 * words * n
    _copy(row + 4 * PREDICATES, warp + at.WARP_PREDICATES, 8)
    _copy(row + 4 * UNIFORM_PREDICATES, warp + at.WARP_UNIFORM_PREDICATES, 8)
    _copy(row + 4 * UNIFORM, warp + at.WARP_UNIFORM, 256)
    _copy(row + 4 * REGISTERS, warp + at.WARP_REGISTERS, words - REGISTERS)
    place = carray(header.places, (n + 1,), PLACE)[n]
    place.instruction, place.mask = number, mask
    header.n_steps = n + 1


@cfunc(ON_ACCESS)
def _on_access(env: Any, warp: int, inst: int, mask: int, space: int, kind: int, size: int,
               base: int, host: int) -> None:  # fmt: skip
    slots = carray(env, (at.ENV_SLOTS,), np.int64)
    header = record_at(slots[at.ENV_OBSERVER], STEPS)
    if slots[at.ENV_BLOCK] != header.block or space > at.SPACE_LOCAL:
        return
    if peek32(warp + at.WARP_INDEX) != header.warp:
        return
    n = header.n_accesses
    if n >= header.most_accesses:
        header.overflowed = 1
        return
    row = carray(header.accesses, (n + 1,), ACCESS)[n]
    row.step, row.instruction, row.mask = header.n_steps - 1, inst, mask
    row.space, row.kind, row.size = space, kind, size
    addresses, offsets = lane_addresses(warp), lane_offsets(warp)
    for lane in range(32):
        row.addresses[lane] = addresses[lane] if space == at.SPACE_GLOBAL else offsets[lane]
    header.n_accesses = n + 1


class StepRecorder:
    """The tables that one warp fills."""

    def __init__(self, block: int, warp: int, n_registers: int) -> None:
        words = REGISTERS + 32 * n_registers
        most = max(16, MAX_BYTES // (4 * words))
        self._states = np.zeros((most, words), np.uint32)
        self._places = np.zeros(most, PLACE)
        self._accesses = np.zeros(most, ACCESS)
        header = self._header = np.zeros((), STEPS)
        header["block"], header["warp"], header["words"] = block, warp, words
        header["most_steps"] = header["most_accesses"] = most
        header["states"] = self._states.ctypes.data
        header["places"] = self._places.ctypes.data
        header["accesses"] = self._accesses.ctypes.data

    @property
    def observer(self) -> Observer:
        """The native functions, with this recorder's state."""
        return Observer(
            block=_on_block.address,
            access=_on_access.address,
            sync=ignore_sync.address,
            release=ignore_release.address,
            state=self._header.ctypes.data,
        )

    @property
    def overflowed(self) -> bool:
        """Whether the warp ran longer than the tables."""
        return bool(self._header["overflowed"])

    @property
    def states(self) -> npt.NDArray[np.uint32]:
        """The state before every step."""
        return self._states[: self._header["n_steps"]]

    @property
    def places(self) -> npt.NDArray[Any]:
        """A PLACE for every step."""
        return self._places[: self._header["n_steps"]]

    @property
    def accesses(self) -> npt.NDArray[Any]:
        """An ACCESS for each."""
        return self._accesses[: self._header["n_accesses"]]
