"""Tensor memory of a block: its state, its cells, operands in the warp's scratch area."""

from __future__ import annotations

from typing import Any

from warplens.compiled import native
from warplens.execute.native import peek32, poke32
from warplens.execute.tensor_memory import faults
from warplens.execute.textures.lanes import refuse
from warplens.lift import layout as at

_ROW = 4 * at.TM_COLUMNS


@native
def word(warp: int, slot: int) -> int:
    """An operand, which is the same for all lanes."""
    return int(peek32(warp + at.WARP_SCRATCH + 128 * slot))


@native
def wide(warp: int, slot: int) -> int:
    """An operand of 64 bits."""
    return word(warp, slot) | word(warp, slot + 1) << 32


@native
def memory_of(slots: Any) -> int:
    """The host address of the running block's tensor memory."""
    return int(slots[at.ENV_SHARED] + slots[at.ENV_TENSOR_MEMORY])


@native
def shared_of(slots: Any, fellow: int) -> int:
    """The shared memory of the running block, or of its fellow in a pair (0: there is none)."""
    if fellow == 0:
        return int(slots[at.ENV_SHARED])
    rank = (slots[at.ENV_CLUSTER_RANK] >> 24) ^ 1
    if slots[at.ENV_CLUSTER_BLOCKS] <= rank:
        return 0
    place = slots[at.ENV_CLUSTER_SHARED] + 8 * rank
    return int(peek32(place) | peek32(place + 4) << 32)


@native
def cell(memory: int, lane: int, column: int) -> int:
    """The host address of a cell."""
    return memory + at.TM_STATE_BYTES + _ROW * lane + 4 * column


@native
def fail(slots: Any, inst: int, value: int, reason: int) -> int:
    """Notes a fault for the launch."""
    return int(refuse(slots, at.FAULT_TENSOR_MEMORY, inst, 0, value, reason))


@native
def shared_fault(slots: Any, inst: int, place: int) -> int:
    """A matrix that does not lie in shared memory."""
    return int(refuse(slots, at.FAULT_SHARED, inst, 0, place, 16))


@native
def columns_mask(first: int, count: int) -> int:
    """The units of 32 columns that a stretch of columns touches."""
    low, high = first >> 5, (first + count - 1) >> 5
    return ((1 << (high - low + 1)) - 1) << low


@native
def check(slots: Any, memory: int, inst: int, address: int, count: int) -> int:
    """1 after a fault, if columns are not all allocated."""
    first = address & 0xFFFF
    if first + count > at.TM_COLUMNS or (address >> 16) >= at.TM_LANES_OF_BLOCK:
        return fail(slots, inst, address, faults.NOT_TAKEN)
    taken = peek32(memory + at.TM_TAKEN)
    wanted = columns_mask(first, count)
    if taken & wanted != wanted:
        return fail(slots, inst, address, faults.NOT_TAKEN)
    return 0


@native
def note_pending(memory: int, first: int, count: int) -> None:
    """Products and copies into these columns are under way until they are committed."""
    before = peek32(memory + at.TM_PENDING)
    poke32(memory + at.TM_PENDING, before | columns_mask(first, count))


@native
def commit(memory: int) -> None:
    """What is under way is complete for who waits for the commit's mbarrier."""
    before = peek32(memory + at.TM_COMMITTED)
    poke32(memory + at.TM_COMMITTED, before | peek32(memory + at.TM_PENDING))
    poke32(memory + at.TM_PENDING, 0)
