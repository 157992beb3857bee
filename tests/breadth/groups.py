"""References of groups.cu."""

from __future__ import annotations

import numpy as np

from tests.breadth.floats import Array
from tests.breadth.model import feature
from tests.kernels.model import Problem

SOURCE = "breadth/groups"


def _ints(rng: np.random.Generator, n: int, low: int = -100, high: int = 100) -> Array:
    return rng.integers(low, high, n, dtype=np.int32)


def _zeros(n: int) -> Array:
    return np.zeros(n, np.int32)


@feature(SOURCE, grid=2, block=64)
def tile_reduce(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 128)
    tiles = a.reshape(-1, 16)
    rows = [tiles.sum(1), tiles.max(1), np.bitwise_xor.reduce(tiles, 1)]
    expected = np.concatenate([np.repeat(r, 16) for r in rows]).astype(np.int32)
    return (a, _zeros(384)), {1: expected}


@feature(SOURCE, block=64)
def tile_reduce_float(rng: np.random.Generator) -> Problem:
    a = rng.integers(-50, 50, 64).astype(np.float32)
    tiles = a.reshape(2, 32)
    expected = np.concatenate([np.repeat(tiles.sum(1), 32), np.repeat(tiles.min(1), 32)])
    return (a, np.zeros(128, np.float32)), {1: expected}


@feature(SOURCE, block=64)
def tile_scan(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 64)
    sums = a.reshape(8, 8).cumsum(1).ravel()
    return (a, _zeros(128)), {1: np.concatenate([sums, sums - a]).astype(np.int32)}


@feature(SOURCE, block=64)
def tile_shuffles(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 64)
    tiles = a.reshape(-1, 4)
    down = np.concatenate([tiles[:, 1:], tiles[:, 3:]], 1)
    ballot = ((tiles > 0) << np.arange(4)).sum(1)
    flags = (tiles > 50).any(1) | (tiles > -50).all(1) << 1 | np.arange(16) << 2
    rows = [np.repeat(tiles[:, 2], 4), down.ravel(), tiles[:, ::-1].ravel(), np.repeat(ballot, 4),
            np.repeat(flags, 4)]  # fmt: skip
    return (a, _zeros(320)), {1: np.concatenate(rows).astype(np.int32)}


@feature(SOURCE, block=64)
def coalesced(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 64)
    expected = _zeros(64)
    for w in range(2):
        lanes = np.arange(32 * w, 32 * w + 32)
        odd, even = lanes[a[lanes] % 2 == 1], lanes[a[lanes] % 2 == 0]
        expected[odd] = a[odd].sum() * 64 + np.arange(len(odd))
        expected[even] = a[even[-1]]
    return (a, _zeros(64), _zeros(1)), {1: expected, 2: np.array([(a % 2 == 1).sum()], np.int32)}


@feature(SOURCE, block=32)
def coalesced_scan(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 32, 0, 100)
    inside = a % 3 != 0
    part = np.where(inside, a, 0)
    return (a, _zeros(32)), {1: np.where(inside, part.cumsum() - part, -1).astype(np.int32)}


@feature(SOURCE, block=64)
def labeled(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 64)
    expected = _zeros(64)
    for t in range(64):
        warp = a[t // 32 * 32 : t // 32 * 32 + 32]
        expected[t] = warp[warp % 4 == a[t] % 4].sum()
    return (a, _zeros(64)), {1: expected}


@feature(SOURCE, block=32)
def binary(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 32)
    yes = a > 0
    size = np.where(yes, yes.sum(), (~yes).sum())
    rank = np.where(yes, yes.cumsum() - 1, (~yes).cumsum() - 1)
    return (a, _zeros(32)), {1: (size * 32 + rank).astype(np.int32)}


@feature(SOURCE, grid=4, block=64)
def aggregated(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 256)
    n = int((a > 0).sum())
    out = (np.arange(256) < n).astype(np.int32)
    return (a, _zeros(1), _zeros(256)), {1: np.array([n], np.int32), 2: out}


@feature(SOURCE, block=96)
def block_reduce(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 96)
    return (a, _zeros(96)), {1: np.full(96, a.sum(), np.int32)}


@feature(SOURCE, grid=2, block=128)
def copy_async(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 256)
    return (a, _zeros(256)), {1: a.reshape(2, 128)[:, ::-1].ravel().copy()}


@feature(SOURCE, grid=6, block=64)
def grid_sync(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 384)
    return (a, _zeros(384), 5), {1: np.roll(a, -5) + 6}
