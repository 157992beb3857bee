"""Warps whose lanes walk along rows, from DRAM, against an H200
(`validation/data/columns_sm90.json`)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.timing.replayed import recorded_rows, recorder_kernels, recorder_script

RECORDED = recorded_rows("columns", 3)


def test_single_sectors_of_rows_come_from_dram_as_fast() -> None:
    """128 sectors of each row, which L2 does not hold: all of them cross from DRAM once."""
    with recorder_script("columns") as recorder:
        blocks, threads = recorder.BLOCKS, recorder.THREADS
    kernel = recorder_kernels("columns", "H200")["columns_load"]
    data, out = np.zeros(blocks * threads * 4096, np.uint8), np.zeros(threads, np.uint32)
    launch = kernel.predict[blocks, threads](out, data, 4096, 128)
    measured = RECORDED["load", 4096, 128]
    for metric, within in (
        ("lts__t_sectors.sum", 0.01), ("dram__sectors_read.sum", 0.06),
        ("sm__cycles_active.avg", 0.15),
    ):  # fmt: skip
        assert launch.metric(metric) == pytest.approx(measured[metric], rel=within), metric


def test_slices_of_l2_serve_rows_evenly_whatever_their_pitch() -> None:
    """So the hardware does, where more than a few sectors go to each; the model takes it for
    granted."""
    for counted in RECORDED.values():
        assert counted["lts__t_sectors.max"] < 1.15 * counted["lts__t_sectors.sum"] / 96
