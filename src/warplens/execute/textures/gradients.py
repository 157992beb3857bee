"""The level of detail that gradients ask for, as recorded on an H100.

What a unit calculates with are mantissas of ten bits. A gradient is cut to ten and multiplied by
the image's size, a sum of shifted ones with three bits more, rounded up; a length is the larger
component and 11/32 of the smaller one; of the two lengths the longer decides, or 11/16 of the
length of their sum or difference, if that is longer. Its logarithm is looked up by the upper eight
bits of the fraction (all of them recorded) and the bias is added as to given levels. Of 61,000
samples (`validation/data/gradients_sm90.npz`) all are equal where one of the two lengths decides,
or where there is one component; how the components of a sum are rounded to a length is not known,
so that such ones are refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warplens.compiled import carray, native
from warplens.execute.textures.lanes import word
from warplens.execute.textures.logarithms import FRACTIONS
from warplens.execute.textures.words import bits_of_double, float_of, power_of_two
from warplens.lift import layout as at

_LEAST = -(1 << 20)
_MOST = 1e30
_SMALL = 1e-30  # below it nothing asks for another level than the first
_BITS = 10
_SUM, _PART = 0b1011, 0b1011  # 11/16 and 11/32 of a number: its bits, the highest first
_CLOSE = 1.0 + 1.0 / 128.0  # two lengths between which rounding decides
UNKNOWN = -(1 << 30)  # what was not recorded


@native
def _packed(mantissa: int, exponent: int) -> int:
    """A number of ten bits and its exponent as one, ascending; 0 is none."""
    if mantissa >= 1 << _BITS:
        mantissa, exponent = mantissa >> 1, exponent + 1
    return (exponent + 1024) << _BITS | mantissa if mantissa else 0


@native
def _cut(value: float) -> int:
    """A number's upper ten bits."""
    bits = bits_of_double(value)
    exponent = bits >> 52 & 2047
    if value < _SMALL:
        return 0
    return _packed(int(bits >> 43 & 511) | 512, exponent - 1022)


@native
def _times(number: int, factor: int, shift: int, more: int) -> int:
    """A number times `factor` / 2**shift; `more` is added, of eight parts of the last bit, before
    the product is cut."""
    mantissa, top = number & 1023, 0
    if mantissa == 0:
        return 0
    while factor >> (top + 1):
        top += 1
    eighths = 0
    for k in range(top + 1):
        if factor >> (top - k) & 1:
            eighths += mantissa << 3 >> k
    return _packed((eighths + more) >> 3, (number >> _BITS) - 1024 + top - shift)


@native
def _sum(one: int, other: int) -> int:
    """Of two numbers, the smaller one cut to three bits more than the larger one has."""
    large, small = max(one, other), min(one, other)
    if small == 0:
        return large
    apart = min((large >> _BITS) - (small >> _BITS), 30)
    eighths = ((large & 1023) << 3) + ((small & 1023) << 3 >> apart)
    return _packed(eighths >> 3, (large >> _BITS) - 1024)


@native
def _length(one: int, other: int) -> int:
    """Of a vector with these components."""
    return _sum(max(one, other), _times(min(one, other), _PART, 5, 4))


@native
def _value(number: int) -> float:
    if number == 0:
        return 0.0
    return float(number & 1023) * power_of_two((number >> _BITS) - 1024 - _BITS)


@native
def _about(one: float, other: float) -> float:
    """About the length of a vector."""
    return max(one, other) + 11.0 / 32.0 * min(one, other)


@native
def logarithm(table: Any, length: int) -> int:
    """256 log2 of a length."""
    if length == 0:
        return _LEAST
    return int(((length >> _BITS) - 1025) * 256 + table[length >> 1 & 255])


@native
def _component(warp: int, slot: int, lane: int) -> float:
    return float(float_of(word(warp, at.UNIT_GRADIENTS + slot, lane)))


@native
def asked(made: Any, level: Any, warp: int, lane: int) -> int:
    """The level of detail in 1/256, or UNKNOWN."""
    if made.anisotropy > 1:
        return UNKNOWN
    given, scaled = np.zeros(4, np.float64), np.zeros(4, np.int64)  # to the right, downwards: x; y
    for k in range(2 * made.rank):
        given[k] = _component(warp, k, lane)
        if given[k] != given[k] or abs(given[k]) > _MOST:
            return UNKNOWN
        scaled[k] = _times(_cut(abs(given[k])), level[1 + k // 2], 0, 7)
    table = carray(made.logarithms, (FRACTIONS,), np.int64)
    longer = max(_length(scaled[0], scaled[2]), _length(scaled[1], scaled[3]))
    if scaled[0] | scaled[1] == 0 or scaled[2] | scaled[3] == 0:
        both = _sum(scaled[0] + scaled[2], scaled[1] + scaled[3])
        return logarithm(table, max(longer, _times(both, _SUM, 4, 4)))
    signed = np.zeros(4, np.float64)
    for k in range(4):
        signed[k] = _value(scaled[k]) if given[k] >= 0.0 else -_value(scaled[k])
    plus = _about(abs(signed[0] + signed[1]), abs(signed[2] + signed[3]))
    minus = _about(abs(signed[0] - signed[1]), abs(signed[2] - signed[3]))
    if _value(longer) < 11.0 / 16.0 * max(plus, minus) * _CLOSE:
        return UNKNOWN
    return logarithm(table, longer)
