"""References of predicates.cu in NumPy."""

from __future__ import annotations

import numpy as np

from tests.kernels.model import Problem, case


@case("predicates.cu", grid=3, block=64)
def fold_bits(rng: np.random.Generator) -> Problem:
    words = rng.integers(0, 1 << 32, 170, dtype=np.uint32)
    entry, expected = 0x04C11DB7, np.zeros_like(words)
    for bit in range(32):
        expected ^= np.where(words >> np.uint32(bit) & 1, np.uint32(entry), np.uint32(0))
        entry = entry << 1 & 0xFFFFFFFF ^ (0x04C11DB7 if entry >> 31 else 0)
    return (words, np.zeros_like(words), len(words)), {1: expected}


@case("predicates.cu", grid=3, block=64)
def spread_bits(rng: np.random.Generator) -> Problem:
    words = rng.integers(0, 1 << 32, 170, dtype=np.uint32)
    bits = np.arange(32, dtype=np.uint32)[:, None]
    before = rng.integers(0, 1000, (32, len(words)), dtype=np.uint32)
    expected = before + np.where(words >> bits & 1, 7 * bits + 1, 0).astype(np.uint32)
    return (words, before.copy(), len(words)), {1: expected}


@case("predicates.cu", grid=1, block=96)
def many_conditions(rng: np.random.Generator) -> Problem:
    values = rng.integers(0, 1 << 32, (26, 96), dtype=np.uint32)
    greater = values > np.roll(values, -1, axis=0)
    rounds = np.arange(3, dtype=np.uint32)[:, None, None]
    expected = np.where(greater, values + rounds, 0).astype(np.uint32)
    return (values, np.zeros_like(expected), 96), {1: expected}
