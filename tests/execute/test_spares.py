"""Workers kept from launch to launch: every launch finds everything as if it were the first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warplens as wl
from warplens.api import LaunchOptions
from warplens.errors import MemoryFault

SOURCE = """
extern "C" __global__ void mixed(const int *x, int *out, int n) {
    __shared__ int sums[64];
    int t = threadIdx.x, mine[8];
    for (int i = 0; i < 8; i++) mine[i] = x[(t + i) % n];
    sums[t] = mine[t % 8];
    __syncthreads();
    if (t < 17) atomicAdd(&sums[63], mine[(t + 3) % 8]);
    __syncthreads();
    out[blockIdx.x * 64 + t] = sums[63 - t] + mine[(t * 5) % 8];
}
extern "C" __global__ void left(int *out) {
    extern __shared__ int room[];
    out[threadIdx.x] = room[threadIdx.x];
    __syncwarp();
    room[threadIdx.x] = 1 + threadIdx.x;
}
extern "C" __global__ void store(int *out, int at) { out[at] = 7; }
"""


@pytest.fixture(scope="module")
def kernels() -> Any:
    """The kernels, compiled once."""
    return wl.Device("H200").compile(SOURCE)


def _mixed(x: np.ndarray, blocks: int) -> np.ndarray:
    t = np.arange(64)
    n = len(x)
    sums = x[(t + t % 8) % n]
    added = t[:17]
    sums[63] += x[(added + (added + 3) % 8) % n].sum()
    return np.tile(sums[63 - t] + x[(t + t * 5 % 8) % n], blocks)


def test_later_launches_give_what_the_first_would(kernels: Any) -> None:
    """Results and counters do not depend on what the same kernel did before."""
    counted = []
    for seed, blocks in ((1, 1), (2, 3), (3, 1), (1, 1)):
        x = np.random.default_rng(seed).integers(0, 1000, 100 - seed).astype(np.int32)
        out = np.zeros(64 * blocks, np.int32)
        run = kernels["mixed"][blocks, 64](x, out, len(x))
        counted.append({name: n.tolist() for name, n in run.execution.columns.items()})

        np.testing.assert_array_equal(out, _mixed(x, blocks))
    assert counted[0] == counted[3]


def test_workers_of_a_crew_are_used_again() -> None:
    """Of three workers, too, and by a launch with fewer of them."""
    kernel = wl.Device("H200", options=LaunchOptions(workers=3)).compile(SOURCE)["mixed"]
    counted, kept = [], []
    for seed, blocks in ((1, 40), (2, 7), (3, 2), (1, 40)):
        x = np.random.default_rng(seed).integers(0, 1000, 100 - seed).astype(np.int32)
        out = np.zeros(64 * blocks, np.int32)
        run = kernel[blocks, 64](x, out, len(x))
        counted.append({name: n.tolist() for name, n in run.execution.columns.items()})
        (spares,) = kernel.code.program.spares.values()
        kept.append({id(worker) for worker in spares})

        assert run.execution.workers == min(3, blocks)
        np.testing.assert_array_equal(out, _mixed(x, blocks))
    assert counted[0] == counted[3]
    assert len(kept[0]) == 3 and all(workers == kept[0] for workers in kept)


def test_shared_memory_starts_empty(kernels: Any) -> None:
    """What a launch left in shared memory is not there for the next one."""
    for _ in range(3):
        out = np.full(32, -1, np.int32)
        kernels["left"][1, 32, 0, 128](out)
        assert not out.any()


def test_a_launch_after_a_fault(kernels: Any) -> None:
    """A launch that failed leaves nothing to the next one."""
    out = np.zeros(4, np.int32)
    kernels["store"][1, 1](out, 1)
    with pytest.raises(MemoryFault):
        kernels["store"][1, 1](out, 1 << 20)
    kernels["store"][1, 1](out, 3)

    assert out.tolist() == [0, 7, 0, 7]
