"""cuRAND's host API: XORWOW numbers are those recorded on an H200."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from warplens.programs.libraries import random
from warplens.programs.libraries.arrays import Array
from warplens.programs.libraries.random import Generator
from warplens.programs.libraries.xorwow import Xorwow

RECORDED = np.load(Path(__file__).parents[2] / "validation/data/curand_sm90.npz")
XORWOW = 101


def _as_kept(values: Array, *, tail: bool = True) -> Array:
    """What the recording kept of ten thousand numbers."""
    parts = [values[:100], values[4090:4110], values[8190:8200]]
    return np.concatenate(parts if tail else parts[:2])


@pytest.mark.parametrize(
    ("name", "seed", "offset"),
    [("default", 1234, 0), ("seed0", 0, 0), ("big", 0x123456789ABCDEF, 0), ("offset", 1234, 5001)],
)
def test_bits(name: str, seed: int, offset: int) -> None:
    """Ten thousand words, and those of the next call."""
    generator = Xorwow(seed, offset)

    found = generator.next(10_000)

    kept = np.concatenate([found[:64], found[4090:4110], found[8190:8200]])
    assert np.array_equal(kept, RECORDED[f"bits_{name}"])
    assert np.array_equal(generator.next(20), RECORDED[f"next_{name}"])


def test_distributions() -> None:
    """Uniform numbers bit for bit, normal ones to the last bits of sine and logarithm."""
    def new() -> Generator:
        return Generator(XORWOW, False, seed=1234)

    uniform = random.uniform(new().bits(100))
    doubles = random.uniform_double(*new().draws(2, 10_000))
    normal = random.normal(new(), 10_000, 3, 2)
    normal_double = random.normal_double(new(), 10_000, 3, 2)

    assert np.array_equal(uniform, RECORDED["uniform_xorwow"])
    assert np.array_equal(_as_kept(doubles, tail=False), RECORDED["uniformd_xorwow"])
    np.testing.assert_allclose(_as_kept(normal), RECORDED["normal_xorwow"], rtol=0, atol=3e-6)
    np.testing.assert_allclose(
        _as_kept(normal_double, tail=False), RECORDED["normald_xorwow"], rtol=0, atol=3e-15
    )
