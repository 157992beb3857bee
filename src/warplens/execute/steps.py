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
    peek64,
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
    ("barriers", "i8"),  # host address of a BARRIER for each instruction
])  # fmt: skip
# `barrier` is an mbarrier's address in shared memory, or -1, `word` what it holds
PLACE = np.dtype([("instruction", "u4"), ("mask", "u4"), ("barrier", "i8"), ("word", "i8")])
# where an instruction names an mbarrier: `is_one` (it does), registers (-1: none), an offset, and
# the predicate of its guard (-1: none) with its sign
BARRIER = np.dtype([(name, "i8") for name in (
    "is_one", "register", "uniform", "offset", "guard", "negated")])  # fmt: skip
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


@native
def _note_barrier(slots: Any, header: Any, warp: int, number: int, place: Any) -> None:
    """What the mbarrier of the block's own shared memory holds that an instruction names."""
    place.barrier = -1
    named = carray(header.barriers, (number + 1,), BARRIER)[number]
    if named.is_one == 0:
        return
    mask, lane = int(place.mask), 0
    if named.guard >= 0:
        holds = peek32(warp + at.WARP_PREDICATES + 4 * named.guard)
        mask = mask & (holds ^ 0xFFFFFFFF if named.negated else holds)
    if mask == 0:
        return
    while mask >> lane & 1 == 0:
        lane += 1
    address = named.offset
    if named.register >= 0:
        address = address + peek32(warp + at.WARP_REGISTERS + 128 * named.register + 4 * lane)
    if named.uniform >= 0:
        address = address + peek32(warp + at.WARP_UNIFORM + 4 * named.uniform)
    address = address & 0xFFFFFF
    if address & 7 == 0 and address + 8 <= slots[at.ENV_SHARED_LIMIT]:
        place.barrier = address
        place.word = peek64(slots[at.ENV_SHARED] + address)


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
    _note_barrier(slots, header, warp, number, place)
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

    def __init__(
        self, block: int, warp: int, n_registers: int, barriers: npt.NDArray[Any]
    ) -> None:
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
        self._barriers = barriers
        header["barriers"] = barriers.ctypes.data

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
