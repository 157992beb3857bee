"""References of numeric.cu, in the kernels' order of operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests import exact
from tests.kernels.model import Problem, case

Array = npt.NDArray[Any]
F = np.float32


@case("numeric.cu", grid=(3, 6), block=(16, 4))
def mandelbrot(rng: np.random.Generator) -> Problem:
    w, h, limit = 41, 23, 100
    py, px = (v.astype(F) for v in np.mgrid[0:h, 0:w])
    cx, cy = F(-2) + F(3) * px / F(w), F(-1.2) + F(2.4) * py / F(h)
    x, y = np.zeros_like(cx), np.zeros_like(cy)
    count, alive = np.zeros((h, w), np.uint16), np.ones((h, w), bool)
    with np.errstate(all="ignore"):
        for _ in range(limit):
            alive &= x * x + y * y <= F(4)
            count += alive
            x, y = x * x - y * y + cx, F(2) * x * y + cy
    return (np.zeros((h, w), np.uint16), w, h, limit), {0: count}


@case("numeric.cu", grid=(2, 15), block=32)
def julia_double(rng: np.random.Generator) -> Problem:
    w, h = 45, 15
    py, px = np.mgrid[0:h, 0:w]
    x, y = 3.0 * px / w - 1.5, 2.0 * py / h - 1.0
    count, alive = np.zeros((h, w), np.int32), np.ones((h, w), bool)
    with np.errstate(all="ignore"):
        for _ in range(60):
            x2, y2 = x * x, y * y
            alive &= ~(x2 + y2 > 4.0)
            count += alive
            x, y = x2 - y2 - 0.7, 2.0 * x * y + 0.27015
    return (np.zeros((h, w), np.int32), w, h), {0: count}


@case("numeric.cu", grid=2, block=32)
def nbody_step(rng: np.random.Generator) -> Problem:
    n = 45
    body = rng.standard_normal((n, 4)).astype(F)
    full = np.zeros((64, 4), F)
    full[:n] = body
    a = np.zeros((3, n), F)
    for other in full:
        d = [np.ascontiguousarray(other[k] - body[:, k]) for k in range(3)]
        r2 = exact.fma(d[0], d[0], np.full(n, F(0.01)))
        r2 = exact.fma(d[2], d[2], exact.fma(d[1], d[1], r2))
        s = other[3] / (r2 * np.sqrt(r2))
        a = np.array([exact.fma(d[k], s, a[k]) for k in range(3)])
    expected = np.zeros((n, 4), F)
    expected[:, :3] = a.T
    return (body, np.zeros((n, 4), F), n), {1: expected}


@case("numeric.cu", grid=3, block=32)
def fft_block(rng: np.random.Generator) -> Problem:
    data = rng.standard_normal((3, 64, 2)).astype(F)
    angle = -2 * np.pi * np.arange(32) / 64
    twiddle = np.stack([np.cos(angle), np.sin(angle)], 1).astype(F)
    order = [int(f"{i:06b}"[::-1], 2) for i in range(64)]
    s = data[:, order]
    for half in (1, 2, 4, 8, 16, 32):
        t = np.arange(32)
        k = t & (half - 1)
        i = 2 * (t - k) + k
        w, a, b = twiddle[k * (32 // half)], s[:, i], s[:, i + half]
        re = w[:, 0] * b[..., 0] - w[:, 1] * b[..., 1]
        im = w[:, 0] * b[..., 1] + w[:, 1] * b[..., 0]
        turn = np.stack([re, im], -1)
        s = s.copy()
        s[:, i], s[:, i + half] = a + turn, a - turn
    true = np.fft.fft(data[..., 0] + 1j * data[..., 1].astype(np.float64))
    assert np.abs(s[..., 0] + 1j * s[..., 1] - true).max() < 1e-4
    return (data, np.zeros_like(data), twiddle), {1: s}


@case("numeric.cu", grid=2, block=128)
def walsh_hadamard(rng: np.random.Generator) -> Problem:
    data = rng.integers(-1000, 1000, (2, 128), dtype=np.int32)
    h = np.array([[(-1) ** (i & j).bit_count() for j in range(128)] for i in range(128)])
    return (data,), {0: (data @ h).astype(np.int32)}


@case("numeric.cu", grid=5, block=32, ulp=8)
def softmax_rows(rng: np.random.Generator) -> Problem:
    data = (3 * rng.standard_normal((5, 77))).astype(F)
    # expf is within 1 ulp; the sum of 77 positive terms and the division add a few more.
    e = np.exp((data - data.max(1, keepdims=True)).astype(np.float64))
    expected = (e / e.sum(1, keepdims=True)).astype(F)
    return (data, np.zeros_like(data), 77), {1: expected}


def _block_sum(rows: Array) -> Array:
    """Sums of rows as the kernel's 64 threads and tree form them."""
    sums = np.zeros((len(rows), 64), F)
    for start in range(0, rows.shape[1], 64):
        part = rows[:, start : start + 64]
        sums[:, : part.shape[1]] += part
    while sums.shape[1] > 1:
        half = sums.shape[1] // 2
        sums = sums[:, :half] + sums[:, half:]
    return sums


@case("numeric.cu", grid=4, block=64)
def layer_norm(rng: np.random.Generator) -> Problem:
    data = rng.standard_normal((4, 150)).astype(F)
    gain = rng.standard_normal(150).astype(F)
    mean = _block_sum(data) / F(150)
    variance = _block_sum((data - mean) * (data - mean)) / F(150)
    scale = F(1) / np.sqrt(variance + F(1e-5))
    return (data, gain, np.zeros_like(data), 150), {2: (data - mean) * scale * gain}


@case("numeric.cu", grid=4, block=96)
def saxpy(rng: np.random.Generator) -> Problem:
    x, y = (rng.standard_normal(350).astype(F) for _ in range(2))
    return (F(2.7), x, y, 350), {2: exact.fma(np.full(350, F(2.7)), x, y)}


@case("numeric.cu", grid=2, block=64)
def horner_double(rng: np.random.Generator) -> Problem:
    x = rng.uniform(-2, 2, 100)
    p = np.full(100, 1.0 / 3628800.0)
    factorial = [1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0, 40320.0, 362880.0]
    for k in range(9, -1, -1):
        p = p * x + 1.0 / factorial[k]
    return (x, np.zeros(100), 100), {1: p}


@case("numeric.cu", grid=3, block=50)
def newton_roots(rng: np.random.Generator) -> Problem:
    a = 10.0 ** rng.uniform(-20, 20, 130)
    x, steps = np.maximum(a, 1.0), np.zeros(130, np.int32)
    alive = np.ones(130, bool)
    while alive.any():
        following = 0.5 * (x + a / x)
        steps += alive
        alive &= ~((following >= x) | (steps > 100))
        x = np.where(alive, following, x)
    return (a, np.zeros(130), np.zeros(130, np.int32), 130), {1: x, 2: steps}


@case("numeric.cu", grid=7, block=64)
def gaussian_blur_rows(rng: np.random.Generator) -> Problem:
    image = rng.integers(0, 256, (7, 61, 4), dtype=np.uint8)
    wide = np.pad(image, ((0, 0), (1, 1), (0, 0)), mode="edge").astype(int)
    blurred = (wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:] + 2) >> 2
    blurred[..., 3] = image[..., 3]
    return (image, np.zeros_like(image), 61), {1: blurred.astype(np.uint8)}


def _half(values: Array) -> Array:
    """Halves with the only NaN that arithmetic gives."""
    return np.where(np.isnan(values), np.uint16(0x7FFF).view(np.float16), values)


@case("numeric.cu", grid=5, block=96)
def half_chain(rng: np.random.Generator) -> Problem:
    n = 461
    patterns = rng.integers(0, 1 << 16, (3, n, 2), dtype=np.uint16)
    patterns[:, ::2] = rng.standard_normal((3, (n + 1) // 2, 2)).astype(np.float16).view(np.uint16)
    x, y, z = patterns.view(np.float16)
    between = np.zeros(n, np.uint32)
    with np.errstate(all="ignore"):
        for _ in range(3):
            y = x * y + x
            y = _half(y * (y + x))
            between = between * np.uint32(3) + y.view(np.uint32).ravel()
            y = _half(y + z)
    assert np.isnan(y).any() and np.isfinite(y).any()
    arguments = (patterns, np.zeros(n, np.uint32), np.zeros(n, np.uint32), n)
    return arguments, {1: y.view(np.uint32).ravel(), 2: between}
