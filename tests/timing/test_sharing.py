"""What blocks share, told from few SMs; pieces of DRAM rows, against bandwidths of an H200."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.timing.touching import touched
from warplens.execute.trace import ELSEWHERE
from warplens.gpus import find_gpu
from warplens.timing import dram, l2_answer, rows
from warplens.timing.plans import spread
from warplens.timing.sharing import (
    Arrays,
    Sharing,
    _count_halves,
    _mark_halves,
    extrapolated,
    sharing,
)
from warplens.timing.touched import Touched, distinct

DATA = Path(__file__).parents[2] / "validation" / "data"
PIECES = json.loads((DATA / "pieces_sm90.json").read_text())
SMS, SIDE, EACH = 132, 32, 200  # a grid of SIDE x SIDE blocks
READ, WRITE = 1, 2
Ints = npt.NDArray[np.int64]


def _touched(blocks: Ints, lines_of: Any, kind: int = READ, sm: int = 0) -> Touched:
    """Blocks of one warp that accesses each of its lines once; those of one SM are replayed."""
    lines = [np.asarray(lines_of(block)) for block in blocks.tolist()]
    block = np.repeat(blocks, [len(one) for one in lines])
    whose = np.where(block % SMS == sm, 0, ELSEWHERE)
    return touched(np.concatenate(lines), 0b1111, block=block, kind=kind, entry=whose)


def _product(block: int) -> list[int]:
    """As a tiled multiplication: lines of the block's row of one matrix, column of the other."""
    y, x = divmod(block, SIDE)
    return [*range(y * EACH, (y + 1) * EACH), *range(100_000 + x * EACH, 100_000 + (x + 1) * EACH)]


def _sampled(sms: int, rounds: int) -> Ints:
    places = spread(SMS, sms)
    return np.array(sorted(r * SMS + place for r in range(rounds) for place in places))


@pytest.mark.parametrize("sms", [22, 40, 80])
def test_lines_of_all_blocks_are_told_from_some(sms: int) -> None:
    """A wave of 264 blocks: nine rows of blocks, all columns; then the grid's 1,024."""
    touched = _touched(_sampled(sms, 2), _product)
    found = sharing(touched, 2 * sms, SMS, SMS)
    assert found.chip_lines == pytest.approx((9 + SIDE) * EACH, rel=0.3)
    assert found.lines == len(np.unique(touched.lines))
    whole = sharing(touched, 2 * sms, SMS, SMS, blocks=SIDE * SIDE, size_lines=1e6)
    assert whole.chip_lines == pytest.approx(2 * SIDE * EACH, rel=0.4)


@pytest.mark.parametrize("users", [1, 2, 3, 8, 40])
def test_lines_that_as_many_of_all_use_are_counted(users: int) -> None:
    """Of 132 units 15 are known; 20,000 lines are used by so many of all, chosen at random."""
    rng = np.random.default_rng(users)
    known = np.array([np.count_nonzero(rng.permutation(SMS)[:users] < 15) for _ in range(20_000)])
    arrays = Arrays(np.zeros(len(known), np.int64), np.array([np.inf]))
    found = extrapolated(known, SMS / 15, arrays)
    assert found.sum() == pytest.approx(20_000, rel=0.1)


@pytest.mark.parametrize("sms", [1, 2, 5, 22])
def test_lines_of_one_block_each_are_all_counted(sms: int) -> None:
    touched = _touched(_sampled(sms, 2), lambda block: range(block * EACH, (block + 1) * EACH))
    found = sharing(touched, 2 * sms, SMS, SMS)
    assert found.chip_lines == pytest.approx(2 * SMS * EACH, rel=0.01)


def test_no_more_lines_are_used_than_were_allocated() -> None:
    """Four SMs whose blocks have no line in common tell nothing of what the others share; the two
    matrices do. A matrix that no sampled block reads is left out."""
    ends = [[0, SIDE * EACH], [50_000, 90_000], [100_000, 100_000 + SIDE * EACH]]
    some = _touched(np.array([0, 1 * SIDE + 1, 2 * SIDE + 2, 3 * SIDE + 3]), _product)
    assert sharing(some, 4, SMS, SMS).chip_lines > 4 * 2 * SIDE * EACH
    found = sharing(some, 4, SMS, SMS, extents=np.array(ends))
    assert found.chip_lines == 2 * SIDE * EACH
    assert found.part == pytest.approx(2 * SIDE * EACH / SMS / (2 * EACH))
    outside = sharing(some, 4, SMS, SMS, extents=np.array(ends[:2]))
    assert outside == sharing(some, 4, SMS, SMS)


@pytest.mark.parametrize("sms", [22, 40])
def test_each_array_tells_for_itself(sms: int) -> None:
    """Of a grid of 1,024 blocks each reads 20 lines of one array alone and 20 of 400 lines of
    another one, drawn by lot: that these are met time after time tells nothing of the former."""
    drawn = np.random.default_rng(1).integers(400, size=(1024, 20))
    used = _touched(
        _sampled(sms, 2),
        lambda block: [*range(block * 20, block * 20 + 20), *(100_000 + drawn[block])],
    )
    ends = np.array([[0, 1024 * 20], [100_000, 100_400]])
    found = sharing(used, 2 * sms, SMS, SMS, blocks=1024, size_lines=1e6, extents=ends)
    assert found.chip_lines == pytest.approx(1024 * 20 + 400, rel=0.02)
    assert found.part == pytest.approx((1024 * 20 + 400) / (1024 * 40), rel=0.05)


def test_a_small_array_stays_where_all_arrays_have_no_room() -> None:
    """Blocks read 32 lines of their own, 16 of a row of a mask that every 512th block reads as well
    and store to 32: not all of the grid's lines stay, but the mask's do."""
    row = np.random.default_rng(1).permutation(512)  # rows do not follow from a block's place
    made = [
        (block, kind, line)
        for block in _sampled(40, 2).tolist()
        for kind, first, n in ((READ, block * 32, 32), (READ, 600_000 + row[block % 512] * 16, 16),
                               (WRITE, 700_000 + block * 32, 32))
        for line in range(first, first + n)
    ]  # fmt: skip
    block, kind, line = (np.array(column) for column in zip(*made, strict=True))
    used = touched(line, 0b1111, block=block, kind=kind, entry=ELSEWHERE)
    ends = np.array([[0, 524_288], [600_000, 608_192], [700_000, 1_224_288]])
    found = sharing(used, 80, SMS, SMS, blocks=16384, size_lines=491_520, extents=ends)
    assert found.is_of_wave
    assert found.part == pytest.approx((32 + 8192 / 16384) / 48, rel=0.03)


@pytest.mark.parametrize("l2_lines", [1e5, 1e4])
def test_what_all_waves_read(l2_lines: float) -> None:
    """Each block reads 64 lines of its own and all the same 64, more than L2 holds: eight blocks of
    an SM, two at a time, fetch 512 lines and next to nothing of the others. Where L2 does not hold
    those of a wave either, 16,960, each two blocks fetch 128 and their share of the others."""
    blocks = _sampled(40, 8)
    used = _touched(blocks, lambda block: [*range(64), *range((block + 1) * 64, (block + 2) * 64)])
    found = sharing(used, 80, SMS, SMS, blocks=4096, size_lines=l2_lines, grid=(4096, 1, 1))
    assert found.is_exact
    fetched = {1e5: 8 * 64 / (9 * 64), 1e4: (2 * 64 + 64 / SMS) / (3 * 64)}
    assert found.part == pytest.approx(fetched[l2_lines], rel=0.02)


def test_kernels_that_only_write() -> None:
    """One SM is sampled beside others; there are no reads to estimate."""
    touched = _touched(np.array([0, 5]), lambda block: range(EACH), kind=WRITE)
    found = sharing(touched, 2, SMS, SMS)
    assert (found.lines, found.part) == (EACH, 0)


def test_all_sms_sampled_leave_nothing_to_estimate() -> None:
    touched = _touched(np.arange(2 * SMS), _product)
    lines = 41.0 * EACH
    part = lines / (2 * SMS * 2 * EACH)  # of what all blocks read
    found = sharing(touched, 2 * SMS, SMS, SMS)
    assert found == Sharing(lines=lines, chip_lines=lines, part=part)


@pytest.mark.parametrize("sms", [22, 40])
def test_a_fetch_falls_to_one_of_all_that_use_it(sms: int) -> None:
    """Of the fetches of a wave, in halves of 41 x 200 lines, an SM of 132 makes its share."""
    touched = _touched(_sampled(sms, 2), _product)
    share = sharing(touched, 2 * sms, SMS, SMS)
    found = l2_answer.answer(touched, 2 * sms, 1 << 24, SMS, share)
    made = np.count_nonzero(found.arrivals == -1)
    assert made == pytest.approx(2 * 41 * EACH / SMS, rel=0.5)


@pytest.mark.parametrize("size", [0, 1, 1000])
def test_distinct_values(size: int) -> None:
    values = np.random.default_rng(1).integers(-50, 50, size)
    np.testing.assert_array_equal(distinct(values), np.unique(values))


def test_what_blocks_write_for_themselves_is_not_fetched() -> None:
    """All read 200 lines alike and write others: an SM of 132 fetches few of the 400 halves."""
    blocks = _sampled(22, 2)
    columns = [
        (block, kind, first)
        for block in blocks.tolist() for kind, first in ((READ, 0), (WRITE, 1000 + block * EACH))
    ]  # fmt: skip
    block, kind, first = (np.repeat(column, EACH) for column in zip(*columns, strict=True))
    lines = first + np.tile(np.arange(EACH), len(columns))
    whose = np.where(block % SMS == 0, 0, ELSEWHERE)
    used = touched(lines, 0b1111, block=block, kind=kind, entry=whose)
    share = sharing(used, 44, SMS, SMS, blocks=4 * SMS, size_lines=1e6)
    found = l2_answer.answer(used, 44, 1 << 28, SMS, share)
    assert np.count_nonzero(found.arrivals == -1) <= 10


@pytest.mark.parametrize(("pitch", "size"), [(1, 512.0), (64, 128.0)])
def test_pieces_of_a_row_that_neighbours_write(pitch: int, size: float) -> None:
    """A line each: side by side in a row, or in different rows; of the SM that is replayed."""
    each = [_touched(np.arange(4), lambda block: [block * pitch], WRITE, sm) for sm in range(4)]
    assert [rows.pieces(used)[sm] for sm, used in enumerate(each)] == [size] * 4


def test_pieces_of_a_row_that_long_blocks_read_together() -> None:
    """64 bytes of each of 4,096 rows for every block: where blocks follow each other those of
    others come long before or after, where all begin together they come together."""
    side, each = 8, 4096
    block = np.repeat(np.arange(side), each)
    lines = np.tile(np.arange(each) * 64, side) + block // 2
    sectors = np.where(block % 2, 0b1100, 0b0011)
    used = touched(lines, sectors, block=block, kind=READ)
    assert set(rows.pieces(used).tolist()) == {64.0}
    assert set(rows.pieces(used, begin_together=True).tolist()) == {64.0 * side}


def test_pieces_are_not_known_of_one_block() -> None:
    touched = _touched(np.array([0, SMS, 2 * SMS]), lambda block: [block])
    assert not rows.pieces(touched).any()


def test_reads_come_by_64_bytes_and_writes_by_lines() -> None:
    """One sector of a line: DRAM reads two; of what is written later L2 makes the whole line."""
    used = touched([7, 99, 99], [1, 1, 6], block=[0, 0, 1], kind=[READ, WRITE, WRITE])
    assert rows.pieces(used).tolist() == [64.0, 96.0, 96.0]


@pytest.mark.parametrize("what", ["read", "write"])
@pytest.mark.parametrize("piece", [32, 64, 128, 256, 512, 1024])
def test_bandwidth_of_scattered_pieces_as_recorded(what: str, piece: int) -> None:
    """Against that of pieces of 4 KiB; what is read of 32 bytes is 64."""
    table = [dict(zip(PIECES["columns"], row, strict=True)) for row in PIECES["rows"]]
    rate = {
        row["piece_bytes"]: row["gigabytes_per_second"] for row in table
        if row["what"] == what and row["read_apart" if what == "read" else "write_apart"] == 0
        and (row["quads_per_thread"], row["blocks_per_sm"], row["pitch_bytes"]) == (4, 8, 65536)
    }  # fmt: skip
    moved = max(piece, 64) if what == "read" else piece
    recorded = rate[piece] / rate[4096] * moved / piece
    opening = find_gpu("H200").value(f"dram.{what}_piece_bytes")
    trace = _Trace(np.array([moved], np.float32))
    ours = 1.0 / dram._stretch.py_func(trace, 0, opening)
    assert ours == pytest.approx(recorded, rel=0.09)


class _Trace:
    def __init__(self, pieces: Any) -> None:
        self.pieces = pieces


@pytest.mark.parametrize("sms", [1, 5, 40])
def test_halves_are_counted_the_same_in_either_way(sms: int) -> None:
    """By lines, and with a table of all SMs."""
    rng = np.random.default_rng(7)
    blocks = rng.integers(0, 60, 4000)
    used = touched(rng.integers(0, 500, 4000), rng.integers(1, 16, 4000), block=blocks)
    place, among = np.arange(len(used.blocks)) % sms, (rng.random(4000) < 0.8).view(np.uint8)
    uses = used.used, used.lines, used.at, used.user, place, among
    halves = np.zeros((2, used.n_lines), np.uint8)

    by_lines = _count_halves(used.by_line, *uses, 3, np.zeros(2 * sms, np.int64), halves[0])
    table = np.zeros((used.n_lines, -(-sms // 16)), np.uint32)
    with_table = _mark_halves(*uses, 3, table, halves[1])

    assert with_table == by_lines > 0
    np.testing.assert_array_equal(halves[0], halves[1])
