"""References of clusters.cu."""

from __future__ import annotations

import numpy as np

from tests.breadth.floats import Array
from tests.breadth.model import feature
from tests.kernels.model import Problem

SOURCE = "breadth/clusters"


def _ints(rng: np.random.Generator, n: int) -> Array:
    return rng.integers(-1000, 1000, n, dtype=np.int32)


def _zeros(n: int) -> Array:
    return np.zeros(n, np.int32)


def places(grid: tuple[int, int], cluster: tuple[int, int], block: int) -> Array:
    """What `places` of clusters.cu writes for a grid of clusters of some blocks along x and y."""
    y, x = np.mgrid[0 : grid[1], 0 : grid[0]]
    cx, cy = cluster
    rank = x % cx + cx * (y % cy)
    n = cx * cy
    whole = np.ones_like(x)
    rows = [x // cx, y // cy, whole * (grid[0] // cx), whole * (grid[1] // cy), x % cx, y % cy,
            whole * cx, whole * cy, rank, whole * n, rank + 100 * n + 10000 * (y % cy)]  # fmt: skip
    found = [np.repeat(row.ravel(), block) for row in rows]
    threads = np.tile(np.arange(block), grid[0] * grid[1]) + np.repeat(rank.ravel() * block, block)
    found += [threads + 1000 * n * block, np.ones(grid[0] * grid[1] * block)]
    return np.concatenate(found).astype(np.int32)


@feature(SOURCE, grid=(4, 6), block=3, first=90)
def cluster_places(rng: np.random.Generator) -> Problem:
    return (_zeros(13 * 24 * 3),), {0: places((4, 6), (2, 3), 3)}


@feature(SOURCE, grid=8, block=64, first=90)
def ring_exchange(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 512)
    rows = np.roll(a.reshape(2, 4, 64), 7, axis=1) + sum(range(7))
    return (a, _zeros(512), 7), {1: rows.ravel().astype(np.int32)}


@feature(SOURCE, grid=16, block=96, first=90)
def cluster_reduce(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 2 * 5000)
    return (a, _zeros(16), 5000), {1: np.repeat(a.reshape(2, 5000).sum(1), 8).astype(np.int32)}


@feature(SOURCE, grid=4, block=32, first=90)
def remote_atomics(rng: np.random.Generator) -> Problem:
    t = np.arange(32)
    rows = [
        [(t + r).sum(), -1, (7 * t + r).max(), (1000 - t - r).min(), np.bitwise_xor.reduce(t * t),
         32 % 21, 32, 0]
        for r in (1, 0)
    ]  # fmt: skip
    wide = np.array([t.sum() << 33, (99 - 31) << 20, 96, 5 << 40], np.uint64)
    real = np.float32(0.5 + 0.25 * t.sum())
    return (_zeros(32), np.zeros(16, np.uint64), np.zeros(4, np.float32), _zeros(128)), {
        0: np.array(rows * 2, np.int64).astype(np.int32).ravel(), 1: np.tile(wide, 4),
        2: np.full(4, real), 3: np.ones(128, np.int32),
    }  # fmt: skip


@feature(SOURCE, grid=6, block=96, first=90)
def split_barrier(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 6 * 96)
    pairs = a.reshape(3, 2, 96)
    return (a, _zeros(6 * 96)), {1: (3 * pairs + pairs[:, ::-1, ::-1]).ravel()}


@feature(SOURCE, grid=4, block=64, first=90)
def early_exit(rng: np.random.Generator) -> Problem:
    return (_zeros(4),), {0: np.array([11, 10, 13, 12], np.int32)}


@feature(SOURCE, grid=2, block=32, first=90)
def widths(rng: np.random.Generator) -> Problem:
    a = rng.integers(-100, 100, (2, 32, 4), dtype=np.int32)
    out = np.zeros((2, 32, 4), np.int32)
    t = np.arange(32)
    for r in (0, 1):
        sent = a[1 - (t & 1), t]  # what lies in the memory of block t & 1
        own = a[r][:, :2][::-1]  # the pairs that this block sent away, turned round
        out[r] = sent
        out[r, :, :2] += own
        out[r, :, 2] += sent[:, 2]
    octets = a[:, :, 3].astype(np.int8)
    return (a.ravel(), _zeros(256), np.zeros(64, np.int8)), {1: out.ravel(), 2: octets.ravel()}


@feature(SOURCE, grid=(2, 2), block=(16, 16), first=90)
def transposed(rng: np.random.Generator) -> Problem:
    a = rng.standard_normal((32, 32)).astype(np.float32)
    return (a.ravel(), np.zeros(1024, np.float32)), {1: a.T.ravel().copy()}


@feature(SOURCE, grid=8, block=32, first=90)
def remote_arrive(rng: np.random.Generator) -> Problem:
    return (_zeros(6),), {0: np.array([101, 202, 303, 105, 206, 307], np.int32)}


@feature(SOURCE, grid=4, block=32, first=90)
def store_async(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 128)
    other = a.reshape(2, 2, 32)[:, ::-1]
    return (a, _zeros(128)), {1: (other[:, :, ::-1] + other).ravel()}


@feature(SOURCE, grid=4, block=64, first=90)
def reduce_async(rng: np.random.Generator) -> Problem:
    a = rng.integers(0, 1000, 256, dtype=np.int32)
    other = a.reshape(2, 2, 64)[:, ::-1].reshape(4, 64)
    rows = np.stack([other.sum(1), other.min(1), other.max(1)], 1)
    return (a, _zeros(12)), {1: rows.ravel().astype(np.int32)}


@feature(SOURCE, grid=4, block=64, first=90)
def bulk_between(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 256)
    other = a.reshape(2, 2, 64)[:, ::-1].reshape(4, 64)
    expected = np.full((4, 64), -1, np.int32)
    expected[:, 16:48] = other[:, 32:]
    return (a, _zeros(256)), {1: expected.ravel()}


@feature(SOURCE, grid=8, block=32, first=90)
def multicast(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 32)
    rows = np.tile(a, (8, 1))
    rows[[1, 5]] = -7
    return (a, _zeros(256)), {1: rows.ravel()}


@feature(SOURCE, grid=2, block=32, first=90)
def queries(rng: np.random.Generator) -> Problem:
    rows = []
    for r in (0, 1):
        kinds = [3 | 8 << r, 3 | 8 if r == 0 else 2 | 8, 3 | 16 if r == 1 else 2 | 16, 4]
        rows += [kinds[(k + t) & 3] for t in range(32) for k in range(4)]
    return (_zeros(256),), {0: np.array(rows, np.int32)}


@feature(SOURCE, grid=4, block=32, first=90)
def counted(rng: np.random.Generator) -> Problem:
    return (_zeros(128),), {0: np.tile(2 * np.arange(32, dtype=np.int32) + 32, 4)}
