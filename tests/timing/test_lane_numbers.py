"""Reads of special registers, of lanes' own numbers and of others, and loads of constants: the
replay against cycles and states that an H100 counted."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import (
    CLOCK_MHZ,
    GPU,
    assert_as_counted,
    recorded_rows,
    recorder_kernels,
    recorder_script,
)

ROWS = recorded_rows("lane_numbers", 2)


@cache
def _cubin() -> bytes:
    return recorder_kernels("lane_numbers").unit.compiled(()).cubin


CASES = [
    ("thread", 4), ("thread", 1), ("block", 8), ("block", 4), ("constant", 4), ("constant", 16),
    ("thread", 16), ("thread", 8), ("thread block", 16), ("thread constant", 8),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "warps"), one_in(
    2, CASES, lambda case: "-".join(map(str, case)), several=True,
))  # fmt: skip
def test_paces_and_waits_as_counted(kind: str, warps: int) -> None:
    with recorder_script("lane_numbers") as recorder:
        changed = recorder.with_kinds(_cubin(), kind.split())
        rounds, blocks = recorder.ROUNDS, recorder.SMS
    module = wl.Device(GPU, clock=CLOCK_MHZ).load(changed)
    launch = module["numbers"].predict[(blocks,), (32 * warps,)](
        np.zeros(1024, np.uint32), np.uint32(rounds), np.uint32(1 << 20)
    )
    assert_as_counted(launch, ROWS[kind, warps], cycles=0.05, states=0.17)
