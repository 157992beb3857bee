"""References of cluster.cu."""

from __future__ import annotations

import numpy as np

from tests.breadth.model import feature
from tests.kernels.model import Problem

SOURCE = "breadth/cluster"


@feature(SOURCE, block=256, first=90)
def bulk_turns(rng: np.random.Generator) -> Problem:
    a = rng.integers(-999, 999, 5 * 256, dtype=np.int32)
    expected = a.reshape(5, 256)[:, ::-1] + np.arange(5, dtype=np.int32)[:, None]
    return (a, np.zeros_like(a), 5), {1: expected.astype(np.int32)}


@feature(SOURCE, block=256, first=90)
def bulk_barrier(rng: np.random.Generator) -> Problem:
    a = rng.integers(-999, 999, 256, dtype=np.int32)
    return (a, np.zeros_like(a)), {1: a[np.arange(256) * 7 & 255]}


@feature(SOURCE, block=32, first=90)
def expected_bytes(rng: np.random.Generator) -> Problem:
    return (np.zeros(3, np.int32),), {0: np.array([0, 0, 1], np.int32)}


@feature(SOURCE, grid=2, block=64, first=90)
def elected(rng: np.random.Generator) -> Problem:
    return (np.zeros(128, np.int32),), {0: (np.arange(128) % 32 == 0).astype(np.int32)}


@feature(SOURCE, grid=8, block=16, first=90)
def cluster_ranks(rng: np.random.Generator) -> Problem:
    i = np.arange(128)
    rows = [i // 16 % 4, np.full(128, 4), i % 64, i // 64]
    return (np.zeros(512, np.int32),), {0: np.concatenate(rows).astype(np.int32)}


@feature(SOURCE, grid=4, block=64, first=90)
def neighbours(rng: np.random.Generator) -> Problem:
    a = rng.integers(-999, 999, 256, dtype=np.int32)
    return (a, np.zeros_like(a)), {1: a.reshape(2, 2, 64)[:, ::-1, ::-1].ravel().copy()}


@feature(SOURCE, grid=4, block=96, first=90)
def cluster_histogram(rng: np.random.Generator) -> Problem:
    a = rng.integers(0, 999, 5000, dtype=np.int32)
    return (a, np.zeros(64, np.int32), 5000), {
        1: np.bincount(a & 63, minlength=64).astype(np.int32)
    }
