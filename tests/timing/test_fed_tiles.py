"""Tiled products whose tiles come from global memory, against an H200's counters: cycles, and how
long warps wait for loads, by who shares the tiles and whether L2 holds them before."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import behind_itself, recorder_script

VALIDATION = Path(__file__).parents[2] / "validation"
RECORDED = json.loads((VALIDATION / "data" / "fed_tiles_sm90.json").read_text())
ROWS = [dict(zip(RECORDED["columns"], row, strict=True)) for row in RECORDED["rows"]]
SMS, WARPS, DEPTH = 132, 8, 1024
LONG = "smsp__warps_issue_stalled_long_scoreboard.sum"


@cache
def _module() -> wl.Module:
    source = (VALIDATION / "recorder" / "kernels" / "fed_tiles.cu").read_text()
    return wl.Device("H200", clock=1980).compile(source, options=["-std=c++17"])


@pytest.mark.parametrize("row", one_in(
    10, [row for row in ROWS if row["kernel"] in ("fed_columns8", "fed_columns16")],
    lambda row: f"{row['kernel']}-{row['blocks']}-{row['width']}-{row['of_dram']}",
))  # fmt: skip
def test_cycles_and_waits_as_counted(row: dict[str, Any]) -> None:
    """Cycles within 8 %, waits for loads within a quarter."""
    name, blocks = row["kernel"], row["blocks"]
    a, b = (np.zeros(128 * SMS * 2 * DEPTH, np.float32) for _ in "ab")  # never touched
    with recorder_script("fed_tiles") as recorder:
        numbers = recorder.numbers(name, row["width"])
    launch = _module()[name].predict[(SMS * blocks,), (32 * WARPS,)](
        np.zeros(1024, np.float32), a, b, *numbers
    )
    timing = launch.timing if row["of_dram"] else behind_itself(launch)
    cycles = float(timing.answers.value("sm__cycles_active.avg"))
    assert cycles == pytest.approx(row["sm__cycles_active.avg"], rel=0.08)
    waits = float(dict(timing.answers.stalls)["long_scoreboard"])
    assert waits == pytest.approx(row[LONG], rel=0.25)
