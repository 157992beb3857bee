"""Structures that threads write member by member: how many sectors L1 sends on, against an H100."""

from __future__ import annotations

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.timing.replayed import recorded_rows, recorder_kernels, recorder_script
from warplens.timing.launch_timing import LaunchTiming

RECORDED, SAME = recorded_rows("joined_stores", 3), recorded_rows("same_words", 5)
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


@pytest.mark.parametrize(("words", "warps"), [(128, 32), (1024, 64)])
def test_lines_that_all_sms_store_to(words: int, warps: int) -> None:
    """The slices of so many lines do not get equally many of them: within a third of an H100's
    cycles, where stores to lines of their own take a ninth to a quarter of those."""
    data = np.zeros(1 << 20, np.uint32)
    with recorder_script("joined_stores") as recorder:
        sms, rounds = recorder.SMS, 4 * recorder.ROUNDS
    kernel = recorder_kernels("joined_stores")["same_words_all"]
    launch = kernel.predict[sms * warps // 32, 1024](
        data, np.uint32(words), np.uint32(128), np.uint32(rounds)
    )
    recorded = SAME["same_words_all", words, 128, sms, warps]["sm__cycles_active.avg"]
    assert float(launch.metric("sm__cycles_active.avg")) == pytest.approx(recorded, rel=0.33)
