"""Half, bfloat16 and fp8 arithmetic with one rounding, computed in doubles and integers.

Sums and products are first rounded to odd in double precision, which a second rounding to at most
24 bits cannot spoil; a test compares with exact rationals and with NumPy's own float16.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def round_to(value: Array, precision: int, lowest: int, highest: float, mode: str) -> Array:
    """Doubles rounded to a binary format, still as doubles.

    Args:
        precision: bits with the leading one; lowest: exponent of the smallest subnormal.
        highest: the largest finite value; what rounds beyond is infinite or, towards zero, that.
    """
    with np.errstate(all="ignore"):
        magnitude = np.abs(value)
        _, exponent = np.frexp(np.where(np.isfinite(value), value, 1.0))
        unit = np.maximum(exponent - precision, lowest)
        scaled = np.ldexp(magnitude, -unit)
        negative = np.signbit(value)
        whole = {
            "rn": np.rint(scaled),
            "rz": np.floor(scaled),
            "ru": np.where(negative, np.floor(scaled), np.ceil(scaled)),
            "rd": np.where(negative, np.ceil(scaled), np.floor(scaled)),
            "ra": np.floor(scaled + 0.5),
        }[mode]
        result = np.ldexp(whole, unit)
        inwards = np.full(value.shape, mode == "rz")
        if mode in ("ru", "rd"):
            inwards = negative == (mode == "ru")
        too_large = result > highest
        result = np.where(too_large, np.where(inwards, highest, np.inf), result)
        result = np.where(np.isfinite(value), np.copysign(result, value), value)
    return result


def to_half(value: Array, mode: str = "rn") -> Array:
    """Doubles to float16."""
    return round_to(value, 11, -24, 65504.0, mode).astype(np.float16)


def to_bfloat(value: Array, mode: str = "rn") -> Array:
    """Doubles to bfloat16, held in float32."""
    highest = float(np.uint32(0x7F7F0000).view(np.float32))
    return round_to(value, 8, -133, highest, mode).astype(np.float32)


def odd_sum(a: Array, b: Array) -> Array:
    """a + b of doubles, rounded to odd: inexact results have their last bit set."""
    with np.errstate(all="ignore"):
        total = a + b
        part = total - a
        error = (a - (total - part)) + (b - part)
        even = np.isfinite(total) & (error != 0) & (total.view(np.int64) & 1 == 0)
        return np.where(even, np.nextafter(total, np.where(error > 0, np.inf, -np.inf)), total)


def fma(a: Array, b: Array, c: Array) -> Array:
    """a * b + c of at most 12-bit significands, in doubles rounded to odd; products are exact."""
    with np.errstate(all="ignore"):
        product = a.astype(np.float64) * b.astype(np.float64)
    return odd_sum(product, c.astype(np.float64))


def fp8_bits(value: Array, kind: str, saturate: bool = True) -> Array:
    """Doubles to e4m3 or e5m2, as uint8; NaN is 0x7F."""
    precision, lowest, highest = (4, -9, 448.0) if kind == "e4m3" else (3, -16, 57344.0)
    rounded = round_to(value, precision, lowest, highest, "rn")
    nan = np.isnan(value)
    over = np.isinf(rounded)
    if saturate:
        rounded = np.where(over, np.copysign(highest, rounded), rounded)
    table = fp8_values(kind)[:128]
    finite = np.where(np.isfinite(table), table, np.inf)
    order = int(np.argmax(~np.isfinite(finite))) if not np.isfinite(finite).all() else 128
    place = np.searchsorted(finite[:order], np.abs(np.where(nan | np.isinf(rounded), 0, rounded)))
    bits = place.astype(np.uint8)
    if not saturate:
        bits = np.where(over, np.uint8(0x7F if kind == "e4m3" else 0x7C), bits)
    bits = bits | np.where(np.signbit(value), np.uint8(0x80), np.uint8(0))
    return np.where(nan, np.uint8(0x7F), bits).astype(np.uint8)


def fp8_values(kind: str) -> Array:
    """The value of each of the 256 codes of e4m3 or e5m2."""
    mantissa_bits, bias = (3, 7) if kind == "e4m3" else (2, 15)
    codes = np.arange(256)
    exponent = codes >> mantissa_bits & (0xF if kind == "e4m3" else 0x1F)
    mantissa = codes & ((1 << mantissa_bits) - 1)
    normal = (1 << mantissa_bits | mantissa) * 2.0 ** (exponent - bias - mantissa_bits)
    values = np.where(exponent == 0, mantissa * 2.0 ** (1 - bias - mantissa_bits), normal)
    if kind == "e4m3":
        values[(codes & 0x7F) == 0x7F] = np.nan
    else:
        values[exponent == 31] = np.where(mantissa[exponent == 31] == 0, np.inf, np.nan)
    return np.where(codes & 0x80, -values, values)
