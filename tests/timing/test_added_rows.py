"""Additions to rows that L2 has, by whole lines or single words, as fast as an H200 does them
(`validation/data/hit_rates_sm90.json`), and what decides how fast that is."""

from __future__ import annotations

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.timing.replayed import (
    CYCLES,
    behind_itself,
    over_recorded,
    recorded_rows,
    recorder_kernels,
    recorder_script,
    recording,
)
from tests.timing.touching import accesses
from warplens.execute.coalescing import atomic_turns
from warplens.timing.contention import contention
from warplens.timing.lsu import ATOMIC
from warplens.timing.touched import Touched

ROWS = recorded_rows("hit_rates", 4)
MIB = 8
CASES = [
    (name, in_order, blocks)
    for name, in_order in (("add_line", 0), ("add_sector", 0), ("float_line", 0),
                           ("ask_sector", 0), ("add_sector", 1), ("ask_line", 0),
                           ("double_lines", 0), ("ask_sector", 1))
    for blocks in (132, 33)
]  # fmt: skip


@pytest.mark.parametrize(("name", "in_order", "blocks"), one_in(
    4, CASES, lambda case: "-".join(map(str, case)), several=True,
))  # fmt: skip
def test_rows_that_l2_has_are_added_to_as_fast(name: str, in_order: int, blocks: int) -> None:
    """64 sectors per cycle on the chip of whole lines, and of four words of a line; 56 of single
    words, 36 to 42 with answers."""
    with recorder_script("hit_rates") as recorder:
        size, turns = recorder.KERNELS[name]
    kernel = recorder_kernels("hit_rates", "H200")[f"hit_rates_{name}"]
    marks, data = np.zeros(3 * blocks, np.uint64), np.zeros(MIB << 20, np.uint8)
    numbers = (np.uint32(one) for one in (data.nbytes // size, turns, in_order))
    timing = behind_itself(kernel.predict[blocks, 1024](marks, data, *numbers))
    cycles = float(timing.value(CYCLES))
    assert cycles == pytest.approx(ROWS[name, MIB, in_order, blocks][CYCLES], rel=0.08)


def test_single_words_all_over_l2_are_added_to_as_fast() -> None:
    """So are those drawn by lot of another recording, of which DRAM brings a part."""
    cases = {case["name"]: case for case in recording("scattered_adds")["cases"]}
    near = {"add_int/262144": 0.06, "add_float/65536": 0.06, "add_int/4194304": 0.1}
    for name, most in near.items():
        error = over_recorded("scattered_adds", cases[f"{name}/132x256"])
        assert abs(error) < most, (name, error)


def _turns(words: list[int]) -> tuple[int, int, int]:
    cycles, turns, deep = atomic_turns(4 * np.array(words, np.int64), (1 << len(words)) - 1)
    return int(cycles), int(turns), int(deep)


def test_words_of_fewer_lanes_have_no_part_in_the_last_turns() -> None:
    assert _turns(list(range(32))) == (5, 1, 1)  # four sectors, and one packet more
    assert _turns([8 * (i % 4) for i in range(32)]) == (40, 8, 8)
    # All words in the first turn, one that sixteen lanes more have in sixteen further ones
    assert _turns([*range(16), *[0] * 16]) == (3 + 16, 17, 17)


def test_warps_that_walk_may_end_with_several_lines() -> None:
    """Lanes of four blocks' warps all add to one word after the other, of 64 lines, and once to
    words of four."""
    lines = np.tile(np.concatenate([8 * np.arange(64), 8 * np.arange(4)]), 4)
    first = (68 * np.arange(4)[:, None] + np.arange(65)).ravel()
    made = accesses(len(first), kind=ATOMIC, block=np.repeat(np.arange(4), 65))
    made["first_line"], made["n_lines"] = first, np.tile([*[1] * 64, 4], 4)
    shares, passes = np.zeros(len(lines), np.float32), np.ones((len(lines), 10), np.float32)
    contention(Touched.of(made, lines << 4 | 1), 4, shares, passes, np.zeros(4, np.int64))
    assert passes[:64, 2] == pytest.approx(8.0, rel=0.01)
    assert passes[64:68, 2] == pytest.approx(1.0)
