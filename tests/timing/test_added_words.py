"""Additions to lines drawn by lot of 8 MiB that L2 has, by lanes of a word, words of a sector and
sectors of a line, as fast as an H200 does them (`validation/data/added_words_sm90.json`)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.timing.replayed import CYCLES, behind_itself, recorded_rows, recorder_kernels

ROWS = recorded_rows("added_words", 6)
MIB, THREADS, TURNS = 8, 1024, 128


@pytest.mark.parametrize("shape", one_in(
    2, [(8, 1, 4), (1, 1, 1), (32, 1, 1), (2, 1, 4), (8, 4, 1), (4, 8, 1), (16, 1, 2), (1, 8, 4)],
    lambda shape: "-".join(map(str, shape)),
))  # fmt: skip
def test_lanes_of_words_all_over_l2_take_no_longer_than_their_sectors(
    shape: tuple[int, int, int],
) -> None:
    """From one lane a word to all 32, of a sector's words and of a line's sectors, on 132 SMs."""
    kernel = recorder_kernels("added_words", "H200")["added_words_int"]
    data = np.zeros(MIB << 20, np.uint8)
    shifts = (np.uint32(one.bit_length() - 1) for one in shape)
    numbers = np.uint32(data.nbytes // 128), np.uint32(TURNS), *shifts
    timing = behind_itself(kernel.predict[132, THREADS](data, *numbers))
    recorded = ROWS["int", MIB, 132, *shape][CYCLES]
    assert float(timing.value(CYCLES)) == pytest.approx(recorded, rel=0.15)
