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


POLLING = """
extern "C" __global__ void add(float* out, const float* data, int n) {
    __shared__ volatile float sums[256];
    sums[threadIdx.x] = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 256 * gridDim.x)
        sums[threadIdx.x] += data[i];
    out[blockIdx.x * 256 + threadIdx.x] = sums[threadIdx.x];
}
extern "C" __global__ void scatter(float* out, const int* where) {
    out[where[blockIdx.x * blockDim.x + threadIdx.x]] = 1;
}
"""


def test_long_loops_over_volatile_memory_are_predicted() -> None:
    """Accesses that may be polling count as many back edges, but here nobody waits for others."""
    n = 1 << 24
    launch = wl.Device("H200").compile(POLLING)["add"].predict[(32,), (256,)](
        np.zeros(32 * 256, np.float32), np.zeros(n, np.float32), np.int32(n)
    )
    assert launch.metric("smsp__inst_executed.sum") > 7 * n / 32


DRAWN = """
extern "C" __global__ void draw(float* out, int* next, int tasks) {
    __shared__ int task;
    while (true) {
        if (threadIdx.x == 0) task = atomicAdd(next, 1);
        __syncthreads();
        if (task >= tasks) return;
        float x = task;
        for (int i = 0; i < 2000; i++) x = x * x + 0.5f;
        out[task * blockDim.x + threadIdx.x] = x;
        __syncthreads();
    }
}
"""


@pytest.mark.parametrize("tasks", [528, 5280])
def test_blocks_that_draw_tasks_get_as_many_each(tasks: int) -> None:
    """Run one after another, the first block would take all."""
    launch = wl.Device("H200").compile(DRAWN)["draw"].predict[(264,), (64,)](
        np.zeros(tasks * 64, np.float32), np.zeros(1, np.int32), np.int32(tasks)
    )
    cycles = [launch.metric(f"sm__cycles_active.{part}") for part in ("min", "avg", "max")]
    assert cycles[2] < 1.1 * cycles[1]
    assert cycles[0] > 0.9 * cycles[1]


def test_prediction_names_what_ends_a_block() -> None:
    """As the launch itself would."""
    kernel = wl.Device("H200").compile(POLLING)["scatter"]
    where = np.full(1024, 1 << 20, np.int32)
    with pytest.raises(wl.MemoryFault, match="invalid __global__ write of size 4"):
        kernel.predict[(4,), (256,)](np.zeros(1024, np.float32), where)
