"""`run.ablate()`: every resource saves time where it is what a kernel waits for."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from warplens.timing.ablate import RESOURCES

SOURCE = r"""
__global__ void copy(const float4* in, float4* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}
__global__ void again(const float4* in, float* out, int n) {  // from L2: more than L1 holds
    float sum = 0;
    for (int pass = 0; pass < 6; pass++)
        for (int k = threadIdx.x; k < n; k += blockDim.x) {
            float4 v = in[(k + blockIdx.x * 4096) % n];  // blocks of an SM are not in step
            sum = sum * 0.5f + v.x + v.y + v.z + v.w;
        }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
__global__ void strided(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i * 32 % n];
}
__global__ void columns(const float* in, float* out, int n) {
    __shared__ float s[32 * 32];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 100; k++) sum += s[(threadIdx.x * 32 + k) % 1024];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
__global__ void two_ways(const float* in, float* out, int n) {
    float v = in[threadIdx.x];
    if (threadIdx.x & 1) { for (int k = 0; k < 1000; k++) v = v * 1.5f + 2.0f; }
    else { for (int k = 0; k < 1000; k++) v = v * 0.5f - 2.0f; }
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
__global__ void straight(const float* in, float* out, int n) {
    float a = in[threadIdx.x], b = a + 1, c = a + 2, d = a + 3;
#pragma unroll
    for (int k = 0; k < 1500; k++) {
        a = a * 0.5f + 1; b = b * 0.5f + 2; c = c * 0.5f + 3; d = d * 0.5f + 4;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}
__global__ void __launch_bounds__(128, 1) many(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v[96], sum = 0;
#pragma unroll
    for (int k = 0; k < 96; k++) v[k] = in[i + k * 512 & n - 1];
#pragma unroll 1
    for (int r = 0; r < 20; r++) {
        sum += in[i + r * 8192 + int(sum * 0) & n - 1];
#pragma unroll
        for (int k = 0; k < 96; k++) asm volatile("" : "+f"(v[k]));
    }
#pragma unroll
    for (int k = 0; k < 96; k++) sum += v[k];
    out[i] = sum;
}
__global__ void waiting(const float* in, float* out, int n) {
    float v = in[threadIdx.x];
    for (int r = 0; r < 20; r++) {
        if (threadIdx.x / 32 == r % 8)
            for (int k = 0; k < 60; k++) v = v * 0.5f + 1.0f;
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
"""


def floats(n: int) -> np.ndarray[Any, Any]:
    return np.zeros(n, np.float32)


Arguments = Callable[[], tuple[Any, ...]]
SMALL: Arguments = lambda: (floats(1 << 18), floats(1 << 18), 1 << 18)  # noqa: E731
# resource -> kernel, grid and block, arguments, the least that it saves
CASES: dict[str, tuple[str, tuple[Any, ...], Arguments, float]] = {
    "dram": ("copy", (16384, 256), lambda: (floats(1 << 24), floats(1 << 24), 1 << 22), 0.3),
    "l2": ("again", (272, 256), lambda: (floats(1 << 19), floats(1 << 17), 1 << 16), 0.3),
    "l1": ("again", (272, 256), lambda: (floats(1 << 17), floats(1 << 17), 1 << 14), 0.08),
    "banks": ("columns", (136, 1024), SMALL, 0.5),
    "coalescing": ("strided", (1024, 256), SMALL, 0.3),
    "divergence": ("two_ways", (272, 256), SMALL, 0.3),
    "fetch": ("straight", (68, 32), SMALL, 0.05),
    "registers": ("many", (2048, 128), SMALL, 0.1),
    "barriers": ("waiting", (272, 256), SMALL, 0.1),
    "launch": ("copy", (4, 32), lambda: (floats(512), floats(512), 128), 0.3),
}


@pytest.fixture(scope="module")
def module() -> wl.Module:
    return wl.Device("RTX 3080").compile(SOURCE)


@pytest.mark.parametrize("resource", one_in(3, list(RESOURCES), str, first=2))
def test_saves_where_it_is_waited_for(module: wl.Module, resource: str) -> None:
    """One replay with the resource ideal; nothing ideal makes a launch much slower."""
    name, shape, arguments, least = CASES[resource]
    run = module[name].predict[shape](*arguments())

    assert run.timing.saving(resource) >= least


def test_table_of_singles_and_pairs(module: wl.Module) -> None:
    """All ten resources, the six pairs of the best four; a pair saves what its better half does."""
    name, shape, arguments, _ = CASES["coalescing"]
    table = module[name].predict[shape](*arguments()).ablate()
    singles = {row.resources[0]: row for row in table.rows if len(row.resources) == 1}
    pairs = [row for row in table.rows if len(row.resources) == 2]
    best = sorted(singles, key=lambda one: -singles[one].saving)[:4]

    assert set(singles) == set(RESOURCES)
    assert {frozenset(row.resources) for row in pairs} == {
        frozenset(pair) for pair in combinations(best, 2)
    }
    for row in pairs:
        assert row.saving > max(singles[one].saving for one in row.resources) - 0.05
        assert table["+".join(row.resources)] is row
    savings = [row.saving for row in table.rows]
    assert savings == sorted(savings, reverse=True)
    assert "coalescing" in str(table)
