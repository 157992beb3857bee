"""Which of a scheduler's warps go on while all of them could: when each one's loop ends, against an
H200 (`validation/data/turn_order_sm90.json`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.timing.replayed import events_of, recorded_rows, recorder_kernels
from warplens.timing.stall import SELECTED

ROWS = recorded_rows("turn_order", 3)
TURNS, SMS = 96, 132


@pytest.mark.parametrize(("name", "resident", "warps"), one_in(
    2, [(name, *shape) for name in ("one_chain", "two_chains")
        for shape in ((8, 4), (4, 8), (4, 4), (32, 1))],
    lambda case: "-".join(map(str, case)), several=True,
))  # fmt: skip
def test_chains_of_the_oldest_block_go_first(name: str, resident: int, warps: int) -> None:
    """Each instruction waits for the one before it, so a warp gives way after each: the oldest
    block's warps take the time that they would take alone, the youngest ones get what is left."""
    shared = max((220 << 10) // resident - 1024, warps * TURNS * 4)
    kernel = recorder_kernels("turn_order", "H200")[name]
    blocks = SMS * resident
    out = np.zeros(blocks * warps * (TURNS + 2), np.uint32)
    launch = kernel.predict[blocks, 32 * warps, 0, shared](out, np.float32(1.5), np.int32(7))
    events = events_of(launch._timing, 3_000_000)
    instructions = launch._timing.question.kernel.instructions
    clock = next(i for i, one in enumerate(instructions) if one.text.startswith("CS2R"))
    issued = events[(events[:, 3] == SELECTED) & (events[:, 4] == clock)]
    mine = issued[issued[:, 0] % 4 == issued[issued[:, 5] == 0][0, 0] % 4]
    ends = np.array([mine[mine[:, 5] == warp, 1].max() for warp in np.unique(mine[:, 5])])
    recorded = np.array([clocks[-1] for *_, clocks in _of_warps(name, resident, warps)])
    assert len(ends) == len(recorded)
    np.testing.assert_allclose(
        (ends - mine[:, 1].min()) / recorded.max(), recorded / recorded.max(), atol=0.06
    )


def _of_warps(name: str, resident: int, warps: int) -> list[tuple[int, int, list[int]]]:
    """Block, warp and clocks of a scheduler's warps, the oldest first."""
    rows: Any = ROWS[name, resident, warps]["clocks"]
    return [(block, warp, clocks) for block, warp, *clocks in rows]
