"""Tensor copies of the whole chip against an H200: what SMs that share lines get from L2 once, at
the same step and some steps apart, and streams of boxes through DRAM by the width of their rows,
loaded, stored, moved and added."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import recorder_script
from warplens.timing.model import Model
from warplens.toolchain.nvrtc import compile_source

DATA = Path(__file__).parents[2] / "validation" / "data"
SMS, STARTED = 132, 550  # cycles before a block's first instruction, and after its last
with (
    recorder_script("copy_streams") as STREAMS, recorder_script("cuda_driver") as CUDA,
    recorder_script("hopper") as HOPPER, recorder_script("copy_lags") as LAGS,
):  # fmt: skip
    SOURCE, LAGGING = STREAMS.source(), LAGS.source()


@cache
def rows(name: str = "copy_streams_sm90") -> list[Any]:
    """The recording."""
    found: list[Any] = json.loads((DATA / f"{name}.json").read_text())["rows"]
    return found


def model(kernel: str, plane: Any, numbers: tuple[int, ...], blocks: tuple[int, int], shared: int,
          maps: int, size: int, source: str = SOURCE) -> Model:  # fmt: skip
    """The model of one launch; arguments are maps, numbers, a counter of zeros and the results."""
    with wl.cuda("H200", clock=1980.0) as gpu:
        driver = CUDA.Driver()
        function = driver.function(driver.load(compile_source(source, sm=90).cubin), kernel)
        driver.set_dynamic_shared(function, shared)
        given = [HOPPER.encode(driver, plane, driver.alloc(size).value) for _ in range(maps)]
        met = driver.alloc(256)
        driver.fill(met, 0, 256)
        others = (met,) if kernel == "sharing" else ()
        arguments = (*given, *map(np.int32, numbers), *others, driver.alloc(1 << 16))
        driver.launch(function, (blocks[0],), (blocks[1],), arguments, shared)
        driver.synchronize()
        launch = gpu.launches[-1]
        launch.metric("gpu__time_duration.sum")
        driver.free_all()
    return launch.timing.model


SHARED = [(0, 1), (0, 2), (0, 4), (0, 16), (1, 22), (1, 16), (1, 12), (1, 4)]


@pytest.mark.parametrize("case", one_in(8, SHARED, str, first=4))
def test_what_sms_share_l2_reads_once(case: tuple[int, int]) -> None:
    """Blocks beside each other (0), or every n-th one (1), load the same boxes."""
    how, group = case
    known = {r[1][4]: r[3] for r in rows() if r[0] == "sharing" and r[1][:4] == [64, how, group, 0]
             and len(r[1]) == 5}  # fmt: skip
    plane = STREAMS._plane(0, 1, 128, 160 << 13, 128, (128, 64))

    found = model("sharing", plane, (64, how, group, 0), (SMS, 1), 4 * 128 * 64, 1, 160 << 20)

    boxes = found.touched.context["n_lines"][found.touched.access] == 64
    part = float(found.merged[found.touched.at[boxes]].mean())
    read = 32 * known["lts__t_sectors_op_read.sum"]
    assert part == pytest.approx(read / known["l1tex__m_xbar2l1tex_read_bytes.sum"], abs=0.15)


# blocks that share boxes, how many boxes each is behind the one before it
APART = [(2, 1), (2, 2), (2, 3), (2, 5), (4, 1), (16, 1), (16, 3)]


@pytest.mark.parametrize("case", one_in(8, APART, str, first=4))
def test_sms_behind_each_other_find_lines_on_their_way(case: tuple[int, int]) -> None:
    """Boxes of 16 KiB, four of them on their way at a time."""
    group, lag = case
    known = {r[1][4]: r[3] for r in rows("copy_lags_sm90") if r[1][:4] == [128, 0, group, lag]
             and len(r[1]) == 5}  # fmt: skip
    plane = STREAMS._plane(0, 1, 128, 160 << 13, 128, (128, 128))
    numbers = (128, 0, group, lag)

    found = model("sharing", plane, numbers, (SMS, 1), 4 * 128 * 128, 1, 160 << 20, LAGGING)

    boxes = found.touched.context["n_lines"][found.touched.access] == 128
    part = float(found.merged[found.touched.at[boxes]].mean())
    read = 32 * known["lts__t_sectors_op_read.sum"]
    assert part == pytest.approx(read / known["l1tex__m_xbar2l1tex_read_bytes.sum"], abs=0.07)


# width of a row, pitch, rows of a box; mode, how far the copy is moved
SHAPES = [(256, 256, 32), (32, 256, 256), (16, 256, 256)]
STREAMED = [(shape, mode, 0) for shape in SHAPES for mode in (1, 2, 3, 4, 5)]
STREAMED.append(((32, 256, 256), 3, 16))


@pytest.mark.parametrize("case", one_in(16, STREAMED, str))
def test_streams_take_an_h200s_time(case: tuple[tuple[int, int, int], int, int]) -> None:
    """Loads (1), stores (2), both (3), sums (4), loads and sums (5) of 32 MiB."""
    shape, mode, shift = case
    width, pitch, high = shape
    size, element = 32 << 20, 4 if mode & 4 else 1
    setting = [*shape, size, mode, shift, 1, 4]
    known = min(r[3] for r in rows() if r[0] == "stream" and r[1] == setting)
    plane = STREAMS._plane(2 if element == 4 else 0, element, pitch, size // pitch, pitch,
                           (width, high))  # fmt: skip
    across = pitch // width
    boxes = across * (size // pitch // high)
    numbers = (mode, width * high, high, across, boxes, width // element, shift // element, 4)

    found = model("stream", plane, numbers, (4 * SMS, 32), 4 * 8192, 2, size)

    assert found.estimate.mean_cycles - STARTED == pytest.approx(known, rel=0.22)
