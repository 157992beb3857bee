"""A wave and a part of another one: full waves are sampled, the last one's blocks are fewer."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from warplens.execute.rounds import Rounds
from warplens.timing.plans import plan

VALIDATION = Path(__file__).parents[2] / "validation"
SPACE = json.loads((VALIDATION / "data" / "spaces_sm90.json").read_text())["spaces"]["gemm"]
EVENTS_NS = 2400  # validation/tuning/compare.py


@pytest.mark.parametrize("instructions", [100_000.0, 250_000.0, 900_000.0])
@pytest.mark.parametrize(("per_sm", "resident"), [(8, 6), (4, 3), (17, 16), (16, 8), (20, 8)])
def test_one_wave_is_a_full_one(per_sm: int, resident: int, instructions: float) -> None:
    """Of blocks of which only one wave can be sampled."""
    total = 132 * per_sm - 32
    costs = (instructions, instructions / 10, instructions / 10, 100.0, 100.0)
    chosen = plan(total, Rounds(132, (0,) * resident, total // 132), resident, costs, cut=True)
    assert len(chosen.whole) >= resident
    assert len(chosen.around(total // 2, total).blocks) >= chosen.sms * resident * 0.9


PRODUCTS = [128, 64, 8, 4, 8, 1, 0], [64, 64, 8, 4, 8, 1, 0], [64, 128, 8, 4, 8, 0, 0]


@pytest.mark.parametrize("chosen", one_in(3, PRODUCTS, str))
def test_a_product_of_long_blocks_in_a_wave_and_a_third(chosen: list[int]) -> None:
    """Against an H200's times: all of a full wave's rate would be 11 to 19 % too quick, the last
    wave's alone 65 to 78 % too slow."""
    options = tuple(f"-D{n}={v}" for n, v in zip(SPACE["parameters"], chosen, strict=True))
    source = (VALIDATION / "tuning" / "kernels" / "gemm.cu").read_text()
    function = wl.Device("H200", clock="boost").compile(source, options=options)["gemm"]
    bm, bn, _, tm, tn, *_ = chosen
    n, k = 2048, 1024
    arrays = (np.zeros(size, np.float32) for size in (n * k, n * k, n * n))
    launched = function.predict[(n // bn, n // bm), bm * bn // (tm * tn)](
        *arrays, np.int32(n), np.int32(k)
    )

    expected = SPACE["ns"][SPACE["configurations"].index(chosen)] - EVENTS_NS
    assert launched.prediction().nanoseconds == pytest.approx(expected, rel=0.09)
