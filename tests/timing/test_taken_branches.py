"""What a taken branch costs a warp by itself: cycles of an H200, states of an H100."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import recorded_rows, recorder_kernels
from warplens.session.written_arguments import parse

TIMING = Path(__file__).parents[2] / "validation" / "timing"
LOOPS: dict[str, Any] = json.loads((TIMING / "h200_loops.json").read_text())
ALONE = [case for case in LOOPS["cases"] if case["block"][0] <= 128]  # a warp per scheduler
STATES = recorded_rows("states", 2)
ROUNDS = 256


@cache
def _loops() -> wl.Module:
    names = sorted({case["kernel"] for case in LOOPS["cases"]})
    source = (TIMING / LOOPS["source"]).read_text()
    return wl.Device("H200", clock=LOOPS["clock_mhz"]).compile(source, name_expressions=names)


@pytest.mark.parametrize("case", one_in(3, ALONE, lambda case: case["name"]))
def test_its_target_issues_ten_cycles_later(case: dict[str, Any]) -> None:
    """Whatever the branch's stall count; the next line's instructions three after the target."""
    given = [parse(text, seed=index) for index, text in enumerate(case["arguments"])]
    launch = _loops()[case["kernel"]].predict[tuple(case["grid"]), tuple(case["block"])](*given)
    measured = case["measured"]["sm__cycles_active.avg"]
    assert float(launch.metric("sm__cycles_active.avg")) == pytest.approx(measured, rel=0.004)


@pytest.mark.parametrize("kernel", ["loop_short", "loop_long", "skips", "shuffles"])
def test_how_its_cycles_are_counted(kernel: str) -> None:
    """Three in `branch_resolving`, two in `no_instruction`, and one more where the line ends."""
    recorded = STATES[kernel, 1]
    arrays = np.zeros(1 << 14, np.uint32), np.zeros(1 << 14, np.uint32)
    shape = (132,), (32,)
    launch = recorder_kernels("states")[kernel].predict[shape](*arrays, np.uint32(ROUNDS))
    warps = 132.0
    for state in ("branch_resolving", "no_instruction", "wait"):
        name = f"smsp__warps_issue_stalled_{state}.sum"
        here, there = float(launch.metric(name)) / warps, recorded[name] / warps
        assert here == pytest.approx(there, rel=0.02, abs=45), state
