"""Sectors between L1 and L2 of a launch whose replay has other accesses than its blocks have in the
mean."""

from __future__ import annotations

import numpy as np
import pytest

import warplens as wl

SOURCE = """
extern "C" __global__ void rows(const float *in, float *out, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int i = 0; i < n; i++) sum += in[i * gridDim.x * blockDim.x + row];
    out[row] = sum;
}
extern "C" __global__ void some(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float word = blockIdx.x % 132 == 0 ? in[i] : 1.0f;
    out[i] = word;
}
"""
READ, WRITTEN = "l1tex__m_xbar2l1tex_read_sectors.sum", "l1tex__m_l1tex2xbar_write_sectors.sum"


@pytest.fixture(scope="module")
def module() -> wl.Module:
    return wl.Device("H200").compile(SOURCE)


def test_stores_behind_a_window_are_counted(module: wl.Module) -> None:
    """A long loop is replayed in part, without the stores behind it."""
    blocks, threads, n = 132, 256, 3000
    data, out = np.zeros(blocks * threads * n, np.float32), np.zeros(blocks * threads, np.float32)
    launch = module["rows"].predict[blocks, threads](data, out, n)
    assert launch.metric(WRITTEN) == pytest.approx(blocks * threads / 8, rel=0.01)
    assert launch.metric(READ) == pytest.approx(blocks * threads * n / 8, rel=0.01)


def test_loads_of_one_sm_alone_are_not_taken_for_all(module: wl.Module) -> None:
    blocks, threads = 132 * 8, 256
    data, out = (np.zeros(blocks * threads, np.float32) for _ in range(2))
    launch = module["some"].predict[blocks, threads](data, out)
    assert launch.metric(WRITTEN) == pytest.approx(blocks * threads / 8, rel=0.01)
    loaded = float(launch.metric("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"))
    assert launch.metric(READ) == pytest.approx(loaded, rel=0.01)


def test_means_are_not_given_where_nobody_knows_of_how_many(module: wl.Module) -> None:
    """An H100's slices of L2 have not been counted; an H200's have."""
    threads, n = 256, 30
    data, out = np.zeros(132 * threads * n, np.float32), np.zeros(132 * threads, np.float32)
    launch = module["rows"].predict[132, threads](data, out, n)
    total = launch.metric("lts__t_sectors.sum")
    assert launch.metric("lts__t_sectors.avg") == pytest.approx(total / 94)
    other = wl.Device("H100 SXM5").compile(SOURCE)["rows"].predict[132, threads](data, out, n)
    assert other.metric("lts__t_sectors.sum") is not None
    assert other.metric("lts__t_sectors.avg") is None
