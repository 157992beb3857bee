"""Loads whose lines L1 has no place for wait in front of it, and what comes behind them too: the
replay against cycles and states that an H100 counted."""

from __future__ import annotations

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.timing.replayed import (
    CYCLES,
    recorded_rows,
    recorder_kernels,
    recorder_script,
    waits_of,
)

ROWS = recorded_rows("held_loads", 3)


CASES = [
    ("held_16_4", 32, 1), ("held_4_8", 32, 1), ("held_16_4", 32, 160), ("held_16_4", 32, 196),
    ("held_4_8", 32, 227), ("held_16_2", 16, 227), ("held_16_8", 32, 227),
]  # fmt: skip


@pytest.mark.parametrize(("kernel", "warps", "kilobytes"), one_in(
    3, CASES, lambda case: "-".join(map(str, case)), several=True,
))  # fmt: skip
def test_waits_as_counted(kernel: str, warps: int, kilobytes: int) -> None:
    with recorder_script("held_loads") as recorder:
        rounds, blocks = recorder.ROUNDS, recorder.SMS
    loads, width = (int(number) for number in reversed(kernel.split("_")[1:]))
    size = blocks * warps * rounds * loads * 32 * width
    shape = (blocks,), (32 * warps,), 0, kilobytes << 10
    launch = recorder_kernels("held_loads")[kernel].predict[shape](
        np.zeros(1 << 14, np.uint32), np.zeros(size, np.uint8), np.uint32(rounds)
    )
    recorded = ROWS[kernel, warps, kilobytes << 10]
    here, waits = waits_of(launch, recorded)

    def queues(found: dict[str, float]) -> float:
        """The part of the waits that is not for loads from global memory."""
        names = (f"smsp__warps_issue_stalled_{name}.sum"
                 for name in ("mio_throttle", "lg_throttle", "short_scoreboard"))  # fmt: skip
        return sum(found[name] for name in names) / sum(found.values())

    assert float(launch.metric(CYCLES)) == pytest.approx(recorded[CYCLES], rel=0.07)
    assert queues(here) == pytest.approx(queues(waits), abs=0.19 if kilobytes > 160 else 0.02)
