"""Structures that threads write member by member: how many sectors L1 sends on, against an H100."""

from __future__ import annotations

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.timing.replayed import recorded_rows, recorder_kernels, recorder_script
from warplens.timing.launch_timing import LaunchTiming

RECORDED = recorded_rows("joined_stores", 3)
SECTORS = "lts__t_sectors_srcunit_tex_op_write.sum"


@pytest.mark.parametrize(("size", "members", "pitch", "warps"), one_in(
    3, [
        (4, 2, 16, 1), (4, 4, 16, 32), (8, 3, 24, 64), (4, 3, 24, 8), (8, 2, 96, 1),
        (4, 4, 96, 64), (8, 3, 24, 1), (4, 3, 40, 32), (4, 2, 24, 8),
    ], str, first=1, several=True,
))  # fmt: skip
def test_sectors_that_are_sent(size: int, members: int, pitch: int, warps: int) -> None:
    """Of a warp's stores those are sent together that find the line of the one before still there:
    of one warp all, of many hardly any; within a fifth."""
    with recorder_script("joined_stores") as recorder:
        sms, rounds = recorder.SMS, recorder.ROUNDS
    name = f"members_{size}_{members}"
    data = np.zeros(1 << 28, np.uint32)  # never touched: pages of zeros
    shape = sms * max(1, warps // 32), 32 * min(32, warps)
    kernel = recorder_kernels("joined_stores")[name]
    launch = kernel.predict[shape](data, np.uint32(pitch), np.uint32(rounds))
    timing = launch.timing
    assert isinstance(timing, LaunchTiming)
    sent = float(timing.model.result.sm["l2_write"])
    assert sent == pytest.approx(RECORDED[name, pitch, warps][SECTORS] / sms, rel=0.2)
