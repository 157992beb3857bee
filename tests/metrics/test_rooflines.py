"""Rooflines: peaks of data sheets, and work and traffic that follow from the source."""

from __future__ import annotations

import numpy as np
import pytest

import warplens as wl
from warplens.isa.matrix_kinds import matrix_work
from warplens.result import Body, Value
from warplens.sass.model import Control, Instruction
from warplens.session.launch import Launch

SOURCE = r"""
#include <cuda_fp16.h>
#include <mma.h>
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void halves(const __half2* x, __half2* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = __hfma2(x[i], x[i], __half2half2(__float2half(1.0f)));
}
extern "C" __global__ void matrix(const __half* a, const __half* b, float* c) {
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, __half, row_major> x;
    fragment<matrix_b, 16, 16, 16, __half, col_major> y;
    fragment<accumulator, 16, 16, 16, float> z;
    fill_fragment(z, 0.0f);
    load_matrix_sync(x, a, 16);
    load_matrix_sync(y, b, 16);
    for (int k = 0; k < 5; k++) mma_sync(z, x, y, z);
    store_matrix_sync(c, z, 16, mem_row_major);
}
"""
N = 1 << 16
HIERARCHICAL = "SpeedOfLight_Hierarchical{}RooflineChart"


@pytest.fixture(scope="module")
def module() -> wl.Module:
    """The kernels for a card of which the data sheet gives peaks at its boost clock."""
    return wl.Device("RTX 4060", clock="boost").compile(SOURCE)


@pytest.fixture(scope="module")
def saxpy(module: wl.Module) -> Launch:
    """Two operations for 12 bytes."""
    x, y = np.ones(N, np.float32), np.ones(N, np.float32)
    return module["saxpy"][N // 256, 256](np.float32(2), x, y, N)


def _levels(body: Body) -> dict[str, dict[str, float | None]]:
    found: dict[str, dict[str, float | None]] = {}
    for row in body.rows:
        cells = zip(body.columns[1:], row[1:], strict=True)
        found[str(row[0])] = {
            name: float(cell) if isinstance(cell, Value) and cell.available else None
            for name, cell in cells
        }
    return found


def test_work_and_traffic(saxpy: Launch) -> None:
    """2 N operations; 8 N bytes go from L1 to registers and, with no reuse, from L2 to L1."""
    (body,) = saxpy.section(HIERARCHICAL.format("Single")).bodies
    levels = _levels(body)
    seconds = float(saxpy["gpu__time_duration.sum"]) * 1e-9

    assert list(levels) == ["L1", "L2", "DRAM"]
    for level in ("L1", "L2"):
        assert levels[level]["Arithmetic Intensity"] == pytest.approx(2 * N / (8 * N))
        assert levels[level]["Performance"] == pytest.approx(2 * N / seconds)
    rates = [row["Peak Traffic"] or 0.0 for row in levels.values()]
    assert rates == sorted(rates, reverse=True)
    for row in levels.values():
        slope = (row["Arithmetic Intensity"] or 0.0) * (row["Peak Traffic"] or 0.0)
        roof = min(row["Peak Work"] or 0.0, slope)
        assert row["Attainable Performance"] == pytest.approx(roof)


def test_peaks_of_the_data_sheet(saxpy: Launch) -> None:
    """RTX 4060: 15.1 TFLOP/s in single precision at 2.46 GHz, a 64th of it in double; 272 GB/s."""
    single, double = (
        _levels(body)["DRAM"] for body in saxpy.section("SpeedOfLight_RooflineChart").bodies
    )

    assert single["Peak Work"] == pytest.approx(15.11e12, rel=0.01)
    assert double["Peak Work"] == pytest.approx(15.11e12 / 64, rel=0.01)
    assert single["Peak Traffic"] == pytest.approx(272e9, rel=0.01)


def test_halves(module: wl.Module) -> None:
    """A packed multiply-add is four operations per thread."""
    x = np.ones(2 * N, np.float16)
    run = module["halves"][N // 256, 256](x.view(np.uint32), np.zeros(N, np.uint32))
    (body,) = run.section(HIERARCHICAL.format("Half")).bodies
    seconds = float(run["gpu__time_duration.sum"]) * 1e-9

    assert _levels(body)["DRAM"]["Performance"] == pytest.approx(4 * N / seconds)


def test_tensor_cores(module: wl.Module) -> None:
    """Five products of 16 x 16 matrices in every warp: 2 * 16 * 16 * 16 operations each."""
    a = np.ones(256, np.float16).view(np.uint16)
    run = module["matrix"][8, 32](a, a.copy(), np.zeros(256, np.float32))
    (body,) = run.section(HIERARCHICAL.format("Tensor")).bodies
    seconds = float(run["gpu__time_duration.sum"]) * 1e-9
    levels = _levels(body)

    assert body.title.endswith("hmma src fp16 dst fp32")
    assert levels["DRAM"]["Performance"] == pytest.approx(8 * 5 * 2 * 16**3 / seconds)
    assert levels["DRAM"]["Peak Work"] == pytest.approx(2 * 15.11e12, rel=0.01)  # Ada whitepaper


@pytest.mark.parametrize(
    ("opcode", "modifiers", "expected"),
    [
        ("HMMA", ("16816", "F32"), ("hmma_src_fp16_dst_fp32", 2 * 16 * 8 * 16)),
        ("HMMA", ("1688", "F32", "BF16"), ("hmma_src_bf16_dst_fp32", 2 * 16 * 8 * 8)),
        ("HMMA", ("1684", "F32", "TF32"), ("hmma_src_tf32_dst_fp32", 2 * 16 * 8 * 4)),
        ("HMMA", ("16816", "F16"), ("hmma_src_fp16_dst_fp16", 2 * 16 * 8 * 16)),
        ("IMMA", ("16832", "S8", "S8"), ("imma_src_int8", 2 * 16 * 8 * 32)),
        ("DMMA", ("8x8x4",), ("dmma_src_fp64", 2 * 8 * 8 * 4)),
        ("DMMA", ("16x8x16",), ("dmma_src_fp64", 2 * 16 * 8 * 16)),
        ("FFMA", (), ("", 0)),
    ],
)
def test_operations_of_a_shape(
    opcode: str, modifiers: tuple[str, ...], expected: tuple[str, int]
) -> None:
    """m, n and k stand in the shape."""
    control = Control(
        stall=1, keep=False, write_barrier=7, read_barrier=7, wait_mask=0, reuse=0
    )
    one = Instruction(
        address=0, opcode=opcode, modifiers=modifiers, guard=None, operands=(), control=control,
        encoding=0, text=opcode,
    )  # fmt: skip

    assert matrix_work(one) == expected
