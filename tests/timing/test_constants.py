"""Loads from constant banks by an index: the replay against cycles of an H200.

The recorder's own kernels (`validation/recorder/kernels/constants.cu`) run here.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from tests.timing.replayed import clock_reads
from warplens.timing.launch_timing import LaunchTiming

VALIDATION = Path(__file__).parents[2] / "validation"
RECORDED = json.loads((VALIDATION / "data" / "constants_sm90.json").read_text())
CYCLES = {(kernel, groups, apart, warps): n for kernel, groups, apart, warps, n in RECORDED["rows"]}
TURNS = 256
SOURCE = r"""
__constant__ float weights[4096];
extern "C" __global__ void pick(float* out, int apart) {
    int at = threadIdx.x % 32 * apart;
    float sum = 0;
    for (int i = 0; i < 64; i++) sum += weights[at + (sum > 1e30f)];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""


@pytest.fixture(scope="module")
def module() -> wl.Module:
    source = (VALIDATION / "recorder" / "kernels" / "constants.cu").read_text()
    return wl.Device("H200").compile(source)


def _cycles_of_a_load(kernel: wl.Kernel, groups: int, apart: int, warps: int) -> float:
    """Of the slowest warp in the second round, as recorded."""
    shift = 6 - groups.bit_length()
    arguments = np.zeros(32, np.uint64), np.uint32(shift), np.uint32(apart), np.uint32(TURNS)
    times = clock_reads(kernel, warps, *arguments)
    return float((times[:, -1] - times[:, -2]).max()) / TURNS


@pytest.mark.parametrize(
    ("groups", "apart"), [(1, 1), (4, 1), (32, 1), (32, 16), (32, 32), (16, 64)]
)
@pytest.mark.parametrize("warps", [1, 4])
def test_words_of_a_warp_take_turns(module: wl.Module, groups: int, apart: int,
                                    warps: int) -> None:  # fmt: skip
    """And 32 lines of 64 bytes stay in the cache, in eight sets: each further one is fetched."""
    found = _cycles_of_a_load(module["chase"], groups, apart, warps)
    assert found == pytest.approx(CYCLES["chase", groups, apart, warps], rel=0.02)


@pytest.mark.parametrize("groups", [4, 32])
@pytest.mark.parametrize("kernel", ["chase", "four"])
def test_words_of_sixteen_warps_share_the_sm(module: wl.Module, kernel: str, groups: int) -> None:
    found = _cycles_of_a_load(module[kernel], groups, 1, 16)
    assert found == pytest.approx(CYCLES[kernel, groups, 1, 16], rel=0.03)


def test_lanes_that_ask_for_different_words_cost_time() -> None:
    kernel = wl.Device("H200").compile(SOURCE)["pick"]
    out = np.zeros(32 * 64, np.float32)
    times = [
        float(kernel.predict[64, 32](out, apart)["sm__cycles_active.max"])
        for apart in (0, 1, 32)
    ]
    assert times[1] > 3 * times[0]
    assert times[2] > 3 * times[1]


WALKED = """
__constant__ float4 atoms[1024];
extern "C" __global__ void walk(float* out, int n, int first) {
    float sum = 0, x = threadIdx.x;
    for (int i = 0; i < n; i++) {
        const float4 a = atoms[(i + blockIdx.x * first) & 1023];
        sum += a.w * rsqrtf((x - a.x) * (x - a.x) + a.y * a.y + a.z);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""


@pytest.mark.parametrize(("n", "first", "least", "most"), [(12, 0, 0.0, 0.1), (1024, 61, 0.4, 1.0)])
def test_uniform_loads_by_registers_miss_where_blocks_walk_apart(
    n: int, first: int, least: float, most: float
) -> None:
    """Of three lines all blocks find what they load; of 16 KiB, each elsewhere, hardly any."""
    launch = wl.Device("H200", clock=1980).compile(WALKED)["walk"].predict[(2112,), (128,)](
        np.zeros(2112 * 128, np.float32), np.int32(n), np.int32(first)
    )
    timing = launch.timing
    assert isinstance(timing, LaunchTiming)
    stalls = timing.answers.stalls
    assert least <= stalls.get("imc_miss", 0.0) / sum(stalls.values()) <= most
