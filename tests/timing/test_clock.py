"""The clocks that matrix instructions and a board's power leave, against what cards kept."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from warplens.gpus import find_gpu
from warplens.timing.clock import l2_lead

DATA = Path(__file__).parents[2] / "validation" / "data"
RECORDED = json.loads((DATA / "droop_sm90.json").read_text())
PRODUCT = """
__global__ void product(float* out, const unsigned* in) {
    float c[4] = {};
    unsigned a[4], b[2];
    for (int i = 0; i < 4; i++) a[i] = in[threadIdx.x + i];
    for (int i = 0; i < 2; i++) b[i] = in[threadIdx.x + i];
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9},"
        " {%0,%1,%2,%3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    out[threadIdx.x] = c[0];
}
__global__ void sum(float* out, const unsigned* in) { out[threadIdx.x] = in[threadIdx.x] + 1.0f; }
"""
LOADS = """
__global__ void power(float* out, const unsigned* in, int n) {
    float x = in[threadIdx.x], y = x;
    for (int i = 0; i < n; i++) y = y * x + 1.0f;
    out[threadIdx.x] = y;
}
__global__ void copy(float* out, const unsigned* in, int n) {
    for (int i = threadIdx.x; i < n; i += 32) out[i] = in[i];
}
"""


def _kept(*kernels: str) -> list[float]:
    """Clocks of launches of a millisecond or more."""
    return [row[7] for row in RECORDED["rows"] if row[0] in kernels and row[6] > 9e5]


def test_clock_of_matrix_instructions_is_what_was_recorded() -> None:
    kept = _kept("half_float", "bf16_float", "tf32_float", "bytes_int", "half_half")
    assert find_gpu("H200").tensor_clock_mhz >= max(kept) - 1
    assert abs(statistics.median(kept) / find_gpu("H200").tensor_clock_mhz - 1) < 0.01
    assert min(_kept("fma_float", "double_mma")) > 1970


def test_only_kernels_with_matrix_instructions_slow_down() -> None:
    module = wl.Device("H200", clock="boost").compile(PRODUCT)
    notes = {}
    for name in ("product", "sum"):
        out, values = np.zeros(32, np.float32), np.zeros(64, np.uint32)
        launch = module[name][1, 32](out, values)
        seconds = launch.metric("gpu__time_duration.sum") * 1e-9
        mhz = launch.metric("gpc__cycles_elapsed.max") / seconds / 1e6
        notes[name] = round(mhz), " ".join(launch.notes())
    assert notes["sum"][0] == 1980
    assert notes["product"][0] == 1800
    assert "that matrix instructions leave" in notes["product"][1]
    assert "matrix instructions" not in notes["sum"][1]


def test_l2_keeps_its_clock_where_products_slow_sms_down() -> None:
    """Boxes that no SMs share, from L2: with idle and with busy tensor cores."""
    rows = json.loads((DATA / "copy_clocks_h100.json").read_text())["rows"]
    idle, busy = (
        min((r[2], r[3]) for r in rows if r[1] == [128, 0, 1, 0, warps, 0]) for warps in (0, 4)
    )
    assert busy[0] == pytest.approx(idle[0], rel=0.01)

    module = wl.Device("H100", clock="boost").compile(PRODUCT)
    product, plain = (module[name].sass for name in ("product", "sum"))
    assert l2_lead(find_gpu("H100"), product, 1980) == pytest.approx(idle[1] / busy[1], rel=0.02)
    assert l2_lead(find_gpu("H100"), plain, 1980) == 1.0
    assert l2_lead(find_gpu("H100"), product, 1500) == 1.0
    assert l2_lead(find_gpu("T4"), product, 1590) == 1.0


def test_a_lower_clock_stays_as_it_is_asked_for() -> None:
    launch = wl.Device("H200", clock=1200).compile(PRODUCT)["product"][1, 32](
        np.zeros(32, np.float32), np.zeros(64, np.uint32)
    )
    assert "1,200 MHz" in " ".join(launch.notes())


def test_power_leaves_a_t4_less_than_its_boost_clock_under_arithmetic() -> None:
    module, notes = wl.Device("T4", clock="boost").compile(LOADS), {}
    for name in ("power", "copy"):
        arrays = np.zeros(64, np.float32), np.zeros(64, np.uint32)
        notes[name] = " ".join(module[name][1, 32](*arrays, np.int32(64)).notes())
    assert "900 MHz that the board's power leaves arithmetic" in notes["power"]
    assert "1,590 MHz:" in notes["copy"]


@pytest.mark.parametrize(
    ("name", "lanes", "reached", "share"),
    [
        ("T4", 2560, (4.17, 4.43), (0.9, 0.95)), ("L4", 7424, (10.66, 11.11), (0.64, 0.68)),
        ("RTX A6000", 10752, (23.8, 23.9), (0.64, 0.68)),
    ],
)
def test_clock_under_load_gives_the_rates_that_others_measured(
    name: str, lanes: int, reached: tuple[float, float], share: tuple[float, float]
) -> None:
    """TFLOP/s of PyTorch's large products, a known part of what all lanes do at that clock."""
    peak = 2e-6 * lanes * find_gpu(name).load_clock_mhz
    assert share[0] * peak < reached[1]
    assert reached[0] < share[1] * peak
