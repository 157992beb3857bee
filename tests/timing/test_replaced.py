"""Which lines L2 still has when they are asked for again."""

from __future__ import annotations

import numpy as np
import pytest

from tests.timing.touching import touched
from warplens.execute.trace import ELSEWHERE
from warplens.timing import l2_answer
from warplens.timing.added import Grid, changed_lines, first_added
from warplens.timing.lsu import ATOMIC, READ
from warplens.timing.sharing import Sharing, sharing

LINES, SMS = 4096, 132


@pytest.mark.parametrize(("capacity", "found"), [(1.2, 1.0), (0.8, 0.0)])
def test_the_lines_used_last_are_there(capacity: float, found: float) -> None:
    """A loop through more than L2 has room for finds nothing of it, as recorded on an H200
    (`validation/data/warmth_sm90.json`, 56 MiB read again and again); one through less all."""
    loop = touched(np.tile(np.arange(LINES), 2), 0b1111, kind=READ)
    answer = l2_answer.answer(loop, 1, capacity * LINES * 128, 1, Sharing())
    again = answer.hits[LINES:] & 15 == 15
    assert again.mean() == pytest.approx(found, abs=0.05)


@pytest.mark.parametrize(("apart", "found"), [(15, 1.0), (25, 0.0), (100, 0.0)])
def test_waves_that_are_left_out_replace_lines(apart: int, found: float) -> None:
    """Three blocks of an SM read a row each that none of those between read, and the second and the
    third one the row of the one before as well: it is gone if there is no room for as many rows as
    blocks have come, 20, and all there else, as in a loop."""
    rows = [[0], [0, 1], [1, 2]]
    block = np.repeat([0, apart, 2 * apart], [len(one) * 64 for one in rows])
    lines = np.concatenate([np.arange(row * 64, row * 64 + 64) for one in rows for row in one])
    used = touched(lines, 0b1111, kind=READ, block=block)
    for is_of_wave in (True, False):
        share = Sharing(is_of_wave=is_of_wave)
        hits = l2_answer.answer(used, 1, 64 * 20 * 128, 1, share).hits & 15
        expected = found if is_of_wave else 1.0
        assert (hits[64:128] == 15).mean() == pytest.approx(expected, abs=0.05)


def test_rows_that_two_blocks_far_apart_read() -> None:
    """Blocks i and i + 4,096 of 8,192 read a row of 64 lines. Of 22 blocks in turn, and 22 from
    4,096 on, half find their row's other reader, as if all rows were known."""
    blocks = np.concatenate([np.arange(0, 2112, 96), 4096 + np.arange(0, 1056, 96)])
    lines = np.concatenate([np.arange(64) + block % 4096 * 64 for block in blocks.tolist()])
    used = touched(lines, 0b1111, kind=READ, block=np.repeat(blocks, 64))
    ends = np.array([[0, 4096 * 64]])
    few = sharing(used, 22, SMS, 1, blocks=8192, size_lines=1e9, extents=ends).chip_lines
    assert few > 0.7 * 4096 * 64


def test_what_other_blocks_have_added_to_is_there() -> None:
    """Four of 64 blocks add to 512 of 4,096 lines each, drawn by lot: all lines are fetched once by
    some block, by these only a sixteenth."""
    drawn = np.random.default_rng(1).integers(LINES, size=4 * 512)
    block = np.repeat([0, 16, 32, 48], 512)
    entry = np.where(block == 0, 0, ELSEWHERE)
    adds = touched(drawn, 0b0011, kind=ATOMIC, block=block, entry=entry)
    part = first_added(adds, 1e9, Grid(64, 4, 16, np.array([[0, LINES]])))
    seen = len(np.unique(drawn))
    assert part == pytest.approx(LINES / 16 / seen, rel=0.1)
    alone = l2_answer.answer(adds, 4, 1 << 24, 16, Sharing())
    among = l2_answer.answer(adds, 4, 1 << 24, 16, Sharing(), added=part)
    first, left = (np.count_nonzero(one.hits[:512] & 3 == 0) for one in (alone, among))
    assert left == pytest.approx(part * first, rel=0.3)
    assert first_added(adds, 100.0, Grid(64, 4, 16, np.array([[0, LINES]]))) == 1.0


def test_rows_of_blocks_that_add_to_arrays_of_their_own() -> None:
    """Of 16 rows of blocks each adds all over a part of an array; the sampled blocks are of four
    of them, and each waves'."""
    drawn = np.random.default_rng(1).integers(256, size=(4, 8, 200))
    rows = np.array([0, 5, 10, 15])
    block = np.repeat(rows[:, None] * 64 + np.arange(0, 64, 8), 200)
    adds = touched((drawn + 256 * rows[:, None, None]).ravel(), 0b0001, kind=ATOMIC, block=block)
    found = changed_lines(adds, Grid(1024, 8, 8, np.array([[0, 16 * 256]])), ATOMIC)
    assert found == pytest.approx(16 * 256, rel=0.25)
