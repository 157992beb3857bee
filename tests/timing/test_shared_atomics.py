"""Atomics on shared memory, replayed beside what an H200 took."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl

ROOT = Path(__file__).parents[2]
RECORDED = json.loads((ROOT / "validation/data/shared_atomics_sm90.json").read_text())
SOURCE = (ROOT / "validation/recorder/kernels/shared_atomics.cu").read_text()
ROWS = [
    row for row in RECORDED["rows"]
    if row[0] in ("inc", "add") and row[1] in (1, 32) and row[2] == 1 and row[3] in (1, 16)
]  # fmt: skip
# Sums of floats: loops of exchanges, whose rounds take turns
ROUNDS = [row for row in RECORDED["rows"]
          if row[0] == "add_float" and row[1] in (4, 8, 16) and row[2] == 1]  # fmt: skip


@pytest.fixture(scope="module")
def module() -> Any:
    """The recorded kernels."""
    return wl.Device("H200", clock=1980).compile(SOURCE)


@pytest.mark.parametrize("row", ROWS + ROUNDS, ids=lambda row: "-".join(map(str, row[:4])))
def test_cycles_of_an_atomic(module: Any, row: list[Any]) -> None:
    """Additions of one join the lanes of a word, other additions do not; of warps that add floats
    to one word each has to read it after the last."""
    name, lanes, apart, warps, cycles = row
    ends = []
    for turns in (50, 100):
        words = (np.uint32(one) for one in (lanes.bit_length() - 1, apart, turns, 3))
        launch = module[name].predict[1, 32 * warps](np.zeros(8, np.uint64), *words)
        ends.append(float(launch["sm__cycles_active.max"]))

    assert (ends[1] - ends[0]) / (200 * warps) == pytest.approx(cycles, rel=0.2)
