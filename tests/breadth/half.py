"""References of half.cu."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.breadth.floats import BF16, F16, FORMATS, Array, Format, fused, minimum
from tests.breadth.model import feature
from tests.kernels.model import Problem

N = 256
SOURCE = "breadth/half"
Make = Callable[[np.random.Generator], Problem]


def _case(name: str, fmt: Format, block: int, make: Callable[[Format, np.random.Generator], Problem],
          ulp: int = 0, first: int = 75) -> None:  # fmt: skip
    """Declares `name`_f16 (sm_75) or `name`_bf16 (sm_80)."""
    least = max(first, 80 if fmt is BF16 else 75)
    feature(SOURCE, block=block, kernel=f"{name}_{fmt.name}", first=least, ulp=ulp)(
        lambda rng: make(fmt, rng)
    )


def _out(n: int) -> Array:
    return np.zeros(n, np.uint16)


def _binary(*functions: Callable[[Format, Array, Array], Array]) -> Callable[
    [Format, np.random.Generator], Problem
]:  # fmt: skip
    def make(fmt: Format, rng: np.random.Generator) -> Problem:
        a, b = fmt.random(rng, N), fmt.random(rng, N)
        expected = np.concatenate([f(fmt, a, b) for f in functions])
        return (a, b, _out(len(expected))), {2: _same(fmt, expected)}

    return make


def _same(fmt: Format, expected: Array) -> Callable[[Array], None]:
    def check(actual: Array) -> None:
        wrong = np.flatnonzero(fmt.canonical(actual) != fmt.canonical(expected))
        rows = [f"[{i}] expected {expected[i]:#06x}, got {actual[i]:#06x}" for i in wrong[:8]]
        assert not len(wrong), f"{len(wrong)} of {len(expected)} differ: " + "; ".join(rows)

    return check


def _plus(fmt: Format, a: Array, b: Array) -> Array:
    with np.errstate(all="ignore"):
        return fmt.bits(fmt.values(a) + fmt.values(b))


def _minus(fmt: Format, a: Array, b: Array) -> Array:
    with np.errstate(all="ignore"):
        return fmt.bits(fmt.values(a) - fmt.values(b))


def _times(fmt: Format, a: Array, b: Array) -> Array:
    with np.errstate(all="ignore"):
        return fmt.bits(fmt.values(a) * fmt.values(b))


def _negated(fmt: Format, a: Array) -> Array:
    return np.where(np.isnan(fmt.values(a)), a, a ^ np.uint16(0x8000)).astype(np.uint16)


def _magnitude(a: Array) -> Array:
    return (a & np.uint16(0x7FFF)).astype(np.uint16)


def _saturated(fmt: Format, bits: Array) -> Array:
    value = fmt.values(bits)
    clamped = np.where(np.isnan(value), 0.0, np.clip(value, 0.0, 1.0)) + 0.0
    return fmt.bits(clamped)


def _pairs(a: Array) -> tuple[Array, Array]:
    return a[::2], a[1::2]


def _swapped(a: Array) -> Array:
    return a.reshape(-1, 2)[:, ::-1].ravel()


def _three(function: Callable[[Format, Array, Array, Array], Array]) -> Callable[
    [Format, np.random.Generator], Problem
]:  # fmt: skip
    def make(fmt: Format, rng: np.random.Generator) -> Problem:
        a, b, c = (fmt.random(rng, N) for _ in range(3))
        expected = function(fmt, a, b, c)
        return (a, b, c, _out(len(expected))), {3: _same(fmt, expected)}

    return make


def _compare_words(fmt: Format, rng: np.random.Generator) -> Problem:
    a, b = fmt.random(rng, N), fmt.random(rng, N)
    b = np.where(rng.random(N) < 0.3, a, b)
    x, y = fmt.values(a), fmt.values(b)
    unordered = np.isnan(x) | np.isnan(y)
    with np.errstate(all="ignore"):
        tests = [x == y, (x != y) & ~unordered, x < y, x <= y, x > y, x >= y]
    bits = [*tests, *(t | unordered for t in tests), np.isnan(x)]
    word = sum(t.astype(np.uint32) << np.uint32(i) for i, t in enumerate(bits))
    return (a, b, np.zeros(N, np.uint32)), {2: word}


def _compare_pairs(fmt: Format, rng: np.random.Generator) -> Problem:
    a, b = fmt.random(rng, N), fmt.random(rng, N)
    b = np.where(rng.random(N) < 0.3, a, b)
    x, y = fmt.values(a), fmt.values(b)
    unordered = np.isnan(x) | np.isnan(y)
    one = int(fmt.bits(np.array(1.0)))
    with np.errstate(all="ignore"):
        lt, geu, le, neu = x < y, (x >= y) | unordered, x <= y, ~(x == y)
        eq, ge = x == y, x >= y

    def words(truth: Array, value: int) -> Array:
        low, high = _pairs(truth.astype(np.uint32) * np.uint32(value))
        return low | high << np.uint32(16)

    def both(truth: Array) -> Array:
        low, high = _pairs(truth)
        return (low & high).astype(np.uint32)

    flags = both(eq) | both(lt) << 1 | both(neu) << 2 | both(ge) << 3
    rows = [words(lt, one), words(geu, one), flags, words(le, 0xFFFF), words(neu, 0xFFFF)]
    expected = np.concatenate(rows).astype(np.uint32)
    return (a, b, np.zeros_like(expected)), {2: expected}


def _rounded(fmt: Format, rng: np.random.Generator) -> Problem:
    a = fmt.random(rng, N)
    x = fmt.values(a)
    rows = [np.floor(x), np.ceil(x), np.trunc(x), np.rint(x)]
    expected = np.concatenate([fmt.bits(np.copysign(r, x)) for r in rows])
    return (a, _out(4 * N)), {1: _same(fmt, expected)}


def _quotients(fmt: Format, rng: np.random.Generator) -> Problem:
    a, b = fmt.ordinary(rng, N), fmt.ordinary(rng, N)
    expected = fmt.values(fmt.bits(fmt.values(a) / fmt.values(b)))

    def check(actual: Array) -> None:
        np.testing.assert_allclose(fmt.values(actual), expected, rtol=2.0 ** (1 - fmt.precision))

    return (a, b, _out(N)), {2: check}


def _dot(fmt: Format, rng: np.random.Generator) -> Problem:
    a, b = fmt.ordinary(rng, 16 * 32), fmt.ordinary(rng, 16 * 32)
    products = fmt.values(_times(fmt, a, b)).astype(np.float32).reshape(32, 16)
    total = np.zeros(32, np.float32)
    for k in range(16):
        total = total + products[:, k]
    return (a, b, np.zeros(32, np.float32)), {2: total}


def _sum_pairs(fmt: Format, a: Array, b: Array) -> Array:
    low = np.repeat(b[::2], 2)
    high = np.repeat(b[1::2], 2)
    rows = [_plus(fmt, a, low), _minus(fmt, _magnitude(a), b), _times(fmt, a, high)]
    return np.concatenate(rows)


def _extremes(fmt: Format, a: Array, b: Array) -> Array:
    forms = [(False, False), (False, True), (True, False), (True, True)]
    return np.concatenate([minimum(fmt, a, b, nan, most) for nan, most in forms])


def _three_saturated(fmt: Format, a: Array, b: Array, c: Array) -> Array:
    rows = [_plus(fmt, a, b), _times(fmt, a, b), fused(fmt, a, b, c)]
    return np.concatenate([_saturated(fmt, row) for row in rows])


for _fmt in FORMATS:
    _case("sums", _fmt, N, _binary(_plus, _minus))
    _case("products", _fmt, N,
          _binary(_times, lambda f, a, b: _negated(f, _times(f, a, _magnitude(b)))))  # fmt: skip
    _case("fma", _fmt, N, _three(fused))
    _case("fma_pairs", _fmt, N // 2,
          _three(lambda f, a, b, c: fused(f, a, _swapped(b), _negated(f, c))))  # fmt: skip
    _case("sum_pairs", _fmt, N // 2, _binary(_sum_pairs))
    _case("saturated", _fmt, N, _three(_three_saturated))
    _case("extremes", _fmt, N, _binary(_extremes))
    _case("extreme_pairs", _fmt, N // 2, _binary(_extremes))
    _case("comparisons", _fmt, N, _compare_words)
    _case("compare_pairs", _fmt, N // 2, _compare_pairs)
    _case("rounding", _fmt, N, _rounded)
    _case("quotients", _fmt, N, _quotients)
    _case("dot", _fmt, 32, _dot)
    _case("relu", _fmt, N, _three(
        lambda f, a, b, c: _relu(f, fused(f, a, b, c))
    ), first=80)  # fmt: skip


def _relu(fmt: Format, bits: Array) -> Array:
    negative = fmt.values(bits) < 0
    return np.where(negative | (bits == 0x8000), np.uint16(0), bits).astype(np.uint16)


@feature(SOURCE, block=N // 2, first=80)
def complex_f16(rng: np.random.Generator) -> Problem:
    a, b, c = (F16.ordinary(rng, N) for _ in range(3))
    (ar, ai), (br, bi), (cr, ci) = _pairs(a), _pairs(b), _pairs(c)
    real = fused(F16, _negated(F16, ai), bi, fused(F16, ar, br, cr))
    imaginary = fused(F16, ai, br, fused(F16, ar, bi, ci))
    expected = np.stack([real, imaginary], 1).ravel()
    return (a, b, c, _out(N)), {3: _same(F16, expected)}


def _floats(rng: np.random.Generator) -> Array:
    wild = rng.integers(0, 1 << 32, N, dtype=np.uint32).view(np.float32)
    near = (F16.values(F16.ordinary(rng, N)) * (1 + 2.0**-11)).astype(np.float32)
    small = (rng.standard_normal(N) * 2.0**-20).astype(np.float32)
    kind = rng.integers(0, 4, N)
    ordinary = (rng.standard_normal(N) * 300).astype(np.float32)
    return np.choose(kind, [wild, near, small, ordinary]).astype(np.float32)


def _conversions(fmt: Format) -> None:
    name = fmt.name

    @feature(SOURCE, block=N, kernel=f"from_float_{name}")
    def from_float(rng: np.random.Generator) -> Problem:
        a = _floats(rng)
        expected = np.concatenate([fmt.bits(a.astype(np.float64), m) for m in ("rn", "rz", "rd", "ru")])
        return (a, _out(4 * N)), {1: _same(fmt, expected)}

    @feature(SOURCE, block=N // 2, kernel=f"from_pairs_{name}")
    def from_pairs(rng: np.random.Generator) -> Problem:
        a = _floats(rng)
        return (a, _out(N)), {1: _same(fmt, fmt.bits(a.astype(np.float64)))}

    @feature(SOURCE, block=N, kernel=f"to_float_{name}")
    def to_float(rng: np.random.Generator) -> Problem:
        a = fmt.random(rng, N)
        return (a, np.zeros(N, np.float32)), {1: fmt.values(a).astype(np.float32)}

    @feature(SOURCE, block=N, kernel=f"from_double_{name}")
    def from_double(rng: np.random.Generator) -> Problem:
        a = _floats(rng).astype(np.float64) * (1 + rng.standard_normal(N) * 2.0**-30)
        return (a, _out(N)), {1: _same(fmt, fmt.bits(a))}

    @feature(SOURCE, block=N, kernel=f"to_integers_{name}")
    def to_integers(rng: np.random.Generator) -> Problem:
        a = fmt.bits(rng.normal(0, 1, N) * 10.0 ** rng.integers(-1, 4, N))
        x = fmt.values(a)
        rows = [np.rint(x), np.trunc(x), np.floor(x), np.ceil(x)]
        words = [r.clip(-(2**31), 2**31 - 1).astype(np.int64) for r in rows]
        words.append(np.rint(x).clip(0, 2**32 - 1).astype(np.int64))
        words.append(np.rint(x).clip(-(2**15), 2**15 - 1).astype(np.int64))
        words.append(np.trunc(x).clip(0, 2**16 - 1).astype(np.int64))
        expected = np.concatenate(words).astype(np.int32)
        long = np.rint(x).astype(np.int64)
        return (a, np.zeros(7 * N, np.int32), np.zeros(N, np.int64)), {1: expected, 2: long}

    @feature(SOURCE, block=N, kernel=f"from_integers_{name}")
    def from_integers(rng: np.random.Generator) -> Problem:
        a = (rng.integers(-(2**31), 2**31, N) >> rng.integers(0, 31, N)).astype(np.int32)
        b = rng.integers(-(2**62), 2**62, N) >> rng.integers(0, 62, N)
        rows = [
            fmt.bits(a.astype(np.float64)),
            fmt.bits(a.view(np.uint32).astype(np.float64)),
            fmt.bits(a.astype(np.int16).astype(np.float64)),
            fmt.bits(a.astype(np.uint16).astype(np.float64)),
            fmt.bits(_odd_double(b)),
            fmt.bits(a.astype(np.float64), "rz"),
        ]
        return (a, b, _out(6 * N)), {2: _same(fmt, np.concatenate(rows))}


def _odd_double(values: Array) -> Array:
    """64-bit integers as doubles, rounded to odd."""
    high = (values >> 32).astype(np.float64) * 2.0**32
    return _odd(high, (values & 0xFFFFFFFF).astype(np.float64))


def _odd(a: Array, b: Array) -> Array:
    from tests.breadth.floats import odd_sum

    return odd_sum(a, b)


for _fmt in FORMATS:
    _conversions(_fmt)


def _atomics(fmt: Format, name: str, places: int, lanes: int) -> None:
    @feature(SOURCE, block=32, kernel=f"{name}_{fmt.name}", first=80 if fmt is BF16 else 75)
    def atomic(rng: np.random.Generator) -> Problem:
        count = 32 * lanes
        a = fmt.bits(rng.integers(-4, 5, count).astype(np.float64))
        total = fmt.values(a).reshape(-1, places * lanes).sum(0)
        out = _out(places * lanes)
        if name == "atomic_shared":
            return (out, a), {0: _same(fmt, fmt.bits(total))}
        return (out, a), {0: _same(fmt, fmt.bits(total))}


for _fmt in FORMATS:
    _atomics(_fmt, "atomic_pairs", 4, 2)
    _atomics(_fmt, "atomic_one", 8, 1)
_atomics(F16, "atomic_shared", 4, 2)


def _functions(fmt: Format, rng: np.random.Generator) -> Problem:
    a = fmt.bits(np.abs(rng.normal(0, 2, N)) + 0.05)
    x = fmt.values(a)
    rows = [np.sqrt(x), 1 / x, 1 / np.sqrt(x), np.exp(x), np.log(x), np.exp2(x), np.log2(x), np.sin(x),
            np.cos(x), np.tanh(x)]  # fmt: skip
    expected = np.concatenate(rows)

    def check(actual: Array) -> None:
        error = 2.0 ** (1 - fmt.precision)
        np.testing.assert_allclose(fmt.values(actual), expected, rtol=error, atol=2.0**-12)

    return (a, _out(10 * N)), {1: check}


for _fmt in FORMATS:
    _case("functions", _fmt, N, _functions)
