"""Configurations that fail in every way there is, and a search that is interrupted."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from warplens.tune import Tuned

SOURCE = """
#if HOW == 1
#error "not this one"
#endif
__global__ void twice(const float* a, float* b) {
    int i = blockIdx.x * BX + threadIdx.x;
    if (HOW == 5 && i == 37 * BX) for (int k = 1; k; k = k * 1664525 + 1013904223 | 1) b[i] += k;
    b[HOW == 2 && blockIdx.x == 37 ? i + (1 << 28) : i] = (HOW == 3 ? 3 : 2) * a[i];
}
"""
N = 1 << 12
A = np.arange(N, dtype=np.float32)


def search(**options: Any) -> Tuned:
    """Six ways to go on: right, no code, a fault, a wrong result, right as well, without an end."""
    return wl.tune(
        SOURCE, kernel="twice", space={"BX": [64, 2048], "HOW": [0, 1, 2, 3, 4, 5]},
        grid=f"{N} // BX", block="BX", args=[A, np.zeros(N, np.float32)], reference={1: 2 * A},
        **{"processes": 1, "gpus": ["H200"], "confirm": 6, "timeout": "1s"} | options,
    )  # fmt: skip


def test_every_failure_has_its_row() -> None:
    """None ends the search; each reason says what it is, and the right ones are kept."""
    found = search()
    problems = {row.name: row.problem for row in found.failures()}

    assert {row.name for row in found.of()} == {"BX=64 HOW=0", "BX=64 HOW=4"}
    assert 'kernel.cu(3): catastrophic error: #error directive: "not this one"' in (
        problems["BX=64 HOW=1"]
    )
    fault = problems["BX=64 HOW=2"]
    assert fault.startswith("MemoryFault: invalid __global__ write of size 4 bytes"), fault
    assert fault.endswith("thread (0,0,0) in block (37,0,0)") and "kernel.cu:8" in fault
    assert problems["BX=64 HOW=5"].startswith("LimitExceeded")
    assert problems["BX=64 HOW=5"].endswith("stopped after 1 s")
    assert problems["BX=64 HOW=3"] == "wrong result in argument 1"
    assert all("block x = 2,048" in text for name, text in problems.items()
               if name.startswith("BX=2048") and not name.endswith("HOW=1"))  # fmt: skip
    assert len(problems) == 10 and found.stopped == ""


def test_an_interrupt_keeps_what_was_found() -> None:
    """Ctrl-C while predicting: what was predicted stays, the rest is unknown, nothing is lost."""

    def interrupt(stage: str, done: int, total: int) -> None:
        if stage == "predicted" and done == 3:
            raise KeyboardInterrupt

    found = search(progress=interrupt)

    assert found.stopped == "interrupted" and "Stopped: interrupted" in str(found)
    states = {row.name: row.status for row in found.rows}
    assert states["BX=64 HOW=0"] == "predicted" and states["BX=64 HOW=5"] == "compiled"
    assert found.best is not None and found.best.time_ns == search(confirm=0).of()[0].time_ns


@pytest.mark.long
def test_failures_are_the_same_whoever_meets_them() -> None:
    """Two processes and Dask's workers say the same of each, in the same bytes."""
    pytest.importorskip("distributed")
    plain = search()

    assert search(processes=2).json() == plain.json()
    assert search(processes=2, scheduler="local").json() == plain.json()


@pytest.mark.long
def test_ctrl_c_and_again(tmp_path: Path) -> None:
    """The command line: what was found is printed, and a second call with the same record goes on
    there; in the end every byte is that of a search that nobody interrupted."""
    (tmp_path / "kernel.cu").write_text(SOURCE)
    (tmp_path / "spec.toml").write_text(
        'source = "kernel.cu"\nkernel = "twice"\nblock = "BX"\n'
        f'grid = "{N} // BX"\nargs = ["f32[{N}]=arange", "f32[{N}]=0"]\n'
        "[space]\nBX = [32, 64, 128, 256, 512, 1024]\nHOW = [0, 1, 2, 4, 6, 7, 8, 9]\n"
    )
    words = [sys.executable, "-m", "warplens.cli.main", "tune", "--json", "--processes", "2"]
    record = tmp_path / "known.jsonl"

    def started(*options: str) -> subprocess.Popen[str]:
        return subprocess.Popen([*words, *options, "spec.toml"], cwd=tmp_path, text=True,
                                stdout=subprocess.PIPE)  # fmt: skip

    whole, _ = started().communicate(timeout=300)
    first = started("--record", str(record))
    while first.poll() is None and not (record.exists() and "duration" in record.read_text()):
        time.sleep(0.02)
    first.send_signal(signal.SIGINT)
    kept, _ = first.communicate(timeout=300)
    rows = json.loads(kept)["rows"]
    again, _ = started("--record", str(record)).communicate(timeout=300)

    assert json.loads(kept)["stopped"] == "interrupted"
    assert any(row["status"] == "predicted" for row in rows)
    assert any(row["status"] == "compiled" for row in rows)
    assert again == whole
