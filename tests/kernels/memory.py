"""References of memory.cu."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.kernels.model import Problem, case

Array = npt.NDArray[Any]


@case("memory.cu", grid=1, block=48)
def global_variables(rng: np.random.Generator) -> Problem:
    table = np.zeros(64, np.int32)
    table[:5] = 5, 4, 3, 2, 1
    table[5:53] = 3 * np.arange(48)
    out = np.zeros(49, np.int32)
    out[:48] = table[np.arange(48) * 7 % 53] + table[3]

    def check(actual: Array) -> None:
        assert (actual[:48] == out[:48]).all()
        assert actual[48] % (48 * 47 // 2) == 0 and actual[48] > 0

    return (np.zeros(49, np.int32),), {0: check}


@case("memory.cu", grid=1, block=50)
def constant_indexed(rng: np.random.Generator) -> Problem:
    table = np.zeros(40, np.int32)
    table[:7] = -3, 7, 11, 13, 17, 19, 23
    index = rng.integers(0, 40, 50, dtype=np.int32)
    return (index, np.zeros(50, np.int32)), {1: table[index] + np.int32(13)}


@case("memory.cu", grid=2, block=64)
def local_array(rng: np.random.Generator) -> Problem:
    data = rng.integers(0, 1000, 100, dtype=np.int32)
    out = []
    for v in map(int, data):
        a = [v + k * k for k in range(24)]
        for k in range(24):
            j = (v + 5 * k) % 24
            a[j], a[k] = a[k], a[j]
        h = 0
        for x in a:
            h = (h * 31 + x) % 2**32
        out.append(h)
    expected = np.array(out, np.uint32).view(np.int32)
    return (data, np.zeros(100, np.int32), 100), {1: expected}


@case("memory.cu", grid=1, block=32)
def generic_pointers(rng: np.random.Generator) -> Problem:
    data = rng.integers(-1000, 1000, 32, dtype=np.int32)
    out = np.zeros(64, np.int32)
    for t in range(32):
        start = t % 20
        spaces = (data[start : start + 8], data[start : start + 8] * 2, data[t] + np.arange(8))
        total = 0
        for v in spaces[t % 3]:
            total = total * 3 + int(v)
        out[t], out[32 + t] = total, 1 << t % 3
    return (data, np.zeros(64, np.int32)), {1: out}


@case("memory.cu", grid=2, block=40)
def widths(rng: np.random.Generator) -> Problem:
    data = rng.integers(0, 256, (70, 32), dtype=np.uint8)
    expected = data.copy()
    expected[:, 31] = (data[:, 31].view(np.int8) >> 1).view(np.uint8)
    return (data, np.zeros_like(data), 70), {1: expected}


@case("memory.cu", grid=1, block=64)
def sign_extension(rng: np.random.Generator) -> Problem:
    a, b = (
        rng.integers(-128, 128, 60, dtype=np.int8),
        rng.integers(-(2**15), 2**15, 60, dtype=np.int16),
    )
    return (a, b, np.zeros(60, np.int64), 60), {2: a.astype(np.int64) * 100000 + b}


@case("memory.cu", grid=1, block=35)
def struct_parameter(rng: np.random.Generator) -> Problem:
    layout = np.dtype(
        [("c", "i1"), ("d", "f8"), ("s", "i2", 3), ("v", "f4", 3), ("l", "i8")], align=True
    )
    m = np.zeros((), layout)
    m["c"], m["d"], m["s"], m["v"], m["l"] = -5, 0.75, (100, -200, 300), (1.5, 2.5, 4.0), 2**40
    t = np.arange(35)
    expected = -5 + 0.75 * t + np.array([100, -200, 300])[t % 3] + 1.5 + 10.0 + 2.0**40 + 9
    return (m[()], 9, np.zeros(35)), {2: expected}


@case("memory.cu", grid=1, block=77, shared=308)
def dynamic_shared(rng: np.random.Generator) -> Problem:
    data = rng.integers(-(2**30), 2**30, 77, dtype=np.int32)
    return (data,), {0: (data[::-1] + 100 + np.arange(77) % 3).astype(np.int32)}


@case("memory.cu", grid=1, block=32)
def shared_vectors(rng: np.random.Generator) -> Problem:
    data = rng.standard_normal((32, 4)).astype(np.float32)
    t = np.arange(32)
    d = np.concatenate([t * 0.5, t * 0.25]).reshape(32, 2)
    v = data[(t + 1) % 32].astype(np.float64)
    return (data, np.zeros(32)), {1: v[:, 1] + v[:, 3] * d[:, 0] - d[:, 1]}


@case("memory.cu", grid=1, block=64)
def union_bytes(rng: np.random.Generator) -> Problem:
    data = rng.standard_normal(50)
    raw = data.view(np.uint8).reshape(50, 8).copy()
    out = np.zeros(50, np.uint32)
    for i in range(50):
        h = 0
        for k in range(8):
            h = (h * 257 + int(raw[i, (k + i) & 7])) % 2**32
        raw[i, i & 7] ^= 0x40
        words = raw[i].view(np.uint32)
        out[i] = h ^ int(words[0]) ^ int(words[1])
    return (data, np.zeros(50, np.uint32), 50), {1: out}


@case("memory.cu", grid=2, block=64)
def cached_loads(rng: np.random.Generator) -> Problem:
    a = rng.integers(-1000, 1000, 101, dtype=np.int32)
    i = np.arange(101)
    expected = 3 * a + a[i * 7 % 101] + a[i * 3 % 101]
    return (a, np.zeros(101, np.int32), 101), {1: expected}


@case("memory.cu", grid=2, block=32)
def linked_list(rng: np.random.Generator) -> Problem:
    n = 60
    following = np.array([rng.integers(i + 1, n) if i < n - 5 else -1 for i in range(n)], np.int32)
    value = rng.integers(-9, 10, n, dtype=np.int32)
    out = value.copy()
    for i in range(n - 6, -1, -1):
        out[i] += out[following[i]]
    return (following, value, np.zeros(n, np.int32), n), {2: out}


def _indexes(grid: tuple[int, ...], block: tuple[int, ...]) -> Problem:
    threads, blocks = int(np.prod(block)), int(np.prod(grid))
    gz, gy, gx = (v.ravel() for v in np.indices(grid[::-1]))
    tz, ty, tx = (v.ravel() for v in np.indices(block[::-1]))
    lane = np.arange(threads) % 32
    per_thread = tx | ty << 8 | tz << 12 | lane << 16 | 32 << 24
    per_block = gx | gy << 8 | gz << 16
    both = [np.tile(per_thread, blocks), np.repeat(per_block, threads)]
    expected = np.concatenate(both).astype(np.uint32)
    return (np.zeros_like(expected),), {0: expected}


@case("memory.cu", kernel="thread_indexes", grid=5, block=45)
def thread_indexes_line(rng: np.random.Generator) -> Problem:
    return _indexes((5, 1, 1), (45, 1, 1))


@case("memory.cu", kernel="thread_indexes", grid=(3, 4), block=(9, 7))
def thread_indexes_plane(rng: np.random.Generator) -> Problem:
    return _indexes((3, 4, 1), (9, 7, 1))


@case("memory.cu", kernel="thread_indexes", grid=(2, 3, 4), block=(5, 3, 7))
def thread_indexes_volume(rng: np.random.Generator) -> Problem:
    return _indexes((2, 3, 4), (5, 3, 7))
