"""References of runtime.cu."""

from __future__ import annotations

import numpy as np

from tests.breadth.floats import Array
from tests.breadth.model import feature
from tests.kernels.model import Problem

SOURCE = "breadth/runtime"


def _ints(rng: np.random.Generator, n: int, low: int = 0, high: int = 1000) -> Array:
    return rng.integers(low, high, n, dtype=np.int32)


def _zeros(n: int) -> Array:
    return np.zeros(n, np.int32)


@feature(SOURCE, grid=2, block=64)
def function_table(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 128)
    i = np.arange(128, dtype=np.int32)
    expected = np.choose(a % 3, [a + i, a - 3 * i, a * i + 7]).astype(np.int32)
    return (a, _zeros(128)), {1: expected}


@feature(SOURCE, block=64)
def virtual_heap(rng: np.random.Generator) -> Problem:
    i = np.arange(64)
    expected = np.where(i & 1, (i + 2) ** 2 + i, (i + 2) * i).astype(np.int32)
    return (_zeros(64),), {0: expected}


@feature(SOURCE, block=40)
def heap_list(rng: np.random.Generator) -> Problem:
    expected = _zeros(40)
    for t in range(40):
        total = 0
        for i in reversed(range(6)):
            total = total * 3 + i * (t + 1)
        expected[t] = total
    return (_zeros(40), 6), {0: expected}


def _switched(v: int) -> int:
    table = {0: v * 3, 1: v ^ 0x55, 2: v - 9, 3: (v << 3) + 17, 4: 17, 5: -v, 6: v // 3, 7: v % 11,
             8: v.bit_count(), 9: ~v, 10: int(f"{v:032b}"[::-1], 2), 12: v * v, 13: 5}  # fmt: skip
    return table.get(v & 15, 1000 + v)


@feature(SOURCE, grid=2, block=64)
def switch_table(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 128)
    expected = np.array([_switched(int(v)) % 2**32 for v in a], np.uint32).view(np.int32)
    return (a, _zeros(128)), {1: expected}


@feature(SOURCE, block=32)
def clocks(rng: np.random.Generator) -> Problem:
    return (np.zeros(32, np.int64),), {0: np.full(32, 7, np.int64)}


@feature(SOURCE, grid=3, block=64)
def identities(rng: np.random.Generator) -> Problem:
    n = 192
    lane = np.arange(n) % 32

    def check(actual: Array) -> None:
        rows = actual.view(np.uint32).reshape(10, n)
        expected = {0: lane, 1: (1 << lane) - 1, 2: 2**32 - (1 << lane), 3: np.full(n, 3),
                    4: np.zeros(n), 6: np.ones(n), 7: np.ones(n), 8: np.full(n, 2),
                    9: 2**32 - (2 << lane)}  # fmt: skip
        for i, row in expected.items():
            np.testing.assert_array_equal(rows[i], row.astype(np.uint64).astype(np.uint32), f"row {i}")

    return (_zeros(10 * n),), {0: check}


@feature(SOURCE, grid=2, block=64)
def fences(rng: np.random.Generator) -> Problem:
    return (_zeros(64), _zeros(1), _zeros(64)), {2: np.arange(64, dtype=np.int32) * 3}


@feature(SOURCE, grid=5, block=32)
def last_block(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 160)
    return (a, _zeros(5), np.zeros(1, np.uint32), _zeros(1)), {3: np.array([a.sum()], np.int32)}


@feature(SOURCE, grid=2, block=64)
def memory_orders(rng: np.random.Generator) -> Problem:
    return (_zeros(1), np.zeros(1, np.int64), np.zeros(128, np.uint32)), {
        0: np.array([256], np.int32), 1: np.array([127], np.int64), 2: np.ones(128, np.uint32),
    }  # fmt: skip


@feature(SOURCE, block=64)
def atomic_floats(rng: np.random.Generator) -> Problem:
    v = rng.integers(-100, 100, 64).astype(np.float32)
    total = np.array([v.sum()], np.float32)
    most = np.array([max(0.0, float(v.max()))])
    return (np.zeros(1, np.float32), np.zeros(1), v), {0: total, 1: most}


@feature(SOURCE, block=64)
def atomic_shared_zoo(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 64, -(2**31), 2**31 - 1)
    u = a.view(np.uint32)
    words = [a.sum(dtype=np.int32), max(0, a.max()), min(0, a.min()),
             np.bitwise_and.reduce(a | 0xFF), np.bitwise_or.reduce(a & 0xFF),
             np.bitwise_xor.reduce(a)]  # fmt: skip
    long = a.astype(np.int64)
    wide = [long.sum(), np.int64(u.max()), np.bitwise_xor.reduce(long << 20)]
    return (a, _zeros(6), np.zeros(3, np.uint64)), {
        1: np.array(words, np.int64).astype(np.int32), 2: np.array(wide, np.int64).view(np.uint64),
    }  # fmt: skip


@feature(SOURCE, block=64)
def atomic_generic(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 64)
    t = np.arange(64)
    sums = [[a[(t % 4 == k) & (a % 2 == odd)].sum() for k in range(4)] for odd in (0, 1)]
    far, near = np.array(sums, np.int64).astype(np.int32)
    return (_zeros(4), _zeros(4), a), {0: far, 1: near}


@feature(SOURCE, grid=2, block=64)
def wide_accesses(rng: np.random.Generator) -> Problem:
    a, b = _ints(rng, 512), rng.standard_normal(256)
    turned = a.reshape(2, 64, 4)[:, ::-1, ::-1].ravel().copy()
    pairs = b.reshape(-1, 2)[:, ::-1].ravel().copy()
    return (a, b, _zeros(512), np.zeros(256)), {2: turned, 3: pairs}


@feature(SOURCE, block=64)
def local_array(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 64)
    expected = []
    for v in a.tolist():
        t = [v * i + 1 for i in range(32)]
        for i in range(16):
            t[(v + i) & 31] += t[(v * 3 + i) & 31]
        w = [t[4 * i] << i for i in range(8)]
        expected.append((t[v & 31] + (w[v & 7] >> 2)) % 2**32)
    return (a, _zeros(64)), {1: np.array(expected, np.uint32).view(np.int32)}


@feature(SOURCE, block=64)
def local_generic(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 64)
    expected = np.where(a & 1, 77, 77 + (a & 15) * a).astype(np.int32)
    return (a, _zeros(64)), {1: expected}


@feature(SOURCE, block=64, first=80)
def cache_hints(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 64)
    return (a, _zeros(384)), {1: np.concatenate([a, 2 * a, 2 * a, a, a, a])}


@feature(SOURCE, block=64)
def narrow_accesses(rng: np.random.Generator) -> Problem:
    a = rng.integers(-128, 128, 64).astype(np.int8)
    b = rng.integers(0, 65536, 64).astype(np.uint16)
    return (a, b, np.zeros(64, np.int16), np.zeros(64, np.uint8)), {
        2: a[::-1].astype(np.int16) * np.int16(3), 3: (b[::-1] >> 3).astype(np.uint8),
    }  # fmt: skip


def _generic_atomics(flag: int) -> None:
    @feature(SOURCE, kernel="generic_atomics", name=f"generic_atomics_{flag}")
    def generic_atomics(rng: np.random.Generator) -> Problem:
        words = np.array([0, 0, 2**64 - 1, 0], np.uint64)
        old = np.arange(32, dtype=np.int32) + (np.arange(32) > 0)
        arguments = (words, _zeros(32), np.zeros(1, np.float32), np.zeros(1), flag)
        return arguments, {
            0: np.array([1, 31 * 16, 5, 32], np.uint64), 1: old.astype(np.int32),
            2: np.full(1, 32, np.float32), 3: np.full(1, 32.0),
        }  # fmt: skip


for _flag in (0, 1):
    _generic_atomics(_flag)


def _warp_slots(first: int, last: int, slots: int) -> None:
    @feature(SOURCE, block=128, kernel="warp_slots", name=f"warp_slots_{first}", first=first,
             last=last)  # fmt: skip
    def warp_slots(rng: np.random.Generator) -> Problem:
        return (_zeros(128),), {0: np.full(128, slots, np.int32)}


# the warps an SM holds, from the tables of the programming guide
for _first, _last, _slots in ((75, 75, 32), (80, 80, 64), (86, 89, 48), (90, 100, 64),
                              (120, 120, 48)):  # fmt: skip
    _warp_slots(_first, _last, _slots)
