"""What warps of a block wait for that load pieces of rows of two matrices, half of them those of
its row of blocks, half those of its column, against an H100: neighbours go in step, and find what
blocks of other rows have fetched before them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.timing.replayed import (
    recorded_rows,
    recorder_kernels,
    recorder_script,
    waits_between,
)

RECORDED = recorded_rows("pitches", 6)
WARPS, PITCH, WORK, FROM_DRAM = 8, 8192, 256, 1


@pytest.mark.parametrize(("loads", "width"), one_in(
    2, [(2, 4), (8, 11), (2, 11), (8, 4), (2, 33), (8, 33)], str, first=1, several=True,
))  # fmt: skip
def test_waits_of_rows_and_columns(loads: int, width: int) -> None:
    """Cycles of a round within 6 %, what either half of the warps waits for within a quarter."""
    with recorder_script("pitches") as recorder:
        sms, rounds, skipped = recorder.SMS, recorder.ROUNDS, recorder.SKIPPED
    out, data, other = (np.zeros(size >> 2, np.uint32) for size in (1 << 20, 1 << 30, 1 << 30))
    kernel = recorder_kernels("pitches")[f"pitches_{loads}_8"]
    numbers = (np.uint32(n) for n in (PITCH // 16, width, rounds, WORK))
    launch = kernel.predict[sms, 32 * WARPS](out, data, other, *numbers)
    recorded = RECORDED[loads, 8, PITCH, width, WORK, FROM_DRAM]
    cycles = float(launch.metric("sm__cycles_active.avg"))
    assert cycles / rounds == pytest.approx(recorded["round"], rel=0.06)

    waits = waits_between(launch, kernel, 1, rounds)[:, skipped:]
    assert waits[:4].mean() == pytest.approx(recorded["row_warps"], rel=0.25)
    assert waits[4:].mean() == pytest.approx(recorded["column_warps"], rel=0.25)
