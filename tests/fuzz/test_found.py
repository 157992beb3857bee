"""Kernels made of what random programs once found wrong."""

from __future__ import annotations

import re

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from warplens.api import LaunchOptions

CUT_COMPARISONS = """
#include <cuda_fp16.h>
__global__ void compare(const float* a, const __half* b, int* greater, int* less) {
  int t = threadIdx.x;
  __half cut = __float2half_rz(a[t]);
  greater[t] = __hgt(cut, b[t]);
  less[t] = __hltu(cut, b[t]);
}
"""


def test_single_sources_of_half_comparisons() -> None:
    """On sm_75 the compiler leaves the cut to half to HSETP2, whose source is then a single."""
    b = np.array([1.0, -1.0, 2.0, 65504.0, -65504.0, 0.0, 0.0, np.inf] * 4, np.float16)
    a = b.astype(np.float32)
    with np.errstate(all="ignore"):
        a[:8] += np.abs(a[:8]) * np.float32(1e-5)  # cut back to b
        a[8:16] -= np.abs(a[8:16]) * np.float32(1e-5)
    a[16:24] = [70000.0, -70000.0, np.inf, 65519.0, -65519.0, 1e-8, -1e-8, np.nan]
    greater, less = np.zeros((2, 32), np.int32)
    options = LaunchOptions(timing=False)
    module = wl.Device("sm_75", options=options).compile(CUT_COMPARISONS)
    module["compare"][1, 32](a, b, greater, less)

    with np.errstate(over="ignore"):
        cut = a.astype(np.float16)
    over = (np.abs(cut.astype(np.float32)) > np.abs(a)) & np.isfinite(a)
    cut = np.where(over, np.nextafter(cut, np.float16(0)), cut).astype(np.float32)
    wide = b.astype(np.float32)
    assert greater.tolist() == (cut > wide).astype(int).tolist()
    assert less.tolist() == (~(cut >= wide)).astype(int).tolist()
    assert any("F32" in i.text and "HSETP2" in i.text for i in module.sass("compare").instructions)


CONSTANT_PAIRS = """
#include <cuda_bf16.h>
__global__ void compare(const __nv_bfloat162* b, int* out) {
  unsigned word = 0xbf804000;  // -1 above 2
  __nv_bfloat162 whole = h2trunc(*reinterpret_cast<__nv_bfloat162*>(&word));
  out[threadIdx.x] = __hbgt2(whole, b[threadIdx.x]);
}
"""


def test_pairs_merged_of_constants() -> None:
    """sm_86 makes such a pair by two F2FP.MERGE_C: the high half first, then the low one."""
    low = np.array([-3.0, -1.5, 0.0, 1.5, 2.0, 3.0, -2.0, 1.0] * 4, np.float32)
    high = np.array([-2.0, -0.5, 1.0, -1.5] * 8, np.float32)
    pairs = low.view(np.uint32) >> 16 | high.view(np.uint32)
    out = np.zeros(32, np.int32)
    module = wl.Device("sm_86", options=LaunchOptions(timing=False)).compile(CONSTANT_PAIRS)
    module["compare"][1, 32](pairs, out)

    assert out.tolist() == ((low < 2) & (high < -1)).astype(int).tolist()
    assert any("MERGE_C" in i.text for i in module.sass("compare").instructions)


CLAMPED_LANES = """
#include <cuda_fp16.h>
__global__ void choose(const __half2* a, const int* keep, __half2* out) {
  int t = threadIdx.x;
  out[t] = keep[t] & 1 ? __hfma2(a[t], a[t], a[t]) : __hfma2_relu(a[t], a[t], a[t]);
}
"""


@pytest.mark.parametrize("architecture", one_in(3, ["sm_80", "sm_90", "sm_120"], str, first=1))
def test_relu_in_chosen_lanes(architecture: str) -> None:
    """Both choices become one HFMA2.RELU with a predicate that says which lanes are clamped."""
    a = np.linspace(-2, 2, 64).astype(np.float16)
    keep = np.arange(32, dtype=np.int32) // 3
    out = np.zeros(64, np.float16)
    module = wl.Device(architecture, options=LaunchOptions(timing=False)).compile(CLAMPED_LANES)
    module["choose"][1, 32](a, keep, out)

    wide = a.astype(np.float64)
    total = (wide * wide + wide).astype(np.float16)
    wanted = np.where(np.repeat(keep & 1, 2) == 1, total, np.maximum(total, np.float16(0)))
    assert out.tolist() == wanted.tolist()
    listing = "\n".join(i.text for i in module.sass("choose").instructions)
    assert re.search(r"HFMA2\S*\.RELU .*, !?P\d", listing)
