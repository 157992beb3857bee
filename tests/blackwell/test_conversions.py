"""Floats of 6 and 4 bits from and to others on sm_120, against their definition."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from warplens import Device

Array = npt.NDArray[Any]
FORMATS = {"e3m2": (3, 2), "e2m3": (2, 3), "e2m1": (2, 1)}  # exponent, fraction bits
SOURCE = """
extern "C" __global__ void pack_NAME(const float *f, unsigned *o) {
    unsigned short r;
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    PACK
    o[i] = r;
}
extern "C" __global__ void unpack_NAME(const unsigned short *c, unsigned *o) {
    unsigned r;
    UNPACK
    o[threadIdx.x] = r;
}
"""


@lru_cache(maxsize=1)
def module() -> Any:
    """Both kernels of each format, and of scales."""
    text = ""
    for name in FORMATS:
        if name == "e2m1":
            pack = ('asm("{.reg .b8 q; cvt.rn.satfinite.e2m1x2.f32 q, %1, %2; mov.b16 %0, {q, 0};}"'
                    ' : "=h"(r) : "f"(f[2 * i + 1]), "f"(f[2 * i]));')  # fmt: skip
            unpack = ('asm("{.reg .b8 q, s; mov.b16 {q, s}, %1; cvt.rn.f16x2.e2m1x2 %0, q;}"'
                      ' : "=r"(r) : "h"(c[threadIdx.x]));')  # fmt: skip
        else:
            pack = (f'asm("cvt.rn.satfinite.{name}x2.f32 %0, %1, %2;" : "=h"(r) : '
                    '"f"(f[2 * i + 1]), "f"(f[2 * i]));')  # fmt: skip
            unpack = f'asm("cvt.rn.f16x2.{name}x2 %0, %1;" : "=r"(r) : "h"(c[threadIdx.x]));'
        text += SOURCE.replace("NAME", name).replace("UNPACK", unpack).replace("PACK", pack)
    text += SOURCE[SOURCE.index('extern "C" __global__ void unpack') :].replace("NAME", "scale")
    form = 'asm("cvt.rn.bf16x2.ue8m0x2 %0, %1;" : "=r"(r) : "h"(c[threadIdx.x]));'
    return Device("sm_120").compile(text.replace("UNPACK", form), options=["-arch=sm_120a"])


def values(name: str) -> Array:
    """The numbers of all codes."""
    n, p = FORMATS[name]
    codes = np.arange(1 << (n + p + 1))
    field, part = codes >> p & ((1 << n) - 1), codes & ((1 << p) - 1)
    whole = np.where(field > 0, part + (1 << p), part)
    size = whole * 2.0 ** (np.maximum(field, 1) - ((1 << (n - 1)) - 1) - p)
    return np.where(codes >> (n + p), -size, size)


@pytest.mark.parametrize("name", FORMATS)
def test_to_halves(name: str) -> None:
    """Every code, in both places."""
    number = values(name)
    codes = np.arange(len(number))
    shift = 4 if name == "e2m1" else 8
    pairs = (codes | codes[::-1] << shift).astype(np.uint16)
    out = np.zeros(len(codes), np.uint32)

    module()[f"unpack_{name}"][1, len(codes)](pairs, out)

    halves = out.view(np.float16).reshape(-1, 2)
    assert np.array_equal(halves[:, 0], number) and np.array_equal(halves[:, 1], number[::-1])
    assert np.array_equal(np.signbit(halves[:, 0]), np.signbit(number))


@pytest.mark.parametrize("name", FORMATS)
def test_from_singles(name: str) -> None:
    """The nearest number, of two as near the even one; beyond the last one, and NaN, the last."""
    number = values(name)
    positive = number[: len(number) // 2]
    rng = np.random.default_rng(1)
    middles = (positive[1:] + positive[:-1]) / 2
    singles = middles.astype(np.float32)
    near = np.concatenate([np.nextafter(singles, np.float32(side)) for side in (0, 99)])
    parts = (number, middles, -middles, near, rng.standard_normal(400) * 4, [1e30, -np.inf, 1e-40])
    given = np.concatenate(parts).astype(np.float32)
    given = np.concatenate([given, np.zeros(-len(given) % 64, np.float32)])
    out = np.zeros(len(given) // 2, np.uint32)

    module()[f"pack_{name}"][len(out) // 32, 32](given, out)

    bits = 4 if name == "e2m1" else 8
    found = np.stack([out & ((1 << bits) - 1), out >> bits], 1).reshape(-1)
    size = np.minimum(np.abs(given.astype(np.float64)), positive[-1])
    apart = np.abs(size[:, None] - positive)
    best = apart == apart.min(1, keepdims=True)
    even = best & (np.arange(len(positive)) % 2 == 0)
    code = np.where(best.sum(1) > 1, even.argmax(1), best.argmax(1))
    assert np.array_equal(found, code | np.signbit(given) * len(positive))
    nan = np.zeros(32, np.uint32)
    module()[f"pack_{name}"][1, 32](np.full(64, np.nan, np.float32), nan)
    assert (nan == (len(positive) - 1) * (1 + (1 << bits))).all()


def test_scales_to_bfloat16() -> None:
    """A byte is the exponent of a power of two, 255 NaN."""
    out = np.zeros(256, np.uint32)
    module()["unpack_scale"][1, 256](np.arange(256, dtype=np.uint16) * 257, out)
    found = (out << 16).view(np.float32)
    assert np.array_equal(found[:255].astype(np.float64), 2.0 ** (np.arange(255) - 127.0))
    assert np.isnan(found[255]) and (out >> 16 == (out & 0xFFFF)).all()
