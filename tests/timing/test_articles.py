"""The experiments by which GPUs are explained, in the model: they end as on real machines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from tests.advice import held_out

DOCS = Path(__file__).parents[2] / "docs"
STUDIO = DOCS.parent / "src" / "warplens" / "studio" / "kernels"
DURATION = "gpu__time_duration.sum"
SOURCE = r"""
// One load per iteration and thread; the sum keeps it alive.
__global__ void stream(const float* in, float* out, int n) {
    float sum = 0;
#pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    if (sum == -1.0f) out[0] = sum;
}
// A chain of loads, while N values must stay in registers.
template <int N> __global__ void hold(const int* next, const float* in, float* out, int steps) {
    float v[N];
#pragma unroll
    for (int k = 0; k < N; k++) v[k] = in[k * 64 + threadIdx.x % 64];
    int at = threadIdx.x;
#pragma unroll 1
    for (int s = 0; s < steps; s++) {
        at = next[at + s * 2048 + blockIdx.x % 7 * 512 & 0xfffff];  // from L2: latency decides
#pragma unroll
        for (int k = 0; k < N; k++) asm volatile("" : "+f"(v[k]));
    }
    float sum = at;
#pragma unroll
    for (int k = 0; k < N; k++) sum += v[k];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// Every block reads its own 16 KB again and again.
__global__ void window(const float* in, float* out, int passes) {
    float sum = 0;
    for (int p = 0; p < passes; p++)
#pragma unroll 4
        for (int k = threadIdx.x; k < 4096; k += blockDim.x)
            sum = sum * 0.5f + in[blockIdx.x * 4096 + k];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// T x T threads share tiles of T x T.
template <int T> __global__ void tiled(const float* a, const float* b, float* c, int n) {
    __shared__ float ta[T][T], tb[T][T];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * T + tx, y = blockIdx.y * T + ty;
    float sum = 0;
    for (int k = 0; k < n; k += T) {
        ta[ty][tx] = a[y * n + k + tx];
        tb[ty][tx] = b[(k + ty) * n + x];
        __syncthreads();
        for (int j = 0; j < T; j++) sum += ta[ty][j] * tb[j][tx];
        __syncthreads();
    }
    c[y * n + x] = sum;
}
"""


def time(run: wl.Launch) -> float:
    """Modelled ns."""
    return float(run[DURATION])


def test_stream_against_occupancy() -> None:
    """The read rate grows with occupancy, by Little's law, until DRAM is full.

    Published for an H100 PCIe: at 47 % occupancy 61 % of the rate at full occupancy.
    """
    kernel = wl.Device("H100 PCIe", clock="boost").compile(SOURCE)["stream"]
    n = 1 << 24
    data, out = np.zeros(n, np.float32), np.zeros(1, np.float32)
    rates = []
    for blocks, threads in ((1, 256), (2, 256), (2, 480), (2, 1024)):
        run = kernel.predict[114 * blocks, threads](data, out, n)
        rates.append(4 * n / time(run))

    assert rates == sorted(rates)
    assert rates[1] / rates[0] > 1.7  # latency decides: twice the warps, nearly twice the rate
    assert rates[2] / rates[3] == pytest.approx(0.61, abs=0.12)
    assert 0.75 < rates[3] / 2039 < 1.0


def test_three_matrix_multiplications() -> None:
    """Tiles beat one element from memory each, and pieces in registers beat tiles."""
    module = wl.Device("RTX 4090").compile(DOCS / "kernels" / "matmul.cu")
    n = 1024
    a, b, c = (np.zeros((n, n), np.float32) for _ in range(3))
    shapes = {"one_each": ((32, 128), (32, 8)), "tiled": ((64, 64), (16, 16)),
              "registers": ((16, 16), 256)}  # fmt: skip
    times = [
        time(module[name].predict[grid, block](a, b, c, n))
        for name, (grid, block) in shapes.items()
    ]

    assert times[0] > 1.1 * times[1] > 1.1 * 1.3 * times[2]


def test_padding_removes_conflicts() -> None:
    """One word of padding: no conflicts, and the transpose takes less time."""
    module = wl.Device("H200").compile(STUDIO / "transpose.cu")
    a, b = np.zeros((1024, 1024), np.float32), np.zeros((1024, 1024), np.float32)
    tiled, padded = (
        module[name].predict[(32, 32), (32, 8)](a, b, 1024) for name in ("tiled", "padded")
    )
    passes = "memory_l1_wavefronts_shared"

    assert tiled.metric(passes) > 10 * padded.metric(passes)
    assert padded.metric(passes) == padded.metric(f"{passes}_ideal")
    assert time(padded) < 0.8 * time(tiled)


def test_the_cliff_behind_32_registers() -> None:
    """Up to 32 registers four blocks of 512 fit on an A100's SM, beyond three: the time rises."""
    module = wl.Device("A100").compile(SOURCE)
    kernels = [module[f"hold<{n}>"] for n in (18, 27)]
    chain = np.arange(1 << 20, dtype=np.int32) % 512
    data, out = np.zeros(64 * 64, np.float32), np.zeros(108 * 12 * 512, np.float32)
    runs = [kernel.predict[108 * 12, 512](chain, data, out, 400) for kernel in kernels]

    assert kernels[0].registers <= 32 < kernels[1].registers <= 40
    assert [float(run["sm__maximum_warps_per_active_cycle_pct"]) for run in runs] == [100, 75]
    assert time(runs[1]) > 1.1 * time(runs[0])


def test_spills_cost_cycles() -> None:
    """The same values in too few registers: local traffic, and more time."""
    module = wl.Device("A100").compile(held_out.SOURCE)
    data, out = np.zeros(1 << 16, np.float32), np.zeros(1 << 16, np.float32)
    runs = []
    for which in ("after", "before"):  # before: __launch_bounds__ leave 32 registers
        kernel = module[f"spills_{which}"]
        runs.append((kernel.local_bytes, kernel.predict[512, 128](data, out, 1 << 16)))

    (none, whole), (some, spilled) = runs
    assert none == 0 < some
    assert spilled.metric("l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum") > 0
    assert time(spilled) > 1.5 * time(whole)


def test_a_larger_tile_trades_occupancy_for_reuse() -> None:
    """Tiles of 32 load half of what tiles of 16 load, but fewer warps fit."""
    module = wl.Device("RTX 4090").compile(SOURCE)
    n = 1024
    a, b, c = (np.zeros((n, n), np.float32) for _ in range(3))
    small, large = (
        module[f"tiled<{t}>"].predict[(n // t, n // t), (t, t)](a, b, c, n) for t in (16, 32)
    )
    loads = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
    occupancy = "sm__maximum_warps_per_active_cycle_pct"

    assert small.metric(loads) == 2 * large.metric(loads)
    assert small.metric(occupancy) == 100 > large.metric(occupancy)


def test_l1_thrashes_when_resident_warps_outgrow_it() -> None:
    """While the blocks' windows fit, nearly all loads hit; beyond, ever fewer do."""
    kernel = wl.Device("RTX 3080").compile(SOURCE)["window"]
    hits, rates = [], []
    for blocks in (2, 6, 12):  # of 16 KB each; L1 holds 128 KB
        data = np.zeros(68 * blocks * 4096, np.float32)
        out = np.zeros(68 * blocks * 128, np.float32)
        run = kernel.predict[68 * blocks, 128](data, out, 16)
        hits.append(float(run["l1tex__t_sector_hit_rate.pct"]))
        rates.append(blocks / time(run))

    assert hits[0] > 85 and hits[1] > 75 > 55 > hits[2]
    assert rates[1] > rates[0] and rates[2] < rates[1]
