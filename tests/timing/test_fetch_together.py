"""The first turn of long straight code on all SMs, against an H200
(`validation/data/fetch_together_sm90.json`)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.timing.replayed import CYCLES, recorded_rows, recorder_kernels

RECORDED = recorded_rows("fetch_together", 4)
CASES = [case for case in RECORDED if case[0] >= 8192 and case[1] == 132 and case[3] == 0]
BEFORE = 2600.0  # cycles that a block waits, and what else there is around the loop


@pytest.mark.parametrize(("instructions", "blocks", "warps", "delay"), CASES)
def test_code_that_no_cache_keeps_comes_from_dram_at_first(
    instructions: int, blocks: int, warps: int, delay: int
) -> None:
    """Up to 128 KiB are near from the launch before; of more, all but the first 64 KiB come twice
    as slowly the first time as they do from L2."""
    kernel = recorder_kernels("fetch_together", "H200")[f"loop_{instructions}"]
    cycles = [
        kernel.predict[blocks, 32 * warps, 0, 200 << 10](
            np.zeros(1 << 12, np.uint32), np.zeros(1 << 14, np.float32),
            np.uint32(turns), np.uint32(delay), np.uint32(0),
        ).metric(CYCLES)
        for turns in (1, 3)
    ]  # fmt: skip
    first, later = cycles[0] - BEFORE, (cycles[1] - cycles[0]) / 2
    measured = RECORDED[instructions, blocks, warps, delay]
    assert first / instructions == pytest.approx(measured["cold"], rel=0.16)
    assert later / instructions == pytest.approx(measured["later"], rel=0.08)
