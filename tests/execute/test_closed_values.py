"""Long chains of integer operations: what LLVM need not look behind changes no bit."""

from __future__ import annotations

import numpy as np
import pytest

import warplens as wl
from warplens.lift.engines.host import host_features
from warplens.lift.lifter import lift

STEPS = 12
SOURCE = f"""
extern "C" __global__ void chain(unsigned* x, unsigned long long* y) {{
    unsigned a = x[threadIdx.x], b = a * 3u + 1u;
    unsigned long long c = a;
#pragma unroll
    for (int i = 0; i < {STEPS}; ++i) {{
        a = a * b + 0x7f800001u;
        b = (b ^ a) - (a >> 3);
        c = c * b + a;
    }}
    x[threadIdx.x] = a ^ b;
    y[threadIdx.x] = c;
}}
"""


def chain(a: np.ndarray[tuple[int], np.dtype[np.uint32]]) -> tuple[object, object]:
    """What the kernel computes."""
    b, c = a * np.uint32(3) + np.uint32(1), a.astype(np.uint64)
    for _ in range(STEPS):
        a = a * b + np.uint32(0x7F800001)
        b = (b ^ a) - (a >> np.uint32(3))
        c = c * b + a
    return a ^ b, c


@pytest.mark.parametrize("is_fast", [False, True])
def test_chains(is_fast: bool) -> None:
    kernel = wl.Device("H200").compile(SOURCE)["chain"]
    ir = lift(kernel.sass, host_features(), tier=int(is_fast)).ir
    assert ir.count("call <32 x float> @llvm.arithmetic.fence.v32f32(") >= STEPS // 2
    if is_fast:
        kernel.code.program.make_fast()
    x = np.random.default_rng(4).integers(0, 1 << 32, 32, dtype=np.uint32)
    x[:4] = 0, 1, 0xFFFFFFFF, 0x7FA00000
    y = np.zeros(32, np.uint64)
    first, second = chain(x)
    kernel[1, 32](x, y)
    np.testing.assert_array_equal(x, first)
    np.testing.assert_array_equal(y, second)
