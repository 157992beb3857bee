"""Bursts of accesses, few blocks of an SM, sectors written in part, loops: against an H200."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.timing.touching import accesses, touched
from warplens.cli._launch_arguments import parse
from warplens.gpus import find_gpu
from warplens.timing.fills import fills
from warplens.timing.state import Ints
from warplens.timing.touched import Touched
from warplens.validation.measured import DURATION, compare_file

VALIDATION = Path(__file__).parents[2] / "validation"
BURSTS = json.loads((VALIDATION / "data" / "bursts_sm90.json").read_text())
WRITE = 2
# Of validation/timing, where all cases and their errors are (results.txt).
CASES = [
    ("h200_vectors", "add_wide/256/2"), ("h200_vectors", "add_wide/1024/1"),
    ("h200_vectors", "add_four_near/256/4"), ("h200_transpose_f32", "by_16_bytes/8192/1"),
    ("h200_transpose_f32", "naive/8192/1"), ("h200_rests", "read/float4x2/8/0"),
    ("h200_rests", "copy/float4x4/32/512"), ("h200_rests", "write/float4x2/32/0"),
    ("h200_loops", "loop/8/0/4"), ("h200_loops", "either/4/0/4"),
]  # fmt: skip


def _cycles(what: str, loads: int, sms: int = 1, pause: int = 1000) -> float:
    """Of a burst of 32 warps with so many 16-byte accesses of a lane, to 18 MiB that L2 holds."""
    found = [
        row for row in (dict(zip(BURSTS["columns"], row, strict=True)) for row in BURSTS["rows"])
        if (row["what"], row["lane_bytes"], row["loads"], row["warps"]) == (what, 16, loads, 32)
        and (row["buffer_bytes"], row["sms"], row["pause"]) == (18 << 20, sms, pause)
    ]  # fmt: skip
    assert len(found) == 1
    return float(found[0]["cycles_of_a_burst"])


@pytest.mark.parametrize(
    ("what", "rate"), [("read", "sm_bytes_per_cycle"), ("write", "sm_write_bytes_per_cycle")]
)
def test_width_of_the_way_to_l2_as_recorded(what: str, rate: str) -> None:
    """64 KiB more in a burst take so much longer."""
    recorded = (64 << 10) / (_cycles(what, 8) - _cycles(what, 4))
    assert find_gpu("H200").value(f"l2.{rate}") == pytest.approx(recorded, rel=0.08)


def test_bursts_of_other_sms_leave_a_burst_alone() -> None:
    """So the model lets an SM use what others leave: 132 SMs that rest are as quick as one."""
    assert _cycles("read", 2, sms=132, pause=3000) == pytest.approx(_cycles("read", 2), rel=0.05)


@pytest.mark.parametrize(
    ("name", "case"),
    one_in(8, CASES, lambda case: "-".join(case).removeprefix("h200_"), several=True),
)
def test_times_as_recorded(name: str, case: str) -> None:
    path = VALIDATION / "timing" / f"{name}.json"
    (found,) = [c for c in compare_file(path, parse, pattern=case) if c.name == case]
    assert not found.problem
    assert found.predicted[DURATION] == pytest.approx(found.measured[DURATION], rel=0.1)


def _filled(masks: list[int], lanes: int, size: int, lines: list[int], step: list[int]) -> Ints:
    """Stores of one warp after another, a line each: the sectors to complete."""
    used = touched(lines, masks, kind=WRITE, lanes=lanes, size=size, warp=np.arange(len(masks)))
    return np.asarray(fills(used, np.array(step), 1), np.int64)


def test_a_sector_written_in_part_must_be_completed() -> None:
    assert _filled([0b0101], 2, 4, [7], [0]).tolist() == [0b0101]


def test_a_sector_that_is_written_whole_needs_nothing() -> None:
    assert _filled([0b1111], 32, 4, [7], [0]).tolist() == [0]


def test_what_others_write_at_the_same_time_completes_a_sector() -> None:
    """Eight stores of four bytes to it, all at once or one after another."""
    assert not _filled([1] * 8, 1, 4, [7] * 8, [0] * 8).any()
    assert not _filled([1] * 8, 1, 4, [7] * 8, list(range(8))).any()


def test_what_comes_much_later_does_not_complete_a_sector() -> None:
    """Between the halves of line 7's sector the SM writes 1,000 other lines."""
    others = list(range(100, 1100))
    found = _filled([1] * 1002, 1, 16, [7, *others, 7], [0] + [1] * 1000 + [2])
    assert found[0] == 1


def test_of_a_misplaced_stretch_the_ends_are_written_in_part() -> None:
    """128 bytes from the middle of a sector on: 3 sectors of a line and 2 of the next, in any
    order of the lines."""
    access = accesses(1, kind=WRITE, lanes=32, size=4, n_lines=2)
    for order in (1, -1):
        table = np.array([7 << 4 | 0b1110, 8 << 4 | 0b0011])[::order].copy()
        found = fills(Touched.of(access, table), np.zeros(1, np.int64), 1)
        assert found[::order].tolist() == [0b0010, 0b0010]
