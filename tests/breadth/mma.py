"""References of mma.cu: exact for integers and doubles, within the accumulation error for floats."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.breadth.floats import BF16, F16, Array, Format
from tests.breadth.model import feature
from tests.kernels.model import Check, Problem

SOURCE = "breadth/mma"
LANE = np.arange(32)
G, T = LANE // 4, LANE % 4


def _near(expected: Array, terms: Array, bits: int = 22) -> Check:
    """Within 2^-bits of the sum of absolute terms."""

    def check(actual: Array) -> None:
        error = np.abs(actual.astype(np.float64).ravel() - expected.ravel())
        bound = terms.ravel() * 2.0**-bits + 1e-30
        assert (error <= bound).all(), f"largest error {np.max(error / bound)} times the bound"

    return check


def _tile(m: int, n: int, k: int, a_rows: bool, b_rows: bool, a: Array, b: Array) -> tuple[Any, Any]:
    """The matrices as they stand in memory: row-major, else column-major."""
    assert a.shape == (m, k) and b.shape == (k, n)
    return (a if a_rows else a.T).ravel(), (b if b_rows else b.T).ravel()


def _float_tile(name: str, m: int, n: int, a_rows: bool, b_rows: bool, fmt: Format,
                first: int = 75, half: bool = False) -> None:  # fmt: skip
    k = 32

    @feature(SOURCE, kernel=name, first=first)
    def wmma(rng: np.random.Generator) -> Problem:
        a, b = fmt.ordinary(rng, m * k).reshape(m, k), fmt.ordinary(rng, k * n).reshape(k, n)
        va, vb = fmt.values(a), fmt.values(b)
        c = rng.standard_normal((m, n)).astype(np.float16 if half else np.float32)
        expected = va @ vb + c
        terms = np.abs(va) @ np.abs(vb) + np.abs(c)
        flat = _tile(m, n, k, a_rows, b_rows, a, b)
        return (*flat, c.ravel()), {2: _near(expected, terms, 9 if half else 20)}


_float_tile("wmma_f32_16", 16, 16, True, True, F16)
_float_tile("wmma_f32_32", 32, 8, True, False, F16)
_float_tile("wmma_f32_8", 8, 32, False, True, F16)
_float_tile("wmma_f16_16", 16, 16, True, False, F16, half=True)
_float_tile("wmma_bf16", 16, 16, True, False, BF16, first=80)


def _integer_tile(name: str, m: int, n: int, kind: type) -> None:
    @feature(SOURCE, kernel=name)
    def wmma(rng: np.random.Generator) -> Problem:
        info = np.iinfo(kind)
        a = rng.integers(info.min, info.max, (m, 32), kind, endpoint=True)
        b = rng.integers(info.min, info.max, (32, n), kind, endpoint=True)
        c = rng.integers(-1000, 1000, (m, n), np.int32)
        expected = a.astype(np.int32) @ b.astype(np.int32) + c
        return (*_tile(m, n, 32, True, False, a, b), c.ravel()), {2: expected}


_integer_tile("wmma_s8_16", 16, 16, np.int8)
_integer_tile("wmma_s8_32", 32, 8, np.int8)
_integer_tile("wmma_u8_8", 8, 32, np.uint8)


def _nibbles(words: Array, signed: bool = True) -> Array:
    """Eight 4-bit integers a word, the lowest first, along the last axis."""
    parts = np.stack([words >> np.uint32(4 * i) & np.uint32(15) for i in range(8)], -1)
    values = parts.astype(np.int64)
    values = np.where(values > 7, values - 16, values) if signed else values
    return values.reshape(*words.shape[:-1], -1)


def _bits(words: Array) -> Array:
    parts = np.stack([words >> np.uint32(i) & np.uint32(1) for i in range(32)], -1)
    return parts.astype(np.int64).reshape(*words.shape[:-1], -1)


def _u32(rng: np.random.Generator, *shape: int) -> Array:
    return rng.integers(0, 1 << 32, shape, dtype=np.uint32)


@feature(SOURCE)
def wmma_s4(rng: np.random.Generator) -> Problem:
    a, b = _u32(rng, 8, 4), _u32(rng, 8, 4)
    expected = (_nibbles(a) @ _nibbles(b).T).astype(np.int32)
    return (a.ravel(), b.ravel(), np.zeros(64, np.int32)), {2: expected}


@feature(SOURCE)
def wmma_b1(rng: np.random.Generator) -> Problem:
    a, b = _u32(rng, 8, 4), _u32(rng, 8, 4)
    x, y = _bits(a), _bits(b)
    expected = (x[:, None, :] != y[None, :, :]).sum(-1).astype(np.int32)
    return (a.ravel(), b.ravel(), np.zeros(64, np.int32)), {2: expected}


@feature(SOURCE, first=80)
def wmma_tf32(rng: np.random.Generator) -> Problem:
    a = rng.integers(-8, 9, (16, 8)).astype(np.float32)
    b = rng.integers(-8, 9, (8, 16)).astype(np.float32)
    c = rng.integers(-8, 9, (16, 16)).astype(np.float32)
    return (a.ravel(), b.T.ravel().copy(), c.ravel()), {2: a @ b + c}


@feature(SOURCE, first=80)
def wmma_f64(rng: np.random.Generator) -> Problem:
    a, b, c = (rng.standard_normal((8, 8)) for _ in range(3))
    expected = a @ b + c
    return (a.ravel(), b.T.ravel().copy(), c.ravel()), {
        2: _near(expected, np.abs(a) @ np.abs(b) + np.abs(c), 50)
    }


# mma.sync: fragments stand lane by lane. Coordinates of a lane's elements:
def _rows_of_a(registers: int, per_word: int) -> tuple[Array, Array]:
    """(row, k) of element e of register r of lane l, shape (32, registers, per_word)."""
    r, e = np.meshgrid(np.arange(registers), np.arange(per_word), indexing="ij")
    row = G[:, None, None] + 8 * (r % 2)
    k = T[:, None, None] * per_word + e + 4 * per_word * (r // 2)
    return np.broadcast_to(row, k.shape), k


def _rows_of_b(registers: int, per_word: int) -> tuple[Array, Array]:
    """(k, column) of element e of register r of lane l."""
    r, e = np.meshgrid(np.arange(registers), np.arange(per_word), indexing="ij")
    k = T[:, None, None] * per_word + e + 4 * per_word * r
    return k, np.broadcast_to(G[:, None, None], k.shape)


def _rows_of_c() -> tuple[Array, Array]:
    i = np.arange(4)
    return G[:, None] + 8 * (i // 2), 2 * T[:, None] + i % 2


def _gather(words: Array, values: Array, places: tuple[Array, Array], shape: tuple[int, int]) -> Array:
    matrix = np.zeros(shape, values.dtype)
    matrix[places] = values
    return matrix


def _mma(name: str, a_words: int, per_word: int, decode: Any, exact: bool, first: int,
         make: Any, combine: Any = np.matmul, bound: int = 20, decode_b: Any = None, last: int = 999) -> None:  # fmt: skip
    """One mma.sync of 16 x 8 x (a_words / 2 * 4 * per_word)."""
    b_words = a_words // 2
    k = b_words * 4 * per_word

    @feature(SOURCE, kernel=name, first=first, last=last)
    def mma(rng: np.random.Generator) -> Problem:
        a, b = make(rng, 32 * a_words), make(rng, 32 * b_words)
        wide = (decode_b or decode)(b).reshape(32, b_words, per_word)
        va = _gather(a, decode(a).reshape(32, a_words, per_word), _rows_of_a(a_words, per_word), (16, k))
        vb = _gather(b, wide, _rows_of_b(b_words, per_word), (k, 8))
        places = _rows_of_c()
        if exact:
            c = rng.integers(-(2**30), 2**30, (32, 4)).astype(np.int32)
            total = combine(va, vb)[places] + c
            return (a, b, c.ravel()), {2: total.astype(np.int32)}
        c = rng.standard_normal((32, 4)).astype(np.float32)
        total = combine(va, vb)[places] + c
        terms = (np.abs(va) @ np.abs(vb))[places] + np.abs(c)
        return (a, b, c.ravel()), {2: _near(total, terms, bound)}


def _pairs(fmt: Format) -> Any:
    return lambda words: fmt.values(words.view(np.uint16)).reshape(-1, 2)


def _make_pairs(fmt: Format) -> Any:
    return lambda rng, n: fmt.ordinary(rng, 2 * n).view(np.uint32)


def _octets(kind: type) -> Any:
    return lambda words: words.view(kind).astype(np.int64).reshape(-1, 4)


def _tf32(words: Array) -> Array:
    return (words & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64).reshape(-1, 1)


def _singles(rng: np.random.Generator, n: int) -> Array:
    return rng.standard_normal(n).astype(np.float32).view(np.uint32)


def _fp8(precision: int, bias: int) -> Any:
    mantissa = precision - 1

    def decode(words: Array) -> Array:
        bits = words.view(np.uint8).astype(np.int64)
        exponent = bits >> mantissa & ((1 << (7 - mantissa)) - 1)
        fraction = (bits & ((1 << mantissa) - 1)) + np.where(exponent, 1 << mantissa, 0)
        value = np.ldexp(fraction.astype(np.float64), np.maximum(exponent, 1) - bias - mantissa)
        return np.where(bits & 0x80, -value, value).reshape(-1, 4)

    return decode


def _small_fp8(rng: np.random.Generator, n: int) -> Array:
    bits = rng.integers(0x28, 0x48, 4 * n, dtype=np.uint8) | rng.choice(
        np.array([0, 0x80], np.uint8), 4 * n
    )
    return bits.view(np.uint32)


def _popcounts(a: Array, b: Array) -> Array:
    return (a[:, :, None] != b[None, :, :]).sum(1)


_mma("mma_1688_f16", 2, 2, _pairs(F16), False, 75, _make_pairs(F16))
_mma("mma_16816_f16", 4, 2, _pairs(F16), False, 80, _make_pairs(F16))
_mma("mma_16816_bf16", 4, 2, _pairs(BF16), False, 80, _make_pairs(BF16))
_mma("mma_1688_bf16", 2, 2, _pairs(BF16), False, 80, _make_pairs(BF16))
_mma("mma_1688_tf32", 4, 1, _tf32, False, 80, _singles)
_mma("mma_1684_tf32", 2, 1, _tf32, False, 80, _singles)
_mma("mma_16816_s8", 2, 4, _octets(np.int8), True, 80, _u32)
_mma("mma_16832_u8", 4, 4, _octets(np.uint8), True, 80, _u32, decode_b=_octets(np.int8))
_mma("mma_16864_s4", 4, 8, lambda w: _nibbles(w[:, None]), True, 80, _u32)
_mma("mma_168256_b1", 4, 32, lambda w: _bits(w[:, None]), True, 80, _u32)
_mma("mma_168128_b1", 2, 32, lambda w: _bits(w[:, None]), True, 80, _u32, combine=_popcounts)
_mma("mma_16832_e4m3", 4, 4, _fp8(4, 7), False, 89, _small_fp8, decode_b=_fp8(3, 15))


@feature(SOURCE)
def mma_8816_s8(rng: np.random.Generator) -> Problem:
    a, b = _u32(rng, 32), _u32(rng, 32)
    c = rng.integers(-1000, 1000, (32, 2)).astype(np.int32)
    va = a.view(np.int8).reshape(8, 16).astype(np.int64)
    vb = b.view(np.uint8).reshape(8, 16).astype(np.int64)
    total = (va @ vb.T)[G[:, None], 2 * T[:, None] + np.arange(2)] + c
    return (a.view(np.int32), b.view(np.int32), c.ravel()), {2: total.astype(np.int32)}


@feature(SOURCE, first=80)
def mma_884_f64(rng: np.random.Generator) -> Problem:
    a, b, c = rng.standard_normal((8, 4)), rng.standard_normal((8, 4)), rng.standard_normal((32, 2))
    place = (G[:, None], 2 * T[:, None] + np.arange(2))
    terms = (np.abs(a) @ np.abs(b).T)[place] + np.abs(c)
    return (a.ravel(), b.ravel(), c.ravel()), {2: _near((a @ b.T)[place] + c, terms, 50)}


@feature(SOURCE, first=90)
def mma_1684_f64(rng: np.random.Generator) -> Problem:
    a, b, c = rng.standard_normal((16, 4)), rng.standard_normal((8, 4)), rng.standard_normal((32, 4))
    lanes = np.stack([a[G, T], a[G + 8, T]], 1)
    place = _rows_of_c()
    terms = (np.abs(a) @ np.abs(b).T)[place] + np.abs(c)
    return (lanes.ravel(), b.ravel(), c.ravel()), {2: _near((a @ b.T)[place] + c, terms, 50)}


@feature(SOURCE)
def movmatrix(rng: np.random.Generator) -> Problem:
    a = rng.integers(0, 1 << 16, (8, 8), dtype=np.uint16)
    return (a.ravel().view(np.uint32), np.zeros(32, np.uint32)), {
        1: a.T.copy().ravel().view(np.uint32)
    }


def _row_of(matrix: int, row: int) -> int:
    return (8 * matrix + row) * 5 % 32


def _ldmatrix(name: str, count: int, transposed: bool) -> None:
    @feature(SOURCE, kernel=name)
    def ldmatrix(rng: np.random.Generator) -> Problem:
        rows = rng.integers(0, 1 << 16, (32, 8), dtype=np.uint16)
        out = []
        for j in range(count):
            matrix = rows[[_row_of(j, r) for r in range(8)]]
            out.append((matrix.T if transposed else matrix).copy().ravel().view(np.uint32))
        expected = np.concatenate(out)
        return (rows.ravel().view(np.uint32), np.zeros_like(expected)), {1: expected}


_ldmatrix("ldmatrix_1", 1, False)
_ldmatrix("ldmatrix_2", 2, False)
_ldmatrix("ldmatrix_4", 4, False)
_ldmatrix("ldmatrix_2t", 2, True)
_ldmatrix("ldmatrix_4t", 4, True)


def _stmatrix(name: str, count: int, transposed: bool) -> None:
    @feature(SOURCE, kernel=name, first=90)
    def stmatrix(rng: np.random.Generator) -> Problem:
        words = _u32(rng, 32, 4)
        expected = np.zeros((32, 8), np.uint16)
        for j in range(count):
            matrix = words[:, j].copy().view(np.uint16).reshape(8, 8)
            matrix = matrix.T if transposed else matrix
            for r in range(8):
                expected[_row_of(j, r)] = matrix[r]
        return (words.ravel(), np.zeros(128, np.uint32)), {1: expected.ravel().view(np.uint32)}


_stmatrix("stmatrix_1", 1, False)
_stmatrix("stmatrix_4", 4, False)
_stmatrix("stmatrix_2t", 2, True)
