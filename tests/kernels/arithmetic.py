"""References of arithmetic.cu and wide.cu: Python integers, NumPy and exact rationals."""

from __future__ import annotations

from collections.abc import Callable
from math import erf, gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from tests import exact
from tests.kernels.model import Problem, case

Array = npt.NDArray[Any]
ERF = np.vectorize(erf)
EDGES = (0, 1, 2, 3, 7, 31, 32, 33, 63, 127, 255, 0x7FFF, 0x8000, 0xFFFF, 0x10000)


def integers(rng: np.random.Generator, kind: type, n: int) -> Array:
    """Random integers of many magnitudes with the limits and small values mixed in."""
    bits = 8 * np.dtype(kind).itemsize
    values = [int(v) >> int(s) for v, s in zip(
        rng.integers(0, 2**bits, n, dtype=np.uint64 if bits == 64 else np.int64),
        rng.integers(0, bits, n), strict=True)]  # fmt: skip
    edges = [*EDGES, *(2**bits - e for e in EDGES), 2 ** (bits - 1) - 1, 2 ** (bits - 1)]
    for place in rng.choice(n, n // 3, replace=False):
        values[place] = edges[rng.integers(len(edges))]
    values = [-v if rng.integers(2) else v for v in values]
    unsigned = np.array([v % 2**bits for v in values], f"u{bits // 8}")
    return unsigned.view(kind)


def floats(rng: np.random.Generator, kind: type, n: int) -> Array:
    """Random floats of many magnitudes with zeros, denormals, infinities and NaN mixed in."""
    values = (rng.standard_normal(n) * 10.0 ** rng.integers(-6, 7, n)).astype(kind)
    info = np.finfo(kind)
    edges = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, info.tiny, info.max, -info.max,
             info.smallest_subnormal, -info.smallest_subnormal, info.tiny / 4, 0.5, 1.5,
             2.5]  # fmt: skip
    for place in rng.choice(n, n // 3, replace=False):
        values[place] = edges[rng.integers(len(edges))]
    raw = rng.integers(0, 2**63, n, dtype=np.int64).view(np.float64)
    if kind is np.float32:
        raw = rng.integers(0, 2**32, n, dtype=np.uint32).view(np.float32)
    return np.where(rng.integers(0, 4, n) == 0, raw, values)


def _quotient(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _remainder(x: int, y: int) -> int:
    return x - y * _quotient(x, y)


def _low24(x: int, signed: bool) -> int:
    x &= 0xFFFFFF
    return x - 2**24 if signed and x >> 23 else x


def _wrapped(kind: type, x: Array, y: Array, operations: list[Callable[[int, int], int]]) -> Array:
    bits = 8 * np.dtype(kind).itemsize
    rows = [[f(int(p), int(q)) % 2**bits for p, q in zip(x, y, strict=True)] for f in operations]
    return np.array(rows, f"u{bits // 8}").view(kind)


N = 200


def _integer_problem(rng: np.random.Generator, kind: type, operations: list[Any]) -> Problem:
    x, y = integers(rng, kind, N), integers(rng, kind, N)
    expected = _wrapped(kind, x, y, operations)
    return (x, y, np.zeros_like(expected), N), {2: expected}


@case("arithmetic.cu", grid=2, block=100)
def int32_ops(rng: np.random.Generator) -> Problem:
    def legal(x: int, y: int) -> bool:
        return y != 0 and not (x == -(2**31) and y == -1)

    return _integer_problem(rng, np.int32, [
        lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y,
        lambda x, y: _quotient(x, y) if legal(x, y) else 0,
        lambda x, y: _remainder(x, y) if legal(x, y) else 0,
        lambda x, y: x * y >> 32, min, max, lambda x, y: x >> (y & 31), lambda x, y: x & y,
        lambda x, y: x | ~y, lambda x, y: x ^ y, lambda x, y: x < y, lambda x, y: x == y,
        lambda x, y: _low24(x, True) * _low24(y, True), lambda x, y: abs(x - y) + 7,
        lambda x, y: (x + y) >> 1, lambda x, y: (x + y + 1) >> 1, lambda x, y: _quotient(x, 7),
        lambda x, y: _remainder(x, 10), lambda x, y: _quotient(x, -1000003),
        lambda x, y: abs(x % 2**32 - y % 2**32) + 3])  # fmt: skip


def _permute(x: int, y: int, selector: int) -> int:
    data = (y % 2**32) << 32 | x % 2**32
    return sum((data >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i for i in range(4))


def _funnel(x: int, y: int, shift: int, left: bool) -> int:
    both = y << 32 | x
    return both << shift >> 32 if left else both >> shift


def _reverse(x: int, bits: int) -> int:
    return int(f"{x:0{bits}b}"[::-1], 2)


@case("arithmetic.cu", grid=2, block=100)
def uint32_ops(rng: np.random.Generator) -> Problem:
    return _integer_problem(rng, np.uint32, [
        lambda x, y: x + y, lambda x, y: x * y, lambda x, y: x // y if y else 1,
        lambda x, y: x % y if y else 2, lambda x, y: x * y >> 32, min, max,
        lambda x, y: x << (y & 31), lambda x, y: x >> (y & 31), lambda x, y: 32 - x.bit_length(),
        lambda x, y: x.bit_count(), lambda x, y: _reverse(x, 32),
        lambda x, y: (x & -x).bit_length(), lambda x, y: _permute(x, y, 0x7531),
        lambda x, y: _permute(x, y, x & 0x7777), lambda x, y: _funnel(x, y, y & 31, True),
        lambda x, y: _funnel(x, y, x & 31, False),
        lambda x, y: _funnel(x, y, min(y & 63, 32), True),
        lambda x, y: _funnel(x, y, min(x & 63, 32), False),
        lambda x, y: _low24(x, False) * _low24(y, False), lambda x, y: x // 10,
        lambda x, y: x % 641, lambda x, y: (x + y) >> 1])  # fmt: skip


@case("arithmetic.cu", grid=2, block=100)
def int64_ops(rng: np.random.Generator) -> Problem:
    return _integer_problem(rng, np.int64, [
        lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y,
        lambda x, y: x if y in (0, -1) else _quotient(x, y),
        lambda x, y: x if y in (0, -1) else _remainder(x, y), lambda x, y: x * y >> 64, min, max,
        lambda x, y: x >> (y & 63), lambda x, y: x < y, lambda x, y: x == y,
        lambda x, y: _quotient(x, 1000000007), lambda x, y: _remainder(x, 86400),
        lambda x, y: x & ~y])  # fmt: skip


@case("arithmetic.cu", grid=2, block=100)
def uint64_ops(rng: np.random.Generator) -> Problem:
    return _integer_problem(rng, np.uint64, [
        lambda x, y: x + y, lambda x, y: x * y, lambda x, y: x // y if y else 1,
        lambda x, y: x % y if y else 2, lambda x, y: x * y >> 64, min, max,
        lambda x, y: x << (y & 63), lambda x, y: x >> (y & 63), lambda x, y: 64 - x.bit_length(),
        lambda x, y: x.bit_count(), lambda x, y: _reverse(x, 64),
        lambda x, y: (x & -x).bit_length(), lambda x, y: x // 1000003, lambda x, y: x % 10,
        lambda x, y: x ^ y])  # fmt: skip


def minimum(x: Array, y: Array) -> Array:
    """CUDA's fmin: a NaN loses, -0 is below +0."""
    smaller = (x < y) | ((x == y) & np.signbit(x)) | np.isnan(y)
    return np.where(smaller, x, y)


def maximum(x: Array, y: Array) -> Array:
    """CUDA's fmax: a NaN loses, +0 is above -0."""
    larger = (x > y) | ((x == y) & np.signbit(y)) | np.isnan(y)
    return np.where(larger, x, y)


def round_away(x: Array) -> Array:
    """C's round(): halves away from zero."""
    whole = np.trunc(x)
    return np.copysign(np.where(np.abs(x - whole) >= 0.5, whole + np.sign(x), whole), x).astype(
        x.dtype
    )


def _float_rows(x: Array, y: Array) -> list[Array]:
    rows = [x + y, x - y, x * y, x / y, np.sqrt(x), exact.fma(x, y, x), minimum(x, y),
            maximum(x, y), np.abs(x), -y, np.floor(x), np.ceil(x), np.trunc(x), np.rint(x),
            np.copysign(x, y), x.dtype.type(1) / x]  # fmt: skip
    for operation in (exact.add, exact.mul):
        rows += [operation(x, y, mode) for mode in ("rz", "ru", "rd")]
    return [*rows, *(exact.fma(x, y, y, mode) for mode in ("rz", "ru", "rd")), round_away(x)]


@case("arithmetic.cu", grid=2, block=100)
def float32_ops(rng: np.random.Generator) -> Problem:
    x, y = floats(rng, np.float32, N), floats(rng, np.float32, N)
    with np.errstate(all="ignore"):
        clamped = np.where(x > 0, np.minimum(x, np.float32(1)), np.float32(0))
        expected = np.array([*_float_rows(x, y), clamped], np.float32)
    return (x, y, np.zeros_like(expected), N), {2: expected}


@case("arithmetic.cu", grid=2, block=100)
def float64_ops(rng: np.random.Generator) -> Problem:
    x, y = floats(rng, np.float64, N), floats(rng, np.float64, N)
    with np.errstate(all="ignore"):
        expected = np.array(_float_rows(x, y))
    return (x, y, np.zeros_like(expected), N), {2: expected}


@case("arithmetic.cu", grid=2, block=100)
def float_compare(rng: np.random.Generator) -> Problem:
    x, y = floats(rng, np.float32, N), floats(rng, np.float32, N)
    y = np.where(rng.integers(0, 3, N) == 0, x, y)
    bits = [x < y, x <= y, x == y, x != y, x > y, x >= y, np.isnan(x) | np.isnan(y), np.isnan(x),
            np.isinf(x), np.signbit(x)]  # fmt: skip
    expected = sum(b.astype(np.uint32) << np.uint32(i) for i, b in enumerate(bits))
    return (x, y, np.zeros(N, np.uint32), N), {2: expected}


def _saturate(value: Array, kind: type) -> Array:
    info = np.iinfo(kind)
    clean = np.where(np.isnan(value), 0.0, value.astype(np.float64))
    return np.clip(clean, info.min, info.max).astype(kind)


@case("arithmetic.cu", grid=2, block=100)
def float_to_int(rng: np.random.Generator) -> Problem:
    x = floats(rng, np.float32, N)
    expected = {
        1: _saturate(np.trunc(x), np.int32),
        2: _saturate(np.trunc(x), np.uint32),
        3: _saturate(np.floor(x), np.int32),
        4: _saturate(np.ceil(x), np.int32),
        5: _saturate(np.rint(x), np.int32),
    }
    return (x, *(np.zeros_like(v) for v in expected.values()), N), expected


@case("arithmetic.cu", grid=2, block=100)
def int_to_float(rng: np.random.Generator) -> Problem:
    x = integers(rng, np.int64, N)
    low, high = x.astype(np.int32), x.astype(np.uint32)
    one32 = np.ones(N, np.float32)

    def directed(values: Array, mode: str) -> Array:
        # The two halves are exact in float32 and their sum is rounded once.
        whole = values.astype(np.int64)
        top, rest = (whole >> 16) << 16, whole & 0xFFFF
        return exact.fma(top.astype(np.float32), one32, rest.astype(np.float32), mode)

    expected = {
        1: x.astype(np.float32),
        2: (x.astype(np.float64) * 1.0e-3).astype(np.float32),
        3: x.astype(np.float64),
        4: low.astype(np.float32),
        5: high.astype(np.float32),
        6: directed(low, "rd"),
        7: directed(high, "ru"),
    }
    return (x, *(np.zeros_like(v) for v in expected.values()), N), expected


@case("arithmetic.cu", grid=2, block=100)
def narrow(rng: np.random.Generator) -> Problem:
    x = integers(rng, np.int32, N)
    b, c, d, e = (x.astype(kind) for kind in (np.int8, np.uint8, np.int16, np.uint16))
    f = b.astype(np.int64) * d + e
    return (x, *(np.zeros_like(v) for v in (b, c, d, e, f)), N), dict(enumerate((b, c, d, e, f), 1))


@case("arithmetic.cu", grid=2, block=100)
def wide_immediates(rng: np.random.Generator) -> Problem:
    x = integers(rng, np.uint64, N)
    m = 2**64
    rows = [
        ((v + 0xEB55EE1F) % m, (v + 0xFFFFFFFFEB55EE1F) % m, min(v, 0xEB55EE1F),
         0x123456789ABC if v > 0xEB55EE1F else 7,
         0xFFFFFFFFF2345678 if v < 2**63 or v - m > -77 else 0x82345678,
         v * (m - 1) >> 64)
        for v in map(int, x)
    ]  # fmt: skip
    expected = np.ascontiguousarray(np.array(rows, np.uint64).T)
    return (x, np.zeros_like(expected), N), {1: expected}


@case("arithmetic.cu", grid=2, block=100)
def gcd_loop(rng: np.random.Generator) -> Problem:
    x, y = integers(rng, np.uint32, N), integers(rng, np.uint32, N)
    expected = np.array([gcd(int(a), int(b)) for a, b in zip(x, y, strict=True)], np.uint32)
    return (x, y, np.zeros(N, np.uint32), N), {2: expected}


@case("wide.cu", grid=1, block=40, options=("-device-int128",))
def modular_power(rng: np.random.Generator) -> Problem:
    base = rng.integers(0, 2**64, 33, dtype=np.uint64)
    modulus = 2**61 - 1
    expected = np.array([pow(int(b), 1000003, modulus) for b in base], np.uint64)
    return (base, np.zeros(33, np.uint64), 1000003, modulus, 33), {1: expected}


@case("arithmetic.cu", grid=2, block=30)
def big_multiply(rng: np.random.Generator) -> Problem:
    a, b = (rng.integers(0, 2**32, (60, 4), dtype=np.uint32) for _ in range(2))
    expected = [
        int.from_bytes(x.tobytes(), "little") * int.from_bytes(y.tobytes(), "little")
        for x, y in zip(a, b, strict=True)
    ]
    words = np.frombuffer(b"".join(v.to_bytes(32, "little") for v in expected), np.uint32)
    return (a, b, np.zeros((60, 8), np.uint32)), {2: words.reshape(60, 8)}


# Largest errors of the CUDA C++ Programming Guide's tables are 1 to 4 ulp; powf has 4, pow 2.
@case("arithmetic.cu", grid=2, block=100, ulp=5)
def special_functions(rng: np.random.Generator) -> Problem:
    x = rng.uniform(-20, 20, N).astype(np.float32)
    d = x.astype(np.float64)
    rows = [np.exp(d), np.log(abs(d)), np.sin(d), np.cos(d), np.tanh(d), ERF(d),
            1 / np.sqrt(abs(d)), np.exp2(d), np.log2(abs(d)), np.arctan(d),
            abs(d) ** float(np.float32(1.7)),
            np.cbrt(d)]  # fmt: skip
    expected = np.array(rows).astype(np.float32)
    return (x, np.zeros_like(expected), N), {1: expected}


@case("arithmetic.cu", grid=2, block=100, ulp=4)
def special_doubles(rng: np.random.Generator) -> Problem:
    d = rng.uniform(-20, 20, N)
    expected = np.array([np.exp(d), np.log(abs(d)), np.sin(d), np.cos(d), np.tanh(d),
                         ERF(d), 1 / np.sqrt(abs(d)), abs(d) ** 1.7])  # fmt: skip
    return (d, np.zeros_like(expected), N), {1: expected}


@case("arithmetic.cu", grid=1, block=128)
def fast_functions(rng: np.random.Generator) -> Problem:
    x = rng.uniform(-3.1, 3.1, 128).astype(np.float32)
    d = x.astype(np.float64)

    def check(out: Array) -> None:
        sine, cosine, power, log, quotient, root = out.reshape(6, 128)
        # Bounds of the CUDA C++ Programming Guide: 2^-21.41, 2^-21.19 absolute, 2 + |1.173 x| ulp,
        # 3 ulp, 2 ulp; the reciprocal square root here is the correctly rounded one.
        assert np.abs(sine - np.sin(d)).max() <= 2**-21.41
        assert np.abs(cosine - np.cos(d)).max() <= 2**-21.19
        assert np.abs(power / np.exp(d) - 1).max() <= 6 * 2**-23
        assert np.abs(log / np.log(np.abs(d) + 2) - 1).max() <= 4 * 2**-23
        assert np.abs(quotient / (d / 3) - 1).max() <= 2 * 2**-23
        assert np.abs(root * np.sqrt(np.abs(d)) - 1).max() <= 2**-23

    return (x, np.zeros(6 * 128, np.float32), 128), {1: check}
