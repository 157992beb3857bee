"""Products of the fifth-generation tensor cores: D = A * B + D in the memory of one or two blocks.

The instruction descriptor: 1:0 the selector, 2 sparse, 3 saturates, 5:4 D's type, 9:7 and 12:10
types of A and B, 13 and 14 their signs, 15 and 16 along rows and columns, 22:17 N / 8, 28:24
M / 16; with scales 5:4 and 30:29 the bytes of B's and A's factors, 23 factors are powers of two,
31 a longer k.
"""

from __future__ import annotations

from typing import Any

from warplens.compiled import native
from warplens.execute.tensor_memory import faults
from warplens.execute.tensor_memory.cells import (
    cell,
    check,
    fail,
    note_pending,
    shared_fault,
    shared_of,
    wide,
    word,
)
from warplens.execute.tensor_memory.matrices import layout_of, problem
from warplens.execute.tensor_memory.numbers import E2M1, E2M3, E4M3, TF32, U8
from warplens.execute.tensor_memory.operands import (
    FIRST_COLUMN,
    from_shared,
    from_tensor_memory,
    scale,
)
from warplens.execute.tensor_memory.sparse import is_sparse, spread, wrong_sparse
from warplens.execute.tensor_memory.sums import HALVES, SINGLES, WHOLES, update
from warplens.lift import layout as at

_OF_HALVES, _OF_BYTES, _OF_WHOLES, _OF_FOURS = range(4)  # PRODUCTS of isa/tensor_memory.py


@native
def kind_of(core: int, code: int) -> int:
    """The type that a field of the instruction descriptor names; -1: none."""
    if core == _OF_HALVES:
        return code if code <= TF32 else -1
    if core == _OF_WHOLES:
        return U8 + code if code <= 1 else -1
    if core == _OF_FOURS:
        return E2M1 if code == 1 else -1
    if code <= 1:
        return E4M3 + code
    return E2M3 + code - 3 if code >= 3 and code <= 5 else -1


@native
def sums_of(core: int, descriptor: int, form: int, kind: int) -> int:
    """D's type; -1: none."""
    named = descriptor >> 4 & 3
    if form >> at.TM_SCALED & 1:
        return SINGLES
    if core == _OF_WHOLES:
        return WHOLES if named == 2 else -1
    if kind == TF32 and named != SINGLES:
        return -1
    return named if named in (HALVES, SINGLES) else -1


@native
def depth_of(core: int, kind: int) -> int:
    """Steps of k; of a sparse product the numbers of A that are kept."""
    if core == _OF_HALVES:
        return 8 if kind == TF32 else 16
    return 64 if core == _OF_FOURS else 32


@native
def fold_of(form: int, rows: int) -> int:
    """Into how many parts D's columns are split, one below the other in the lanes."""
    if form >> at.TM_STATIONARY & 1:
        return 128 // rows
    return 2 if form >> at.TM_PAIR & 1 and rows == 64 else 1


@native
def shape_fault(descriptor: int, form: int, core: int) -> int:
    """Whether M and N are not those of a product."""
    m, n = (descriptor >> 24 & 31) << 4, (descriptor >> 17 & 63) << 3
    pair, stationary = form >> at.TM_PAIR & 1, form >> at.TM_STATIONARY & 1
    if n == 0 or n > 256:
        return 1
    if stationary:
        return int(pair or m not in (32, 64, 128) or n not in (64, 128, 256))
    if pair:
        return int(m not in (128, 256) or n % 16 != 0 or (m == 128 and form >> at.TM_SCALED & 1))
    if m == 64:
        return int(form >> at.TM_SCALED & 1)
    return int(m != 128 or n % (8 if core == _OF_FOURS or form >> at.TM_SCALED & 1 else 16) != 0)


@native
def wrong_form(descriptor: int, form: int, core: int) -> int:
    """Why a descriptor is refused, or -1."""
    a, b = kind_of(core, descriptor >> 7 & 7), kind_of(core, descriptor >> 10 & 7)
    scaled = form >> at.TM_SCALED & 1
    if core == _OF_FOURS:
        b = kind_of(core, descriptor >> 10 & 3)
    if a < 0 or b < 0 or (core == _OF_HALVES and a != b):
        return faults.BAD_DESCRIPTOR
    if (core == _OF_FOURS and not scaled) or sums_of(core, descriptor, form, a) < 0:
        return faults.BAD_DESCRIPTOR
    if descriptor >> 31 & 1 or (not scaled and descriptor >> 30 & 1):
        return faults.BAD_DESCRIPTOR
    narrow = a >= E2M3 and a <= E2M1
    if form >> at.TM_FROM_MEMORY & 1 and narrow and core == _OF_BYTES:
        return faults.BAD_DESCRIPTOR
    if (narrow and descriptor >> 15 & 1) or (b >= E2M3 and b <= E2M1 and descriptor >> 16 & 1):
        return faults.BAD_DESCRIPTOR
    if core == _OF_WHOLES and descriptor >> 13 & 3:
        return faults.BAD_DESCRIPTOR
    if is_sparse(descriptor) and wrong_sparse(descriptor, form, a):
        return faults.SPARSE
    return faults.BAD_SHAPE if shape_fault(descriptor, form, core) else -1


@native
def base_of(slots: Any, part: int) -> int:
    """The shared memory of the even or odd block of the pair, or of the only one."""
    own = slots[at.ENV_CLUSTER_RANK] >> 24 & 1
    return shared_of(slots, int(part != own))


@native
def read_b(slots: Any, warp: int, form: int, inst: int, core: int, descriptor: int) -> int:
    """B's columns, of a pair a half from each block: 1 after a fault."""
    matrix, n = wide(warp, at.TM_B), (descriptor >> 17 & 63) << 3
    code = descriptor >> 10 & (3 if core == _OF_FOURS else 7)
    kind, parts = kind_of(core, code), 2 if form >> at.TM_PAIR & 1 else 1
    depth, count = depth_of(core, kind) << is_sparse(descriptor), n // parts
    along, negated = descriptor >> 16 & 1, descriptor >> 14 & 1
    # where 64 bytes of a row lie in rows of 32 bytes is not known
    if problem(matrix, along) or (is_sparse(descriptor) and not along and layout_of(matrix) == 6):
        return fail(slots, inst, matrix, faults.BAD_SHARED)
    for part in range(parts):
        shared = shared_of(slots, 0) if parts == 1 else base_of(slots, part)
        if shared == 0:
            return fail(slots, inst, 0, faults.NO_FELLOW)
        first = FIRST_COLUMN + part * count
        lost = from_shared(slots, shared, matrix, kind, int(core == _OF_BYTES), along, negated,
                           first, count, depth)  # fmt: skip
        if lost >= 0:
            return shared_fault(slots, inst, lost)
    return 0


@native
def read_a(slots: Any, warp: int, form: int, inst: int, core: int, descriptor: int, shared: int,
           rows: int) -> int:  # fmt: skip
    """A's rows of a block: 1 after a fault."""
    kind = kind_of(core, descriptor >> 7 & 7)
    depth, negated, along = depth_of(core, kind), descriptor >> 13 & 1, descriptor >> 15 & 1
    if form >> at.TM_FROM_MEMORY & 1:
        address, memory = word(warp, at.TM_A), shared + slots[at.ENV_TENSOR_MEMORY]
        if check(slots, memory, inst, address, 8):
            return 1
        scattered = int(rows == 64 and not form & (1 << at.TM_PAIR | 1 << at.TM_STATIONARY))
        if address >> 16 != 0 and not (scattered and address >> 16 == 16):
            return fail(slots, inst, address, faults.MISPLACED)
        from_tensor_memory(slots, memory, address, kind, negated, scattered, rows, depth)
        return spread_sparse(slots, warp, shared, inst, core, descriptor)
    matrix = wide(warp, at.TM_A)
    if problem(matrix, along):
        return fail(slots, inst, matrix, faults.BAD_SHARED)
    lost = from_shared(slots, shared, matrix, kind, int(core == _OF_BYTES), along, negated, 0, rows,
                       depth)  # fmt: skip
    if lost >= 0:
        return shared_fault(slots, inst, lost)
    return spread_sparse(slots, warp, shared, inst, core, descriptor)


@native
def spread_sparse(slots: Any, warp: int, shared: int, inst: int, core: int, descriptor: int) -> int:
    """Puts a sparse A's numbers at their places: 1 after a fault."""
    if not is_sparse(descriptor):
        return 0
    kind, selector = kind_of(core, descriptor >> 7 & 7), descriptor & 3
    memory = shared + slots[at.ENV_TENSOR_MEMORY]
    return spread(slots, warp, memory, inst, kind, int(core == _OF_FOURS), selector)


@native
def apply_scales(slots: Any, warp: int, form: int, inst: int, core: int, descriptor: int,
                 memory: int, rows: int, columns: int) -> int:  # fmt: skip
    """Multiplies both operands by their factors: 1 after a fault."""
    per = 32
    if core == _OF_FOURS and form >> at.TM_FOUR & 1:
        per = 16
    a, b = word(warp, at.TM_SCALES) & 0x3FFFFFFF, word(warp, at.TM_SCALES + 1) & 0x3FFFFFFF
    if check(slots, memory, inst, a, (rows + 31) // 32):
        return 1
    if check(slots, memory, inst, b, (columns + 31) // 32):
        return 1
    depth, power = (64 if core == _OF_FOURS else 32), descriptor >> 23 & 1
    depth, per = depth << is_sparse(descriptor), per << is_sparse(descriptor)
    scale(slots, memory, a, descriptor >> 29 & 3, power, per, 0, rows, depth)
    scale(slots, memory, b, descriptor >> 4 & 3, power, per, FIRST_COLUMN, columns, depth)
    return 0


@native
def write_d(slots: Any, warp: int, form: int, inst: int, core: int, descriptor: int, memory: int,
            rows: int, part: int) -> int:  # fmt: skip
    """D's elements of a block: 1 after a fault."""
    address, n = word(warp, at.TM_D), (descriptor >> 17 & 63) << 3
    kind = kind_of(core, descriptor >> 7 & 7)
    depth = depth_of(core, kind) << is_sparse(descriptor)
    sums = sums_of(core, descriptor, form, kind)
    fold = fold_of(form, rows)
    scattered = rows == 64 and fold == 1
    width = n // fold
    if check(slots, memory, inst, address, width):
        return 1
    if address >> 16 != 0 and not (scattered and address >> 16 == 16):
        return fail(slots, inst, address, faults.MISPLACED)
    adds = word(warp, at.TM_ADDS)
    shift = form >> at.TM_SHIFT & 15 if form >> at.TM_SHIFTS & 1 else 0
    for row in range(rows):
        lane = row // 16 * 32 + row % 16 if scattered else row
        for column in range(n):
            there = lane + column // width * rows if fold > 1 else lane
            if form >> at.TM_LANES & 1:
                mask = word(warp, at.TM_MASKS + 4 * part + there // 32)
                if mask >> (there & 31) & 1:
                    continue
            place = cell(memory, (address >> 16) + there, (address & 0xFFFF) + column % width)
            update(slots, place, row, column, depth, sums, adds, shift, descriptor >> 3 & 1)
    note_pending(memory, address & 0xFFFF, width)
    return 0


@native
def multiply(slots: Any, warp: int, form: int, inst: int) -> int:
    """tcgen05.mma: 0, or 1 after a fault."""
    core, descriptor = form >> at.TM_SHAPE & 15, word(warp, at.TM_DESCRIPTOR)
    reason = wrong_form(descriptor, form, core)
    if reason >= 0:
        return fail(slots, inst, descriptor, reason)
    parts = 2 if form >> at.TM_PAIR & 1 else 1
    rows = ((descriptor >> 24 & 31) << 4) // parts
    for part in range(parts):
        if read_b(slots, warp, form, inst, core, descriptor):
            return 1
        shared = shared_of(slots, 0) if parts == 1 else base_of(slots, part)
        if shared == 0:
            return fail(slots, inst, 0, faults.NO_FELLOW)
        memory = shared + slots[at.ENV_TENSOR_MEMORY]
        if read_a(slots, warp, form, inst, core, descriptor, shared, rows):
            return 1
        if form >> at.TM_SCALED & 1 and apply_scales(
            slots, warp, form, inst, core, descriptor, memory, rows, (descriptor >> 17 & 63) << 3
        ):
            return 1
        if write_d(slots, warp, form, inst, core, descriptor, memory, rows, part):
            return 1
    return 0


