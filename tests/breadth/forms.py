"""References of forms.cu."""

from __future__ import annotations

import numpy as np

from tests.breadth.floats import Array
from tests.breadth.model import feature
from tests.kernels.model import Problem

SOURCE = "breadth/forms"
MIXED = np.dtype([("small", np.uint8), ("sign", np.int8), ("half", np.uint16), ("flag", np.bool_),
                  ("pad", np.uint8)])  # fmt: skip


def _ints(rng: np.random.Generator, n: int, high: int = 1000) -> Array:
    return rng.integers(0, high, n, dtype=np.int32)


def _zeros(n: int) -> Array:
    return np.zeros(n, np.int32)


@feature(SOURCE, grid=10, block=32)
def jumps(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 512)
    x = a[:320].reshape(10, 32).astype(np.int64)
    bits = np.array([bin(v).count("1") for v in x[3]])
    reverse = [int(f"{int(v):032b}"[::-1], 2) for v in x[8]]
    sums = np.concatenate([[0], np.cumsum(x[7])[:-1]])
    rows = [x[0] + 3, x[1] * a[5], x[2] ^ a[7], bits * x[3], a[x[4] & 31], x[5] // (a[9] | 1),
            x[6] - a[11] % (x[6] | 1), None, reverse, x[9] << (int(a[3]) & 31)]  # fmt: skip

    def check(out: Array) -> None:
        for i, row in enumerate(rows):
            if row is not None:
                np.testing.assert_array_equal(
                    out[32 * i : 32 * i + 32].astype(np.uint32), np.array(row).astype(np.uint32)
                )
        got = np.sort(out[224:256] - a[224:256])  # lanes draw in an order of their own
        assert got[0] == 0 and out[500] == x[7].sum() and len(sums) == 32

    return (a, _zeros(512)), {1: check}


@feature(SOURCE, block=128)
def filtered(rng: np.random.Generator) -> Problem:
    a = rng.integers(-50, 50, 128).astype(np.float32)
    weights = np.array([1, -2, 3, 0.5, 4, 8, -16, 5, 6, 7, 9, 10, 0.25, 11, 12, 13], np.float32)
    expected = sum(np.roll(a, -k) * weights[k] for k in range(13))
    return (a, np.zeros(128, np.float32), 13), {1: np.asarray(expected, np.float32)}


@feature(SOURCE, grid=2)
def bytes(rng: np.random.Generator) -> Problem:
    value = np.zeros((), MIXED)
    value["small"], value["sign"], value["half"], value["flag"] = 200, -100, 40000, True
    return (_zeros(64), value, np.uint8(250)), {0: np.full(64, 200 * 250 + 40000 - 100, np.int32)}


@feature(SOURCE, grid=8)
def decided(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 256).reshape(8, 32)
    a[3, 9] = a[5, 30] = 5
    expected = a + 100 * (a == 5).any(axis=1, keepdims=True)
    expected = expected * np.where((expected > 1040).any(axis=1, keepdims=True), 3, 1)
    return (a.ravel(), _zeros(256)), {1: expected.ravel().astype(np.int32)}


@feature(SOURCE, grid=6, block=96)
def block_decides(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 6 * 96, 1000).reshape(6, 96)
    a[a == 7] = 8
    a[1, 70] = 7
    a[2, 3] = 9
    a[4:] = a[4:] % 900 + 10
    all_, any_ = (a != 7).all(axis=1), (a == 9).any(axis=1)
    found = all_ + 2 * any_ + 4 * (a < 990).all(axis=1) + 8 * (a & 1).sum(axis=1)
    return (a.ravel(), _zeros(576)), {1: np.repeat(found, 96).astype(np.int32)}


@feature(SOURCE, block=64)
def slept(rng: np.random.Generator) -> Problem:
    return (_ints(rng, 64), _zeros(64)), {1: np.full(64, 3, np.int32)}


@feature(SOURCE, first=80)
def partial_copies(rng: np.random.Generator) -> Problem:
    a = rng.integers(-(2**31), 2**31 - 1, (16, 32, 4)).astype(np.int32)
    kept = a.view(np.uint8).copy()
    for n in range(16):
        kept[n, :, 16 - n :] = 0
    return (a.ravel(), _zeros(2048)), {1: kept[:, ::-1].copy().view(np.int32).ravel()}


def _asked(n: int, rng: np.random.Generator) -> Problem:
    a = rng.integers(-(2**31), 2**31 - 1, (64, 4)).astype(np.int32)
    kept = a.view(np.uint8).copy()
    kept[:, 16 - n :] = 0
    return (a.ravel(), _zeros(256), n), {1: kept[::-1].copy().view(np.int32).ravel()}


for _n in (0, 1, 2, 3, 5, 8, 13, 15, 16):
    feature(SOURCE, block=64, first=80, kernel="asked_copies", name=f"asked_copies_{_n}")(
        lambda rng, n=_n: _asked(n, rng)
    )


@feature(SOURCE, block=128, first=80)
def pairs_in_turn(rng: np.random.Generator) -> Problem:
    a = rng.standard_normal((7, 128))
    return (a.ravel(), np.zeros(7 * 128), 7), {1: a[:, ::-1].ravel()}


@feature(SOURCE, block=128, first=90)
def timed_waits(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 128)
    x = a.copy()
    for _ in range(6):
        x = x + np.roll(x, -1)
    return (a, _zeros(128)), {1: x}


@feature(SOURCE, block=128, first=90)
def left_early(rng: np.random.Generator) -> Problem:
    a = _ints(rng, 128)
    x, i = a.copy(), np.arange(128)
    for k in range(6):
        other = x[i ^ 1]
        x = np.where((i == 7) & (k >= 3), x, x + other)
    return (a, _zeros(128)), {1: x.astype(np.int32)}


@feature(SOURCE, block=160, first=90)
def roles(rng: np.random.Generator) -> Problem:
    a = rng.integers(0, 1 << 20, (9, 128, 2)).astype(np.int32)
    own = a[:, (np.arange(32, 160) * 5) & 127]
    expected = np.zeros((160, 2), np.int32)
    expected[32:, 0] = own[:, :, 0].sum(axis=0)
    expected[32:, 1] = np.bitwise_xor.reduce(own[:, :, 1], axis=0)
    return (a.ravel(), _zeros(320), 9), {1: expected.ravel()}


@feature(SOURCE, block=1, first=90)
def dropped_alone(rng: np.random.Generator) -> Problem:
    return (_zeros(3),), {0: np.array([0, 1, 1], np.int32)}
