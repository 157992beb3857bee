"""References of atomics.cu."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.kernels.model import Problem, case

Array = npt.NDArray[Any]


def _integers(rng: np.random.Generator, kind: type) -> Problem:
    info = np.iinfo(kind)
    operand = rng.integers(info.min, info.max, 70, dtype=kind, endpoint=True)
    start = np.array([1, 12345, 12345, -1 % 2**31, 0, 5], kind)
    end = start.copy()
    end[0] += operand.sum(dtype=kind)
    end[1], end[2] = min(start[1], operand.min()), max(start[2], operand.max())
    end[3] &= np.bitwise_and.reduce(operand | kind(0xFFFF))
    end[4] |= np.bitwise_or.reduce(operand)
    end[5] ^= np.bitwise_xor.reduce(operand)
    return (start.copy(), start.copy(), operand, 70), {0: end, 1: end}


@case("atomics.cu", grid=1, block=96)
def atomic_int(rng: np.random.Generator) -> Problem:
    return _integers(rng, np.int32)


@case("atomics.cu", grid=1, block=96)
def atomic_uint(rng: np.random.Generator) -> Problem:
    return _integers(rng, np.uint32)


@case("atomics.cu", grid=1, block=96)
def atomic_ulonglong(rng: np.random.Generator) -> Problem:
    return _integers(rng, np.uint64)


@case("atomics.cu", grid=2, block=50)
def atomic_signed_long(rng: np.random.Generator) -> Problem:
    operand = rng.integers(-(2**63), 2**63, 90, dtype=np.int64)
    cells = np.array([0, 0, -1], np.int64)
    expected = [operand.min(), operand.max(), np.bitwise_and.reduce(operand)]
    return (cells, operand, 90), {0: np.array(expected, np.int64)}


@case("atomics.cu", grid=3, block=64)
def atomic_results(rng: np.random.Generator) -> Problem:
    n = 170
    cells = np.array([100, 0, 3, 0, 2**32 - 1, 0], np.uint32)

    def check(seen: Array) -> None:
        rows = seen.reshape(7, n)
        assert (np.sort(rows[0]) == 100 + np.arange(n)).all()
        assert (np.sort(rows[1]) == np.sort(np.arange(n) % 17)).all()
        assert (np.sort(rows[2]) == np.sort((3 - np.arange(n)) % 17)).all()
        assert (np.sort([*rows[3], cells[3]]) == np.arange(n + 1)).all()
        assert (np.sort(rows[4]) == np.sort(2**32 - 1 - 2 * np.arange(n))).all()
        for start in range(0, n, 64):
            part = slice(start, min(start + 64, n))
            size = part.stop - start
            assert (np.sort(rows[5, part]) == np.arange(size)).all()
            left = set(range(start + 1, part.stop + 1)) - set(rows[6, part].tolist())
            assert len(left) == 1 and 0 in rows[6, part]

    return (cells, np.zeros(7 * n, np.uint32), n), {1: check}


@case("atomics.cu", grid=4, block=48)
def atomic_float(rng: np.random.Generator) -> Problem:
    # Multiples of 1/8 below 2^10: every order of additions is exact.
    operand = (rng.integers(-4000, 4000, 180) / 8).astype(np.float32)
    sums = [operand[k::3].sum(dtype=np.float64) for k in range(3)]
    sums += [operand[b : b + 48].sum(dtype=np.float64) for b in range(0, 192, 48)]
    wide = np.array(sums)
    arguments = np.zeros(7, np.float32), np.zeros(7), operand, 180
    return arguments, {0: wide.astype(np.float32), 1: wide}


@case("atomics.cu", grid=1, block=75)
def atomic_float_result(rng: np.random.Generator) -> Problem:
    def check(seen: Array) -> None:
        assert (np.sort(seen) == 0.25 + 0.5 * np.arange(75, dtype=np.float32)).all()

    cell = np.array([0.25], np.float32)
    return (cell, np.zeros(75, np.float32)), {0: np.array([37.75], np.float32), 1: check}


@case("atomics.cu", grid=3, block=40)
def atomic_cas_loop(rng: np.random.Generator) -> Problem:
    data = rng.uniform(1, 1000, 110).astype(np.float32)
    wide = 1
    for _ in range(110):
        wide = (wide * 3 + 1) % 2**64
    arguments = np.zeros(1, np.int32), data, np.ones(1, np.uint64), 110
    return arguments, {0: data.max()[None].view(np.int32), 2: np.array([wide], np.uint64)}


@case("atomics.cu", grid=2, block=50)
def atomic_cas_short(rng: np.random.Generator) -> Problem:
    start = rng.integers(0, 2**16, 6, dtype=np.uint16)
    end = start.copy()
    end[:5] += np.uint16(7 * 18)
    return (start, 90), {0: end}


@case("atomics.cu", grid=1, block=64)
def atomic_scopes(rng: np.random.Generator) -> Problem:
    expected = np.array([2016, 63, 2016, 0xFFFF], np.int32)
    return (np.zeros(4, np.int32),), {0: expected}


@case("atomics.cu", grid=1, block=50)
def atomic_generic(rng: np.random.Generator) -> Problem:
    t = np.arange(50)
    sums = [t[t % 4 == k].sum() for k in range(4)]
    cells = np.array([1000 + sums[0], sums[2]], np.int32)
    shared = np.array([sums[1], 10 + sums[3]], np.int32)
    return (np.array([1000, 0], np.int32), np.zeros(2, np.int32)), {0: cells, 1: shared}


@case("atomics.cu", grid=3, block=70)
def atomic_aggregated(rng: np.random.Generator) -> Problem:
    data = rng.integers(1, 500, 190, dtype=np.int32)
    kept = np.sort(data[data % 3 == 0])

    def check(place: Array) -> None:
        assert (np.sort(place[: len(kept)]) == kept).all() and not place[len(kept) :].any()

    arguments = np.zeros(1, np.int32), np.zeros(190, np.int32), data, 190
    return arguments, {0: np.array([len(kept)], np.int32), 1: check}
