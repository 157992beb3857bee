"""Blocks that first read a part of their own of what all then read: against an H100's times.

The recorder's own kernel (`validation/recorder/kernels/begun.cu`) runs here, and accesses made by
hand go through L2.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.touching import accesses
from warplens.execute.trace import ELSEWHERE
from warplens.timing.begun import Grid
from warplens.timing.l2_answer import L2Answer, answer
from warplens.timing.sharing import Sharing
from warplens.timing.touched import Touched

VALIDATION = Path(__file__).parents[2] / "validation"
RECORDED = json.loads((VALIDATION / "data" / "begun_h100.json").read_text())
TIMES = {tuple(row[:4]): row[4] for row in RECORDED["rows"]}
EVENTS_NS = 1850  # of a launch, which an empty one takes, too
SMS = 132
SAMPLED = (0, 1, 2, 3, 21, 60, 90, 120)  # blocks, one on each SM
FIRST, LOOP = 10, 11  # instructions
ALL, LOW = 0b1111, 0b0011  # sectors


@cache
def _launch(name: str, bodies: int, threads: int) -> wl.Launch:
    source = (VALIDATION / "recorder" / "kernels" / "begun.cu").read_text()
    kernel = wl.Device("H100 SXM5", clock=1980).compile(source)[name]
    array = np.random.default_rng(1).random(4 * bodies).astype(np.float32)
    arrays = (array,) if name == "of_all" else (array, array.copy())
    out = np.zeros(bodies, np.float32)
    return kernel.predict[(bodies // threads,), (threads,)](out, *arrays, np.uint32(bodies))


@pytest.mark.parametrize("bodies, threads", one_in(
    2, [(4096, 32), (16384, 128)], lambda case: "-".join(map(str, case)), several=True,
))
def test_what_others_read_as_they_begin_is_there(bodies: int, threads: int) -> None:
    """Replayed whole, and in a window: no wait for DRAM, which brings the array once."""
    launch = _launch("of_all", bodies, threads)
    measured = TIMES["of_all", bodies, threads, "cold"] + EVENTS_NS

    assert launch.prediction().nanoseconds == pytest.approx(measured, rel=0.1)
    assert float(launch.metric("dram__bytes_read.sum")) == pytest.approx(16 * bodies, rel=0.02)


def test_who_begins_with_something_else_waits_for_dram() -> None:
    launch = _launch("apart", 16384, 128)
    measured = TIMES["apart", 16384, 128, "cold"] + EVENTS_NS

    assert launch.timing.model.answer.of_others == 0.0
    assert launch.prediction().nanoseconds == pytest.approx(measured, rel=0.06)


def _answer(first: Callable[[int], int], *, sectors: int = ALL, size: float = 1 << 20,
            grid: Grid | None = None) -> tuple[Touched, L2Answer]:  # fmt: skip
    """Of blocks of one warp that read a line of their own, then all lines of an array."""
    grid = grid or Grid((SMS, 1, 1), SMS)
    lines = np.array([[first(block), *range(SMS)] for block in SAMPLED])
    masks = np.full(lines.shape, ALL)
    masks[:, 0] = sectors
    block = np.repeat(SAMPLED, SMS + 1)
    instruction = np.tile([FIRST] + SMS * [LOOP], len(SAMPLED))
    made = accesses(
        lines.size, block=block, instruction=instruction, kind=1,
        entry=np.where(block == 0, 0, ELSEWHERE),
    )  # fmt: skip
    touched = Touched.of(made, (lines << 4 | masks).ravel())
    sharing = Sharing(beside=4, ratio=SMS / 5, part=1 / SMS)
    return touched, answer(touched, len(SAMPLED), size, SMS, sharing, grid)


def _waits(found: tuple[Touched, L2Answer]) -> tuple[int, int]:
    """How many lines of the loop another SM is only just fetching: their first and second half."""
    touched, known = found
    late = known.hits[(touched.context["instruction"] == LOOP) & (touched.context["block"] == 0)]
    low, high = (np.count_nonzero(late >> 4 & mask) for mask in (LOW, ALL - LOW))
    return low, high


FEW, MOST = 4, 100  # lines: asked for before beginning is over everywhere, and nearly all


def test_blocks_that_were_not_sampled_follow_from_those_that_were() -> None:
    """Where first reads move along with the blocks, and are those of what the loop reads."""
    assert max(_waits(_answer(lambda block: block))) < FEW
    assert min(_waits(_answer(lambda block: 5000 + block))) > MOST
    mixed = np.random.default_rng(5).permutation(SMS).tolist()
    assert min(_waits(_answer(lambda block: mixed[block]))) > MOST


def test_halves_of_lines_come_by_themselves() -> None:
    low, high = _waits(_answer(lambda block: block, sectors=LOW))
    assert low < FEW + len(SAMPLED)  # a line whose other half is being fetched counts as late
    assert high > MOST


def test_blocks_that_have_not_begun_have_brought_nothing() -> None:
    """The second half of the grid begins with what the loop reads, while the first half runs."""
    def first(block: int) -> int:
        return 2 * SMS - 1 - block

    assert min(_waits(_answer(first, grid=Grid((2 * SMS, 1, 1), SMS)))) > MOST
    assert max(_waits(_answer(first, grid=Grid((2 * SMS, 1, 1), 2 * SMS)))) < FEW


def test_what_l2_has_replaced_is_fetched_again() -> None:
    """Of a quarter of the lines, L2 loses most before the loop comes to them."""
    assert sum(_waits(_answer(lambda block: block, size=SMS / 4 * 128))) > MOST


def test_as_many_fetches_fall_to_who_reads_lines_as_it_begins() -> None:
    """Of a line for each SM, this one fetches its own, and no other."""
    touched, known = _answer(lambda block: block)
    fetched = np.flatnonzero(known.arrivals < 0.0)
    own = known.fetches[(touched.context["instruction"] == FIRST) & (touched.context["block"] == 0)]
    assert fetched.tolist() == sorted(own.ravel().tolist())
