"""Reads of special registers, of lanes' own numbers and of others, and loads of constants: the
replay against cycles and states that an H100 counted."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import recorder_script

VALIDATION = Path(__file__).parents[2] / "validation"
DATA = json.loads((VALIDATION / "data" / "lane_numbers_sm90.json").read_text())
ROWS = {tuple(row[:2]): dict(zip(DATA["columns"], row, strict=True)) for row in DATA["rows"]}
CYCLES = "sm__cycles_active.avg"


@cache
def _cubin() -> bytes:
    source = (VALIDATION / "recorder" / "kernels" / "lane_numbers.cu").read_text()
    return wl.Device("H100 SXM5", clock=1980).compile(source).unit.compiled(()).cubin


CASES = [
    ("thread", 4), ("thread", 1), ("block", 8), ("block", 4), ("constant", 4), ("constant", 16),
    ("thread", 16), ("thread", 8), ("thread block", 16), ("thread constant", 8),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "warps"), one_in(
    2, CASES, lambda case: "-".join(map(str, case)), several=True,
))  # fmt: skip
def test_paces_and_waits_as_counted(kind: str, warps: int) -> None:
    with recorder_script("lane_numbers") as recorder:
        changed = recorder.with_kinds(_cubin(), kind.split())
        rounds, blocks = recorder.ROUNDS, recorder.SMS
    module = wl.Device("H100 SXM5", clock=1980).load(changed)
    launch = module["numbers"].predict[(blocks,), (32 * warps,)](
        np.zeros(1024, np.uint32), np.uint32(rounds), np.uint32(1 << 20)
    )
    recorded = ROWS[kind, warps]
    waits = {name: value for name, value in recorded.items() if "issue_stalled" in name}
    here = {name: float(launch.metric(name)) for name in waits}

    assert float(launch.metric(CYCLES)) == pytest.approx(recorded[CYCLES], rel=0.05)
    for name, value in waits.items():
        share = here[name] / sum(here.values())
        assert share == pytest.approx(value / sum(waits.values()), abs=0.17), name
