"""How far SMs come apart while they wait for memory: the constant against an H200's cycles."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from warplens.gpus import find_gpu
from warplens.timing.dram import apart
from warplens.timing.state import SPEC

RECORDED = json.loads(
    (Path(__file__).parents[2] / "validation" / "data" / "rounds_sm90.json").read_text()
)
ONE_A_SM = (128, 132)  # blocks


def _ranges() -> np.ndarray:
    """Cycles of blocks, one on each SM, and from the quickest of them to the slowest."""
    rows = [row for row in RECORDED["rows"] if row[1] in ONE_A_SM]
    return np.array([(mean, most - least) for *_, mean, most, least in rows], float)


def test_distance_grows_with_the_root_of_the_time() -> None:
    mean, distance = np.log(_ranges()).T
    assert np.polyfit(mean, distance, 1)[0] == pytest.approx(0.5, abs=0.05)


def test_mean_distance_is_the_recorded_one() -> None:
    mean, distance = _ranges().T
    samples = np.random.default_rng(0).standard_normal((4000, ONE_A_SM[1]))
    deviations = np.ptp(samples, axis=1).mean()
    wanted = (distance / np.sqrt(mean)).mean() * np.sqrt(2.0 / np.pi) / deviations
    spec = np.zeros(1, SPEC)
    spec["apart_root"] = find_gpu("H200").value("l2.apart_root")
    assert apart(spec[0], 10_000.0) == pytest.approx(100.0 * wanted, rel=0.03)
