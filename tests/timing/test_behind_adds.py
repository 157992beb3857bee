"""SMs whose reductions wait for few slices of L2 end, and load, as an H200's do."""

from __future__ import annotations

import numpy as np
import pytest

from tests.timing.replayed import CYCLES, recorder_kernels, recording

ROWS = {
    tuple(row[:3]): (row[4], dict(zip(recording("behind_adds")["columns"], row, strict=True)))
    for row in recording("behind_adds")["rows"]
    if row[3] == 9
}


@pytest.mark.parametrize(
    ("kind", "pairs", "sectors", "most"),
    [(1, 1, 512, 0.1), (2, 1, 1024, 0.1), (3, 1, 512, 0.1), (1, 6, 1024, 0.12), (1, 32, 2048, 0.2)],
)
def test_sms_end_when_the_last_sectors_are_outside(kind: int, pairs: int, sectors: int,
                                                   most: float) -> None:  # fmt: skip
    rounds, recorded = ROWS[kind, pairs, sectors]
    kernel = recorder_kernels("behind_adds", "H200")["behind_adds"]
    arrays = np.zeros(132 * 256, np.uint32), np.zeros(1 << 20, np.float32), np.zeros(64, np.uint32)
    numbers = (np.int32(n) for n in (kind, rounds, pairs, -1, 0))
    launch = kernel.predict[132, 288](*arrays, np.uint32(0), *numbers)
    assert float(launch.metric(CYCLES)) == pytest.approx(recorded[CYCLES], rel=most)
