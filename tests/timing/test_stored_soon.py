"""Lines of which words are stored one right after the other, and loaded again, against an H200
(`validation/data/stored_soon_sm90.json`)."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.timing.replayed import CYCLES, recorded_rows, recorder_kernels, recorder_script

RECORDED = recorded_rows("stored_soon", 5)
with recorder_script("stored_soon") as recorder:
    BLOCKS, WORDS, ROUNDS = recorder.BLOCKS, recorder.WORDS, recorder.ROUNDS
    CASES = [case for case in recorder.CASES if case[4] < 1500]
READ, SENT = "l1tex__m_xbar2l1tex_read_sectors.sum", "l1tex__m_l1tex2xbar_write_sectors.sum"


@cache
def predicted(case: tuple[int, ...]) -> dict[str, float]:
    words, pitch, threads, lanes, after = case
    data = np.zeros(BLOCKS * threads * pitch + 4 * WORDS, np.uint8)
    kernel = recorder_kernels("stored_soon", "H200")[f"stored_soon_{words}"]
    given = np.zeros(1024, np.uint32), data, pitch, WORDS, ROUNDS, lanes, after
    launch = kernel.predict[BLOCKS, threads](*given)
    return {name: float(launch.metric(name)) for name in (READ, SENT, CYCLES)}


@pytest.mark.parametrize("case", one_in(2, CASES, lambda case: "-".join(map(str, case))))
def test_what_l1_loses_is_read_again(case: tuple[int, ...]) -> None:
    """Of all loads, as many as an H200 reads again, but for the first of each sector."""
    launch, measured = predicted(case), RECORDED[case]
    loads = BLOCKS * case[2] * case[3] / 32 * WORDS * ROUNDS
    first = BLOCKS * case[2] * case[3] / 32 * WORDS / 8
    found, wanted = ((one - first) / loads for one in (launch[READ], measured[READ]))
    assert found == pytest.approx(wanted, abs=0.065)
    assert launch[SENT] == pytest.approx(measured[SENT], rel=0.03)
    assert launch[CYCLES] == pytest.approx(measured[CYCLES], rel=0.6)


@pytest.mark.parametrize(
    "cases", [CASES[::2], pytest.param(CASES, marks=pytest.mark.long)], ids=["second", "all"]
)
def test_cycles_are_within_a_tenth_in_the_mean(cases: list[tuple[int, ...]]) -> None:
    """Of every second case, which the test above takes; of all in a long run."""
    apart = [abs(predicted(case)[CYCLES] / RECORDED[case][CYCLES] - 1.0) for case in cases]
    assert float(np.mean(apart)) < 0.12
