"""Blocks that walk through the same parts of an array: the replay against an H200's cycles. In step
they all wait for DRAM, as the one that is ahead does; with other work they come apart."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in

VALIDATION = Path(__file__).parents[2] / "validation"
RECORDED = json.loads((VALIDATION / "data" / "sharers_sm90.json").read_text())
ROWS = [dict(zip(RECORDED["columns"], row, strict=True)) for row in RECORDED["rows"]]
SMS, WARPS, ROUNDS = 132, 8, 96
KEYS = "rows", "columns", "blocks", "width", "work"


@cache
def _module() -> wl.Module:
    source = (VALIDATION / "recorder" / "kernels" / "sharers.cu").read_text()
    return wl.Device("H200", clock=1980).compile(source, options=["-std=c++17"])


def _launch(rows: int, columns: int, blocks: int, width: int, work: int) -> wl.Launch:
    out = np.zeros(2 * SMS * (ROUNDS * WARPS + 1), np.uint32)
    numbers = np.uint32(width), np.uint32(ROUNDS), np.uint32(work)
    kernel = _module()[f"sharers_{rows}_{columns}"]
    data = np.zeros(1 << 30, np.uint8).view(np.uint32)  # never touched: pages of zeros
    return kernel.predict[(SMS * blocks,), (32 * WARPS,)](out, data, *numbers)


def _of(case: tuple[int, ...]) -> dict[str, Any]:
    return next(
        row for row in ROWS if row["of_dram"] and tuple(row[key] for key in KEYS) == case
    )


@pytest.mark.parametrize("case", one_in(
    3, [(1, 0, 1, 1, 64), (1, 0, 1, 11, 64), (1, 0, 1, 132, 64), (2, 0, 2, 33, 64),
        (1, 1, 1, 4, 64), (2, 2, 1, 33, 64), (2, 2, 1, 132, 64)], str, first=1,
))  # fmt: skip
def test_who_shares_waits_as_long_as_who_does_not(case: tuple[int, ...]) -> None:
    """Whether each SM reads its own part or all of them the same: cycles of a round."""
    launch = _launch(*case)
    cycles = float(launch.metric("sm__cycles_active.avg")) / ROUNDS
    assert cycles == pytest.approx(_of(case)["round"], rel=0.08)


def test_fetches_are_shared_out() -> None:
    """All bytes of the rows' parts come from DRAM once, however many SMs read them."""
    alone, shared = _launch(2, 0, 1, 1, 64), _launch(2, 0, 1, 33, 64)
    part = SMS * ROUNDS * WARPS * 2 * 512
    assert float(alone.metric("dram__bytes_read.sum")) == pytest.approx(part, rel=0.02)
    assert float(shared.metric("dram__bytes_read.sum")) == pytest.approx(part / 33, rel=0.3)


def test_an_sm_with_other_work_is_less_in_step() -> None:
    """What SMs do between their loads hides what they wait for others' fetches."""
    idle = _launch(1, 0, 1, 33, 0).timing.model.in_step
    busy = _launch(1, 0, 2, 33, 256).timing.model.in_step
    assert idle > 0.9
    assert 0.2 < busy < idle
