"""What the waits of loads are called that share their queue with other instructions, and what these
cost them: the replay against cycles and states that an H100 counted."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import recorder_script

VALIDATION = Path(__file__).parents[2] / "validation"
DATA = json.loads((VALIDATION / "data" / "named_sm90.json").read_text())
ROWS = {tuple(row[:3]): dict(zip(DATA["columns"], row, strict=True)) for row in DATA["rows"]}
CYCLES = "sm__cycles_active.avg"


@cache
def _cubin() -> bytes:
    source = (VALIDATION / "recorder" / "kernels" / "named.cu").read_text()
    return wl.Device("H100 SXM5", clock=1980).compile(source).unit.compiled(()).cubin


CASES = [
    ("number", 4), ("number", 1), ("shared", 4), ("constant", 4), ("special", 4), ("number", 16),
]  # fmt: skip


@pytest.mark.parametrize(("other", "each"), one_in(
    2, CASES, lambda case: "-".join(map(str, case)), several=True,
))  # fmt: skip
def test_cycles_and_names_as_counted(other: str, each: int) -> None:
    warps = 32
    with recorder_script("named") as recorder:
        kernel, kind = recorder.OTHERS[other]
        cubin = recorder.with_kinds(_cubin(), [kind]) if kind else _cubin()
        given = np.uint32(recorder.ROUNDS), np.uint32(recorder.NONE)
        blocks = recorder.SMS
    module = wl.Device("H100 SXM5", clock=1980).load(cubin)
    launch = module[f"named_{kernel}_{each}"].predict[(blocks,), (32 * warps,)](
        np.zeros(1024, np.uint32), np.zeros(1 << 17, np.uint8), *given
    )
    recorded = ROWS[other, each, warps]
    waits = {name: value for name, value in recorded.items() if "issue_stalled" in name}
    here = {name: float(launch.metric(name)) for name in waits}

    assert float(launch.metric(CYCLES)) == pytest.approx(recorded[CYCLES], rel=0.05)
    for name, value in waits.items():
        share = here[name] / sum(here.values())
        assert share == pytest.approx(value / sum(waits.values()), abs=0.18), name
