"""References of sorting.cu."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.kernels.model import Problem, case

Array = npt.NDArray[Any]


@case("sorting.cu", grid=2, block=256)
def bitonic_sort(rng: np.random.Generator) -> Problem:
    data = rng.integers(-(2**31), 2**31, 512, dtype=np.int32)
    return (data,), {0: np.sort(data.reshape(2, 256), axis=1).ravel()}


@case("sorting.cu", grid=1, block=75, shared=300)
def odd_even_sort(rng: np.random.Generator) -> Problem:
    data = rng.standard_normal(75).astype(np.float32)
    return (data, 75), {0: np.sort(data)}


@case("sorting.cu", grid=3, block=32)
def warp_sort(rng: np.random.Generator) -> Problem:
    data = rng.integers(0, 2**64, 96, dtype=np.uint64)
    return (data,), {0: np.sort(data.reshape(3, 32), axis=1).ravel()}


@case("sorting.cu", grid=1, block=128)
def radix_sort(rng: np.random.Generator) -> Problem:
    data = rng.integers(0, 2**32, 128, dtype=np.uint32)
    return (data,), {0: np.sort(data)}


@case("sorting.cu", grid=3, block=96)
def merge_path(rng: np.random.Generator) -> Problem:
    a, b = (np.sort(rng.integers(-99, 99, n, dtype=np.int16)) for n in (130, 101))
    expected = np.sort(np.concatenate([a, b]))
    return (a, b, np.zeros(231, np.int16), 130, 101), {2: expected}


@case("sorting.cu", grid=2, block=64)
def binary_search(rng: np.random.Generator) -> Problem:
    table = np.sort(rng.standard_normal(500))
    wanted = np.concatenate([rng.standard_normal(90), table[:20]])
    expected = np.searchsorted(table, wanted).astype(np.int32)
    return (table, wanted, np.zeros(110, np.int32), 500, 110), {2: expected}


@case("sorting.cu", grid=5, block=64)
def hash_insert(rng: np.random.Generator) -> Problem:
    keys = rng.integers(1, 200, 300, dtype=np.uint32) * np.uint32(7919)
    table, counts = np.zeros(512, np.uint32), np.zeros(512, np.uint32)
    distinct, number = np.unique(keys, return_counts=True)

    def check(_: Array) -> None:
        used = np.flatnonzero(table)
        order = used[np.argsort(table[used])]
        assert (table[order] == distinct).all()
        assert (counts[order] == number).all()
        assert counts.sum() == 300

    return (keys, table, counts, 511, 300), {1: check}


@case("sorting.cu", grid=2, block=50)
def hash_cuckoo_evict(rng: np.random.Generator) -> Problem:
    keys = rng.choice(2**31, 90, replace=False).astype(np.uint32) + np.uint32(1)
    lost = np.zeros(1, np.uint32)

    def check(table: Array) -> None:
        entries = table[table != 0]
        index = entries & np.uint64(0xFFFFFFFF)
        assert len(entries) == 90 - lost[0]
        assert (keys[index] == entries >> np.uint64(32)).all()
        assert len(np.unique(index)) == len(index)

    return (np.zeros(256, np.uint64), keys, lost, 90), {0: check}
