"""Which blocks an SM holds and which of their warps issue, against an H200.

The recorded launches (`validation/recorder/residency.py`) and those here are alike in shape: blocks
of which only the first warp stays, and blocks that compete for one unit.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import events_of
from warplens.api import LaunchOptions
from warplens.gpus import find_gpu
from warplens.timing import stall
from warplens.timing.residency import Residency, warp_slots

DATA = Path(__file__).parents[2] / "validation" / "data" / "residency_sm90.json"
RECORDED: dict[str, Any] = json.loads(DATA.read_text())
SOURCE = r"""
extern "C" __global__ void leave(float* out, int turns) {
    extern __shared__ float unused[];
    float v = threadIdx.x;
    if (threadIdx.x < 32)
        for (int i = 0; i < turns * (1 + blockIdx.x / 132 * 7 % 32); i++) v = v * 1.5f + 2.0f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
extern "C" __global__ void stay(float* out, int turns) {
    float v = threadIdx.x;
    for (int i = 0; i < turns * (3 + blockIdx.x / 132 * 5 % 8); i++) v = v * 1.5f + 2.0f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
extern "C" __global__ void compete(float* out, int turns) {
    float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;
    for (int i = 0; i < turns; i++)
        asm volatile("ex2.approx.ftz.f32 %0, %0; ex2.approx.ftz.f32 %1, %1;"
                     "ex2.approx.ftz.f32 %2, %2; ex2.approx.ftz.f32 %3, %3;"
                     : "+f"(a), "+f"(b), "+f"(c), "+f"(d));
    out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}
"""


@pytest.fixture(scope="module")
def module() -> wl.Module:
    return wl.Device("H200").compile(SOURCE)


def _events(kernel: wl.Kernel, blocks: int, threads: int, turns: int, shared: int = 0) -> Any:
    """Rows (slot of a warp, begin, end, reason, pc, warp of the sample) of one SM."""
    out = np.zeros(blocks * threads, np.float32)
    return events_of(kernel.predict[blocks, threads, 0, shared](out, turns)._timing, 8_000_000)


def _lives(events: Any, warps: int) -> Any:
    """Begin and end of every block."""
    block = events[:, 5] // warps
    return np.array([
        (events[block == b, 1].min(), events[block == b, 2].max()) for b in np.unique(block)
    ])  # fmt: skip


@pytest.mark.parametrize("row", RECORDED["leaving"], ids=str)
def test_what_was_recorded_fits(row: dict[str, int]) -> None:
    """No more warps than there are slots and registers for, no more blocks than the rule says; and
    without shared memory, more than the occupancy where the rule says far more."""
    gpu = find_gpu("H200")
    slots = warp_slots(gpu, row["registers"], row["occupancy"] * row["warps"])
    assert row["most_warps"] <= 4 * slots
    most = gpu.max_blocks_per_sm
    if row["shared"]:
        most = (228 << 10) // (row["shared"] + 1024)
    places = Residency(
        blocks=row["occupancy"], most=max(row["occupancy"], most), warp_slots=slots,
        sub_partitions=4, warps_per_block=row["warps"],
    )  # fmt: skip
    bound = places.with_living(1.0)
    assert row["mean_blocks"] <= row["most_blocks"] <= bound
    if bound > 2 * row["occupancy"] and 4 * slots > 2 * row["warps"]:
        assert row["mean_blocks"] > row["occupancy"]


@pytest.mark.parametrize(("warps", "shared"), one_in(
    2, [(8, 0), (8, 25_000), (4, 0), (15, 0)],
    lambda case: "-".join(map(str, case)), first=1, several=True,
))
def test_blocks_come_when_warps_have_left(module: wl.Module, warps: int, shared: int) -> None:
    """The replay comes to hold as many blocks as the H200 did, within a third, and no more."""
    shape = 16, warps, shared
    rows = {(row["registers"], row["warps"], row["shared"]): row for row in RECORDED["leaving"]}
    row = rows[shape]
    blocks = 132 * 8 * row["occupancy"]
    lives = _lives(_events(module["leave"], blocks, 32 * warps, 150, shared), warps)
    living = [((lives[:, 0] <= t) & (lives[:, 1] > t)).sum() for t in lives[:, 0]]
    assert 0.66 * row["mean_blocks"] <= max(living) <= row["most_blocks"]


@pytest.mark.parametrize(("resident", "warps"), one_in(
    2, [(8, 8), (16, 4), (2, 32)], lambda case: "-".join(map(str, case)), several=True,
))
def test_a_place_is_taken_again_as_late_as_recorded(module: wl.Module, resident: int,
                                                    warps: int) -> None:  # fmt: skip
    """From a block's last instruction to the first cycle of the one that takes its place: what was
    recorded begins at a clock that is read before the last instructions, up to some hundred cycles
    where all warps end at once. How long a warp drains behind them no clock can tell."""
    row = next(row for row in RECORDED["turnaround"]
               if (row["resident"], row["warps"]) == (resident, warps))  # fmt: skip
    events = _events(module["stay"], 132 * resident * 4, 32 * warps, 60)
    starts = np.sort(_lives(events, warps)[:, 0])
    ends = np.sort(_lives(events[events[:, 3] == stall.SELECTED], warps)[:, 1])
    turn = np.median(starts[resident:] - ends[: len(starts) - resident])
    alone = RECORDED["turnaround"][0]["turn"]
    assert 0.75 * alone < turn < row["turn"]


@pytest.mark.parametrize("warps", [1, 2, 3, 4, 5, 6, 7, 8, 13, 15])
def test_a_block_begins_where_the_hardware_begins_it(module: wl.Module, warps: int) -> None:
    """The sub-partition of its first warp, block after block."""
    events = _events(module["compete"], 132 * (32 // warps + 1), 32 * warps, 4)
    first = events[np.unique(events[:, 5], return_index=True)[1]]
    firsts = first[first[:, 5] % warps == 0]
    steps = np.unique(np.diff(firsts[:, 0] % 4) % 4).tolist()
    assert steps == RECORDED["first_sub_partition_steps"][str(warps)]


def test_the_oldest_block_goes_first(module: wl.Module) -> None:
    """Eight blocks of eight warps on one unit: when the warps of each end, as shares of all."""
    rows = RECORDED["order"]["xu/8x8"]
    total = max(row["clocks"][-1] for row in rows)
    recorded = np.array([
        max(row["clocks"][-1] for row in rows if row["block"] == b) / total for b in range(8)
    ])  # fmt: skip
    events = _events(module["compete"], 132 * 8, 256, 400)
    ends = _lives(events, 8)[:, 1]
    np.testing.assert_allclose(ends / ends.max(), recorded, atol=0.03)


def test_warps_of_a_block_share(module: wl.Module) -> None:
    """Warps of one block that compete end within a few per cent of each other, as recorded."""
    rows = RECORDED["order"]["xu/1x16"]
    recorded = min(row["clocks"][-1] for row in rows) / max(row["clocks"][-1] for row in rows)
    events = _events(module["compete"], 132, 512, 400)
    ends = np.array([events[events[:, 5] == w, 2].max() for w in range(16)])
    assert ends.min() / ends.max() == pytest.approx(recorded, abs=0.06)


def test_a_policy_changes_the_order() -> None:
    """With the youngest warp first, the last block ends before the first."""
    device = wl.Device("H200", options=LaunchOptions(scheduler="gty"))
    events = _events(device.compile(SOURCE)["compete"], 132 * 8, 256, 400)
    ends = _lives(events, 8)[:, 1]
    assert ends[0] > ends[-1]
