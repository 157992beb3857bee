"""References of scan.cu."""

from __future__ import annotations

import numpy as np

from tests.kernels.model import Problem, case


@case("scan.cu", grid=4, block=100)
def scan_hillis(rng: np.random.Generator) -> Problem:
    data = rng.integers(-50, 50, 333, dtype=np.int32)
    parts = [np.cumsum(data[i : i + 100], dtype=np.int32) for i in range(0, 333, 100)]
    return (data, np.zeros(333, np.int32), 333), {1: np.concatenate(parts)}


@case("scan.cu", grid=3, block=128)
def scan_blelloch(rng: np.random.Generator) -> Problem:
    data = rng.integers(0, 2**32, 768, dtype=np.uint32)
    sums = np.cumsum(data.reshape(3, 256), axis=1, dtype=np.uint32) - data.reshape(3, 256)
    return (data, np.zeros(768, np.uint32)), {1: sums.ravel()}


@case("scan.cu", grid=3, block=64)
def scan_warp_long(rng: np.random.Generator) -> Problem:
    data = rng.integers(-(2**60), 2**60, 170, dtype=np.int64)
    parts = [np.cumsum(data[i : i + 32]) for i in range(0, 170, 32)]
    return (data, np.zeros(170, np.int64), 170), {1: np.concatenate(parts)}


@case("scan.cu", grid=40, block=64)
def scan_lookback(rng: np.random.Generator) -> Problem:
    data = rng.integers(-99, 99, 2531, dtype=np.int32)
    zeros = [np.zeros(40, np.int32) for _ in range(3)]
    return (data, np.zeros(2531, np.int32), *zeros, 2531), {1: np.cumsum(data, dtype=np.int32)}


@case("scan.cu", grid=3, block=128)
def compact_ballot(rng: np.random.Generator) -> Problem:
    data = rng.integers(0, 1000, 300, dtype=np.int32)
    out, counts = np.zeros(384, np.int32), np.zeros(3, np.int32)
    for b in range(3):
        odd = data[b * 128 : b * 128 + 128]
        odd = odd[odd % 2 == 1]
        out[b * 128 : b * 128 + len(odd)], counts[b] = odd, len(odd)
    return (data, np.zeros(384, np.int32), np.zeros(3, np.int32), 300), {1: out, 2: counts}
