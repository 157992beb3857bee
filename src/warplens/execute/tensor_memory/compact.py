"""A and B of a product as vectors.py wants them, in the worker's memory behind operands.py's.

A's rows of singles come first, `depth` of them each, then their exponents; B's columns stand in
panels of sixteen, side by side for each step of k, and so do theirs.
"""

from __future__ import annotations

from typing import Any

from warplens.compiled import native
from warplens.execute.native import peek32, poke32
from warplens.execute.tensor_memory.cells import cell
from warplens.execute.tensor_memory.decode import take
from warplens.execute.tensor_memory.matrices import along_row, piece, row_place, swizzled
from warplens.execute.tensor_memory.numbers import (
    E2M1,
    E3M2,
    E4M3,
    E5M2,
    F16,
    TF32,
    UE8M0,
    exponent_of,
    value_of,
)
from warplens.execute.tensor_memory.operands import spacing
from warplens.execute.tensor_memory.panels import (
    fill_panel,
    largest_exponent,
    scale_panel,
    scale_row,
)
from warplens.execute.tensor_memory.vectors import WIDTH
from warplens.execute.textures.words import bits_of
from warplens.lift import layout as at

_ROWS, _COLUMNS = at.TM_LANES_OF_BLOCK, at.TM_NUMBERS - at.TM_LANES_OF_BLOCK
_A, _B = at.TM_NUMBERS * at.TM_DEPTH * 12, _ROWS * at.TM_DEPTH * 6
_EDGE = _A + at.TM_NUMBERS * at.TM_DEPTH * 6  # a tile's words, old and new


@native
def numbers_at(slots: Any, is_b: int) -> int:
    """Where singles begin, as a host address."""
    return int(slots[at.ENV_TENSOR_WORK] + _A + is_b * _B)


@native
def exponents_at(slots: Any, is_b: int) -> int:
    """Where their exponents begin."""
    return numbers_at(slots, is_b) + 4 * at.TM_DEPTH * (_COLUMNS if is_b else _ROWS)


@native
def edge_at(slots: Any) -> int:
    """Room for the words of a tile that is not whole."""
    return int(slots[at.ENV_TENSOR_WORK] + _EDGE)


@native
def is_wide(slots: Any) -> int:
    """Whether the processor has vectors of 512 bits."""
    return int(peek32(slots[at.ENV_TENSOR_WORK] + at.TM_WORK_BYTES - 8))


@native
def place_of(is_b: int, n: int, k: int, depth: int) -> int:
    """A number's place among all: of row or column n, step k."""
    return (n // WIDTH * depth + k) * WIDTH + n % WIDTH if is_b else n * depth + k


@native
def bytes_of_eight(kind: int) -> int:
    """From eight numbers (four of TF32) to the next in memory."""
    if kind <= TF32:
        return 16
    return 6 if kind >= E4M3 + 2 and kind <= E3M2 else 4 if kind == E2M1 else 8


@native
def take_piece(slots: Any, source: int, kind: int, each: int, is_b: int, place: int, stride: int,
               negated: int) -> None:  # fmt: skip
    """All numbers of 16 bytes."""
    done = 0
    while done < each:
        to = place + done * stride
        numbers, exponents = numbers_at(slots, is_b), exponents_at(slots, is_b)
        done = done + take(source, numbers + 4 * to, exponents + 2 * to, stride, negated, kind)
        source = source + bytes_of_eight(kind)


@native
def least_of(kind: int) -> int:
    """The exponent of a kind's denormals, of integers any."""
    if kind in (F16, E5M2):
        return -14
    if kind <= TF32:
        return -126
    return -6 if kind == E4M3 else -2 if kind == E3M2 else 0


@native
def clear_rows(slots: Any, depth: int) -> None:
    """Zeros where `take_columns` puts a panel's columns first."""
    for n in range(depth * WIDTH):
        poke32(numbers_at(slots, 0) + 4 * n, 0)


@native
def fill(slots: Any, column: int, kind: int, depth: int) -> None:
    """Sixteen columns that lie as rows become the panel in which a column stands."""
    first = place_of(1, column // WIDTH * WIDTH, 0, depth)
    numbers, exponents = numbers_at(slots, 1) + 4 * first, exponents_at(slots, 1) + 2 * first
    fill_panel(numbers_at(slots, 0), numbers, exponents, depth, least_of(kind), is_wide(slots))


@native
def take_columns(slots: Any, shared: int, descriptor: int, kind: int, is_mixed: int, negated: int,
                 first: int, count: int, depth: int, columns: int) -> int:  # fmt: skip
    """Reads some of B's columns that lie along k; -1, or a place beyond the block's shared memory.

    A panel's columns are read as rows into A's place, which is filled later.
    """
    limit, each = slots[at.ENV_SHARED_LIMIT], spacing(kind, is_mixed)
    apart = along_row(descriptor)
    for n in range(count):
        column = first + n
        if column == columns // WIDTH * WIDTH:  # the last panel is not whole
            clear_rows(slots, depth)
        row = row_place(descriptor, n)
        for step in range(depth // each):
            place = swizzled(descriptor, row + step * apart)
            if place + 16 > limit:
                return place
            to = column % WIDTH * depth + step * each
            take_piece(slots, shared + place, kind, each, 0, to, 1, negated)
        if column % WIDTH == WIDTH - 1 or n == count - 1:
            fill(slots, column, kind, depth)
    return -1


@native
def take_shared(slots: Any, shared: int, descriptor: int, kind: int, is_mixed: int, along: int,
                negated: int, is_b: int, first: int, count: int, depth: int,
                stored: int) -> int:  # fmt: skip
    """Reads rows, or columns that do not lie along k, from `first` on, `stored` steps apart; -1, or
    a place beyond the block's shared memory."""
    limit, each = slots[at.ENV_SHARED_LIMIT], spacing(kind, is_mixed)
    groups = (count + each - 1) // each if along else count
    steps, apart = depth if along else depth // each, along_row(descriptor)
    for group in range(groups):
        row = row_place(descriptor, group)
        for step in range(steps):
            if along:
                place = piece(descriptor, group, step, 1)
            else:
                place = swizzled(descriptor, row + step * apart)
            if place + 16 > limit:
                return place
            n, k = (group * each, step) if along else (group, step * each)
            to = place_of(is_b, first + n, k, stored)
            stride = 1 if along == is_b else stored
            take_piece(slots, shared + place, kind, each, is_b, to, stride, negated)
    return -1


@native
def take_rows(slots: Any, memory: int, address: int, kind: int, negated: int, is_scattered: int,
              count: int, depth: int, stored: int) -> None:  # fmt: skip
    """Reads A's rows out of 32 bytes of their lanes."""
    each = spacing(kind, 0)
    for n in range(count):
        lane = n // 16 * 32 + n % 16 if is_scattered else n
        row = cell(memory, (address >> 16) + lane, address & 0xFFFF)
        for step in range(depth // each):
            to = place_of(0, n, step * each, stored)
            take_piece(slots, row + 16 * step, kind, each, 0, to, 1, negated)


@native
def clear_tail(slots: Any, columns: int, depth: int) -> None:
    """Zeros in the last panel if B does not fill it."""
    if columns % WIDTH == 0:
        return
    first = place_of(1, columns // WIDTH * WIDTH, 0, depth)
    for n in range(depth * WIDTH):
        poke32(numbers_at(slots, 1) + 4 * (first + n), 0)
    for n in range(depth * WIDTH // 2):
        poke32(exponents_at(slots, 1) + 2 * first + 4 * n, 0)


@native
def has_special(slots: Any, columns: int, depth: int) -> int:
    """Whether B holds infinities or NaN."""
    count = (columns + WIDTH - 1) // WIDTH * depth
    return int(largest_exponent(exponents_at(slots, 1), count, is_wide(slots)) > 3000)


@native
def bits_of_scale(memory: int, address: int, n: int, byte: int, is_power: int) -> int:
    """The factor of a row or column for a block of k."""
    word = peek32(cell(memory, n & 31, (address & 0xFFFF) + (n >> 5)))
    return int(word >> 8 * byte & (255 if is_power else 127))


@native
def scale_rows(slots: Any, memory: int, address: int, byte: int, is_power: int, per: int,
               count: int, depth: int) -> int:  # fmt: skip
    """As operands.scale, of A; whether singles hold all numbers."""
    kind, is_held = UE8M0 if is_power else E4M3, 1
    for n in range(count):
        for block in range(depth // per):
            bits, place = bits_of_scale(memory, address, n, byte + block, is_power), n * depth
            numbers = numbers_at(slots, 0) + 4 * (place + block * per)
            exponents = exponents_at(slots, 0) + 2 * (place + block * per)
            factor, more = bits_of(value_of(kind, bits)), exponent_of(kind, bits)
            is_held = is_held & scale_row(numbers, exponents, per // WIDTH, int(factor), more,
                                          is_wide(slots))  # fmt: skip
    return int(is_held)


@native
def scale_columns(slots: Any, memory: int, address: int, byte: int, is_power: int, per: int,
                  count: int, depth: int) -> int:  # fmt: skip
    """The same of B."""
    kind, is_held, factors = UE8M0 if is_power else E4M3, 1, edge_at(slots)
    for first in range(0, count, WIDTH):
        for block in range(depth // per):
            for n in range(WIDTH):
                factor, more = int(bits_of(1.0)), 0
                if first + n < count:
                    bits = bits_of_scale(memory, address, first + n, byte + block, is_power)
                    factor, more = int(bits_of(value_of(kind, bits))), exponent_of(kind, bits)
                poke32(factors + 4 * n, factor)
                poke32(factors + 4 * (WIDTH + n), more)
            place = place_of(1, first, block * per, depth)
            numbers = numbers_at(slots, 1) + 4 * place
            exponents = exponents_at(slots, 1) + 2 * place
            is_held = is_held & scale_panel(numbers, exponents, per, factors, factors + 4 * WIDTH,
                                            is_wide(slots))  # fmt: skip
    return int(is_held)
