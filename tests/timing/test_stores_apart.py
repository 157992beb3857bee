"""Two stores of a warp to the same sectors, some time apart: how many sectors L1 sends on, against
an H200 (`validation/data/stores_apart_sm90.json`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.timing.replayed import (
    CYCLES,
    behind_itself,
    recorded_rows,
    recorder_kernels,
    recorder_script,
)

RECORDED = recorded_rows("stores_apart", 6)
SECTORS = "lts__t_sectors_srcunit_tex_op_write.sum"


def _launch(size: int, pitch: int, warps: int, rest: int, steps: int) -> Any:
    with recorder_script("stores_apart") as recorder:
        sms, rounds = recorder.SMS, recorder.ROUNDS
    out = np.zeros(sms * warps, np.uint32)
    data = np.zeros(sms * 32 * rounds * 32 * 64 + 128, np.uint8)  # never touched: pages of zeros
    numbers = (np.uint32(one) for one in (pitch, rounds, rest, warps, 0, 0))
    kernel = recorder_kernels("stores_apart", "H200")[f"apart_{size}_{steps}"]
    return kernel.predict[sms, 32 * warps](out, data, *numbers)


@pytest.mark.parametrize(("size", "pitch", "warps", "rest", "steps"), one_in(
    4, [
        (16, 32, 1, 60, 12), (16, 32, 1, 60, 64), (4, 8, 4, 60, 12), (4, 16, 1, 0, 32),
        (4, 64, 8, 60, 12), (4, 64, 8, 60, 96), (16, 32, 8, 0, 12), (4, 64, 4, 0, 24),
        (2, 16, 8, 60, 24), (4, 16, 8, 0, 12), (2, 4, 8, 60, 24), (4, 8, 8, 0, 32),
    ], str, first=1, several=True,
))  # fmt: skip
def test_sectors_that_are_sent(size: int, pitch: int, warps: int, rest: int, steps: int) -> None:
    """A store takes those behind it along until it has left, which takes the longer the more lines
    it has and the more the way to L2 is behind; within a fifth."""
    sent = float(_launch(size, pitch, warps, rest, steps).metric("lts__t_sectors_srcunit_tex.sum"))
    measured = RECORDED[size, pitch, warps, rest, 0, steps]
    assert sent == pytest.approx(measured[SECTORS], rel=0.2)


@pytest.mark.parametrize("warps", [8, 16])
def test_halves_in_all_sectors_of_lines_take_no_longer_than_words(warps: int) -> None:
    """Fifteen such lines in a cycle of the chip, whose sectors L2 has from the launches before."""
    measured = RECORDED[2, 16, warps, 0, 0, 128]["sm__cycles_active.avg"]
    cycles = float(behind_itself(_launch(2, 16, warps, 0, 128)).value(CYCLES))
    assert cycles == pytest.approx(measured, rel=0.2)
