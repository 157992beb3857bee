"""Blocks whose loops are long, in kernels in which a block could wait for another one."""

from __future__ import annotations

import numpy as np

import warplens as wl

SOURCE = """
extern "C" __global__ void sums(float *out, int n) {
    float sum = 0;
    #pragma unroll 1
    for (int i = 0; i < n; i++) {
        if ((i ^ threadIdx.x) & 1) continue;
        sum += __int_as_float(0x3f800000 | (i * threadIdx.x & 0xff));
        if (sum > 1e9f) break;
    }
    out[1 + blockIdx.x] = atomicAdd(out, sum);
}
extern "C" __global__ void waits(volatile int *flag, int n) {
    if (threadIdx.x == 0 && blockIdx.x == 0) while (*flag < n) {}
    if (threadIdx.x == 0 && blockIdx.x > 0) atomicAdd((int *)flag, 1);
}
"""


def test_a_long_block_is_not_taken_for_a_waiting_one() -> None:
    """A block's 8 warps come round 800,000 times and more: one that waits is given up sooner."""
    kernel = wl.Device("H200").compile(SOURCE)["sums"]
    launch = kernel.predict[(64,), (256,)](np.zeros(65, np.float32), np.int32(100_000))
    assert launch.metric("smsp__inst_executed.sum") > 64 * 8 * 100_000


def test_blocks_that_wait_are_run_together() -> None:
    kernel = wl.Device("H200").compile(SOURCE)["waits"]
    launch = kernel.predict[(16,), (32,)](np.zeros(1, np.int32), np.int32(15))
    assert launch.metric("smsp__inst_executed.sum") > 16 * 5
