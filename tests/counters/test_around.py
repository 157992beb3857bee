"""Fences and asynchronous copies around L1 count as on an H200 (`recorder/around.py`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from warplens.api import LaunchOptions

VALIDATION = Path(__file__).parents[2] / "validation"
RECORDED = json.loads((VALIDATION / "data" / "around_sm90.json").read_text())


@pytest.fixture(scope="module")
def module() -> wl.Module:
    """The recorded kernels."""
    device = wl.Device("H200", options=LaunchOptions(timing=False))
    return device.compile(VALIDATION / "recorder" / "kernels" / "around.cu")


def differing(launch: Any, metrics: list[str], values: list[int]) -> dict[str, tuple[Any, int]]:
    """The counters that are not the recorded ones."""
    found = {m: (launch.metric(m), v) for m, v in zip(metrics, values, strict=True) if known(m)}
    assert len(found) >= 6
    return {m: pair for m, pair in found.items() if pair[0] != pair[1]}


def known(metric: str) -> bool:
    """Whether it is declared."""
    return metric != "l1tex__data_pipe_lsu_wavefronts.sum"


def test_fences(module: wl.Module) -> None:
    """A fence beyond the block counts on the texture pipe as well, by however few lanes."""
    wrong = {}
    for name, *values in RECORDED["fences"]["rows"]:
        launch = module[name][4, 128](np.zeros(4096, np.uint32))
        wrong[name] = differing(launch, RECORDED["fences"]["metrics"], values)

    assert {name: found for name, found in wrong.items() if found} == {}


def test_copies_around_l1(module: wl.Module) -> None:
    """Wavefronts and sectors of rows that straddle lines and sectors of shared memory."""
    wrong = {}
    source = np.arange(4096, dtype=np.uint32)
    for start, pitch, per, *values in RECORDED["copies"]["rows"]:
        shape = (np.uint32(x) for x in (start, pitch, per))
        launch = module["copies"][4, 128, None, 40960](np.zeros(4096, np.uint32), source, *shape)
        wrong[start, pitch, per] = differing(launch, RECORDED["copies"]["metrics"], values)

    assert {row: found for row, found in wrong.items() if found} == {}
