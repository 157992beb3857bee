"""What the waits of loads are called that share their queue with other instructions, and what these
cost them: the replay against cycles and states that an H100 counted."""

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

ROWS = recorded_rows("named", 3)


@cache
def _cubin() -> bytes:
    return recorder_kernels("named").unit.compiled(()).cubin


CASES = [
    ("number", 4), ("number", 1), ("shared", 4), ("constant", 4), ("special", 4), ("number", 16),
]  # fmt: skip


@pytest.mark.parametrize(("other", "each"), one_in(
    2, CASES, lambda case: "-".join(map(str, case)), several=True,
))  # fmt: skip
def test_cycles_and_names_as_counted(other: str, each: int) -> None:
    warps = 32
    with recorder_script("named") as recorder:
        kernel, kind = recorder.OTHERS[other]
        cubin = recorder.with_kinds(_cubin(), [kind]) if kind else _cubin()
        given = np.uint32(recorder.ROUNDS), np.uint32(recorder.NONE)
        blocks = recorder.SMS
    module = wl.Device(GPU, clock=CLOCK_MHZ).load(cubin)
    launch = module[f"named_{kernel}_{each}"].predict[(blocks,), (32 * warps,)](
        np.zeros(1024, np.uint32), np.zeros(1 << 17, np.uint8), *given
    )
    assert_as_counted(launch, ROWS[other, each, warps], cycles=0.05, states=0.18)
