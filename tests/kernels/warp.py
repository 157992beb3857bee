"""References of warp.cu."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.kernels.model import Problem, case

Array = npt.NDArray[Any]
LANES = np.arange(32)


def _indexed(v: Array, lanes: Array, width: int = 32) -> Array:
    return v[LANES // width * width + lanes % width]


def _shifted(v: Array, source: Array, width: int = 32) -> Array:
    """Lanes whose source leaves their segment keep their own value."""
    inside = source // width == LANES // width
    return v[np.where(inside, source, LANES)]


@case("warp.cu", grid=1, block=32)
def shuffles(rng: np.random.Generator) -> Problem:
    v = rng.integers(-999, 999, 32, dtype=np.int32)
    rows = [
        _indexed(v, LANES * 7 + 3),
        _shifted(v, LANES - 5),
        _shifted(v, LANES + 9),
        v[LANES ^ 21],
        _indexed(v, LANES + 2, 8),
        _shifted(v, LANES - 3, 16),
        _shifted(v, LANES + 2, 4),
        _shifted(v, LANES ^ 6, 8),
        _indexed(v, 0 * LANES + 11),
        _shifted(v, LANES + (LANES & 7)),
        _indexed(v, 0 * LANES + 15, 16),
    ]
    expected = np.concatenate(rows)
    return (v, np.zeros_like(expected)), {1: expected}


@case("warp.cu", grid=1, block=32)
def shuffles_wide(rng: np.random.Generator) -> Problem:
    d, q = rng.standard_normal(32), rng.integers(-(2**62), 2**62, 32, dtype=np.int64)
    expected = {1: d[LANES ^ 3] + d[17], 3: _shifted(q, LANES + 4, 16)}
    return (d, np.zeros(32), q, np.zeros(32, np.int64)), expected


@case("warp.cu", grid=1, block=64)
def shuffle_subsets(rng: np.random.Generator) -> Problem:
    stay = (LANES < 16) | (LANES >= 28)
    source = np.where(LANES < 12, 11 - LANES, np.where(stay, LANES, LANES ^ 4))
    return (np.zeros(64, np.int32),), {0: np.tile(source * source, 2).astype(np.int32)}


@case("warp.cu", grid=1, block=32)
def votes(rng: np.random.Generator) -> Problem:
    v = rng.integers(0, 100, 32, dtype=np.int32)
    n = 21
    part = v[:n]
    odd = sum(1 << i for i in range(16) if part[i] & 1)
    word = int((part > 90).any()) | int((part < 95).all()) << 1 | odd << 8 | 1 << 31
    expected = np.where(n > LANES, word, 0xABCD).astype(np.uint32)
    return (v, np.zeros(32, np.uint32), n), {1: expected}


@case("warp.cu", grid=1, block=90)
def block_votes(rng: np.random.Generator) -> Problem:
    v = rng.integers(2, 100, 90, dtype=np.int32)
    v[45] = 77
    word = int((v > 50).sum()) * 4 + 2 + 1
    return (v, np.zeros(90, np.int32)), {1: np.full(90, word, np.int32)}


@case("warp.cu", grid=1, block=64)
def matches(rng: np.random.Generator) -> Problem:
    v = rng.integers(0, 6, 64, dtype=np.int32)
    peers = np.array([
        sum(1 << i for i in range(32) if v[t // 32 * 32 + i] == v[t]) for t in range(64)
    ], np.uint64)  # fmt: skip
    expected = (peers ^ peers << np.uint64(1)).astype(np.uint32)
    second = np.arange(64) >= 32
    zeros = np.zeros(64, np.uint32), np.zeros(64, np.uint32), np.zeros(64, np.int32)
    return (v, *zeros), {
        1: expected,
        2: np.where(second, 2**32 - 1, 0).astype(np.uint32),
        3: second.astype(np.int32),
    }


@case("warp.cu", grid=1, block=32)
def warp_reductions(rng: np.random.Generator) -> Problem:
    v = rng.integers(-(2**31), 2**31, 32, dtype=np.int32)
    u = v.view(np.uint32)
    values = [v.sum(dtype=np.int32), v.min(), u.max(), np.bitwise_xor.reduce(u),
              np.bitwise_and.reduce(u | np.uint32(0xFF)),
              np.bitwise_or.reduce(u & np.uint32(0x0F0F))]  # fmt: skip
    words = np.array([int(x) % 2**32 for x in values], np.uint32)
    expected = np.repeat(words, 32).view(np.int32)
    return (v, np.zeros(192, np.int32)), {1: expected}


@case("warp.cu", grid=1, block=64)
def warp_barriers(rng: np.random.Generator) -> Problem:
    s = np.arange(64).reshape(2, 32)
    for d in (1, 2, 4, 8, 16):
        s = s + np.roll(s, -d, 1)
    return (np.zeros(64, np.int32),), {0: s.ravel().astype(np.int32)}


@case("warp.cu", grid=1, block=64)
def groups(rng: np.random.Generator) -> Problem:
    v = rng.integers(0, 100, 64, dtype=np.int32)
    sums = v.reshape(8, 8).sum(1)
    odd = (v & 1).reshape(2, 32).sum(1)
    expected = np.concatenate([sums, odd]).astype(np.int32)
    return (v, np.zeros(10, np.int32), 8), {1: expected}
