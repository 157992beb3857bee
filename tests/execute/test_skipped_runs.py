"""Guarded accesses to shared memory that no lane of a warp makes, in fast code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.in_turn import one_in

import warplens as wl

SOURCE = r"""
extern "C" __global__ void guarded(const int* from, const int* limit, int* out, int rounds) {
    __shared__ int data[512];
    int t = threadIdx.x;
    data[t] = 3 * t;
    data[t + 256] = 5 * t;
    __syncthreads();
    int a = -1, b = 2 * t, c = t, d = t + 1;
    unsigned place = (unsigned)__cvta_generic_to_shared(data + t);
    for (int k = 0; k < rounds; ++k) {
        asm volatile("{ .reg .pred p; .reg .s32 x; setp.lt.s32 p, %4, %5;\n"
                     "@p ld.shared.s32 %0, [%6];\n"
                     "@p ld.shared.s32 x, [%6 + 1024];\n"
                     "@p add.s32 %1, x, %0;\n"
                     "@p ld.shared.v2.s32 {%2, %3}, [%7];\n"
                     "@p st.shared.s32 [%6], %1; }"
                     : "+r"(a), "+r"(b), "+r"(c), "+r"(d)
                     : "r"(t), "r"(limit[k] + from[k]), "r"(place), "r"(place / 8 * 8) : "memory");
        __syncthreads();
    }
    int* mine = out + 5 * t;
    mine[0] = a, mine[1] = b, mine[2] = c, mine[3] = d, mine[4] = data[t];
}

extern "C" __global__ void tree(const int* in, int* out) {
    __shared__ int part[256];
    int t = threadIdx.x;
    part[t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}
"""


def expected(limits: Any) -> Any:
    """What `guarded` leaves: threads below a round's limit load, add and store."""
    t = np.arange(256)
    data = np.concatenate([3 * t, 5 * t])
    a, b, c, d = np.full(256, -1), 2 * t, t.copy(), t + 1
    for limit in limits:
        on = t < limit
        a = np.where(on, data[t], a)
        b = np.where(on, data[t + 256] + a, b)
        before = data.copy()
        c, d = np.where(on, before[t // 2 * 2], c), np.where(on, before[t // 2 * 2 + 1], d)
        data[t] = np.where(on, b, data[t])
    return np.stack([a, b, c, d, data[:256]], axis=1)


@pytest.mark.parametrize("architecture", one_in(3, ["sm_80", "sm_90", "sm_120"], str, first=1))
def test_what_no_lane_accesses(architecture: str) -> None:
    """Registers keep their values, and only warps that take part make requests: none, some lanes
    of a warp, a few warps, all."""
    limits = np.array([0, 256, 0, 5, 64, 32, 1, 200, 0, 33], np.int32)
    kernel = wl.Device(architecture).compile(SOURCE)["guarded"]
    for is_fast in (False, True):
        if is_fast:
            kernel.code.program.make_fast()
        out = np.zeros((256, 5), np.int32)
        run = kernel[1, 256](np.zeros(10, np.int32), limits, out, len(limits))
        np.testing.assert_array_equal(out, expected(limits))
        warps = int((-(-limits // 32)).sum())
        assert run.metric("smsp__inst_executed_op_shared_ld.sum") >= 3 * warps
        loads = run.metric("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum")
        assert loads == run.metric("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum") + (
            3 * warps + 8
        ), is_fast


def test_tree() -> None:
    """A sum in shared memory: as many wavefronts as warps with a lane that takes part."""
    kernel = wl.Device("H200").compile(SOURCE)["tree"]
    kernel.code.program.make_fast()
    data = np.random.default_rng(8).integers(-99, 99, 256 * 40, dtype=np.int32)
    out = np.zeros(40, np.int32)
    run = kernel[40, 256](data, out)
    np.testing.assert_array_equal(out, data.reshape(40, 256).sum(axis=1))
    stores = 8 + sum(max(1, s // 32) for s in (128, 64, 32, 16, 8, 4, 2, 1))
    assert run.metric("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum") == 40 * stores
