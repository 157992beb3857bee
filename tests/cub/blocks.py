"""References of blocks.cu."""

from __future__ import annotations

import numpy as np

from tests.breadth.floats import Array
from tests.breadth.model import feature
from tests.kernels.model import Problem

SOURCE = "cub/blocks"
T, K = 128, 4


def _ints(rng: np.random.Generator, n: int) -> Array:
    return rng.integers(-1000, 1000, n, dtype=np.int32)


def _zeros(n: int) -> Array:
    return np.zeros(n, np.int32)


def _reduce(name: str) -> None:
    @feature(SOURCE, grid=2, block=T, kernel=name)
    def reduce(rng: np.random.Generator) -> Problem:
        a = _ints(rng, 2 * T)
        blocks = a.reshape(2, T)
        expected = np.stack([blocks.sum(1), blocks.max(1)], 1).ravel().astype(np.int32)
        return (a, _zeros(4)), {1: expected}


_reduce("reduce_shuffles")
_reduce("reduce_raking")


@feature(SOURCE, block=T)
def reduce_double(rng: np.random.Generator) -> Problem:
    a = rng.integers(-1000, 1000, T).astype(np.float64)
    return (a, np.zeros(1)), {1: np.array([a.sum()])}


@feature(SOURCE, block=T)
def scan_items(rng: np.random.Generator) -> Problem:
    a = _ints(rng, T * K)
    sums = a.cumsum(dtype=np.int32)
    return (a, _zeros(T * K), _zeros(1)), {1: sums - a, 2: sums[-1:]}


@feature(SOURCE, block=T)
def scan_raking(rng: np.random.Generator) -> Problem:
    a = _ints(rng, T)
    return (a, _zeros(T)), {1: np.maximum.accumulate(a)}


@feature(SOURCE, block=T)
def radix_sort(rng: np.random.Generator) -> Problem:
    keys = rng.integers(0, 1 << 32, T * K, dtype=np.uint32) >> rng.integers(0, 32, T * K, dtype=np.uint32)
    order = np.argsort(keys, kind="stable")
    return (keys, np.arange(T * K, dtype=np.int32)), {0: keys[order], 1: order.astype(np.int32)}


@feature(SOURCE, block=T)
def radix_sort_float(rng: np.random.Generator) -> Problem:
    keys = (rng.standard_normal(T * K) * 100).astype(np.float32)
    return (keys,), {0: np.sort(keys)[::-1].copy()}


def _histogram(name: str) -> None:
    @feature(SOURCE, block=T, kernel=name)
    def histogram(rng: np.random.Generator) -> Problem:
        a = rng.integers(0, 64, T * K, dtype=np.uint8)
        return (a, np.zeros(64, np.uint32)), {1: np.bincount(a, minlength=64).astype(np.uint32)}


_histogram("histogram_atomic")
_histogram("histogram_sort")


def _copy(name: str) -> None:
    @feature(SOURCE, block=T, kernel=name)
    def copy(rng: np.random.Generator) -> Problem:
        a, n = _ints(rng, T * K), 397
        i = np.arange(T * K)
        expected = np.where(i < n, a * K + i % K, 0).astype(np.int32)
        return (a, _zeros(T * K), n), {1: expected}


_copy("copy_transpose")
_copy("copy_warp_transpose")
_copy("copy_vectorized")


@feature(SOURCE, block=T)
def exchange(rng: np.random.Generator) -> Problem:
    a = _ints(rng, T * K)
    return (a, _zeros(T * K)), {1: a.reshape(T, K).T.ravel().copy()}


@feature(SOURCE, block=T)
def discontinuity(rng: np.random.Generator) -> Problem:
    a = rng.integers(0, 3, T * K, dtype=np.int32)
    heads = np.concatenate([[1], a[1:] != a[:-1]]).astype(np.int32)
    return (a, _zeros(T * K)), {1: heads}


@feature(SOURCE, block=T)
def warp_reduce(rng: np.random.Generator) -> Problem:
    a = _ints(rng, T)
    return (a, _zeros(T // 16)), {1: a.reshape(-1, 16).sum(1).astype(np.int32)}


@feature(SOURCE, block=T)
def warp_segments(rng: np.random.Generator) -> Problem:
    a = _ints(rng, T)
    heads = (rng.random(T) < 0.2).astype(np.int32)
    expected = _zeros(T)
    starts = [t for t in range(T) if heads[t] or t % 32 == 0]
    for start, end in zip(starts, [*starts[1:], T], strict=True):
        expected[start] = a[start:end].sum()
    return (a, heads, _zeros(T)), {2: expected}


@feature(SOURCE, block=T)
def warp_scan(rng: np.random.Generator) -> Problem:
    a = rng.integers(-50, 50, T).astype(np.float32)
    return (a, np.zeros(T, np.float32)), {1: a.reshape(-1, 32).cumsum(1).ravel().astype(np.float32)}
