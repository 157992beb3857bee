"""What stands for cuRAND in CuPy: numbers recorded on an H200, in memory given by its address."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from warplens.frontends.cupy_random import stand_in

RECORDED = np.load(Path(__file__).parents[2] / "validation/data/curand_sm90.npz")


def test_uniform_numbers() -> None:
    """A hundred floats of XORWOW, seed 1234, bit for bit."""
    curand, values = stand_in(), np.zeros(100, np.float32)
    generator = curand.createGenerator(curand.CURAND_RNG_PSEUDO_DEFAULT)
    curand.setPseudoRandomGeneratorSeed(generator, 1234)

    curand.generateUniform(generator, values.ctypes.data, 100)

    assert np.array_equal(values, RECORDED["uniform_xorwow"])


def test_a_seed_begins_anew() -> None:
    """The same seed gives the same normal numbers; without it they go on."""
    curand, found = stand_in(), np.zeros((3, 64), np.float64)
    generator = curand.createGenerator(curand.CURAND_RNG_PSEUDO_XORWOW)
    for row, seeded in zip(found, (True, False, True), strict=True):
        if seeded:
            curand.setPseudoRandomGeneratorSeed(generator, 7)
        curand.generateNormalDouble(generator, row.ctypes.data, 64, 3.0, 2.0)

    assert np.array_equal(found[0], found[2]) and not np.array_equal(found[0], found[1])
