"""The recorded spaces are those that the scripts enumerate; their statistics are SciPy's."""

from __future__ import annotations

import importlib.util
import sys
from itertools import product
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.in_turn import one_in

FOLDER = Path(__file__).parents[2] / "validation" / "tuning"


def script(name: str) -> ModuleType:
    """A script of `validation/tuning`."""
    spec = importlib.util.spec_from_file_location(f"tuning_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("gpu", "name"), one_in(
    8, list(product(("H200", "H100"), ("gemm", "convolution", "reduction", "filter"))), "-".join,
    several=True,
))
def test_every_configuration_was_recorded(gpu: str, name: str) -> None:
    """A recording without a gap, in the order of the space."""
    document = script("compare").recorded(gpu)
    recorded = document["spaces"][name]
    space = list(script("spaces").SPACES[name].problem.space)

    assert recorded["configurations"] == [list(one.values()) for one in space]
    assert recorded["parameters"] == list(space[0])
    assert min(recorded["least_ns"]) > 0 and len(recorded["ns"]) == len(space)
    assert gpu in document["gpu"] and document["sm_clock_mhz"] == 1980


def test_kendall() -> None:
    """Tau with ties on both sides."""
    stats = pytest.importorskip("scipy.stats")
    a, b = np.random.default_rng(1).integers(0, 9, (2, 60)).astype(float)

    assert script("compare").kendall(a, b) == pytest.approx(stats.kendalltau(a, b).statistic)


@pytest.mark.long
def test_a_part_of_a_space_is_ranked() -> None:
    """Thirty configurations of the matrix product, predicted: the order is mostly the GPU's."""
    compare = script("compare")
    recorded = compare.recorded()["spaces"]["gemm"]
    names, chosen = recorded["parameters"], slice(0, None, 17)
    rows = [dict(zip(names, row, strict=True)) for row in recorded["configurations"][chosen]]
    predicted = np.array([compare._predict(("gemm", row, "H200")) for row in rows])

    assert compare.kendall(np.array(recorded["ns"][chosen]), predicted) > 0.75
