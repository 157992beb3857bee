"""How long warps of an SM's blocks work between two barriers while other blocks load and work,
against an H200 (`validation/data/block_phases_sm90.json`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.timing.replayed import events_of, recorded_rows, recorder_kernels
from warplens.timing.stall import SELECTED

ROWS = recorded_rows("block_phases", 3)
SMS, WAVES, MOST = 132, 6, 132 * 6 * 2048 * 2
BEHIND_BARRIER, BEHIND_WORK = 2, 3  # of the five clocks of a warp


@pytest.mark.parametrize(("name", "resident", "warps"), one_in(
    2, [("columns", 4, 16), ("products", 2, 32), ("shuffles", 2, 16), ("columns", 2, 32),
        ("products", 4, 16), ("shuffles", 2, 32)],
    lambda case: "-".join(map(str, case)), several=True,
))  # fmt: skip
def test_work_takes_as_long_as_recorded(name: str, resident: int, warps: int) -> None:
    """Columns of shared memory in 32 passes, chains of products, shuffles: the mean of all warps
    but those of the first wave."""
    kernel = recorder_kernels("block_phases", "H200")[name]
    shared = max((220 << 10) // resident - 1024, 256 * warps)
    arrays = (np.zeros(MOST, np.uint32) for _ in range(3))
    launch = kernel.predict[SMS * resident * WAVES, 32 * warps, 0, shared](*arrays, np.int32(7))
    events = events_of(launch._timing, 6_000_000)
    code = launch._timing.question.kernel.instructions
    clocks = [at for at, one in enumerate(code) if "SR_CLOCKLO" in one.text][:5]
    issued = events[events[:, 3] == SELECTED]
    behind = [
        {int(row[5]): int(row[1]) for row in issued[issued[:, 4] == clocks[place]]}
        for place in (BEHIND_BARRIER, BEHIND_WORK)
    ]
    later = [warp for warp in behind[1] if warp >= resident * warps]
    assert len(later) >= resident * warps
    mine = np.mean([behind[1][warp] - behind[0][warp] for warp in later])
    rows: Any = ROWS[name, resident, warps]["clocks"]
    times = np.array(rows)[resident * warps :, 3:]
    recorded = float(np.mean(times[:, BEHIND_WORK] - times[:, BEHIND_BARRIER]))
    assert mine == pytest.approx(recorded, rel=0.15)
