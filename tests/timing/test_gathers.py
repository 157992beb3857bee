"""Loads of single sectors strewn over what L2 holds, against an H200
(`validation/data/kinds_sm90.json`)."""

from __future__ import annotations

from tests.timing.replayed import recorder_kernels, recording
from warplens.session.written_arguments import parse

TIME = "gpu__time_duration.sum"
CASES = {case["name"]: case for case in recording("kinds")["cases"]}


def test_slices_send_sectors_while_dram_fills_them() -> None:
    case = CASES["gather/4194304"]
    kernel = recorder_kernels("kinds", "H200")[case["kernel"]]
    given = [parse(text, seed=index) for index, text in enumerate(case["arguments"])]
    launch = kernel.predict[tuple(case["grid"]), tuple(case["block"])](*given)
    assert abs(launch.metric(TIME) / case["measured"][TIME] - 1.0) < 0.06
