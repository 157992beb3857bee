"""Loads of lines that are on their way to L1: predicted times against an H200's.

The recorder's own kernels (`validation/recorder/kernels/pending.cu`) run here.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in

VALIDATION = Path(__file__).parents[2] / "validation"
RECORDED = json.loads((VALIDATION / "data" / "pending_sm90.json").read_text())
TIMES = {(same, blocks, step): ns for same, blocks, step, ns in RECORDED["rows"]}
EVENTS_NS = 2400  # as validation/tuning/compare.py
COUNT = 64


@pytest.fixture(scope="module")
def module() -> wl.Module:
    source = (VALIDATION / "recorder" / "kernels" / "pending.cu").read_text()
    return wl.Device("H200", clock="boost").compile(source)


@pytest.mark.parametrize(("same", "step"), one_in(
    3, [(28, 32), (7, 0), (28, 0)], lambda case: f"{case[0]}-{case[1]}", first=2, several=True,
))
def test_times_as_recorded(module: wl.Module, same: int, step: int) -> None:
    """Lines on their way cost more than lines that are there, by as much as on an H200."""
    blocks = 2112
    data = np.zeros(blocks * 8 * COUNT * step + 4096, np.float32)
    out = np.zeros(blocks * 8, np.float32)
    launch = module[f"rows_{same}"].predict[(blocks,), (256,)](
        out, data, np.int32(COUNT), np.int32(step)
    )
    measured = TIMES[same, blocks, step] - EVENTS_NS

    assert launch.prediction().nanoseconds == pytest.approx(measured, rel=0.08)
