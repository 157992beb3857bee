"""Configurations that fail in every way there is, and a search that is interrupted."""

from __future__ import annotations

from typing import Any

import numpy as np

import warplens as wl
from warplens.tune import Tuned

SOURCE = """
#if HOW == 1
#error "not this one"
#endif
__global__ void twice(const float* a, float* b) {
    int i = blockIdx.x * BX + threadIdx.x;
    b[HOW == 2 && blockIdx.x == 37 ? i + (1 << 28) : i] = (HOW == 3 ? 3 : 2) * a[i];
}
"""
N = 1 << 12
A = np.arange(N, dtype=np.float32)


def search(**options: Any) -> Tuned:
    """Five ways to go on: right, no code, a fault, a wrong result, right as well."""
    return wl.tune(
        SOURCE, kernel="twice", space={"BX": [64, 2048], "HOW": [0, 1, 2, 3, 4]},
        grid=f"{N} // BX", block="BX", args=[A, np.zeros(N, np.float32)], reference={1: 2 * A},
        **{"processes": 1, "gpus": ["H200"], "confirm": 5} | options,
    )  # fmt: skip


def test_every_failure_has_its_row() -> None:
    """None ends the search; each reason says what it is, and the right ones are kept."""
    found = search()
    problems = {row.name: row.problem for row in found.failures()}

    assert {row.name for row in found.of()} == {"BX=64 HOW=0", "BX=64 HOW=4"}
    assert "does not compile" in problems["BX=64 HOW=1"]
    assert problems["BX=64 HOW=2"].startswith("MemoryFault"), problems["BX=64 HOW=2"]
    assert problems["BX=64 HOW=3"] == "wrong result in argument 1"
    assert all("block x = 2,048" in text for name, text in problems.items()
               if name.startswith("BX=2048") and not name.endswith("HOW=1"))  # fmt: skip
    assert len(problems) == 8 and found.stopped == ""


def test_an_interrupt_keeps_what_was_found() -> None:
    """Ctrl-C while predicting: what was predicted stays, the rest is unknown, nothing is lost."""

    def interrupt(stage: str, done: int, total: int) -> None:
        if stage == "predicted" and done == 3:
            raise KeyboardInterrupt

    found = search(progress=interrupt)

    assert found.stopped == "interrupted" and "Stopped: interrupted" in str(found)
    states = {row.name: row.status for row in found.rows}
    assert states["BX=64 HOW=0"] == "predicted" and states["BX=64 HOW=4"] == "compiled"
    assert found.best is not None and found.best.time_ns == search(confirm=0).of()[0].time_ns
