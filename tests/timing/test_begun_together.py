"""Long blocks that begin together, against an H200 (`validation/data/begun_together_sm90.json`)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.timing.replayed import recorded_rows, recorder_kernels, recorder_script

RECORDED = recorded_rows("begun_together", 3)
OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
# Multiply-adds alone; with barriers among the warps of a block it depends on who comes first.
WITHIN = {"chains": 0.06, "two_chains": 0.06, "four_chains": 0.08, "tiles": 0.11}
CASES = [case for case in RECORDED if case[0] in WITHIN]  # square roots: row 326 of DEVIATIONS


@pytest.mark.parametrize(("kernel", "threads", "blocks"), one_in(6, CASES, str, several=True))
def test_the_oldest_block_goes_first_to_the_end(kernel: str, threads: int, blocks: int) -> None:
    """The others have the SM for themselves then, and do not fill it."""
    with recorder_script("begun_together") as recorder:
        sms, turns, a, b = recorder.SMS, recorder.TURNS, recorder.A, recorder.B
    out = np.zeros(sms * blocks * threads, np.float32)
    launch = recorder_kernels("begun_together", "H200")[kernel].predict[sms * blocks, threads](
        out, np.uint32(turns), np.float32(a), np.float32(b)
    )
    recorded = RECORDED[kernel, threads, blocks]
    for name in ("gpu__time_duration.sum", "sm__cycles_active.avg"):
        assert launch.metric(name) == pytest.approx(recorded[name], rel=WITHIN[kernel]), name
    assert abs(launch.metric(OCCUPANCY) - recorded[OCCUPANCY]) < 5.0
