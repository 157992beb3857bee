"""Warps that walk through constants whose address all lanes have, against an H200
(`validation/data/constant_walks_sm90.json`)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.timing.replayed import recorded_rows, recorder_kernels

RECORDED = recorded_rows("constant_walks", 4)
CASES = [
    (kernel, size, warps, delay)
    for kernel, size, warps, delay in RECORDED
    if kernel.startswith("uniform_16") and size >= 4096 and (warps < 16 or delay == 1000)
]
IMC_MISS = "smsp__warps_issue_stalled_imc_miss.sum"


@pytest.mark.parametrize(("kernel", "size", "warps", "delay"),
                         one_in(12, CASES, str, first=5, several=True))  # fmt: skip
def test_lines_come_one_after_the_other(kernel: str, size: int, warps: int, delay: int) -> None:
    """Warps of a sub-partition in step share a line; all others are brought by themselves, 33
    cycles long each, so that 32 warps at places of their own take eleven times as long as one."""
    measured = RECORDED[kernel, size, warps, delay]
    steps = size // (4 * int(kernel.split("_")[1]))
    turns = int(measured["steps"]) // steps
    launch = recorder_kernels("constant_walks", "H200")[kernel].predict[132 * warps, 32](
        np.zeros(1024, np.float32), *(np.uint32(n) for n in (turns, steps, delay))
    )
    cycles = measured["sm__cycles_active.avg"]
    assert launch.metric("sm__cycles_active.avg") == pytest.approx(cycles, rel=0.25)
    of_all = sum(n for name, n in measured.items() if "_issue_stalled_" in name)
    stalls = launch.timing.answers.stalls
    found = stalls["imc_miss"] / sum(stalls.values())
    assert found == pytest.approx(measured[IMC_MISS] / of_all, abs=0.12)


@pytest.mark.parametrize("size", [2048, 32768])
def test_warps_that_begin_together_stay_in_step(size: int) -> None:
    """Those that are a few lines behind find them and catch up: 32 warps take hardly longer than
    four."""
    measured = RECORDED["uniform_16_0", size, 32, 0]
    turns = int(measured["steps"]) // (size // 64)
    launch = recorder_kernels("constant_walks", "H200")["uniform_16_0"].predict[132 * 32, 32](
        np.zeros(1024, np.float32), *(np.uint32(n) for n in (turns, size // 64, 0))
    )
    cycles = measured["sm__cycles_active.avg"]
    assert launch.metric("sm__cycles_active.avg") == pytest.approx(cycles, rel=0.25)


def test_lines_of_a_first_pass_cost_all_sub_partitions_more() -> None:
    """A quarter of the steps are the first at their lines."""
    more = []
    for size in (4096, 65536):
        measured, turns = RECORDED["uniform_16_0", size, 4, 0], max(2, 4096 // (size // 64))
        launch = recorder_kernels("constant_walks", "H200")["uniform_16_0"].predict[132 * 4, 32](
            np.zeros(1024, np.float32), *(np.uint32(n) for n in (turns, size // 64, 0))
        )
        found = launch.metric("sm__cycles_active.avg")
        more.append((found, measured["sm__cycles_active.avg"]))
    assert more[1][0] - more[0][0] == pytest.approx(more[1][1] - more[0][1], rel=0.2)
