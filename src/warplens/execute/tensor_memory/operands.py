"""A and B of a product, as numbers and exponents in the worker's memory.

Rows of A come first, columns of B behind them; a row has room for `TM_DEPTH` steps of k.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warplens.compiled import carray, native
from warplens.execute.native import peek32
from warplens.execute.tensor_memory.cells import cell
from warplens.execute.tensor_memory.matrices import piece
from warplens.execute.tensor_memory.numbers import (
    BF16,
    E2M1,
    E4M3,
    NO_TERM,
    SPECIAL,
    TF32,
    U8,
    UE8M0,
    bits_of_kind,
    exponent_of,
    value_of,
)
from warplens.lift import layout as at

FIRST_COLUMN = at.TM_LANES_OF_BLOCK
# exponents where a sparse row has no number, factors included: not even an infinity meets it
NOT_KEPT, HAS_NONE = -30000, -15000
ANY_SPECIAL = 1000  # of a product with an infinity or NaN; with a zero it is their sum
_SIZE = at.TM_NUMBERS * at.TM_DEPTH


@native
def numbers_of(slots: Any) -> Any:
    """The numbers."""
    return carray(slots[at.ENV_TENSOR_WORK], (_SIZE,), np.float64)


@native
def exponents_of(slots: Any) -> Any:
    """Their exponents."""
    return carray(slots[at.ENV_TENSOR_WORK] + 8 * _SIZE, (_SIZE,), np.int32)


@native
def put(slots: Any, place: int, kind: int, bits: int, negated: int) -> None:
    """Notes a number."""
    value = value_of(kind, bits)
    numbers_of(slots)[place] = -value if negated else value
    if kind < U8:
        exponents_of(slots)[place] = exponent_of(kind, bits)


@native
def bits_at(address: int, first: int, count: int) -> int:
    """Some bits of memory, fewer than 33."""
    word, shift = first >> 5, first & 31
    low = peek32(address + 4 * word) >> shift
    if shift + count > 32:
        low = low | peek32(address + 4 * word + 4) << (32 - shift)
    return int(low & ((1 << count) - 1))


@native
def spacing(kind: int, is_mixed: int) -> int:
    """How many of a kind stand in 16 bytes."""
    if kind <= BF16:
        return 8
    if kind == TF32:
        return 4
    return 32 if kind == E2M1 and not is_mixed else 16


@native
def number_at(address: int, kind: int, k: int) -> int:
    """The bits of the k-th number of 16 bytes."""
    if kind == TF32:
        return int(peek32(address + 4 * k) >> 13)
    return bits_at(address, k * bits_of_kind(kind), bits_of_kind(kind))


@native
def from_shared(slots: Any, shared: int, descriptor: int, kind: int, is_mixed: int, along: int,
                negated: int, first: int, count: int, depth: int) -> int:  # fmt: skip
    """Reads rows or columns; -1, or a place beyond the block's shared memory."""
    limit, each = slots[at.ENV_SHARED_LIMIT], spacing(kind, is_mixed)
    for n in range(count):
        for k in range(depth):
            if along:
                place, inside = piece(descriptor, n // each, k, 1), n % each
            else:
                place, inside = piece(descriptor, n, k // each, 0), k % each
            if place + 16 > limit:
                return place
            bits = number_at(shared + place, kind, inside)
            put(slots, (first + n) * at.TM_DEPTH + k, kind, bits, negated)
    return -1


@native
def from_tensor_memory(slots: Any, memory: int, address: int, kind: int, negated: int,
                       is_scattered: int, count: int, depth: int) -> None:  # fmt: skip
    """Reads A's rows out of 32 bytes of their lanes."""
    each = spacing(kind, 0)
    for n in range(count):
        lane = n // 16 * 32 + n % 16 if is_scattered else n
        row = cell(memory, (address >> 16) + lane, address & 0xFFFF)
        for k in range(depth):
            bits = number_at(row + k // each * 16, kind, k % each)
            put(slots, n * at.TM_DEPTH + k, kind, bits, negated)


@native
def bounded(exponent: int) -> int:
    """The exponent of a number times a factor: NaN is NaN, though the other be zero."""
    if exponent > ANY_SPECIAL:
        return SPECIAL
    return NO_TERM if exponent < -3000 else exponent


@native
def scale(slots: Any, memory: int, address: int, byte: int, is_power: int, per: int, first: int,
          count: int, depth: int) -> None:  # fmt: skip
    """Multiplies rows or columns by their factors, one for `per` steps of k.

    The factors of row r are bytes of lane r % 32, column r / 32, from byte `byte` on.
    """
    numbers, exponents = numbers_of(slots), exponents_of(slots)
    kind = UE8M0 if is_power else E4M3
    for n in range(count):
        word = peek32(cell(memory, n & 31, (address & 0xFFFF) + (n >> 5)))
        for k in range(depth):
            bits = word >> 8 * (byte + k // per) & 255
            bits = bits if is_power else bits & 127
            place = (first + n) * at.TM_DEPTH + k
            numbers[place] = numbers[place] * value_of(kind, bits)
            if exponents[place] > HAS_NONE:
                exponents[place] = bounded(exponents[place] + exponent_of(kind, bits))
