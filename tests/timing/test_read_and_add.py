"""Blocks that read DRAM and add to one word: predicted times against an H200's.

The recorder's own kernel (`validation/recorder/kernels/read_and_add.cu`) runs here. Sectors from
DRAM hold up the slice of L2 that adds, those from L2 do not; where both take about as long, neither
has all of the time.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in

VALIDATION = Path(__file__).parents[2] / "validation"
RECORDED = json.loads((VALIDATION / "data" / "read_and_add_sm90.json").read_text())
TIMES = {tuple(row[:5]): row[5] for row in RECORDED["rows"]}
EVENTS_NS = 2400  # as validation/tuning/compare.py
VECTORS = {"dram": (1 << 24) - 1, "l2": (1 << 20) - 1}
CASES = [(32768, 4, "dram", 1), (65536, 2, "dram", 1), (131072, 1, "dram", 1),
         (16384, 8, "dram", 2), (65536, 2, "l2", 1)]  # fmt: skip


@pytest.fixture(scope="module")
def kernel() -> wl.Kernel:
    source = (VALIDATION / "recorder" / "kernels" / "read_and_add.cu").read_text()
    return wl.Device("H200", clock="boost").compile(source)["read_and_add"]


@pytest.mark.parametrize("case", one_in(4, CASES, lambda case: "/".join(map(str, case))))
def test_times_as_recorded(kernel: wl.Kernel, case: tuple[int, int, str, int]) -> None:
    """Within 4 % wherever adding takes as long as reading, or longer."""
    blocks, each, level, adds = case
    mask = VECTORS[level]
    data, out = np.zeros(4 * (mask + 1), np.float32), np.zeros(1, np.float32)
    launch = kernel.predict[(blocks,), (128,)](
        data, out, np.uint32(mask), np.int32(each), np.int32(adds), np.uint32(1), np.uint32(1)
    )
    measured = TIMES[blocks, each, level, adds, 1] - EVENTS_NS

    assert launch.prediction().nanoseconds == pytest.approx(measured, rel=0.04)
