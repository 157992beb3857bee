"""Warps whose lanes walk along rows, from DRAM, against an H200
(`validation/data/columns_sm90.json`)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from warplens import Device

ROOT = Path(__file__).parents[2] / "validation"
DATA = json.loads((ROOT / "data" / "columns_sm90.json").read_text())
CLOCK = 1980  # MHz, of the recording
BLOCKS, THREADS = 264, 256


def test_single_sectors_of_rows_come_from_dram_as_fast() -> None:
    """128 sectors of each row, which L2 does not hold: all of them cross from DRAM once."""
    found = {
        (row[0], *row[1:3]): dict(zip(DATA["columns"], row, strict=True)) for row in DATA["rows"]
    }
    measured = found["load", 4096, 128]
    device = Device("H200", clock=CLOCK)
    source = (ROOT / "recorder" / "kernels" / "columns.cu").read_text()
    kernel = device.compile(source)["columns_load"]
    data = device.to_device(np.zeros(BLOCKS * THREADS * 4096, np.uint8))
    out = device.to_device(np.zeros(THREADS, np.uint32))
    launch = kernel.predict[BLOCKS, THREADS](out, data, 4096, 128)
    for metric, within in (
        ("lts__t_sectors.sum", 0.01), ("dram__sectors_read.sum", 0.04),
        ("sm__cycles_active.avg", 0.15),
    ):  # fmt: skip
        assert launch.metric(metric) == pytest.approx(measured[metric], rel=within), metric


def test_slices_of_l2_serve_rows_evenly_whatever_their_pitch() -> None:
    """So the hardware does, where more than a few sectors go to each; the model takes it for
    granted."""
    for row in DATA["rows"]:
        counted = dict(zip(DATA["columns"], row, strict=True))
        assert counted["lts__t_sectors.max"] < 1.15 * counted["lts__t_sectors.sum"] / 96
