"""References of reduction.cu."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests import exact
from tests.kernels.model import Problem, case


@case("reduction.cu", grid=9, block=128, shared=512)
def reduce_shared(rng: np.random.Generator) -> Problem:
    n = 1100
    data = rng.integers(-1000, 1000, n, dtype=np.int32)
    padded = np.zeros(9 * 128, np.int32)
    padded[:n] = data
    return (data, np.zeros(9, np.int32), n), {1: padded.reshape(9, 128).sum(1, dtype=np.int32)}


@case("reduction.cu", grid=5, block=96)
def reduce_shuffle(rng: np.random.Generator) -> Problem:
    data = rng.integers(-(2**31), 2**31, 3001, dtype=np.int32)
    return (data, np.zeros(1, np.int32), 3001), {1: data.sum(dtype=np.int32)[None]}


@case("reduction.cu", grid=17, block=128)
def reduce_last_block(rng: np.random.Generator) -> Problem:
    data = rng.integers(-100, 100, 2100, dtype=np.int32)
    arguments = data, np.zeros(17, np.int32), np.zeros(1, np.int32), 2100
    return arguments, {2: data.sum(dtype=np.int32)[None]}


@case("reduction.cu", grid=6, block=50)
def reduce_argmin(rng: np.random.Generator) -> Problem:
    data = rng.integers(5, 60, 300, dtype=np.uint32)
    best = np.array([2**64 - 1], np.uint64)
    expected = (int(data.min()) << 32) | int(data.argmin())
    return (data, best, 300), {1: np.array([expected], np.uint64)}


def tree(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The kernel's pairwise tree over 64 values."""
    while len(values) > 1:
        half = len(values) // 2
        values = values[:half] + values[half:]
    return values


@case("reduction.cu", grid=1, block=64)
def dot_float(rng: np.random.Generator) -> Problem:
    a, b = (rng.standard_normal(1000).astype(np.float32) for _ in range(2))
    sums = np.zeros(64, np.float32)
    for start in range(0, 1000, 64):
        x, y = a[start : start + 64], b[start : start + 64]
        sums[: len(x)] = exact.fma(x, y, sums[: len(x)])
    return (a, b, np.zeros(1, np.float32), 1000), {2: tree(sums)}


@case("reduction.cu", grid=1, block=64)
def dot_double(rng: np.random.Generator) -> Problem:
    a, b = (rng.standard_normal(500) for _ in range(2))
    sums = np.zeros(64)
    for start in range(0, 500, 64):
        part = a[start : start + 64] * b[start : start + 64]
        sums[: len(part)] += part
    return (a, b, np.zeros(1), 500), {2: tree(sums)}


@case("reduction.cu", grid=2, block=48)
def kahan_sum(rng: np.random.Generator) -> Problem:
    data = (rng.standard_normal((96, 37)) * 10.0 ** rng.integers(-4, 5, (96, 37))).astype(
        np.float32
    )
    total, carry = np.zeros(96, np.float32), np.zeros(96, np.float32)
    for column in data.T:
        y = column - carry
        t = total + y
        carry = (t - total) - y
        total = t
    return (data.ravel(), np.zeros(96, np.float32), 37), {1: total}
