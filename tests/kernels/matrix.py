"""References of matrix.cu."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests import exact
from tests.kernels.model import Problem, case


def product(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """a @ b as a chain of FMAs over ascending k, as every sgemm here computes it."""
    m, k = a.shape
    n = b.shape[1]
    total = np.zeros(m * n, np.float32)
    for i in range(k):
        total = exact.fma(np.repeat(a[:, i], n), np.tile(b[i], m), total)
    return total.reshape(m, n)


def floats(rng: np.random.Generator, *shape: int) -> npt.NDArray[Any]:
    """Normal float32 values."""
    return rng.standard_normal(shape).astype(np.float32)


@case("matrix.cu", grid=(3, 2), block=(16, 16))
def transpose_naive(rng: np.random.Generator) -> Problem:
    data = floats(rng, 29, 45)
    return (data, np.zeros((45, 29), np.float32), 45, 29), {1: np.ascontiguousarray(data.T)}


def _transpose(rng: np.random.Generator) -> Problem:
    data = rng.integers(0, 2**31, (70, 41), dtype=np.int32)
    return (data, np.zeros((41, 70), np.int32), 41, 70), {1: np.ascontiguousarray(data.T)}


@case("matrix.cu", grid=(2, 3), block=(32, 8))
def transpose_shared(rng: np.random.Generator) -> Problem:
    return _transpose(rng)


@case("matrix.cu", grid=(2, 3), block=(32, 8))
def transpose_padded(rng: np.random.Generator) -> Problem:
    return _transpose(rng)


@case("matrix.cu", grid=(2, 3), block=(16, 8))
def sgemm_naive(rng: np.random.Generator) -> Problem:
    a, b = floats(rng, 23, 19), floats(rng, 19, 27)
    return (a, b, np.zeros((23, 27), np.float32), 23, 27, 19), {2: product(a, b)}


@case("matrix.cu", grid=(3, 2), block=(16, 16))
def sgemm_tiled(rng: np.random.Generator) -> Problem:
    a, b = floats(rng, 30, 37), floats(rng, 37, 41)
    return (a, b, np.zeros((30, 41), np.float32), 30, 41, 37), {2: product(a, b)}


@case("matrix.cu", grid=(2, 1), block=64)
def sgemm_registers(rng: np.random.Generator) -> Problem:
    a, b = floats(rng, 32, 24), floats(rng, 24, 64)
    return (a, b, np.zeros((32, 64), np.float32), 64, 24), {2: product(a, b)}


@case("matrix.cu", grid=(1, 5), block=40)
def igemm_dp4a(rng: np.random.Generator) -> Problem:
    a = rng.integers(-128, 128, (5, 28), dtype=np.int8)
    b = rng.integers(-128, 128, (33, 28), dtype=np.int8)
    expected = a.astype(np.int32) @ b.astype(np.int32).T
    arguments = a.view(np.int32), b.view(np.int32), np.zeros((5, 33), np.int32), 33, 7
    return arguments, {2: expected}


@case("matrix.cu", grid=3, block=(32, 4))
def matvec_warp(rng: np.random.Generator) -> Problem:
    a, x = floats(rng, 11, 75), floats(rng, 75)
    sums = np.zeros((11, 32), np.float32)
    for start in range(0, 75, 32):
        part = a[:, start : start + 32]
        width = part.shape[1]
        flat = exact.fma(
            np.ascontiguousarray(part).ravel(),
            np.tile(x[start : start + 32], 11),
            np.ascontiguousarray(sums[:, :width]).ravel(),
        )
        sums[:, :width] = flat.reshape(11, width)
    for d in (16, 8, 4, 2, 1):
        sums = sums[:, :d] + sums[:, d : 2 * d]
    return (a, x, np.zeros(11, np.float32), 11, 75), {2: sums[:, 0]}


@case("matrix.cu", grid=1, block=(9, 9))
def dgemm_naive(rng: np.random.Generator) -> Problem:
    a, b = rng.standard_normal((9, 9)), rng.standard_normal((9, 9))
    total = np.zeros((9, 9))
    for i in range(9):
        total = total + a[:, i : i + 1] * b[i]
    return (a, b, np.zeros((9, 9)), 9), {2: total}


@case("matrix.cu", grid=1, block=32)
def lu_factor(rng: np.random.Generator) -> Problem:
    a = rng.standard_normal((17, 17)) + 17 * np.eye(17)
    e = a.copy()
    for k in range(16):
        e[k + 1 :, k] = e[k + 1 :, k] / e[k, k]
        e[k + 1 :, k + 1 :] = e[k + 1 :, k + 1 :] - e[k + 1 :, k : k + 1] * e[k, k + 1 :]
    return (a, 17), {0: e}
