"""Code that jumps over code that never runs, against an H200
(`validation/data/skips_sm90.json`)."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import CLOCK_MHZ, RECORDER, recorded_rows, recorder_script

RECORDED = recorded_rows("skips", 5)
TURNS = 8, 24
KERNELS = [(used, gap, segments) for used, gap, segments, warps, _ in RECORDED if warps == 0]


@cache
def _kernel(used: int, gap: int, segments: int) -> wl.Kernel:
    """A kernel of the recorder's file, compiled without the others: all take half a minute."""
    text = (RECORDER / "kernels" / "skips.cu").read_text()
    head, _, _ = text.partition("#define KERNELS")
    module = wl.Device("H200", clock=CLOCK_MHZ).compile(
        f"{head}\nKERNEL({used}, {gap}, {segments})\n"
    )
    return module[f"skip_{used}_{gap}_{segments}"]


def _launch(kernel: tuple[int, int, int], grid: int, block: int, turns: int) -> wl.Launch:
    data, clocks = np.zeros(1 << 14, np.float32), np.zeros(64, np.uint32)
    numbers = np.uint32(turns), np.uint32(0), np.uint32(0)
    return _kernel(*kernel).predict[grid, block](clocks, data, *numbers)


@pytest.mark.parametrize("kernel", one_in(4, KERNELS, str, first=2))
def test_a_jump_waits_for_its_target(kernel: tuple[int, int, int]) -> None:
    """One warp: longer where it is none of the last lines, not in 32 or 128 KiB."""
    few, many = (
        float(_launch(kernel, 1, 32, turns).metric("sm__cycles_active.max")) for turns in TURNS
    )
    measured = RECORDED[(*kernel, 1, 0)]["cycles_of_a_turn"]
    assert (many - few) / (TURNS[1] - TURNS[0]) == pytest.approx(measured, rel=0.28)


@pytest.mark.parametrize("kernel", one_in(4, KERNELS, str, first=2))
def test_warps_of_a_launch_wait_for_each_line(kernel: tuple[int, int, int]) -> None:
    """Sixteen of a sub-partition, in caches that have little of the code."""
    with recorder_script("skips") as recorder:
        found = _launch(kernel, recorder.BLOCKS, recorder.THREADS, 1)
    measured = RECORDED[(*kernel, 0, 0)]
    cycles = measured["sm__cycles_active.avg"]
    assert found.metric("sm__cycles_active.avg") == pytest.approx(cycles, rel=0.3)
