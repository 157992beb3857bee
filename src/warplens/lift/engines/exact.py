"""Exact arithmetic on the values of IEEE floats, with one correct rounding at the end.

A number is a rational with a sign (so that zeros keep theirs), an infinity, or not a number. This
is the definition the fast engine is compared with, not something to be fast.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple


class Number(NamedTuple):
    """A float's value. `special` is "", "inf" or "nan"; zeros and infinities need `negative`."""

    value: Fraction
    negative: bool
    special: str = ""


class Format(NamedTuple):
    """A binary interchange format: bits of precision (with the hidden one) and of exponent."""

    precision: int
    exponent_bits: int


FORMATS = {
    "f16": Format(11, 5),
    "bf16": Format(8, 8),
    "f32": Format(24, 8),
    "f64": Format(53, 11),
}
NAN = Number(Fraction(0), False, "nan")


def number(value: float) -> Number:
    """The number that a Python float stands for."""
    negative = math.copysign(1.0, value) < 0
    if math.isnan(value):
        return NAN
    if math.isinf(value):
        return Number(Fraction(0), negative, "inf")
    return Number(Fraction(value), negative)


def integer(value: int) -> Number:
    """The number of an integer."""
    return Number(Fraction(value), value < 0)


def smallest_normal(type: str) -> float:
    """The least positive normal number of a format."""
    return math.ldexp(1.0, 2 - (1 << (FORMATS[type].exponent_bits - 1)))


def add(a: Number, b: Number, rounding: str) -> Number:
    """a + b; `rounding` decides the sign of an exact zero (IEEE 754, 6.3)."""
    if "nan" in (a.special, b.special):
        return NAN
    if a.special or b.special:
        if a.special and b.special and a.negative != b.negative:
            return NAN
        return a if a.special else b
    total = a.value + b.value
    if total:
        return Number(total, total < 0)
    if a.value == 0 and a.negative == b.negative:
        return a
    return Number(total, rounding == "RM")


def multiply(a: Number, b: Number, rounding: str = "RN") -> Number:
    """a * b."""
    negative = a.negative != b.negative
    if "nan" in (a.special, b.special):
        return NAN
    if a.special or b.special:
        if (not a.special and a.value == 0) or (not b.special and b.value == 0):
            return NAN
        return Number(Fraction(0), negative, "inf")
    return Number(a.value * b.value, negative)


def multiply_add(a: Number, b: Number, c: Number, rounding: str) -> Number:
    """a * b + c without rounding in between."""
    return add(multiply(a, b), c, rounding)


def divide(a: Number, b: Number, rounding: str = "RN") -> Number:
    """a / b."""
    negative = a.negative != b.negative
    if "nan" in (a.special, b.special) or (a.special and b.special):
        return NAN
    if b.special:
        return Number(Fraction(0), negative)
    if a.special:
        return Number(Fraction(0), negative, "inf")
    if b.value == 0:
        return NAN if a.value == 0 else Number(Fraction(0), negative, "inf")
    return Number(a.value / b.value, negative)


def encode(n: Number, type: str, rounding: str) -> int:
    """The bits of `n` in a format, rounded once: RN (ties to even), RZ, RM (down) or RP (up)."""
    precision, exponent_bits = FORMATS[type]
    fraction_bits = precision - 1
    sign = int(n.negative) << (fraction_bits + exponent_bits)
    infinity = ((1 << exponent_bits) - 1) << fraction_bits
    if n.special == "nan":
        return infinity | ((1 << fraction_bits) - 1)
    if n.special == "inf":
        return sign | infinity
    if n.value == 0:
        return sign
    magnitude = abs(n.value)
    smallest_exponent = 2 - (1 << (exponent_bits - 1))
    exponent = max(_floor_log2(magnitude), smallest_exponent)
    scaled = magnitude / Fraction(2) ** (exponent - fraction_bits)
    steps = _round_steps(scaled, n.negative, rounding)
    # Steps of the last place count on through the exponent field: a carry is the next exponent.
    pattern = steps + ((exponent - smallest_exponent) << fraction_bits)
    return sign | (pattern if pattern < infinity else _overflow(infinity, n.negative, rounding))


def _floor_log2(magnitude: Fraction) -> int:
    estimate = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    return estimate if Fraction(2) ** estimate <= magnitude else estimate - 1


def _round_steps(scaled: Fraction, negative: bool, rounding: str) -> int:
    steps = math.floor(scaled)
    rest = scaled - steps
    if rounding == "RN":
        half = Fraction(1, 2)
        return steps + int(rest > half or (rest == half and steps % 2 == 1))
    away = rounding == ("RM" if negative else "RP")
    return steps + int(away and rest > 0)


def _overflow(infinity: int, negative: bool, rounding: str) -> int:
    towards_infinity = rounding in ("RN", "RM" if negative else "RP")
    return infinity if towards_infinity else infinity - 1


def saturate(value: float, low: int, high: int) -> int:
    """The integer part of a float within limits; not a number gives 0."""
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return low if value < 0 else high
    return min(max(int(value), low), high)
