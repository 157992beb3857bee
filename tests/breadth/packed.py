"""References of packed.cu: plain Python integers, NumPy, and the FP8 formats written out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.breadth.floats import Array, Format
from tests.breadth.model import feature
from tests.kernels.model import Problem

N = 256
SOURCE = "breadth/packed"
E4M3 = Format(name="e4m3", precision=4, lowest=-9, highest=5)
E5M2 = Format(name="e5m2", precision=3, lowest=-16, highest=13)


def _words(rng: np.random.Generator, n: int = N) -> Array:
    wild = rng.integers(0, 1 << 32, n, dtype=np.uint32)
    edges = np.array([0, 1, 0x7F7F7F7F, 0x80808080, 0xFFFFFFFF, 0x7FFF8000, 0x80007FFF], np.uint32)
    return np.where(rng.random(n) < 0.15, rng.choice(edges, n), wild)


def _rows(rng: np.random.Generator, count: int, functions: list[Callable[..., int]],
          kind: Any = np.uint32) -> Problem:  # fmt: skip
    """`count` word inputs and one output row per function of Python integers."""
    inputs = [_words(rng) for _ in range(count)]
    lists = [w.tolist() for w in inputs]
    rows = [[f(*v) % 2**32 for v in zip(*lists, strict=True)] for f in functions]
    expected = np.array(rows, np.uint32).ravel().view(kind)
    arguments = [w.view(kind) for w in inputs]
    return (*arguments, np.zeros_like(expected)), {count: expected}


def _signed(v: int, bits: int = 32) -> int:
    v &= (1 << bits) - 1
    return v - (1 << bits) if v >> (bits - 1) else v


def _parts(v: int, bits: int, signed: bool) -> list[int]:
    parts = [v >> i & ((1 << bits) - 1) for i in range(0, 32, bits)]
    return [_signed(p, bits) for p in parts] if signed else parts


def _join(parts: list[int], bits: int) -> int:
    return sum((p & ((1 << bits) - 1)) << (bits * i) for i, p in enumerate(parts))


def _each(bits: int, signed: bool, function: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def apply(a: int, b: int) -> int:
        pairs = zip(_parts(a, bits, signed), _parts(b, bits, signed), strict=True)
        return _join([function(x, y) for x, y in pairs], bits)

    return apply


def _clamp(v: int, low: int, high: int) -> int:
    return min(max(v, low), high)


def _dot4(a: int, b: int, c: int, signed: bool) -> int:
    return c + sum(x * y for x, y in zip(_parts(a, 8, signed), _parts(b, 8, signed), strict=True))


def _dot2(a: int, b: int, c: int, signed: bool, high: bool) -> int:
    halves, octets = _parts(a, 16, signed), _parts(b, 8, signed)
    chosen = octets[2:] if high else octets[:2]
    return c + halves[0] * chosen[0] + halves[1] * chosen[1]


@feature(SOURCE, block=N)
def dp4a(rng: np.random.Generator) -> Problem:
    forms = [lambda a, b, c, s=s: _dot4(a, b, c, s) for s in (True, False)]
    return _rows(rng, 3, forms, np.int32)


@feature(SOURCE, block=N)
def dp2a(rng: np.random.Generator) -> Problem:
    forms = [
        lambda a, b, c, s=s, h=h: _dot2(a, b, c, s, h) for s in (True, False) for h in (False, True)
    ]
    return _rows(rng, 3, forms, np.int32)


@feature(SOURCE, block=N)
def simd_bytes(rng: np.random.Generator) -> Problem:
    def absolute(a: int, b: int) -> int:
        return _join([min(abs(p), 127) for p in _parts(a, 8, True)], 8)

    forms = [
        _each(8, False, lambda x, y: x + y),
        _each(8, False, lambda x, y: x - y),
        _each(8, True, lambda x, y: _clamp(x + y, -128, 127)),
        _each(8, False, lambda x, y: _clamp(x + y, 0, 255)),
        _each(8, False, lambda x, y: _clamp(x - y, 0, 255)),
        _each(8, False, min),
        _each(8, True, max),
        _each(8, False, lambda x, y: abs(x - y)),
        _each(8, False, lambda x, y: 255 * (x > y)),
        _each(8, False, lambda x, y: x == y),
        _each(8, False, lambda x, y: (x + y + 1) >> 1),
        lambda a, b: sum(abs(x - y) for x, y in zip(_parts(a, 8, False), _parts(b, 8, False),
                                                    strict=True)),
        _each(8, True, lambda x, y: abs(x - y)),
        _each(8, True, lambda x, y: -x),
        absolute,
    ]  # fmt: skip
    return _rows(rng, 2, forms)


@feature(SOURCE, block=N)
def simd_halves(rng: np.random.Generator) -> Problem:
    def distance(signed: bool) -> Callable[[int, int], int]:
        def apply(a: int, b: int) -> int:
            pairs = zip(_parts(a, 16, signed), _parts(b, 16, signed), strict=True)
            return sum(abs(x - y) for x, y in pairs)

        return apply

    low, high = -(2**15), 2**15 - 1
    forms = [
        _each(16, False, lambda x, y: x + y),
        _each(16, False, lambda x, y: x - y),
        _each(16, True, lambda x, y: _clamp(x + y, low, high)),
        _each(16, False, lambda x, y: _clamp(x + y, 0, 65535)),
        _each(16, True, lambda x, y: _clamp(x - y, low, high)),
        _each(16, True, min),
        _each(16, False, max),
        _each(16, False, lambda x, y: abs(x - y)),
        _each(16, True, lambda x, y: 65535 * (x < y)),
        distance(False),
        _each(16, False, lambda x, y: (x + y) >> 1),
        distance(True),
    ]
    return _rows(rng, 2, forms)


@feature(SOURCE, block=N)
def sums_of_differences(rng: np.random.Generator) -> Problem:
    forms = [
        lambda a, b, c: abs(_signed(a) - _signed(b)) + c,
        lambda a, b, c: abs(a - b) + c,
        lambda a, b, c: (_signed(a) + _signed(b)) >> 1,
        lambda a, b, c: (a + b + 1) >> 1,
    ]
    arguments, expected = _rows(rng, 3, forms)
    return (arguments[0].view(np.int32), arguments[1].view(np.int32), *arguments[2:]), expected


def _select(a: int, b: int, selectors: list[int]) -> int:
    data = (b << 32 | a).to_bytes(8, "little")
    out = []
    for s in selectors:
        octet = data[s & 7]
        out.append((0xFF if octet & 0x80 else 0) if s & 8 else octet)
    return int.from_bytes(bytes(out), "little")


@feature(SOURCE, block=N)
def permutes(rng: np.random.Generator) -> Problem:
    def clamp(i: int, s: int) -> int:
        return max(i, s & 3)

    forms = [
        lambda a, b, s: _select(a, b, [s >> 4 * i & 7 for i in range(4)]),
        lambda a, b, s: (b << 32 | a) << (s & 31) >> 32,
        lambda a, b, s: (b << 32 | a) >> min(s, 32),
        lambda a, b, s: _select(a, b, [(s & 3) + i for i in range(4)]),
        lambda a, b, s: _select(a, b, [clamp(i, s) for i in range(4)]),
        lambda a, b, s: _select(a, b, [2 * (s & 1), 2 * (s & 1) + 1] * 2),
    ]
    return _rows(rng, 3, forms)


@feature(SOURCE, block=N)
def video(rng: np.random.Generator) -> Problem:
    def byte(v: int, i: int) -> int:
        return _signed(v >> 8 * i, 8)

    def half(v: int, i: int) -> int:
        return _signed(v >> 16 * i, 16)

    forms = [
        lambda a, b, c: _clamp(byte(a, 1) + half(b, 1), -(2**31), 2**31 - 1),
        lambda a, b, c: abs(byte(a, 0) - byte(b, 3)) + c,
        lambda a, b, c: max(min(_signed(a), _signed(b)), _signed(c)),
        lambda a, b, c: byte(a, 2) * half(b, 0) + c,
        lambda a, b, c: a << min(b, 32),
        lambda a, b, c: int(_signed(a) < _signed(b)),
    ]
    return _rows(rng, 3, forms, np.int32)


@feature(SOURCE, block=N)
def dpx(rng: np.random.Generator) -> Problem:
    def wrap(v: int) -> int:
        return _signed(v)

    def threes(signed: bool, function: Callable[..., int]) -> Callable[[int, int, int], int]:
        def apply(a: int, b: int, c: int) -> int:
            parts = (_parts(v, 16, signed) for v in (a, b, c))
            return _join([function(*p) for p in zip(*parts, strict=True)], 16)

        return apply

    s = _signed
    forms = [
        lambda a, b, c: max(wrap(a + b), s(c)),
        lambda a, b, c: min(wrap(a + b), s(c)),
        lambda a, b, c: max(wrap(a + b), s(c), 0),
        lambda a, b, c: max(s(a), s(b), s(c)),
        lambda a, b, c: min(a, b, c),
        lambda a, b, c: max(s(a), s(b), 0),
        threes(True, lambda x, y, z: max(_signed(x + y, 16), z)),
        threes(True, max),
        threes(False, lambda x, y, z: min((x + y) & 65535, z)),
        threes(True, lambda x, y, z: max(min(x, y, z), 0)),
        lambda a, b, c: 2 * max(s(a), s(b)) + (s(a) >= s(b)),
    ]
    return _rows(rng, 3, forms, np.int32)


def _fp8_values(fmt: Format) -> dict[int, float]:
    """Every finite bit pattern of an 8-bit float and its value."""
    mantissa = fmt.precision - 1
    values = {}
    for bits in range(256):
        exponent, fraction = bits >> mantissa & ((1 << (7 - mantissa)) - 1), bits & ((1 << mantissa) - 1)
        if (fmt is E4M3 and bits & 0x7F == 0x7F) or (fmt is E5M2 and exponent == 31):
            continue
        scaled = fraction if exponent == 0 else fraction + (1 << mantissa)
        value = scaled * 2.0 ** (fmt.lowest + max(exponent - 1, 0))
        values[bits] = -value if bits & 0x80 else value
    return values


def _to_fp8(fmt: Format, value: float) -> int:
    """The nearest pattern, ties to even, saturated to the largest finite value."""
    if np.isnan(value):
        return 0x7F
    sign = 0x80 if np.signbit(value) else 0
    positive = {b: v for b, v in _fp8_values(fmt).items() if b < 0x80}
    best = min(positive, key=lambda b: (abs(positive[b] - abs(value)), b & 1))
    return sign | (best if abs(value) < max(positive.values()) else max(positive))


@feature(SOURCE, block=N)
def to_fp8(rng: np.random.Generator) -> Problem:
    a = (rng.standard_normal(N) * 2.0 ** rng.integers(-18, 18, N)).astype(np.float32)
    a[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 448.0]
    rows = [[_to_fp8(fmt, float(v)) for v in a] for fmt in (E4M3, E5M2)]
    return (a, np.zeros(2 * N, np.uint8)), {1: np.array(rows, np.uint8).ravel()}


@feature(SOURCE, block=N)
def from_fp8(rng: np.random.Generator) -> Problem:
    a = np.arange(256, dtype=np.uint8)
    rows = []
    for fmt in (E4M3, E5M2):
        values = _fp8_values(fmt)
        infinite = {0x7C: np.inf, 0xFC: -np.inf} if fmt is E5M2 else {}
        rows.append([float({**values, **infinite}.get(int(b), np.nan)) for b in a])
    expected = np.array(rows).ravel().astype(np.float16)

    def check(actual: Array) -> None:
        halves = actual.view(np.float16)
        same = (halves.view(np.uint16) == expected.view(np.uint16)) | (
            np.isnan(halves) & np.isnan(expected)
        )
        assert same.all(), np.flatnonzero(~same)

    return (a, np.zeros(512, np.uint16)), {1: check}


@feature(SOURCE, block=64)
def carries(rng: np.random.Generator) -> Problem:
    a, b = _words(rng), _words(rng)

    def wide(words: Array) -> list[int]:
        return [int.from_bytes(row.tobytes(), "little") for row in words.reshape(-1, 4)]

    sums = [(x + y) % 2**128 for x, y in zip(wide(a), wide(b), strict=True)]
    expected = np.frombuffer(b"".join(s.to_bytes(16, "little") for s in sums), np.uint32)
    return (a, b, np.zeros(N, np.uint32)), {2: expected}


def _find_nth(mask: int, base: int, offset: int) -> int:
    """fns for a positive offset: the offset-th set bit from `base` upwards."""
    found = [i for i in range(base, 32) if mask >> i & 1]
    return found[offset - 1] if len(found) >= offset else 0xFFFFFFFF


@feature(SOURCE, block=N)
def bits_zoo(rng: np.random.Generator) -> Problem:
    def start(y: int) -> int:
        return y & 31

    def length(y: int) -> int:
        return y >> 8 & 31

    def field(x: int, y: int, signed: bool) -> int:
        if length(y) == 0:
            return 0
        value = x >> start(y) & ((1 << length(y)) - 1)
        if not signed:
            return value
        sign = x >> min(start(y) + length(y) - 1, 31) & 1
        top = min(length(y), 32 - start(y))
        return value - (sign << length(y)) if top == length(y) else value | -(sign << top)

    def insert(x: int, y: int) -> int:
        mask = ((1 << length(y)) - 1) << start(y) & 0xFFFFFFFF
        return y & ~mask | x << start(y) & mask

    def highest(v: int) -> int:
        return v.bit_length() - 1

    def shift(x: int, y: int) -> int:
        s = _signed(x)
        position = highest(~s if s < 0 else s)
        return 31 - position if position >= 0 else 0xFFFFFFFF

    def extend(x: int, y: int) -> int:
        n = y & 63
        return 0 if n == 0 else _signed(x) if n >= 32 else _signed(x, n)

    forms = [
        lambda x, y: field(x, y, False),
        lambda x, y: field(x, y, True),
        insert,
        lambda x, y: highest(x),
        shift,
        extend,
        lambda x, y: ((1 << length(y)) - 1) << start(y),
        lambda x, y: _find_nth(x, start(y), 2),
    ]
    return _rows(rng, 2, forms)
