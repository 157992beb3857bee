"""Warps whose lanes walk along rows, from DRAM, against an H200
(`validation/data/columns_sm90.json`)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.timing.replayed import recorded_rows, recorder_kernels, recorder_script
from warplens.gpus import find_gpu

RECORDED = recorded_rows("columns", 3)


@pytest.mark.parametrize("pitch", [4096, 8192])
def test_single_sectors_of_rows_come_from_dram_as_fast(pitch: int) -> None:
    """128 sectors of each row, which L2 does not hold: all of them cross from DRAM once, two at a
    time, and L2 looks them up then as well."""
    with recorder_script("columns") as recorder:
        blocks, threads = recorder.BLOCKS, recorder.THREADS
    kernel = recorder_kernels("columns", "H200")["columns_load"]
    data, out = np.zeros(blocks * threads * pitch, np.uint8), np.zeros(threads, np.uint32)
    launch = kernel.predict[blocks, threads](out, data, pitch, 128)
    measured = RECORDED["load", pitch, 128]
    for metric, within in (
        ("lts__t_sectors.sum", 0.01), ("dram__sectors_read.sum", 0.06),
        ("sm__cycles_active.avg", 0.07),
    ):  # fmt: skip
        assert launch.metric(metric) == pytest.approx(measured[metric], rel=within), metric


def test_what_dram_brings_takes_slices_as_long_as_they_look_it_up() -> None:
    """Cycles of an SM for a single sector: 1.65 where L2 has it, and 0.5 to 0.9 more for each
    that DRAM brings, whether all of them come from there or two thirds."""
    found = find_gpu("H200").value("l2.request_cycles")
    with recorder_script("columns") as recorder:
        rows = recorder.BLOCKS * recorder.THREADS
    for (name, _, sectors), measured in RECORDED.items():
        brought = measured["dram__sectors_read.sum"] / (rows * sectors)
        if name != "load" or brought < 0.5:
            continue
        cycles = (measured["sm__cycles_active.avg"] - 1000.0) / (rows * sectors / 132)
        assert 0.5 < (cycles - found) / brought < 0.95, (sectors, brought)


def test_slices_of_l2_serve_rows_evenly_whatever_their_pitch() -> None:
    """So the hardware does, where more than a few sectors go to each; the model takes it for
    granted."""
    for counted in RECORDED.values():
        assert counted["lts__t_sectors.max"] < 1.15 * counted["lts__t_sectors.sum"] / 96
