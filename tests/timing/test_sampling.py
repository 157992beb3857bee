"""Times from a sample of the blocks against those from all blocks of an SM."""

from __future__ import annotations

import numpy as np
import pytest

import warplens as wl
from warplens.api import LaunchOptions
from warplens.timing.launch_timing import LaunchTiming

SOURCE = r"""
extern "C" __global__ void stream(const float* a, float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = 2.0f * a[i];
}
extern "C" __global__ void uneven(const float* a, float* b, int n) {
    float v = a[threadIdx.x];
    int turns = 8 + (blockIdx.x * 7 % 64) * (blockIdx.x < gridDim.x / 2 ? 1 : 4);
    for (int k = 0; k < turns; k++) v = v * 1.5f + 2.0f;
    b[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
extern "C" __global__ void sums(const float* a, float* b, int n) {
    __shared__ float t[256];
    float v = 0;
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) v += a[i];
    t[threadIdx.x] = v;
    __syncthreads();
    for (int k = blockDim.x / 2; k; k /= 2) {
        if (threadIdx.x < k) t[threadIdx.x] += t[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) b[blockIdx.x] = t[0];
}
"""
N = 1 << 22


def _cycles(kernel: str, grid: int, exact: bool) -> tuple[float, int]:
    """Elapsed cycles, and how many blocks were replayed for them."""
    device = wl.Device("RTX 4060", options=LaunchOptions(exact_timing=exact))
    a, b = np.ones(N, np.float32), np.zeros(N, np.float32)
    timing = device.compile(SOURCE)[kernel].predict[grid, 256](a, b, N).timing
    assert isinstance(timing, LaunchTiming)
    return timing.model.estimate.elapsed_cycles, timing.model.result.blocks


@pytest.mark.parametrize(
    ("kernel", "grid"), [("stream", 16384), ("uneven", 12000), ("sums", 1500)],
)
def test_a_sample_tells_as_much_as_all_blocks(kernel: str, grid: int) -> None:
    sampled, few = _cycles(kernel, grid, exact=False)
    exact, all_of_an_sm = _cycles(kernel, grid, exact=True)
    assert all_of_an_sm == -(-grid // 24)
    assert few < all_of_an_sm
    assert sampled == pytest.approx(exact, rel=0.03)
