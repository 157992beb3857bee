"""What the first instructions of a warp wait for, beside others: against what an H100's were
sampled to wait for."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import warplens as wl
from tests.timing.replayed import recorded_module, recorder_script, recording

DATA = recording("starts")


@cache
def _module() -> wl.Module:
    return recorded_module(DATA)


@pytest.mark.parametrize(("stream", "rounds", "within"), [
    ("SPECIAL", 16, 0.02), ("CONFLICT", 4, 0.1), ("CONFLICT", 16, 0.1), ("STORE", 16, 0.02),
    ("SHARED", 16, 0.06),
])  # fmt: skip
def test_reads_of_lanes_numbers(stream: str, rounds: int, within: float) -> None:
    """They wait in the queue of accesses to shared memory, not behind stores or special functions:
    the part of a warp's time that is `mio_throttle` there."""
    with recorder_script("starts") as recorder:
        shape = (recorder.THREADS // 32 // recorder.WARPS,), (32, recorder.WARPS)
    kernel = f"starts_{stream}"
    one = _module()[kernel]
    places = [index for index, instruction in enumerate(one.sass.instructions)
              if instruction.text.startswith("S2R") and "SR_TID" in instruction.text]  # fmt: skip
    offsets = {one.sass.instructions[index].address for index in places}
    rows = [row[2:] for row in DATA["rows"] if row[:2] == [kernel, rounds]]
    waited = sum(count for offset, state, count in rows
                 if offset in offsets and state == "mio_throttle")  # fmt: skip
    recorded = waited / sum(count for _, _, count in rows)

    arrays = np.zeros(1 << 14, np.uint32), np.zeros(1 << 16, np.uint8)
    launch = one.predict[shape](*arrays, np.uint32(rounds), np.uint32(0))
    assert launch.timing is not None
    states = launch.timing.stalls_by_instruction()
    whole = sum(float(cycles.sum()) for cycles in states.values())
    assert states["mio_throttle"][places].sum() / whole == pytest.approx(recorded, abs=within)
