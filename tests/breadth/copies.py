"""References of copies.cu."""

from __future__ import annotations

import numpy as np

from tests.breadth.floats import Array
from tests.breadth.model import feature
from tests.kernels.model import Problem

SOURCE = "breadth/copies"


def _ints(rng: np.random.Generator, n: int) -> Array:
    return rng.integers(-1000, 1000, n, dtype=np.int32)


def _zero_filled(size: int) -> None:
    @feature(SOURCE, block=128, first=80, kernel=f"zfill_{size}")
    def zfill(rng: np.random.Generator) -> Problem:
        a = rng.integers(1, 127, 128 * size, dtype=np.int8)
        octets = np.arange(128 * size)
        kept = octets % size < octets // size % (size + 1)
        return (a, np.zeros_like(a)), {1: np.where(kept, a, np.int8(0))}


for _size in (4, 8, 16):
    _zero_filled(_size)


@feature(SOURCE, block=64, first=80)
def arrive_on_barrier(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 64)
    return (a, np.zeros(64, np.int32)), {1: a[::-1].copy()}


@feature(SOURCE, block=64)
def staged(rng: np.random.Generator) -> Problem:
    a = rng.integers(-99, 99, 5 * 64).astype(np.float32)
    return (a, np.zeros(64, np.float32), 5), {1: a.reshape(5, 64)[:, ::-1].sum(0)}


@feature(SOURCE, block=128)
def pipelined(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 5 * 128)
    return (a, np.zeros(128, np.int32), 5), {
        1: a.reshape(5, 128)[:, ::-1].sum(0).astype(np.int32)
    }


@feature(SOURCE, block=32)
def pipelined_thread(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 128)
    return (a, np.zeros(128, np.int32)), {1: a}


@feature(SOURCE, block=96)
def barrier_wait(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 96)
    v = a
    for _ in range(3):
        v = v + np.roll(v, -33)
    return (a, np.zeros(96, np.int32)), {1: v}


@feature(SOURCE, block=64)
def barrier_drop(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 64)
    expected = np.where(np.arange(64) < 40, a.sum(), 0).astype(np.int32)
    return (a, np.zeros(64, np.int32)), {1: expected}


@feature(SOURCE, block=64)
def producer_consumer(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 7 * 32)
    return (a, np.zeros_like(a), 7), {1: a.reshape(7, 32)[:, ::-1].ravel().copy()}


@feature(SOURCE, block=256)
def barrier_memcpy(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 256)
    return (a, np.zeros_like(a)), {1: a[::-1] + a}


@feature(SOURCE, block=1, first=80)
def raw_mbarrier(rng: np.random.Generator) -> Problem:
    return (np.zeros(5, np.int32),), {0: np.array([5, 4, 0, 1, 5], np.int32)}
