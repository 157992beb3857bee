"""Products of the fifth-generation tensor cores: D = A * B + D in the memory of one or two blocks.

The instruction descriptor: 1:0 the selector, 2 sparse, 3 saturates, 5:4 D's type, 9:7 and 12:10
types of A and B, 13 and 14 their signs, 15 and 16 along rows and columns, 22:17 N / 8, 28:24
M / 16; with scales 5:4 and 30:29 the bytes of B's and A's factors, 23 factors are powers of two,
31 a longer k.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warplens.compiled import carray, native
from warplens.execute.native import peek32, poke32
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
from warplens.execute.tensor_memory.compact import (
    clear_tail,
    edge_at,
    exponents_at,
    has_special,
    is_wide,
    numbers_at,
    place_of,
    scale_columns,
    scale_rows,
    take_columns,
    take_rows,
    take_shared,
)
from warplens.execute.tensor_memory.matrices import layout_of, problem
from warplens.execute.tensor_memory.numbers import E2M1, E2M3, E4M3, TF32, U8
from warplens.execute.tensor_memory.operands import (
    FIRST_COLUMN,
    exponents_of,
    from_shared,
    from_tensor_memory,
    numbers_of,
    scale,
)
from warplens.execute.tensor_memory.sparse import is_sparse, spread, wrong_sparse
from warplens.execute.tensor_memory.sums import HALVES, SINGLES, WHOLES, update
from warplens.execute.tensor_memory.vectors import (
    WIDTH,
    halves_of_row,
    singles_of_row,
    wholes_of_row,
)
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
def read_b(slots: Any, warp: int, form: int, inst: int, core: int, descriptor: int,
           compact: int) -> int:  # fmt: skip
    """B's columns, of a pair a half from each block: 1 after a fault. `compact`: for vectors."""
    matrix, n = wide(warp, at.TM_B), (descriptor >> 17 & 63) << 3
    code = descriptor >> 10 & (3 if core == _OF_FOURS else 7)
    kind, parts = kind_of(core, code), 2 if form >> at.TM_PAIR & 1 else 1
    depth, count = depth_of(core, kind) << is_sparse(descriptor), n // parts
    along, negated = descriptor >> 16 & 1, descriptor >> 14 & 1
    # where 64 bytes of a row lie in rows of 32 bytes is not known
    if problem(matrix, along) or (is_sparse(descriptor) and not along and layout_of(matrix) == 6):
        return fail(slots, inst, matrix, faults.BAD_SHARED)
    if compact and along:
        clear_tail(slots, n, depth)
    for part in range(parts):
        shared = shared_of(slots, 0) if parts == 1 else base_of(slots, part)
        if shared == 0:
            return fail(slots, inst, 0, faults.NO_FELLOW)
        first, mixed = part * count, int(core == _OF_BYTES)
        if compact and not along:
            lost = take_columns(slots, shared, matrix, kind, mixed, negated, first, count, depth, n)
        elif compact:
            lost = take_shared(slots, shared, matrix, kind, mixed, along, negated, 1, first, count,
                               depth, depth)  # fmt: skip
        else:
            lost = from_shared(slots, shared, matrix, kind, mixed, along, negated,
                               FIRST_COLUMN + first, count, depth)  # fmt: skip
        if lost >= 0:
            return shared_fault(slots, inst, lost)
    return 0


@native
def read_a(slots: Any, warp: int, form: int, inst: int, core: int, descriptor: int, shared: int,
           rows: int, compact: int) -> int:  # fmt: skip
    """A's rows of a block: 1 after a fault."""
    kind = kind_of(core, descriptor >> 7 & 7)
    depth, negated, along = depth_of(core, kind), descriptor >> 13 & 1, descriptor >> 15 & 1
    stored = depth << is_sparse(descriptor)
    if form >> at.TM_FROM_MEMORY & 1:
        address, memory = word(warp, at.TM_A), shared + slots[at.ENV_TENSOR_MEMORY]
        if check(slots, memory, inst, address, 8):
            return 1
        scattered = int(rows == 64 and not form & (1 << at.TM_PAIR | 1 << at.TM_STATIONARY))
        if address >> 16 != 0 and not (scattered and address >> 16 == 16):
            return fail(slots, inst, address, faults.MISPLACED)
        if compact:
            take_rows(slots, memory, address, kind, negated, scattered, rows, depth, stored)
        else:
            from_tensor_memory(slots, memory, address, kind, negated, scattered, rows, depth)
        return spread_sparse(slots, warp, shared, inst, core, descriptor, rows, compact)
    matrix = wide(warp, at.TM_A)
    if problem(matrix, along):
        return fail(slots, inst, matrix, faults.BAD_SHARED)
    mixed = int(core == _OF_BYTES)
    if compact:
        lost = take_shared(slots, shared, matrix, kind, mixed, along, negated, 0, 0, rows, depth,
                           stored)  # fmt: skip
    else:
        lost = from_shared(slots, shared, matrix, kind, mixed, along, negated, 0, rows, depth)
    if lost >= 0:
        return shared_fault(slots, inst, lost)
    return spread_sparse(slots, warp, shared, inst, core, descriptor, rows, compact)


@native
def spread_sparse(slots: Any, warp: int, shared: int, inst: int, core: int, descriptor: int,
                  rows: int, compact: int) -> int:  # fmt: skip
    """Puts a sparse A's numbers at their places: 1 after a fault."""
    if not is_sparse(descriptor):
        return 0
    kind, selector = kind_of(core, descriptor >> 7 & 7), descriptor & 3
    memory, pairs = shared + slots[at.ENV_TENSOR_MEMORY], int(core == _OF_FOURS)
    if compact:
        size = at.TM_LANES_OF_BLOCK * at.TM_DEPTH
        numbers = carray(numbers_at(slots, 0), (size,), np.float32)
        exponents = carray(exponents_at(slots, 0), (size,), np.int16)
        return spread(slots, warp, memory, inst, kind, pairs, selector, rows, numbers, exponents,
                      2 * depth_of(core, kind))  # fmt: skip
    return spread(slots, warp, memory, inst, kind, pairs, selector, rows, numbers_of(slots),
                  exponents_of(slots), at.TM_DEPTH)  # fmt: skip


@native
def apply_scales(slots: Any, warp: int, form: int, inst: int, core: int, descriptor: int,
                 memory: int, rows: int, columns: int, compact: int) -> int:  # fmt: skip
    """Multiplies both operands by their factors: 1 after a fault, 2 if singles do not hold them."""
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
    a_byte, b_byte = descriptor >> 29 & 3, descriptor >> 4 & 3
    if compact:
        held = scale_rows(slots, memory, a, a_byte, power, per, rows, depth)
        if held:
            held = scale_columns(slots, memory, b, b_byte, power, per, columns, depth)
        return 0 if held else 2
    scale(slots, memory, a, a_byte, power, per, 0, rows, depth)
    scale(slots, memory, b, b_byte, power, per, FIRST_COLUMN, columns, depth)
    return 0


@native
def read(slots: Any, warp: int, form: int, inst: int, core: int, descriptor: int, part: int,
         compact: int) -> int:  # fmt: skip
    """Both operands of a block: 1 after a fault, 2 if singles do not hold them."""
    parts = 2 if form >> at.TM_PAIR & 1 else 1
    rows = ((descriptor >> 24 & 31) << 4) // parts
    if read_b(slots, warp, form, inst, core, descriptor, compact):
        return 1
    shared = shared_of(slots, 0) if parts == 1 else base_of(slots, part)
    if shared == 0:
        return fail(slots, inst, 0, faults.NO_FELLOW)
    if read_a(slots, warp, form, inst, core, descriptor, shared, rows, compact):
        return 1
    columns = (descriptor >> 17 & 63) << 3
    if compact and is_sparse(descriptor) and core != _OF_WHOLES:
        depth = 2 * depth_of(core, kind_of(core, descriptor >> 7 & 7))
        if has_special(slots, columns, depth):  # which nothing of A's that is not kept may meet
            return 2
    if form >> at.TM_SCALED & 1:
        memory = shared + slots[at.ENV_TENSOR_MEMORY]
        return apply_scales(
            slots, warp, form, inst, core, descriptor, memory, rows, columns, compact
        )
    return 0


@native
def fits_tiles(form: int, rows: int, columns: int) -> int:
    """Whether tiles of D lie in one lane each, and its old value counts as it is."""
    fold = fold_of(form, rows)
    shifts = form >> at.TM_SHIFTS & 1 and form >> at.TM_SHIFT & 15
    return int((fold == 1 or columns // fold % WIDTH == 0) and not shifts)


@native
def panels_of_row(slots: Any, row: int, column: int, panels: int, place: int, depth: int, sums: int,
                  adds: int, saturates: int) -> int:  # fmt: skip
    """Some sixteens of neighbouring elements of D's row; how many come before one whose numbers are
    not ordinary."""
    a, b = place_of(0, row, 0, depth), place_of(1, column, 0, depth)
    an, ae = numbers_at(slots, 0) + 4 * a, exponents_at(slots, 0) + 2 * a
    bn, be, wide = numbers_at(slots, 1) + 4 * b, exponents_at(slots, 1) + 2 * b, is_wide(slots)
    if sums == WHOLES:
        done = wholes_of_row(an, ae, bn, be, depth, panels, place, adds, saturates, wide)
    elif sums == SINGLES:
        done = singles_of_row(an, ae, bn, be, depth, panels, place, adds, saturates, wide)
    else:
        done = halves_of_row(an, ae, bn, be, depth, panels, place, adds, saturates, wide)
    return int(done)


@native
def part_of_panel(slots: Any, row: int, column: int, count: int, place: int, depth: int, sums: int,
                  adds: int, saturates: int) -> int:  # fmt: skip
    """Fewer than sixteen elements; 0 if their numbers are not ordinary."""
    edge = edge_at(slots)
    for n in range(count):
        poke32(edge + 4 * n, peek32(place + 4 * n))
    for n in range(count, WIDTH):
        poke32(edge + 4 * n, 0)
    done = panels_of_row(slots, row, column, 1, edge, depth, sums, adds, saturates)
    if done:
        for n in range(count):
            poke32(place + 4 * n, peek32(edge + 4 * n))
    return done


@native
def elements_done(slots: Any, row: int, column: int, count: int, place: int, depth: int, sums: int,
                  adds: int, saturates: int) -> int:  # fmt: skip
    """How many neighbouring elements of D's row are made, up to numbers that are not ordinary."""
    whole, done = count // WIDTH, 0
    if whole:
        done = WIDTH * panels_of_row(slots, row, column, whole, place, depth, sums, adds, saturates)
    if done < whole * WIDTH or done == count:
        return done
    rest = count - done
    if part_of_panel(slots, row, column + done, rest, place + 4 * done, depth, sums, adds,
                     saturates):  # fmt: skip
        return count
    return done


@native
def write_d(slots: Any, warp: int, form: int, inst: int, core: int, descriptor: int, memory: int,
            rows: int, part: int, tiles: int) -> int:  # fmt: skip
    """D's elements of a block, in `tiles` where numbers are ordinary: 1 after a fault."""
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
    adds, saturates = word(warp, at.TM_ADDS), descriptor >> 3 & 1
    shift = form >> at.TM_SHIFT & 15 if form >> at.TM_SHIFTS & 1 else 0
    is_read = 0
    for row in range(rows):
        lane = row // 16 * 32 + row % 16 if scattered else row
        for first in range(0, n, width):
            there = lane + first // width * rows
            if form >> at.TM_LANES & 1:
                mask = word(warp, at.TM_MASKS + 4 * part + there // 32)
                if mask >> (there & 31) & 1:
                    continue
            place, done = cell(memory, (address >> 16) + there, address & 0xFFFF), 0
            while done < width:
                if tiles:
                    done = done + elements_done(
                        slots, row, first + done, width - done, place + 4 * done, depth, sums, adds,
                        saturates,
                    )  # fmt: skip
                    if done == width:
                        continue
                    if not is_read:  # again, as doubles
                        read(slots, warp, form, inst, core, descriptor, part, 0)
                        is_read = 1
                for _ in range(min(WIDTH, width - done)):
                    update(slots, place + 4 * done, row, first + done, depth, sums, adds, shift,
                           saturates)  # fmt: skip
                    done = done + 1
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
    compact = fits_tiles(form, rows, (descriptor >> 17 & 63) << 3)
    for part in range(parts):
        found = read(slots, warp, form, inst, core, descriptor, part, compact)
        in_tiles = int(compact and found == 0)
        if found == 2:
            found = read(slots, warp, form, inst, core, descriptor, part, 0)
        if found:
            return 1
        shared = shared_of(slots, 0) if parts == 1 else base_of(slots, part)
        memory = shared + slots[at.ENV_TENSOR_MEMORY]
        if write_d(slots, warp, form, inst, core, descriptor, memory, rows, part, in_tiles):
            return 1
    return 0
