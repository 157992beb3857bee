"""Loads of lines that L2 serves from its other side, against an H200
(`validation/data/written_lines_sm90.json`, `changing_lines_sm90.json`)."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.timing.replayed import CYCLES, recorded_rows, recorder_kernels
from tests.timing.touching import touched
from warplens.timing.sides import OF, sides

RECORDED = recorded_rows("written_lines", 4)
CHANGING = recorded_rows("changing_lines", 4)
KINDS = ("none", "word", "line", "atomic", "stored_apart", "loaded")
STEPS = 512
SAME_SIDE, OTHER_SIDE = 131, 33  # as block 0: found from the recording itself


@pytest.mark.parametrize(("kind", "writer", "is_far"), [
    ("line", SAME_SIDE, False), ("line", OTHER_SIDE, True), ("word", OTHER_SIDE, True),
    ("loaded", OTHER_SIDE, False), ("atomic", 0, True), ("atomic", SAME_SIDE, True),
])  # fmt: skip
def test_half_of_the_lines_come_from_the_other_side_once(
    kind: str, writer: int, is_far: bool
) -> None:
    """What an SM of the other side has stored, and what any has added to."""
    near = RECORDED["none", 0, 0, 0]["mean"]
    first, again = (RECORDED[kind, 0, writer, number]["mean"] - near for number in (0, 1))
    assert first == pytest.approx(86.0 if is_far else 0.0, abs=3.0)
    assert again == pytest.approx(0.0, abs=3.0)


def test_the_first_load_alone_asks_the_other_side() -> None:
    """Of a line that two SMs read: half of the lines have their home there, and in half of the
    cases the other SM is on that side as well."""
    block, lines = np.array([0, 0, 0, 1, 1]), [7, 7, 8, 7, 9]
    used = touched(lines, 0b1111, block=block, kind=1, entry=np.where(block == 0, 0, -2))
    found = sides(used, np.arange(len(lines)), stride=132, active_sms=2, extents=None)
    assert found.tolist() == [int(0.25 * (OF - 1)), 0, 0, 0, 0]


@cache
def _cycles(lines: int, warps: int, kind: str) -> float:
    """Predicted, of a step."""
    numbers = (lines, 32, STEPS, 1, KINDS.index(kind))
    launch = recorder_kernels("written_lines", "H200")["changing_lines"].predict[132, 32 * warps](
        np.zeros(1 << 16, np.uint32), np.zeros(32 * lines, np.uint32), *map(np.uint32, numbers)
    )
    return float(launch.metric(CYCLES)) / STEPS


@pytest.mark.parametrize("kind", ["word", "line", "atomic"])
@pytest.mark.parametrize("warps", [1, 4])
def test_changes_of_others_make_loads_wait(warps: int, kind: str) -> None:
    """Steps that change a line behind the one that they load, against those that do not."""
    lines = 8192  # which the first steps bring to L2
    measured = CHANGING[lines, warps, 1, kind]["mean"] - CHANGING[lines, warps, 1, "none"]["mean"]
    mine = _cycles(lines, warps, kind) - _cycles(lines, warps, "none")
    assert mine == pytest.approx(measured, abs=20.0)
