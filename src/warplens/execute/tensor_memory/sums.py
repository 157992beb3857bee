"""Sums of products in D: as wgmma's on an H200, all terms cut at 25 bits below the largest.

That sm_100 sums like that is inferred; a finite f32 sum is cut to 24 bits, one of halves rounded.
"""

from __future__ import annotations

from typing import Any

from warplens.compiled import native
from warplens.execute.native import peek32, poke32
from warplens.execute.tensor_memory.numbers import (
    F16,
    NO_TERM,
    SPECIAL,
    cut_to_single,
    exponent_of,
    rounded_to_half,
    value_of,
)
from warplens.execute.tensor_memory.operands import (
    ANY_SPECIAL,
    FIRST_COLUMN,
    HAS_NONE,
    exponents_of,
    numbers_of,
)
from warplens.execute.textures.words import bits_of, float_of, power_of_two
from warplens.lift import layout as at

_KEPT = 25
_NAN, _NAN_OF_HALVES = 0x7FFFFFFF, 0x7FFF
HALVES, SINGLES, WHOLES = 0, 1, 2


@native
def old_exponent(bits: int, form: int) -> int:
    """The exponent of D's old value."""
    if form == HALVES:
        return exponent_of(F16, bits & 0xFFFF)
    field = bits >> 23 & 255
    if field == 255:
        return SPECIAL
    return NO_TERM if bits & 0x7FFFFFFF == 0 else max(field, 1) - 127


@native
def old_value(bits: int, form: int) -> float:
    """D's old value."""
    return value_of(F16, bits & 0xFFFF) if form == HALVES else float_of(bits)


@native
def special_sum(numbers: Any, exponents: Any, a: int, b: int, depth: int, start: float,
                form: int) -> int:  # fmt: skip
    """A sum with infinities or NaN."""
    total = start
    for k in range(depth):
        if exponents[a + k] > HAS_NONE:
            total = total + numbers[a + k] * numbers[b + k]
    if total != total:
        return _NAN if form == SINGLES else _NAN_OF_HALVES
    bits = int(bits_of(total))
    return bits if form == SINGLES else (bits >> 16 & 0x8000) | 0x7C00


@native
def float_sum(numbers: Any, exponents: Any, a: int, b: int, depth: int, old: int, form: int,
              adds: int, shift: int) -> int:  # fmt: skip
    """The bits of a new element of D."""
    start, largest = 0.0, NO_TERM
    if adds:
        start = old_value(old, form)
        largest = old_exponent(old, form)
        if shift and largest > NO_TERM and largest < SPECIAL:
            start, largest = start * power_of_two(-shift), largest - shift
    for k in range(depth):
        largest = max(largest, exponents[a + k] + exponents[b + k])
    if largest > ANY_SPECIAL:
        return special_sum(numbers, exponents, a, b, depth, start, form)
    if largest < -3000:
        return 0
    up = power_of_two(_KEPT - largest)
    total = int(start * up)
    for k in range(depth):
        if exponents[a + k] > HAS_NONE:
            total = total + int(numbers[a + k] * numbers[b + k] * up)
    if form == SINGLES:
        return cut_to_single(total, largest - _KEPT)
    return rounded_to_half(total, largest - _KEPT)


@native
def whole_sum(numbers: Any, a: int, b: int, depth: int, old: int, adds: int, saturates: int) -> int:
    """The bits of a new integer element of D."""
    total = 0
    if adds:
        total = old - (1 << 32) if old >> 31 & 1 else old
    for k in range(depth):
        total = total + int(numbers[a + k] * numbers[b + k])
    if saturates:
        total = min(max(total, -(1 << 31)), (1 << 31) - 1)
    return total & 0xFFFFFFFF


@native
def update(slots: Any, place: int, row: int, column: int, depth: int, form: int, adds: int,
           shift: int, saturates: int) -> None:  # fmt: skip
    """One element of D."""
    numbers, exponents = numbers_of(slots), exponents_of(slots)
    a, b = row * at.TM_DEPTH, (FIRST_COLUMN + column) * at.TM_DEPTH
    if form == WHOLES:
        poke32(place, whole_sum(numbers, a, b, depth, peek32(place), adds, saturates))
    else:
        poke32(place, float_sum(numbers, exponents, a, b, depth, peek32(place), form, adds, shift))
