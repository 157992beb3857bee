"""Floats of 6 and 4 bits from and to others on sm_120, against their definition."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.in_turn import one_in
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


# As NVIDIA's header has it, in whole numbers where there is no instruction (sm_90).
TO_SCALES = """
#include <cuda_fp8.h>
extern "C" __global__ void singles(const float *f, unsigned char *o) {
    int i = threadIdx.x + blockIdx.x * blockDim.x, n = gridDim.x * blockDim.x;
    float2 two = make_float2(f[i], f[(i + 1) % n]);
    unsigned short pair[] = {
        __nv_cvt_float2_to_e8m0x2(two, __NV_SATFINITE, cudaRoundPosInf),
        __nv_cvt_float2_to_e8m0x2(two, __NV_NOSAT, cudaRoundPosInf),
        __nv_cvt_float2_to_e8m0x2(two, __NV_SATFINITE, cudaRoundZero),
        __nv_cvt_float2_to_e8m0x2(two, __NV_NOSAT, cudaRoundZero)};
    for (int k = 0; k < 4; k++) o[2 * n * k + 2 * i] = pair[k], o[2 * n * k + 2 * i + 1] = pair[k] >> 8;
}
extern "C" __global__ void halves(const unsigned short *f, unsigned char *o) {
    int i = threadIdx.x + blockIdx.x * blockDim.x, n = gridDim.x * blockDim.x;
    __nv_bfloat162_raw two;
    two.x = f[i], two.y = f[(i + 1) % n];
    unsigned short pair[] = {
        __nv_cvt_bfloat162raw_to_e8m0x2(two, __NV_SATFINITE, cudaRoundPosInf),
        __nv_cvt_bfloat162raw_to_e8m0x2(two, __NV_NOSAT, cudaRoundPosInf),
        __nv_cvt_bfloat162raw_to_e8m0x2(two, __NV_SATFINITE, cudaRoundZero),
        __nv_cvt_bfloat162raw_to_e8m0x2(two, __NV_NOSAT, cudaRoundZero)};
    for (int k = 0; k < 4; k++) o[2 * n * k + 2 * i] = pair[k], o[2 * n * k + 2 * i + 1] = pair[k] >> 8;
}
"""  # noqa: E501


def scales_of(size: Array) -> Array:
    """By their definition, from singles without signs: both roundings with SATFINITE or not."""
    number = np.where(np.isfinite(size), size, 1).astype(np.float64)
    exponent = np.frexp(number)[1] - 1
    is_power = np.ldexp(1.0, exponent) == number
    below = np.clip(exponent + 127, 0, 254)
    below[size < 2.0**-126] = 0
    above = np.clip(np.where(is_power, exponent, exponent + 1) + 127, 0, 255)
    above[size == 0], above[np.isinf(size)], below[np.isinf(size)] = 0, 255, 255
    found = []
    for codes in (above, below):
        for largest in (254, 255):
            found.append(np.where(np.isnan(size), 255, np.minimum(codes, largest)))
    return np.array(found, np.uint8)


@pytest.mark.parametrize(("name", "architecture"), one_in(
    5, list(product(("singles", "halves"), ("100a", "103a", "110a", "120a"))), "-".join,
    first=1, several=True,
))
def test_to_scales(architecture: str, name: str) -> None:
    """Powers of two and what lies beside them, of every size and sign, infinities and NaN."""
    rng = np.random.default_rng(2)
    powers = np.arange(256, dtype=np.uint32)[:, None] << 23
    near = powers + np.array([0, 1, 0x8000, 0x10000, 0x400000, 0x400001, 0x410000, 0x7FFFFF])
    bits = np.concatenate([near.reshape(-1), rng.integers(0, 1 << 31, 2048 - 64), [0] * 64])
    bits = bits.astype(np.uint32) | rng.integers(0, 2, len(bits), np.uint32) << 31
    if name == "halves":
        bits &= np.uint32(0xFFFF0000)
    given = bits.view(np.float32) if name == "singles" else (bits >> 16).astype(np.uint16)
    kernel = Device(f"sm_{architecture[:-1]}").compile(
        TO_SCALES, options=[f"-arch=sm_{architecture}"]
    )[name]
    out = np.zeros((4, len(bits), 2), np.uint8)

    kernel[len(bits) // 64, 64](given, out)

    wanted = scales_of(np.abs(bits.view(np.float32)))
    assert np.array_equal(out[..., 0], wanted)
    assert np.array_equal(out[..., 1], np.roll(wanted, -1, 1))
    assert any(".E8." in inst.mnemonic for inst in kernel.sass.instructions)
    theirs = np.zeros_like(out)
    Device("sm_90").compile(TO_SCALES)[name][len(bits) // 64, 64](given, theirs)
    assert np.array_equal(out, theirs)
