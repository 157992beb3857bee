"""References of stencil.cu."""

from __future__ import annotations

import numpy as np

from tests import exact
from tests.kernels.model import Problem, case


@case("stencil.cu", grid=4, block=64)
def stencil_line(rng: np.random.Generator) -> Problem:
    n = 215
    data = rng.standard_normal(n).astype(np.float32)
    wide = np.zeros(n + 6, np.float32)
    wide[3:-3] = data
    total = np.zeros(n, np.float32)
    for d in range(7):
        total = total + wide[d : d + n]
    return (data, np.zeros(n, np.float32), n), {1: total / np.float32(7)}


@case("stencil.cu", grid=(3, 5), block=(16, 4))
def stencil_plane(rng: np.random.Generator) -> Problem:
    a = rng.standard_normal((19, 37)).astype(np.float32)
    e = a.copy()
    e[1:-1, 1:-1] = np.float32(0.25) * (((a[1:-1, :-2] + a[1:-1, 2:]) + a[:-2, 1:-1]) + a[2:, 1:-1])
    return (a, np.zeros_like(a), 37, 19), {1: e}


@case("stencil.cu", grid=(2, 2, 3), block=(8, 4, 3))
def stencil_volume(rng: np.random.Generator) -> Problem:
    a = rng.standard_normal((7, 8, 13))
    e = np.zeros_like(a)
    s = a[1:-1, 1:-1, :-2] + a[1:-1, 1:-1, 2:]
    for part in (a[1:-1, :-2, 1:-1], a[1:-1, 2:, 1:-1], a[:-2, 1:-1, 1:-1], a[2:, 1:-1, 1:-1]):
        s = s + part
    e[1:-1, 1:-1, 1:-1] = s - 6.0 * a[1:-1, 1:-1, 1:-1]
    return (a, np.zeros_like(a), 13, 8, 7), {1: e}


@case("stencil.cu", grid=(3, 3), block=(16, 8))
def convolve_plane(rng: np.random.Generator) -> Problem:
    h, w = 21, 35
    a = rng.standard_normal((h, w)).astype(np.float32)
    row = np.array([1, 4, 6, 4, 1], np.float32)
    total = np.zeros(h * w, np.float32)
    y, x = np.mgrid[0:h, 0:w]
    for j in range(5):
        for i in range(5):
            value = a[np.clip(y + j - 2, 0, h - 1), np.clip(x + i - 2, 0, w - 1)].ravel()
            total = exact.fma(np.full(h * w, row[j] * row[i]), value, total)
    return (a, np.zeros_like(a), w, h), {1: (total / np.float32(256)).reshape(h, w)}


@case("stencil.cu", grid=(2, 4), block=(32, 4))
def game_of_life(rng: np.random.Generator) -> Problem:
    a = rng.integers(0, 2, (13, 50), dtype=np.uint8)
    shifts = [(j, i) for j in (-1, 0, 1) for i in (-1, 0, 1) if i or j]
    alive = sum(np.roll(a, s, (0, 1)).astype(int) for s in shifts)
    expected = (alive == 3) | ((alive == 2) & (a == 1))
    return (a, np.zeros_like(a), 50, 13), {1: expected.astype(np.uint8)}
