"""References of vectors.cu."""

from __future__ import annotations

import numpy as np

from tests.breadth.floats import FORMATS, Array, Format
from tests.breadth.model import feature
from tests.kernels.model import Problem

SOURCE = "breadth/vectors"
W = np.uint64


def _words(rng: np.random.Generator, n: int) -> Array:
    return rng.integers(0, 1 << 63, n, dtype=W)


@feature(SOURCE, grid=3, block=64, first=90)
def wide_cas(rng: np.random.Generator) -> Problem:
    a = _words(rng, 192)
    return (np.zeros(2, W), a), {0: np.array([a.sum(dtype=W), 192], W)}


def _wide_cas_shared(generic: int) -> None:
    @feature(SOURCE, block=64, first=90, kernel="wide_cas_shared",
             name=f"wide_cas_shared_{generic}")  # fmt: skip
    def wide_cas_shared(rng: np.random.Generator) -> Problem:
        a = _words(rng, 64)
        both = np.array([np.bitwise_xor.reduce(a), 64], W)
        summed = np.array([a.sum(dtype=W), W(2**64 - 64)], W)
        rows = [summed, both, np.zeros(2, W)] if not generic else [np.zeros(2, W), both, summed]
        return (np.zeros(6, W), a, generic), {0: np.concatenate(rows)}


for _generic in (0, 1):
    _wide_cas_shared(_generic)


@feature(SOURCE, block=64, first=90)
def wide_exchange(rng: np.random.Generator) -> Problem:
    place = np.array([7, 8], W)

    def check(actual: Array) -> None:
        pairs = actual.reshape(2, 64, 2)
        t = np.arange(64, dtype=W)
        mine = {(int(x) + 1, int(x) << 40) for x in t}
        for row, first in ((pairs[0], (7, 8)), (pairs[1], (0, 2**64 - 1))):
            got = {(int(low), int(high)) for low, high in row}
            assert len(got) == 64  # all but the last of the chain came out again, and the first
            assert first in got and got - {first} < mine

    return (place, np.zeros(256, W)), {1: check}


@feature(SOURCE, block=64, first=90)
def vector_floats(rng: np.random.Generator) -> Problem:
    a = rng.integers(-50, 50, 256).astype(np.float32)
    start = rng.integers(-50, 50, 152).astype(np.float32)
    rows, out = a.reshape(4, 64), start.copy()
    for k in range(4):
        out[4 * k : 4 * k + 4] += rows[:, k::4].sum(1)
    out[16:144] += rows[:2].T.ravel()
    for k in (0, 1):
        out[144 + 2 * k : 146 + 2 * k] += rows[2:, k::2].sum(1)
    out[148:] += rows.sum(1)
    return (start, a, np.zeros(128, np.float32)), {0: out, 2: start[16:144].copy()}


def _halves(fmt: Format) -> None:
    @feature(SOURCE, block=32, first=90, kernel=f"vector_{fmt.name}")
    def vector_halves(rng: np.random.Generator) -> Problem:
        a = rng.integers(-2, 3, (64, 2)).astype(np.float64)
        start = rng.integers(-2, 3, (136, 2)).astype(np.float64)
        first, second, out = a[:32], a[32:], start.copy()
        for k in (0, 1):
            out[2 * k] += first[k::2].sum(0)
            out[2 * k + 1] += second[k::2].sum(0)
        out[4:8] += np.stack([x.sum(0) for x in (first, second, second, first)])
        pairs = np.stack([first, second], 1).reshape(64, 2)
        out[8:72] += pairs
        out[72:] = start[8:72]

        def packed(values: Array) -> Array:
            bits = fmt.bits(values).astype(np.uint32)
            return bits[:, 0] | bits[:, 1] << np.uint32(16)

        return (packed(start), packed(a)), {0: packed(out)}


for _fmt in FORMATS:
    _halves(_fmt)
