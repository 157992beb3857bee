"""Half precision and bfloat16 on NumPy: values as doubles, rounded once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A 16-bit float: significand bits (with the hidden one), exponents of the smallest and largest
    unit, and the name used in kernels."""

    name: str
    precision: int
    lowest: int
    highest: int

    def values(self, bits: Array) -> Array:
        """Bit patterns (uint16) as doubles."""
        if self.name == "f16":
            return bits.view(np.float16).astype(np.float64)
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)

    def bits(self, values: Array, mode: str = "rn") -> Array:
        """Doubles rounded to bit patterns; NaN is 0x7fff."""
        values = np.asarray(values, np.float64)
        with np.errstate(all="ignore"):
            _, exponent = np.frexp(values)
            unit = np.maximum(exponent - self.precision, self.lowest)
            scaled = np.ldexp(values, -unit)
            step = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}[mode]
            rounded = np.ldexp(step(scaled), unit)
        top = np.ldexp(2.0**self.precision - 1, self.highest)
        past = np.abs(rounded) > top
        inwards = (mode == "rz") | ((mode == "rd") & (values > 0)) | ((mode == "ru") & (values < 0))
        limit = np.where(inwards & np.isfinite(values), top, np.inf)
        rounded = np.where(past, np.copysign(limit, values), rounded)
        rounded = np.where(np.isfinite(values), rounded, values)
        rounded = np.copysign(rounded, values)
        with np.errstate(all="ignore"):
            if self.name == "f16":
                bits = rounded.astype(np.float16).view(np.uint16)
            else:
                bits = (rounded.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return np.where(np.isnan(values), np.uint16(0x7FFF), bits)

    def random(self, rng: np.random.Generator, n: int) -> Array:
        """Bit patterns: some special values, some of everyday size, some at random."""
        special = self.bits(np.array([0.0, -0.0, 1, -1, 2, 0.5, np.inf, -np.inf, np.nan, 1e-7, 65504,
                                      -3.0, 1.5, 2.0**-14, -(2.0**-14), 100.25]))  # fmt: skip
        ordinary = self.bits(rng.normal(0, 4, n))
        wild = rng.integers(0, 1 << 16, n, dtype=np.uint16)
        chosen = np.where(rng.random(n) < 0.6, ordinary, wild)
        chosen = np.where(rng.random(n) < 0.15, rng.choice(special, n), chosen)
        return self.canonical(chosen)

    def ordinary(self, rng: np.random.Generator, n: int) -> Array:
        """Bit patterns of finite values of everyday size."""
        return self.bits(rng.normal(0, 2, n))

    def canonical(self, bits: Array) -> Array:
        """Every NaN as 0x7fff."""
        return np.where(np.isnan(self.values(bits)), np.uint16(0x7FFF), bits).astype(np.uint16)


F16 = Format(name="f16", precision=11, lowest=-24, highest=5)
BF16 = Format(name="bf16", precision=8, lowest=-133, highest=120)
FORMATS = (F16, BF16)


def odd_sum(a: Array, b: Array) -> Array:
    """a + b in double precision, rounded to odd: a second rounding is then harmless."""
    with np.errstate(all="ignore"):
        total = a + b
        part = total - a
        error = (a - (total - part)) + (b - part)
        inexact = np.isfinite(total) & (error != 0) & (total.view(np.int64) & 1 == 0)
        towards = np.where(error > 0, np.inf, -np.inf)
        return np.where(inexact, np.nextafter(total, towards), total)


def fused(fmt: Format, a: Array, b: Array, c: Array) -> Array:
    """Bits of a * b + c rounded once (bit patterns in)."""
    with np.errstate(all="ignore"):
        return fmt.bits(odd_sum(fmt.values(a) * fmt.values(b), fmt.values(c)))


def minimum(fmt: Format, a: Array, b: Array, keep_nan: bool, largest: bool) -> Array:
    """IEEE minimum or maximum of bit patterns, -0 below +0; NaN loses unless `keep_nan`."""
    x, y = fmt.values(a), fmt.values(b)
    with np.errstate(all="ignore"):
        below = (x < y) | ((x == y) & np.signbit(x) & ~np.signbit(y))
        above = (x > y) | ((x == y) & ~np.signbit(x) & np.signbit(y))
    result = np.where(above if largest else below, a, b)
    result = np.where(np.isnan(x), b, np.where(np.isnan(y), a, result))
    either = (np.isnan(x) | np.isnan(y)) if keep_nan else (np.isnan(x) & np.isnan(y))
    return np.where(either, np.uint16(0x7FFF), result).astype(np.uint16)
