"""Additions of a half and a single, and products of halves added to one (add.f32.f16, fma.f32.f16).

References are NumPy's doubles, in which these sums and products of moderate numbers are exact.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import warplens as wl
from tests.in_turn import one_in

Array = npt.NDArray[Any]
N = 2048
ROUNDINGS = ("rn", "rz", "rm", "rp")
_KERNELS = [(what, kind, mode, sat) for what in ("add", "sub", "fma") for kind in ("f16", "bf16")
            for mode in ROUNDINGS for sat in ("", ".sat")]


def _name(what: str, kind: str, mode: str, sat: str) -> str:
    return f"{what}_{kind}_{mode}{sat.replace('.', '_')}"


def _kernel(what: str, kind: str, mode: str, sat: str) -> str:
    second = "%2, " if what == "fma" else ""
    return f"""
extern "C" __global__ void {_name(what, kind, mode, sat)}(
    const unsigned* h, const float* c, float* out, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned short a = h[i], b = h[i] >> 16;
    asm volatile("{what}.{mode}{sat}.f32.{kind} %0, %1, {second}%3;"
                 : "=f"(out[i]) : "h"(a), "h"(b), "f"(c[i]));
}}"""


@cache
def _module() -> Any:
    return wl.Device("B200").compile("\n".join(_kernel(*one) for one in _KERNELS))


def _floats(bits: Array, kind: str) -> Array:
    """16-bit patterns as doubles."""
    if kind == "f16":
        return bits.view(np.float16).astype(np.float64)
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def _rounded(exact: Array, mode: str) -> Array:
    """Doubles as singles."""
    near = exact.astype(np.float32)
    back = near.astype(np.float64)
    low = np.where(back > exact, np.nextafter(near, np.float32(-np.inf)), near)
    high = np.where(back < exact, np.nextafter(near, np.float32(np.inf)), near)
    towards = np.where(exact > 0, low, high)
    return {"rn": near, "rz": towards, "rm": low, "rp": high}[mode].astype(np.float32)


@pytest.mark.parametrize(("what", "kind", "mode", "sat"), one_in(
    4, _KERNELS, lambda case: "-".join(map(str, case)), several=True,
))
def test_sums_are_numpys(what: str, kind: str, mode: str, sat: str) -> None:
    """Both formats, all roundings, with and without saturation; b is the high half of a word."""
    rng = np.random.default_rng(20)
    floats = rng.uniform(-2, 2, (2, N)) * 2.0 ** rng.integers(-4, 3, (2, N))
    halves = (floats.astype(np.float16).view(np.uint16) if kind == "f16"
              else (floats.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16))
    c = (rng.uniform(-2, 2, N) * 2.0 ** rng.integers(-6, 2, N)).astype(np.float32)
    a, b = (_floats(np.ascontiguousarray(one), kind) for one in halves)
    wide = c.astype(np.float64)
    exact = {"add": a + wide, "sub": a - wide, "fma": a * b + wide}[what]
    expected = _rounded(exact, mode)
    if sat:
        expected = np.clip(expected, np.float32(0), np.float32(1))
    words = halves[0].astype(np.uint32) | halves[1].astype(np.uint32) << 16
    out = np.zeros(N, np.float32)

    _module()[_name(what, kind, mode, sat)][N // 128, 128](words, c, out, N)

    assert np.array_equal(out, expected)


def test_the_instructions_are_used() -> None:
    """The kernels hold FHADD and FHFMA."""
    names = [_name("sub", "f16", "rn", ""), _name("fma", "bf16", "rz", ".sat")]
    found = {inst.mnemonic for name in names for inst in _module().sass(name).instructions}

    assert {"FHADD", "FHFMA.BF16.RZ.SAT"} <= found
