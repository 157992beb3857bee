"""Triton's vector addition, softmax and layer norm: counters and times of an H200, recorded.

Recorded with validation/recorder/triton_cases.py; the machine code stands in the recording.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl

RECORDED = json.loads(
    (Path(__file__).parents[2] / "validation" / "data" / "triton_sm90.json").read_text()
)
# The hardware counts passes that arbitration adds; see DEVIATIONS.md, 43.
ARBITRATED = "l1tex__data_pipe_lsu_wavefronts_mem_shared"
WORST_PERCENT = 10  # of the predicted durations


def arguments(case: dict[str, Any], n: int) -> list[Any]:
    """The arrays that were there on the GPU, and the numbers behind them."""
    shape = (case["rows"], case["columns"])
    x = np.random.default_rng(1).random(shape, np.float32)
    row = np.linspace(0.5, 1.5, case["columns"], dtype=np.float32)
    arrays = {
        "add": [x, x[::-1].copy(), np.zeros_like(x)], "softmax": [x, np.zeros_like(x)],
        "layer_norm": [x, np.zeros_like(x), row, row],
    }[case["kernel"]]  # fmt: skip
    numbers = [np.int32(case["columns"])]
    if case["kernel"] == "layer_norm":
        numbers.append(np.float32(1e-5))
    return [*arrays, *numbers, np.uint64(0), np.uint64(0)][:n]


def cases() -> list[Any]:
    """The first of each kernel's here, the others in the long run."""
    seen: set[str] = set()
    found = []
    for case in RECORDED["cases"]:
        marks = [pytest.mark.long] if case["kernel"] in seen else []
        seen.add(case["kernel"])
        found.append(pytest.param(case, id=case["name"], marks=marks))
    return found


@pytest.mark.parametrize("case", cases())
def test_counters_and_time(case: dict[str, Any]) -> None:
    """Counters are the hardware's; the duration with cold caches is near the median's."""
    cold = np.array(case["cold"])
    nanoseconds, megahertz = np.median(cold[:, 0]), np.median(cold[:, 1] / cold[:, 0]) * 1000
    module = wl.Device("H200", clock=float(megahertz)).load(base64.b64decode(case["cubin"]))
    kernel = module[case["symbol"]]
    given = arguments(case, len(kernel.sass.parameters))
    launch = kernel[case["grid"], case["block"], 0, case["shared"]](*given)
    found = {name: launch.metric(name) for name in case["counters"]}

    exact = {n: value for n, value in case["counters"].items() if not n.startswith(ARBITRATED)}
    assert {name: found[name] for name in exact} == exact
    for name in case["counters"].keys() - exact.keys():
        assert found[name] <= case["counters"][name] <= 1.04 * found[name]
    duration = launch.metric("gpu__time_duration.sum")
    assert duration == pytest.approx(nanoseconds, rel=WORST_PERCENT / 100)
