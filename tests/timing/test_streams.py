"""Threads that read a word of each of some arrays and write a word of each of others, on a line and
off it, against an H200 (`validation/data/streams_sm90.json`)."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import CLOCK_MHZ, RECORDER, recorded_rows, recorder_script

RECORDED = recorded_rows("streams", 6)


@cache
def _device() -> tuple[wl.Device, wl.Module]:
    device = wl.Device("H200", clock=CLOCK_MHZ)
    return device, device.compile((RECORDER / "kernels" / "streams.cu").read_text())


@pytest.mark.parametrize(("reads", "writes", "read_shift", "write_shift", "within"), one_in(
    3, [
        (20, 0, 4, 0, 0.07), (0, 20, 0, 0, 0.07), (0, 4, 0, 4, 0.12), (8, 8, 0, 4, 0.17),
        (20, 20, 0, 4, 0.22), (4, 4, 0, 4, 0.1), (1, 4, 4, 4, 0.1), (4, 1, 4, 4, 0.05),
        (20, 20, 0, 0, 0.12),
    ], str, first=3, several=True,
))  # fmt: skip
def test_times(reads: int, writes: int, read_shift: int, write_shift: int, within: float) -> None:
    """Rows that are stored a word off a line end within sectors, which keeps L2 from serving what
    others read and write: up to twice as long."""
    device, module = _device()
    with recorder_script("streams") as recorder:
        pitch = recorder.TOTAL // (reads + writes) >> 20 << 20
        data = device.to_device(np.zeros(2 * recorder.TOTAL, np.uint8))
    measured = RECORDED[reads, writes, read_shift, write_shift, 128, 0]
    begin = data.address + read_shift, data.address + reads * pitch + write_shift
    out = np.zeros(1024, np.uint32)
    launch = module[f"streams_{reads}_{writes}"].predict[int(measured["blocks"]), 128](
        out, *(np.uint64(one) for one in (*begin, pitch))
    )
    for metric, near in (
        ("gpu__time_duration.sum", within), ("lts__t_sectors_srcunit_tex.sum", 0.07),
    ):  # fmt: skip
        assert launch.metric(metric) == pytest.approx(measured[metric], rel=near), metric
