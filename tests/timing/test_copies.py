"""Tensor copies and mbarriers in time, against cycles that an H200 counted (copy_bursts.py)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.timing.replayed import events_of, recorder_script
from warplens.timing.stall import SELECTED
from warplens.toolchain.nvrtc import compile_source

DATA = Path(__file__).parents[2] / "validation" / "data" / "copy_bursts_sm90.json"
with (
    recorder_script("copy_bursts") as BURSTS, recorder_script("hopper_cases") as CASES,
    recorder_script("hopper") as HOPPER, recorder_script("cuda_driver") as CUDA,
):  # fmt: skip
    ROUNDS = BURSTS.ROUNDS


@cache
def recorded() -> dict[tuple[Any, ...], list[int]]:
    """Cycles by kernel, bytes of a row, rows, copies, blocks and what else."""
    return {tuple(row[:-1]): row[-1] for row in json.loads(DATA.read_text())["rows"]}


def clocks(kernel: str, block: int, arguments: Any) -> list[Any]:
    """Per warp of a block the cycles in which it reads the clock; `arguments` of the driver."""
    with wl.cuda("H200", clock=1980.0) as gpu:
        driver = CUDA.Driver()
        module = driver.load(compile_source(BURSTS.source(), sm=90).cubin)
        function = driver.function(module, kernel)
        driver.set_dynamic_shared(function, 132 << 10)
        driver.launch(function, (1,), (block,), arguments(driver), 132 << 10)
        driver.synchronize()
        timing = gpu.launches[-1].timing
        driver.free_all()
    code = timing.question.kernel.instructions
    events = events_of(timing, 400_000)
    reads = [i for i, one in enumerate(code) if "SR_CLOCK" in one.text]
    found = events[(events[:, 3] == SELECTED) & np.isin(events[:, 4], reads)]
    return [np.sort(found[found[:, 5] == warp, 1]) for warp in range(block // 32 or 1)]


@pytest.mark.parametrize(("wide", "rows", "count"), [(128, 1, 4), (128, 256, 4), (64, 64, 1)])
def test_bursts_of_loads(wide: int, rows: int, count: int) -> None:
    """When the copies are issued and when all of them are there: within 8 % of an H200."""

    def arguments(driver: Any) -> Any:
        height = 132 * 16 * 256
        box = CASES.Map(array=-1, kind=0, sizes=(wide, height), strides=(wide,), box=(wide, rows),
                        steps=(1, 1))  # fmt: skip
        given = HOPPER.encode(driver, box, driver.alloc(wide * height).value)
        numbers = map(np.int32, (wide * rows, rows, count))
        return (given, *numbers, driver.alloc(1 << 16))

    known = recorded()["load_burst", wide, rows, count, 1, 0][: 2 * ROUNDS]
    begun, issued, done = clocks("load_burst", 1, arguments)[0].reshape(ROUNDS, 3).T

    assert median((issued - begun)[2:]) == pytest.approx(median(known[4::2]), rel=0.08)
    assert median((done - begun)[2:]) == pytest.approx(median(known[5::2]), rel=0.08)


def test_a_waiting_warp_goes_on_after_the_arrival() -> None:
    """From before the arrival to behind the wait: as many cycles as on an H200, within 15 %."""
    first, second = clocks(
        "wake", 64, lambda driver: (np.int32(400), np.int32(1), driver.alloc(1 << 16))
    )
    told = first[np.searchsorted(first, second) - 1]

    assert median(second - told) == pytest.approx(recorded()["wake", 0, 0, 1, 1, 400][1], rel=0.15)
