"""Additions to lines drawn by lot of 8 MiB that L2 has, by lanes of a word, words of a sector and
sectors of a line, as fast as an H200 does them (`validation/data/added_words_sm90.json`)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.timing.replayed import CYCLES, behind_itself, recorded_rows, recorder_kernels

ROWS = recorded_rows("added_words", 6)
MIB, THREADS, TURNS = 8, 1024, 128


CASES = [
    *(("int", shape) for shape in ((8, 1, 4), (1, 1, 1), (32, 1, 1), (2, 1, 4), (8, 4, 1),
                                   (4, 8, 1), (16, 1, 2), (1, 8, 4))),
    *(("float", shape) for shape in ((8, 1, 1), (32, 1, 1), (16, 2, 1), (8, 2, 2))),
    *(("double", shape) for shape in ((8, 1, 1), (1, 4, 4), (4, 4, 1), (2, 2, 2), (32, 1, 1),
                                      (1, 1, 1))),
    *(("ask", shape) for shape in ((1, 8, 1), (2, 2, 1), (16, 2, 1), (8, 1, 4), (1, 4, 4),
                                   (2, 2, 2))),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "shape"), one_in(
    3, CASES, lambda case: "-".join((case[0], *map(str, case[1]))), several=True,
))  # fmt: skip
def test_words_all_over_l2_take_no_longer_than_their_sectors(
    kind: str, shape: tuple[int, int, int],
) -> None:
    """Whatever is added, from one lane a word to all 32, of a sector's words and of a line's
    sectors, on 132 SMs; two doubles or more of a sector take it longer, and so do answers."""
    kernel = recorder_kernels("added_words", "H200")[f"added_words_{kind}"]
    data = np.zeros(MIB << 20, np.uint8)
    shifts = (np.uint32(one.bit_length() - 1) for one in shape)
    numbers = np.uint32(data.nbytes // 128), np.uint32(TURNS), *shifts
    timing = behind_itself(kernel.predict[132, THREADS](data, *numbers))
    recorded = ROWS[kind, MIB, 132, *shape][CYCLES]
    assert float(timing.value(CYCLES)) == pytest.approx(recorded, rel=0.06)
