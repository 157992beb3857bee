"""References of sync.cu. What `print_lines` writes is checked in test_output.py."""

from __future__ import annotations

import numpy as np

from tests.kernels.model import Problem, case


@case("sync.cu", grid=2, block=128)
def named_barriers(rng: np.random.Generator) -> Problem:
    t = np.arange(128)
    row = t // 64 * 64 + (t % 64 + 13) % 64
    expected = np.concatenate([row, row + 100, row + 200]).astype(np.int32)
    return (np.zeros(384, np.int32),), {0: expected}


@case("sync.cu", grid=1, block=64)
def producer_consumer(rng: np.random.Generator) -> Problem:
    data = rng.integers(-99, 99, (5, 32), dtype=np.int32)
    expected = data[:, ::-1] * 3 + np.arange(5, dtype=np.int32)[:, None]
    return (data, np.zeros_like(data), 5), {1: np.ascontiguousarray(expected)}


@case("sync.cu", grid=1, block=96)
def barrier_reductions(rng: np.random.Generator) -> Problem:
    data = rng.integers(0, 8, 96, dtype=np.int32)
    return (data, np.zeros(96, np.uint32)), {1: np.full(96, (data > 3).sum(), np.uint32)}


@case("sync.cu", grid=1, block=96)
def barrier_after_exit(rng: np.random.Generator) -> Problem:
    return (np.zeros(64, np.int32),), {0: np.arange(126, -2, -2).astype(np.int32)}


@case("sync.cu", grid=12, block=32)
def flag_chain(rng: np.random.Generator) -> Problem:
    expected = np.cumsum(np.arange(12)[::-1])[::-1].astype(np.int32)
    return (np.zeros(12, np.int32), np.zeros(12, np.int32)), {1: expected}


@case("sync.cu", grid=6, block=40)
def grid_barrier(rng: np.random.Generator) -> Problem:
    a = rng.integers(-5, 5, 240, dtype=np.int32)
    rows = [a]
    for _ in range(4):
        rows.append(np.roll(rows[-1], -1) + np.roll(rows[-1], 1) + 1)
    arguments = np.zeros(1, np.uint32), a.copy(), np.zeros(240, np.int32), 4
    return arguments, {1: rows[4].astype(np.int32), 2: rows[3].astype(np.int32)}


@case("sync.cu", grid=4, block=64)
def acquire_release(rng: np.random.Generator) -> Problem:
    expected = np.tile(np.arange(70, 6, -1), 3).astype(np.int32)
    arguments = np.zeros(64, np.int32), np.zeros(1, np.int32), np.zeros(192, np.int32)
    return arguments, {2: expected}


@case("sync.cu", grid=4, block=128)
def nanosleep_backoff(rng: np.random.Generator) -> Problem:
    return (np.zeros(1, np.int32), np.zeros(1, np.int32)), {1: np.array([16], np.int32)}


@case("sync.cu", grid=1, block=50)
def clocks(rng: np.random.Generator) -> Problem:
    expected = [sum(i * i for i in range(t)) for t in range(50)]
    return (np.zeros(50, np.int64),), {0: np.array(expected, np.int64)}


@case("sync.cu", grid=1, block=60)
def assert_holds(rng: np.random.Generator) -> Problem:
    data = rng.integers(0, 1000, 60, dtype=np.int32)
    return (data, np.zeros(60, np.int32)), {1: data + np.int32(1)}
