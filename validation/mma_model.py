"""A model of sm_90's matrix multiply-accumulate that reproduces an H200's results bit for bit.

Floating point (HMMA): each of the K products is exact; C and the products are aligned to the
largest exponent among them and cut (towards zero) to 25 fraction bits below that exponent; the
aligned terms are added exactly; the sum is cut to the format of D (towards zero for float32,
to nearest even for float16). One step covers the whole K of the instruction.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[Any]
FRACTION_BITS = 25
_FORMATS = {"f16": (5, 10, 15), "bf16": (8, 7, 127), "tf32": (8, 10, 127), "f32": (8, 23, 127)}
_NO_TERM = -(10**6)


class Decoded:
    """Sign, exponent, significand and class of an array of floats."""

    def __init__(self, bits: Bits, kind: str) -> None:
        exponent_bits, self.fraction, bias = _FORMATS[kind]
        word = bits.astype(np.int64)
        if kind == "tf32":
            word = word >> 13  # the low 13 bits of a register are not read
        field = word >> self.fraction & ((1 << exponent_bits) - 1)
        low = word & ((1 << self.fraction) - 1)
        self.sign = word >> (exponent_bits + self.fraction) & 1
        self.significand = np.where(field == 0, low, low | 1 << self.fraction)
        self.exponent = np.where(field == 0, 1, field) - bias
        top = field == (1 << exponent_bits) - 1
        self.is_nan = top & (low != 0)
        self.is_infinite = top & (low == 0)


def _aligned(significand: Bits, exponent: Bits, fraction: int, largest: Bits) -> Bits:
    """Integer multiples of 2**(largest - FRACTION_BITS), cut towards zero."""
    shift = FRACTION_BITS - fraction - (largest - exponent)
    return np.where(
        shift >= 0,
        significand << np.clip(shift, 0, 30),
        significand >> np.clip(-shift, 0, 62),
    )


def _narrow(total: Bits, scale: Bits, kind: str) -> Bits:
    """total * 2**scale in format `kind`; float32 is cut, float16 rounds to nearest even."""
    fraction, lowest, infinity = (23, -149, 0x7F800000) if kind == "f32" else (10, -24, 0x7C00)
    sign = (total < 0).astype(np.int64)
    magnitude = np.abs(total)
    top = np.frexp(magnitude.astype(np.float64))[1] - 1  # exact: magnitude < 2**53
    drop = np.maximum(top - fraction, lowest - scale)
    kept = magnitude >> np.clip(drop, 0, 62)
    rest = magnitude - (kept << np.clip(drop, 0, 62))
    half = (1 << np.clip(drop, 1, 62)) >> 1
    if kind == "f16":
        kept = kept + ((rest > half) | ((rest == half) & (kept & 1 == 1))) * (drop > 0)
    kept = np.where(drop >= 0, kept, magnitude << np.clip(-drop, 0, 40))
    # `kept` is an integer multiple of 2**(drop + scale); adding it to the exponent carries
    biased = np.where(kept >= 1 << fraction, drop + scale - lowest, 0)
    bits = (biased << fraction) + kept
    bits = np.where(magnitude == 0, 0, np.minimum(bits, infinity))
    # a sum that vanishes, also by rounding, is +0
    return bits | np.where(bits == 0, 0, sign) << (31 if kind == "f32" else 15)


def multiply_float(a: Bits, b: Bits, c: Bits, kind: str, accumulator: str) -> Bits:
    """D bits of (count, m, k) x (count, k, n) + (count, m, n) for HMMA."""
    left, right, base = Decoded(a, kind), Decoded(b, kind), Decoded(c, accumulator)

    def pair(x: Bits, y: Bits) -> tuple[Bits, Bits]:
        return x[:, :, None, :], y.transpose(0, 2, 1)[:, None, :, :]

    left_sign, right_sign = pair(left.sign, right.sign)
    left_exponent, right_exponent = pair(left.exponent, right.exponent)
    left_value, right_value = pair(left.significand, right.significand)
    negative = left_sign ^ right_sign == 1
    exponent = left_exponent + right_exponent
    product = left_value * right_value
    largest = np.maximum(
        np.where(product != 0, exponent, _NO_TERM).max(-1),
        np.where(base.significand != 0, base.exponent, _NO_TERM),
    )
    largest = np.where(largest == _NO_TERM, 0, largest)
    terms = _aligned(product, exponent, 2 * left.fraction, largest[..., None])
    addend = _aligned(base.significand, base.exponent, base.fraction, largest)
    total = np.where(negative, -terms, terms).sum(-1) + np.where(base.sign == 1, -addend, addend)
    result = _narrow(total, largest - FRACTION_BITS, accumulator)
    return _with_specials(result, left, right, base, accumulator)


def _with_specials(
    result: Bits, left: Decoded, right: Decoded, base: Decoded, accumulator: str
) -> Bits:
    """Puts in infinities and NaNs."""
    nan, infinity, top = (
        (0x7FFFFFFF, 0x7F800000, 31) if accumulator == "f32" else (0x7FFF, 0x7C00, 15)
    )

    def pairs(x: Decoded, y: Decoded) -> tuple[Bits, Bits, Bits]:
        """Per product: NaN, +infinity, -infinity."""
        def side(v: Bits) -> Bits:
            return v.transpose(0, 2, 1)[:, None, :, :]

        x_inf, y_inf = x.is_infinite[:, :, None, :], side(y.is_infinite)
        x_nan, y_nan = x.is_nan[:, :, None, :], side(y.is_nan)
        x_zero, y_zero = x.significand[:, :, None, :] == 0, side(y.significand) == 0
        negative = x.sign[:, :, None, :] ^ side(y.sign) == 1
        is_nan = x_nan | y_nan | (x_inf & y_zero) | (y_inf & x_zero)
        is_inf = (x_inf | y_inf) & ~is_nan
        return is_nan.any(-1), (is_inf & ~negative).any(-1), (is_inf & negative).any(-1)

    any_nan, plus, minus = pairs(left, right)
    plus = plus | base.is_infinite & (base.sign == 0)
    minus = minus | base.is_infinite & (base.sign == 1)
    any_nan = any_nan | base.is_nan | plus & minus
    result = np.where(plus, infinity, np.where(minus, infinity | 1 << top, result))
    return np.where(any_nan, nan, result)


def _nearest(exact: Fraction) -> float:
    """The nearest double, infinite beyond the largest."""
    try:
        return float(exact)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


def multiply_double(a: Bits, b: Bits, c: Bits) -> Bits:
    """D bits of DMMA: one fused multiply-add per k, in ascending order."""
    count, m, k_size = a.shape
    n = b.shape[2]
    left, right = a.view(np.float64), b.view(np.float64)
    out = c.view(np.float64).copy()
    fma = getattr(math, "fma", None)
    for w, i, j in np.ndindex(count, m, n):
        value = float(out[w, i, j])
        for k in range(k_size):
            x, y = float(left[w, i, k]), float(right[w, k, j])
            if fma is not None:
                value = fma(x, y, value)
            elif all(map(math.isfinite, (x, y, value))):
                exact = Fraction(x) * Fraction(y) + Fraction(value)
                value = _nearest(exact) if exact else x * y + value
            else:
                value = x * y + value
        out[w, i, j] = value
    return out.view(np.uint64)


def multiply_integer(a: Bits, b: Bits, c: Bits, kind: str, saturate: bool) -> Bits:
    """D bits of IMMA on bytes: exact, then wrapped or saturated to 32 bits."""
    signs = {"s8": (np.int8, np.int8), "u8": (np.uint8, np.uint8), "s8u8": (np.int8, np.uint8)}
    left, right = (v.view(t).astype(np.int64) for v, t in zip((a, b), signs[kind], strict=True))
    total = left @ right + c.view(np.int32)
    if saturate:
        total = np.clip(total, -(1 << 31), (1 << 31) - 1)
    return (total & 0xFFFFFFFF).astype(np.uint32)
