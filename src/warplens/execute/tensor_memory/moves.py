"""Moves between registers and tensor memory, copies from shared memory, allocation."""

from __future__ import annotations

from typing import Any

from warplens.compiled import native
from warplens.execute.native import peek32, poke32
from warplens.execute.tensor_memory import faults
from warplens.execute.tensor_memory.cells import (
    cell,
    check,
    columns_mask,
    fail,
    memory_of,
    note_pending,
    shared_fault,
    shared_of,
    wide,
    word,
)
from warplens.execute.tensor_memory.matrices import piece, problem
from warplens.lift import layout as at

_FULL = 0xFFFFFFFF


@native
def row_of(shape: int, lane: int, r: int) -> int:
    """The row of register `r` of a lane, from the address's on."""
    if shape == 0:
        return lane
    if shape == 1:
        return lane // 4 + 8 * (lane & 1)
    if shape == 2:
        return lane // 4 + 8 * (r & 1)
    if shape == 3:
        return lane // 4 + 8 * (r >> 1 & 1)
    return lane & 15


@native
def column_of(shape: int, lane: int, r: int) -> int:
    """The column of register `r` of a lane, from the address's on."""
    if shape == 1:
        return (lane >> 1 & 1) + 2 * r
    if shape == 2:
        return (lane & 3) + 4 * (r >> 1)
    if shape == 3:
        return (r & 1) + 2 * (lane & 3) + 8 * (r >> 2)
    return r


@native
def width_of(shape: int) -> int:
    """Columns of one repetition."""
    return 2 if shape == 1 else 4 if shape == 2 else 8 if shape == 3 else 1


@native
def registers_of(shape: int) -> int:
    """Registers of one repetition."""
    return 2 if shape == 2 else 4 if shape == 3 else 1


@native
def lanes_fault(slots: Any, warp: int, inst: int, address: int, shape: int) -> int:
    """1 after a fault, if the address is not in the lanes of this warp."""
    first = address >> 16
    own = 32 * (peek32(warp + at.WARP_INDEX) & 3)
    rows = 32 if shape == 0 else 16
    if first < own or first + rows > own + 32 or first & 15:
        return fail(slots, inst, address, faults.OTHER_LANES)
    return 0


@native
def move(slots: Any, warp: int, mask: int, form: int, inst: int) -> int:
    """tcgen05.ld and tcgen05.st: 0, or 1 after a fault."""
    memory, address, shape = memory_of(slots), word(warp, at.TM_A), form >> at.TM_SHAPE & 15
    packed, times = form >> at.TM_PACKED & 1, form >> at.TM_WORDS & 0xFFFF
    if mask != _FULL:
        return fail(slots, inst, address, faults.PART)
    if lanes_fault(slots, warp, inst, address, shape):
        return 1
    count, first = width_of(shape) * times << packed, address & 0xFFFF
    if check(slots, memory, inst, address, count):
        return 1
    is_load = form & 15 == at.TM_LOAD
    if is_load and peek32(memory + at.TM_PENDING) & columns_mask(first, count):
        return fail(slots, inst, address, faults.NOT_COMMITTED)
    if is_load and peek32(memory + at.TM_COMMITTED) & columns_mask(first, count):
        return fail(slots, inst, address, faults.NOT_AWAITED)
    record = warp + at.WARP_REGISTERS + 128 * (form >> at.TM_REGISTER & 0xFFFF)
    lowest, end = (16 if shape == 5 else 0), (16 if shape == 4 else 32)
    for r in range(registers_of(shape) * times):
        for lane in range(lowest, end):
            row = (address >> 16) + row_of(shape, lane, r)
            column = first + (column_of(shape, lane, r) << packed)
            place, register = cell(memory, row, column), record + 128 * r + 4 * lane
            if form >> at.TM_ZEROS & 1:
                if not is_load:
                    poke32(place, 0)
                    if packed:
                        poke32(place + 4, 0)
            elif is_load and packed:
                poke32(register, (peek32(place) & 0xFFFF) | (peek32(place + 4) & 0xFFFF) << 16)
            elif is_load:
                poke32(register, peek32(place))
            elif packed:
                poke32(place, peek32(register) & 0xFFFF)
                poke32(place + 4, peek32(register) >> 16)
            else:
                poke32(place, peek32(register))
    return 0


@native
def destination(shape: int, row: int, turn: int) -> int:
    """The lane to which a row of a copy goes, at each turn; -1: no more turns."""
    if shape == 1:
        return 32 * row if turn == 0 else -1
    if shape == 3:  # rows 0 to 31 to warps 0 and 2, 32 to 63 to warps 1 and 3
        return row + 64 * turn if turn < 2 else -1
    if shape == 4:  # rows 0 to 31 to warps 0 and 1, 32 to 63 to warps 2 and 3
        return row // 32 * 64 + row % 32 + 32 * turn if turn < 2 else -1
    if shape == 5:
        return row + 32 * turn if turn < 4 else -1
    return row if turn == 0 else -1


@native
def copy_block(slots: Any, shared: int, form: int, inst: int, warp: int) -> int:
    """tcgen05.cp in one block: 0, or 1 after a fault."""
    address, descriptor = word(warp, at.TM_D), wide(warp, at.TM_A)
    shape = form >> at.TM_SHAPE & 15
    rows = 4 if shape == 1 else 32 if shape == 5 else 64 if shape in (3, 4) else 128
    halves = 2 if shape < 2 else 1
    memory = shared + slots[at.ENV_TENSOR_MEMORY]
    if check(slots, memory, inst, address, 4 * halves):
        return 1
    first = address >> 16
    if (shape == 1 and first > 31) or (shape != 1 and first != 0):
        return fail(slots, inst, address, faults.MISPLACED)
    limit = slots[at.ENV_SHARED_LIMIT]
    for row in range(rows):
        for half in range(halves):
            source = piece(descriptor, row, half, 0)
            if source + 16 > limit:
                return shared_fault(slots, inst, source)
            turn = 0
            while destination(shape, row, turn) >= 0:
                lane = first + destination(shape, row, turn)
                place = cell(memory, lane, (address & 0xFFFF) + 4 * half)
                for k in range(4):
                    poke32(place + 4 * k, peek32(shared + source + 4 * k))
                turn += 1
    note_pending(memory, address & 0xFFFF, 4 * halves)
    return 0


@native
def copy(slots: Any, warp: int, form: int, inst: int) -> int:
    """tcgen05.cp, of a pair in both blocks."""
    if problem(wide(warp, at.TM_A), 0):
        return fail(slots, inst, wide(warp, at.TM_A), faults.BAD_SHARED)
    for fellow in range(2 if form >> at.TM_PAIR & 1 else 1):
        shared = shared_of(slots, fellow)
        if shared == 0:
            return fail(slots, inst, 0, faults.NO_FELLOW)
        if copy_block(slots, shared, form, inst, warp):
            return 1
    return 0


@native
def shift(slots: Any, warp: int, form: int, inst: int) -> int:
    """tcgen05.shift: 32 bytes of each lane come from the next one, in all four groups of 32 lanes.

    A group's last lane keeps its own: so a B200 did, as was published.
    """
    address = word(warp, at.TM_D)
    for fellow in range(2 if form >> at.TM_PAIR & 1 else 1):
        shared = shared_of(slots, fellow)
        if shared == 0:
            return fail(slots, inst, 0, faults.NO_FELLOW)
        memory = shared + slots[at.ENV_TENSOR_MEMORY]
        if check(slots, memory, inst, address, 8):
            return 1
        if address >> 16 != 0:
            return fail(slots, inst, address, faults.MISPLACED)
        for lane in range(at.TM_LANES_OF_BLOCK - 1):
            if lane & 31 == 31:
                continue
            here = cell(memory, lane, address & 0xFFFF)
            source = cell(memory, lane + 1, address & 0xFFFF)
            for k in range(8):
                poke32(here + 4 * k, peek32(source + 4 * k))
        note_pending(memory, address & 0xFFFF, 8)
    return 0


@native
def allocate(slots: Any, warp: int, form: int, inst: int) -> int:
    """Takes 32 columns times a power of two, at a multiple of their number; of a pair in both."""
    units, memory = word(warp, at.TM_A), memory_of(slots)
    if units not in (1, 2, 4, 8, 16):
        return fail(slots, inst, 32 * units, faults.NO_ROOM)
    taken, other = peek32(memory + at.TM_TAKEN), 0
    if form >> at.TM_PAIR & 1:
        other = shared_of(slots, 1)
        if other == 0:
            return fail(slots, inst, 0, faults.NO_FELLOW)
        other = other + slots[at.ENV_TENSOR_MEMORY]
        taken = taken | peek32(other + at.TM_TAKEN)
    results = warp + at.WARP_SCRATCH + 128 * at.TM_RESULTS
    for lane in range(32):
        poke32(results + 4 * lane, 0)
        poke32(results + 128 + 4 * lane, 0)
    for start in range(0, 16, units):
        wanted = ((1 << units) - 1) << start
        if taken & wanted == 0:
            poke32(memory + at.TM_TAKEN, peek32(memory + at.TM_TAKEN) | wanted)
            poke32(memory + at.TM_TAKER, inst)
            if other != 0:
                poke32(other + at.TM_TAKEN, peek32(other + at.TM_TAKEN) | wanted)
                poke32(other + at.TM_TAKER, inst)
            for lane in range(32):
                poke32(results + 4 * lane, start)
                poke32(results + 128 + 4 * lane, 1)
            break
    return 0


@native
def give_back(slots: Any, warp: int, inst: int) -> int:
    """Frees the columns whose bits are clear."""
    memory, kept = memory_of(slots), word(warp, at.TM_A)
    poke32(memory + at.TM_TAKEN, peek32(memory + at.TM_TAKEN) & kept)
    return 0
