"""warplens counts what the H200's hardware counters counted.

`equal_counters.txt` names the counters that agreed in all launches that were compared; a counter
that is repaired is added there. Launches whose counts depend on timing (retries of compare-and-swap
loops) are left out. The ordinary run takes every twelfth launch; `-m long` takes all.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl

ROOT = Path(__file__).parents[2] / "validation"
METRICS = Path(__file__).with_name("equal_counters.txt").read_text().split()
# Too long for an emulator, timing dependent, or made of instructions that are not executed yet
LARGE = ("/large", "sgemm_naive/1024", "sgemm_tiled/1024", "/2048", "/4096", "reduce_grid_stride",
         "mandelbrot")  # fmt: skip
LEFT_OUT = (*LARGE, "atomic_shared_float", "async_copy", "load_matrix")


@cache
def cases() -> Any:
    """The module that lists the launches."""
    path = ROOT / "recorder" / "counter_cases.py"
    spec = importlib.util.spec_from_file_location("validation_counter_cases", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def names() -> list[str]:
    """Launches that are compared."""
    return [n for n in cases().CASES if not any(part in n for part in LEFT_OUT)]


@cache
def recorded() -> dict[str, Any]:
    """The recorded counters."""
    with np.load(ROOT / "data" / "counters_sm90.npz") as file:
        return dict(file)


def compare(step: int) -> None:
    """Runs every `step`-th launch and lists every counter that differs."""
    data = recorded()
    row = {name: i for i, name in enumerate(data["cases"])}
    column = {name: i for i, name in enumerate(data["metrics"])}
    module = wl.Device("H200").compile(str(ROOT / "recorder" / "kernels" / "counters.cu"))
    source = np.arange(cases().IN_WORDS, dtype=np.uint32)
    out = np.zeros(cases().OUT_WORDS + (1 << 18), np.uint32)
    different = {}
    for name in names()[::step]:
        case = cases().CASES[name]
        out[:] = 0
        kernel = module[case.kernel]
        arguments = [np.uint32(a) for a in case.args]
        run = kernel[case.grid, case.block, None, case.shared](source, out, *arguments)
        for metric in METRICS:
            expected, actual = data["cold"][row[name], column[metric]], run.metric(metric)
            if expected != actual:
                different[name, metric] = (expected, actual)

    assert different == {}


def test_every_twelfth_launch() -> None:
    """Counters equal the recorded ones."""
    compare(12)


@pytest.mark.long
def test_every_launch() -> None:
    """Counters equal the recorded ones."""
    compare(1)
