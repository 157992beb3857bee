"""IEEE arithmetic with one rounding: the oracle for FMA and for directed rounding.

Doubles go through exact rationals. Singles go through doubles rounded to odd, which a second
rounding cannot spoil (53 >= 2 * 24 + 2); a test compares the two ways.
"""

from __future__ import annotations

from fractions import Fraction
from math import copysign, inf, isinf, isnan, nan
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[Any]
MODES = ("rn", "rz", "ru", "rd")
_SHAPE = {4: (24, -149, 128), 8: (53, -1074, 1024)}


def round_exact(value: Fraction, itemsize: int, mode: str) -> float:
    """The float of 4 or 8 bytes that a rounding mode selects for a non-zero exact value."""
    precision, lowest, highest = _SHAPE[itemsize]
    negative, magnitude = value < 0, abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - precision + 1, lowest)
    scaled = magnitude / unit
    whole, rest = divmod(scaled.numerator, scaled.denominator)
    half = 2 * rest - scaled.denominator
    whole += {
        "rn": half > 0 or (half == 0 and whole % 2 == 1),
        "rz": False,
        "ru": rest > 0 and not negative,
        "rd": rest > 0 and negative,
    }[mode]
    if whole * unit >= Fraction(2) ** highest:
        inwards = mode == "rz" or mode == ("ru" if negative else "rd")
        result = (
            float((2**precision - 1) * Fraction(2) ** (highest - precision)) if inwards else inf
        )
    else:
        result = float(whole * unit)
    return -result if negative else result


def _fma_one(a: float, b: float, c: float, itemsize: int, mode: str) -> float:
    if isnan(a) or isnan(b) or isnan(c):
        return nan
    if isinf(a) or isinf(b):
        return nan if a == 0 or b == 0 else a * b + c
    if isinf(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact:
        return round_exact(exact, itemsize, mode)
    sign = copysign(1.0, a) * copysign(1.0, b)
    if (a == 0 or b == 0) and sign == copysign(1.0, c):
        return copysign(0.0, c)
    return -0.0 if mode == "rd" else 0.0


def fma_exact(a: Floats, b: Floats, c: Floats, mode: str = "rn") -> Floats:
    """a * b + c, element by element, by exact rationals."""
    size = a.dtype.itemsize
    rows = zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    return np.array([_fma_one(x, y, z, size, mode) for x, y, z in rows], a.dtype)


def _to_single(value: Floats, mode: str) -> Floats:
    """Doubles to singles under a rounding mode."""
    single = value.astype(np.float32)
    if mode == "rn":
        return single
    back = single.astype(np.float64)
    above, below = back > value, back < value
    positive = value > 0
    down = above & ((mode == "rd") | ((mode == "rz") & positive))
    up = below & ((mode == "ru") | ((mode == "rz") & ~positive))
    single = np.where(down, np.nextafter(single, np.float32(-inf)), single)
    return np.where(up, np.nextafter(single, np.float32(inf)), single)


def _fma_single(a: Floats, b: Floats, c: Floats, mode: str) -> Floats:
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + addend
    part = total - product
    error = (product - (total - part)) + (addend - part)
    finite = np.isfinite(total)
    inexact = finite & (error != 0) & (total.view(np.int64) & 1 == 0)
    towards = np.where(error > 0, inf, -inf)
    total = np.where(inexact, np.nextafter(total, towards), total)
    result = _to_single(total, mode)
    if mode == "rd":  # an exact cancellation gives -0 when rounding down
        same = np.signbit(product) & np.signbit(addend)
        plus = ~np.signbit(product) & ~np.signbit(addend)
        result = np.where((total == 0) & ~same & ~plus, np.float32(-0.0), result)
    return result.astype(np.float32)


def fma(a: Floats, b: Floats, c: Floats, mode: str = "rn") -> Floats:
    """a * b + c, rounded once."""
    with np.errstate(all="ignore"):
        return _fma_single(a, b, c, mode) if a.dtype == np.float32 else fma_exact(a, b, c, mode)


def add(a: Floats, b: Floats, mode: str = "rn") -> Floats:
    """a + b under a rounding mode."""
    return fma(a, np.ones_like(a), b, mode)


def mul(a: Floats, b: Floats, mode: str = "rn") -> Floats:
    """a * b under a rounding mode; a zero keeps the product's sign."""
    with np.errstate(all="ignore"):
        product = a * b
        return fma(a, b, np.copysign(np.zeros_like(a), product), mode)
