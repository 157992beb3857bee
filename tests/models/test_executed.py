"""The formulas against kernels that are compiled, executed and counted."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import warplens as wl
import warplens.models as m

SOURCE = r"""
template <typename T> __global__ void strided(const T* a, T* o, int stride, int offset) {
    o[threadIdx.x] = a[offset + stride * (int)threadIdx.x];
}
template <typename T> __global__ void mapped(const int* map, T* o) {
    __shared__ T s[1024];
    o[threadIdx.x] = s[map[threadIdx.x]];
}
__global__ void each(const int* a, int* o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) o[i] = a[i];
}
__global__ void trips(const int* count, float* o) {
    float x = o[threadIdx.x];
    #pragma unroll 1
    for (int i = 0; i < count[threadIdx.x]; ++i) x = x * 0.5f + 1.0f;
    o[threadIdx.x] = x;
}
__global__ void branch(const int* taken, volatile int* o) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (taken[i]) {
        #pragma unroll 1
        for (int j = 0; j < 3; ++j) o[i] = j;
    }
    __syncthreads();
    o[i] = i;
}
__global__ void reduce(float* o, int scheme) {
    __shared__ float s[256];
    int t = threadIdx.x, n = blockDim.x;
    s[t] = t;
    for (int step = 1; step < n; step *= 2) {
        __syncthreads();
        if (scheme == 0) { if (t % (2 * step) == 0 && t + step < n) s[t] += s[t + step]; }
        else { int i = 2 * step * t; if (i + step < n) s[i] += s[i + step]; }
    }
    __syncthreads();
    if (t == 0) o[0] = s[0];
}
template <int T> __global__ void product(const float* a, const float* b, float* c, int n) {
    __shared__ float x[T][T], y[T][T];
    int row = blockIdx.y * T + threadIdx.y, column = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += T) {
        x[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        y[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int j = 0; j < T; ++j) sum += x[threadIdx.y][j] * y[j][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
template <int R> __global__ void stencil(const float* a, float* o, int n, int pitch) {
    extern __shared__ float s[];
    int w = blockDim.x + 2 * R, h = blockDim.y + 2 * R;
    for (int y = threadIdx.y; y < h; y += blockDim.y)
        for (int x = threadIdx.x; x < w; x += blockDim.x)
            s[y * w + x] = a[(blockIdx.y * blockDim.y + y) * pitch + blockIdx.x * blockDim.x + x];
    __syncthreads();
    float sum = 0;
    for (int d = -R; d <= R; ++d)
        sum += s[(threadIdx.y + R + d) * w + threadIdx.x + R]
             + s[(threadIdx.y + R) * w + threadIdx.x + R + d];
    o[(blockIdx.y * blockDim.y + threadIdx.y) * n + blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
__global__ void many(const float* a, float* o) {
    float x[48];
    #pragma unroll
    for (int i = 0; i < 48; ++i) x[i] = a[i * 32 + threadIdx.x];
    #pragma unroll
    for (int r = 1; r < 4; ++r)
        #pragma unroll
        for (int i = 0; i < 48; ++i) x[i] = x[i] * x[(i * 7 + r) % 48] + r;
    #pragma unroll
    for (int i = 0; i < 48; ++i) o[i * 32 + threadIdx.x] = x[i];
}
"""
TYPES = {1: "signed char", 2: "short", 4: "int", 8: "int2", 16: "int4"}
ELEMENTS = {1: np.int8, 2: np.int16}  # the others in words of 32 bits
NAMES = (
    *(f"{kernel}<{name}>" for kernel in ("strided", "mapped") for name in TYPES.values()),
    *("product<16>", "product<32>", "stencil<1>", "stencil<2>"),
)
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
PASSES = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"


@functools.cache
def module() -> Any:
    """The compiled kernels."""
    return wl.Device("H200").compile(SOURCE, name_expressions=NAMES)


def buffer(elements: int, width: int) -> np.ndarray:
    """An array of so many elements of a width in bytes."""
    dtype = np.dtype(ELEMENTS.get(width, np.int32))
    return np.zeros(elements * width // dtype.itemsize, dtype)


@pytest.mark.parametrize("width", TYPES)
@pytest.mark.parametrize(("stride", "offset"), [(1, 0), (1, 3), (2, 1), (0, 5), (7, 2), (32, 0)])
def test_sectors_and_lines_of_strided_loads(width: int, stride: int, offset: int) -> None:
    """Executed loads of every width touch the sectors and lines of `strided_access`."""
    data, out = buffer(1100, width), buffer(32, width)
    run = module()[f"strided<{TYPES[width]}>"][1, 32](data, out, stride, offset)
    expected = m.strided_access(stride, width, offset)
    stored = m.strided_access(1, width)

    assert run.metric(SECTORS) == expected.sectors and run.metric(REQUESTS) == 1
    assert run.metric("memory_l1_tag_requests_global") == expected.lines + stored.lines


@pytest.mark.parametrize("width", TYPES)
def test_passes_of_any_bank_map(width: int) -> None:
    """Executed shared loads take the passes of `bank_access`, affine and random maps."""
    rng = np.random.default_rng(width)
    maps = [np.arange(32) * stride % 1024 for stride in (0, 1, 2, 3, 4, 8, 16, 31, 32)]
    maps += [rng.integers(0, top, 32) for top in (4, 64, 1024, 1024)]
    for chosen in maps:
        indices = chosen.astype(np.int32)
        run = module()[f"mapped<{TYPES[width]}>"][1, 32](indices, buffer(32, width))
        expected = m.bank_access(indices.astype(np.int64) * width, width)

        assert run.metric(PASSES) == expected.passes, chosen
        assert run.metric(CONFLICTS) == expected.conflicts, chosen


@pytest.mark.parametrize("block", [8, 32, 33, 128])
def test_requests_and_sectors_of_a_copy(block: int) -> None:
    """A copy of 20,000 elements in blocks of any size."""
    n = 20_000
    data, out = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
    run = module()["each"][-(-n // block), block](data, out, n)

    assert (run.metric(REQUESTS), run.metric(SECTORS)) == m.requests_and_sectors(n, block)
    assert (out == data).all()


def test_a_loop_costs_its_longest_lane() -> None:
    """Warp instructions grow with the largest number of trips, whatever the others do."""
    rng = np.random.default_rng(5)

    def executed(counts: np.ndarray) -> float:
        out = np.ones(32, np.float32)
        return float(module()["trips"][1, 32](counts.astype(np.int32), out).metric(
            "sass__inst_executed_global_loads"
        ))  # fmt: skip

    base, one = executed(np.zeros(32)), executed(np.ones(32))
    for _ in range(5):
        counts = rng.integers(0, 60, 32)
        assert executed(counts) - base == m.loop_cycles(counts, one - base)


@pytest.mark.parametrize("p", [0.01, 0.05, 0.5])
def test_share_of_diverging_warps(p: float) -> None:
    """The divergent branches of 4,000 warps with random lanes are as likely as the formula says."""
    warps = 4000
    taken = np.random.default_rng(7).random(warps * 32) < p
    lanes = taken.reshape(warps, 32).sum(axis=1)
    out = np.zeros(warps * 32, np.int32)
    run = module()["branch"][warps // 8, 256](taken.astype(np.int32), out)
    diverged = run.metric("smsp__sass_branch_targets_threads_divergent.sum")

    assert diverged == ((lanes > 0) & (lanes < 32)).sum()
    assert diverged / warps == pytest.approx(m.divergence_probability(p), abs=0.025)


@pytest.mark.parametrize(("scheme", "name"), [(0, "interleaved"), (1, "packed")])
def test_reduction_adds_with_the_predicted_lanes(scheme: int, name: str) -> None:
    """Thread-level and warp-level additions follow from which threads are active in each step."""
    out = np.zeros(1, np.float32)
    run = module()["reduce"][1, 256](out, scheme)
    active = [m.reduction_activity(256, 1 << s, name) for s in range(8)]
    threads = sum(int(a.sum()) for a in active)
    warps = sum(int(a.reshape(8, 32).any(axis=1).sum()) for a in active)
    efficiency = threads / (32 * warps)

    assert out[0] == 255 * 128
    assert run.metric("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum") == threads
    by_steps = [m.warp_efficiency(a) for a in active]
    assert min(by_steps) <= efficiency <= max(by_steps)


@pytest.mark.parametrize("tile", [16, 32])
def test_traffic_of_a_tiled_product(tile: int) -> None:
    """Loads and stores of a tiled matrix product are the bytes of `tiled_gemm_work`."""
    n = 64
    rng = np.random.default_rng(0)
    a, b = (rng.random((n, n), np.float32) for _ in range(2))
    c = np.zeros((n, n), np.float32)
    run = module()[f"product<{tile}>"][(n // tile, n // tile), (tile, tile)](a, b, c, n)
    work = m.tiled_gemm_work(n, n, n, tile, tile)
    multiply_adds = run.metric("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum")

    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    assert run.metric("smsp__sass_data_bytes_mem_global.sum") == work.bytes_moved
    assert 2 * multiply_adds == work.operations


@pytest.mark.parametrize(("tile", "radius"), [((32, 8), 1), ((32, 4), 2), ((64, 4), 1)])
def test_loads_of_a_stencil_tile(tile: tuple[int, int], radius: int) -> None:
    """Each block loads its tile with the halo once."""
    grid = (2, 3)
    width, height = tile[0] * grid[0], tile[1] * grid[1]
    pitch = width + 2 * radius
    data = np.ones((height + 2 * radius, pitch), np.float32)
    out = np.zeros((height, width), np.float32)
    expected = m.stencil_tile("H200", tile, radius)
    kernel = module()[f"stencil<{radius}>"]
    run = kernel[grid, tile, 0, expected.shared_bytes](data, out, width, pitch)
    loaded = run.metric("smsp__sass_data_bytes_mem_global_op_ld.sum") / 4

    assert (out == 2 * (2 * radius + 1)).all()
    assert loaded == expected.loaded * 6
    assert loaded / out.size == pytest.approx(expected.reads_per_output)


def test_spill_traffic_and_the_recompiling_sweep() -> None:
    """A register cap causes spills, and their executed traffic is `spill_bytes`."""
    table = module()["many"].sweep(maxrregcount=(None, 24), block=(32, 256))
    free, capped = table.variants[0], table.variants[2]
    tight = wl.Device("H200").compile(SOURCE, options=("-maxrregcount=24",))["many"]
    data, out = np.ones(48 * 32, np.float32), np.zeros(48 * 32, np.float32)
    run = tight[1, 32](data, out)

    assert free.local_loads == free.local_stores == 0 and free.registers > 40
    assert capped.registers <= 24 and capped.local_loads > 0 and capped.local_stores > 0
    assert capped.occupancy.occupancy >= free.occupancy.occupancy
    loads = run.metric("sass__inst_executed_local_loads")
    stores = run.metric("sass__inst_executed_local_stores")
    assert (loads, stores) == (capped.local_loads, capped.local_stores)
    local = "l1tex__t_sectors_pipe_lsu_mem_local_op"
    moved = 32 * (run.metric(f"{local}_ld.sum") + run.metric(f"{local}_st.sum"))
    widths = moved / m.spill_bytes(loads, stores, 1)
    assert 1 <= widths <= 4  # the compiler may join neighbours into wider accesses
    if widths == 1:
        sectors = run.metric("l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum")
        assert sectors == 4 * loads


@pytest.mark.parametrize("blocks", [1, 500, 1056, 1057, 4000])
def test_waves_of_a_launch(blocks: int) -> None:
    """The launch statistics count the same waves."""
    out = np.zeros(4, np.int32)
    kernel = module()["each"]
    run = kernel[blocks, 256](out, out, 0)
    fits = kernel.occupancy(256).blocks

    assert run.metric("launch__waves_per_multiprocessor") == pytest.approx(
        m.waves(blocks, fits, 132).waves
    )


def test_the_command_takes_a_kernel(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """`warplens occupancy FILE -k NAME` uses the compiled kernel's registers on each GPU."""
    from warplens.cli.main import main

    file = tmp_path / "k.cu"
    file.write_text(SOURCE)
    words = ["occupancy", str(file), "-k", "product<16>", "--block", "16,16"]

    assert main([*words, "--gpu", "H200"]) == 0
    kernel = module()["product<16>"]
    expected = kernel.occupancy((16, 16))
    assert f"{expected.blocks} blocks, {expected.warps} of 64" in capsys.readouterr().out
    assert main([*words, "--gpu", "H200", "--gpu", "T4", "--sweep", "shared"]) == 0
    assert "T4" in capsys.readouterr().out
    assert main([*words[:3], "nosuch", "--block", "32"]) == 2
    assert main([*words[:2], "-k", "many", "--block", "64", "--maxrregcount", "0,24"]) == 0
    head, titles, free, capped = capsys.readouterr().out.splitlines()
    assert "many(" in head and "on H200" in head and "LDL" in titles
    assert free.split()[0] == "-" and capped.split()[0] == "24"
    assert main(["occupancy", "--block", "64", "--maxrregcount", "24"]) == 2
