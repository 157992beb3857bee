"""How fast L2 serves loads and stores of rows that it holds, by how many SMs ask
(`validation/data/hit_rates_sm90.json`)."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.timing.replayed import (
    behind_itself,
    recorded_rows,
    recorder_kernels,
    recorder_script,
)

RECORDED = recorded_rows("hit_rates", 4)
MIB, SMS = 8, 132


def _error(kernel: str, blocks: int, in_order: int) -> float:
    """Of the mean active cycles, L2 holding all rows."""
    with recorder_script("hit_rates") as recorder:
        size, turns = recorder.KERNELS[kernel]
        threads = recorder.THREADS
    data, marks = np.zeros(MIB << 20, np.uint8), np.zeros(3 * blocks, np.uint64)
    given = marks, data, (MIB << 20) // size, turns, in_order
    function = recorder_kernels("hit_rates", "H200")[f"hit_rates_{kernel}"]
    cycles = behind_itself(function.predict[blocks, threads](*given)).answers.value(
        "sm__cycles_active.avg"
    )
    assert cycles is not None
    return cycles / RECORDED[kernel, MIB, in_order, blocks]["sm__cycles_active.avg"] - 1.0


# Every second case: 98 and 264 blocks of one kernel, 132 of the other
@pytest.mark.parametrize(("kernel", "blocks"), one_in(
    2, list(product(("load_lines", "load_line"), (98, 132, 264))),
    lambda case: f"{case[0]}-{case[1]}", several=True,
))  # fmt: skip
def test_lines_come_as_fast_as_from_an_h200(kernel: str, blocks: int) -> None:
    """138 to 145 sectors a cycle of the chip."""
    assert _error(kernel, blocks, 0) == pytest.approx(0.0, abs=0.07)


@pytest.mark.parametrize("blocks", [8, 66, 98, 132])
def test_requests_for_single_sectors(blocks: int) -> None:
    """One a cycle of each SM, and 82 a cycle of the chip."""
    assert _error("load_sector", blocks, 0) == pytest.approx(0.0, abs=0.05)


@pytest.mark.parametrize("blocks", [16, 66])
@pytest.mark.parametrize("in_order", [0, 1])
def test_stores_of_words_send_their_line_and_their_sectors(blocks: int, in_order: int) -> None:
    """Two cycles of an SM for a word alone, five for four words that are a sector apart, until all
    SMs send more than L2 takes."""
    assert _error("store_sector", blocks, in_order) == pytest.approx(0.0, abs=0.04)


@pytest.mark.parametrize("blocks", [16, 66, 132])
def test_whole_lines_are_stored_a_sector_a_cycle(blocks: int) -> None:
    assert _error("store_line", blocks, 1) == pytest.approx(0.0, abs=0.03)


def test_l2_takes_fewer_requests_than_its_slices_have_cycles() -> None:
    """What the constants say, as recorded: 0.98 a cycle of an SM, 81 to 83 of the chip."""
    for blocks, rate in ((8, 0.98), (66, 0.98), (132, 0.62)):
        row = RECORDED["load_sector", MIB, 0, blocks]
        asked = row["lts__t_requests_srcunit_tex.sum"]
        cycles = row["sm__cycles_active.avg"] * SMS  # of the SMs that work
        assert asked / cycles == pytest.approx(rate, rel=0.02)
