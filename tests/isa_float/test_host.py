"""Float arithmetic and conversions equal the host's own IEEE arithmetic."""

from __future__ import annotations

import ctypes
import ctypes.util
import platform
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.isa_float.operands import Array, floats, integers, patterns, run_llvm

N = 1024
_LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
# The constants of fenv.h, on x86-64 and on AArch64.
_MODES = (
    {"RN": 0, "RM": 0x400, "RP": 0x800, "RZ": 0xC00}
    if platform.machine() in ("x86_64", "AMD64")
    else {"RN": 0, "RP": 0x400000, "RM": 0x800000, "RZ": 0xC00000}
)


@contextmanager
def rounding(mode: str) -> Iterator[None]:
    """The host's rounding mode, restored afterwards."""
    _LIBM.fesetround(_MODES[mode])
    try:
        yield
    finally:
        _LIBM.fesetround(_MODES["RN"])


def same(expected: Array, actual: Array) -> None:
    """Equal bits, any NaN equal to any other."""
    wide = expected.dtype.itemsize
    e, a = expected.view(f"u{wide}"), actual.view(f"u{wide}")
    ok = (e == a) | (np.isnan(expected) & np.isnan(actual.view(expected.dtype)))

    bad = np.flatnonzero(~ok)[:5]
    assert ok.all(), [(int(i), hex(e[i]), hex(a[i])) for i in bad]


@pytest.mark.parametrize("mode", ["RN", "RM", "RP", "RZ"])
@pytest.mark.parametrize("type", ["f32", "f64"])
def test_add_multiply_round_as_the_host(type: str, mode: str) -> None:
    """FADD, FMUL, DADD, DMUL in all four rounding modes."""
    a, b = floats(type, N, 3), floats(type, N, 4)
    letter = "F" if type == "f32" else "D"
    with np.errstate(all="ignore"), rounding(mode):
        total, product = a + b, a * b

    same(total, run_llvm(f"{letter}ADD.{mode}", a, b)[0])
    same(product, run_llvm(f"{letter}MUL.{mode}", a, b)[0])


@pytest.mark.parametrize("mode", ["RN", "RM", "RP", "RZ"])
@pytest.mark.parametrize("type", ["f32", "f64"])
def test_fused_multiply_add_rounds_as_the_host(type: str, mode: str) -> None:
    """FFMA and DFMA in all four rounding modes against the C library's fma."""
    kind, name = (ctypes.c_float, "fmaf") if type == "f32" else (ctypes.c_double, "fma")
    fma = getattr(_LIBM, name)
    fma.argtypes, fma.restype = [kind] * 3, kind
    a, b, c = (floats(type, N, seed) for seed in (5, 6, 7))
    with rounding(mode):
        found = [fma(*row) for row in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)]

    # c_float results are exact as Python floats, so that the cast back does not round.
    same(
        np.array(found, a.dtype), run_llvm(f"{'F' if type == 'f32' else 'D'}FMA.{mode}", a, b, c)[0]
    )


@pytest.mark.parametrize("mode", ["RN", "RM", "RP", "RZ"])
@pytest.mark.parametrize(("name", "scale"), [("D2", 0.5), ("D8", 0.125), ("M2", 2), ("M4", 4)])
def test_scaled_products_round_once(name: str, scale: float, mode: str) -> None:
    """FMUL.D2 and the like: a double holds the scaled product, which then is rounded."""
    a, b = floats("f32", N, 13), floats("f32", N, 14)
    with np.errstate(all="ignore"), rounding(mode):
        product = (a.astype(np.float64) * b * scale).astype(np.float32)

    same(product, run_llvm(f"FMUL.{name}.{mode}", a, b)[0])


def test_flush_to_zero_keeps_signs() -> None:
    """FADD.FTZ flushes denormal sources and results to zeros of their sign."""
    a, b = floats("f32", N, 8), floats("f32", N, 9)
    tiny = np.finfo(np.float32).tiny

    def flushed(v: Array) -> Array:
        return np.where(np.abs(v) < tiny, np.copysign(np.float32(0), v), v)

    with np.errstate(all="ignore"):
        expected = flushed(flushed(a) + flushed(b))

    same(expected, run_llvm("FADD.FTZ", a, b)[0])


def test_saturation_clamps_and_drops_nan() -> None:
    """FMUL.SAT gives [0, 1] and +0 for NaN and -0."""
    a, b = floats("f32", N, 10), floats("f32", N, 11)
    with np.errstate(all="ignore"):
        product = a * b
    expected = np.where(product > 0, np.minimum(product, np.float32(1)), np.float32(0))

    actual = run_llvm("FMUL.SAT", a, b)[0].view(np.float32)

    assert np.array_equal(expected.view(np.uint32), actual.view(np.uint32))


@pytest.mark.parametrize("name", ["MIN", "MAX"])
def test_minimum_prefers_numbers_and_orders_zeros(name: str) -> None:
    """FMNMX takes the number beside a NaN; -0 counts as less than +0."""
    a, b = floats("f32", N, 12), floats("f32", N, 13)
    take = np.full(N, name == "MIN")

    def key(v: Array) -> Array:
        bits = v.view(np.int32).astype(np.int64)
        return np.where(bits < 0, -(bits & 0x7FFFFFFF) - 1, bits)

    a_first = key(a) < key(b) if name == "MIN" else key(a) > key(b)
    expected = np.where(a_first, a, b)
    expected = np.where(np.isnan(a), b, np.where(np.isnan(b), a, expected))

    same(expected, run_llvm("FMNMX", a, b, take)[0])


@pytest.mark.parametrize(
    ("name", "compare"),
    [
        ("LT", np.less),
        ("GE", np.greater_equal),
        ("NE", None),
        ("NEU", np.not_equal),
        ("EQ", np.equal),
    ],
)
def test_comparisons_treat_nan_as_unordered(name: str, compare: Any) -> None:
    """FSETP's plain comparisons are false on NaN, NEU is true; p1 is the opposite of p0."""
    a, b = floats("f32", N, 14), floats("f32", N, 15)
    q = np.ones(N, bool)
    expected = (a < b) | (a > b) if compare is None else compare(a, b)

    first, second = run_llvm(f"FSETP.{name}.AND", a, b, q)

    assert np.array_equal(expected, first)
    assert np.array_equal(~expected, second)


@pytest.mark.parametrize(("name", "function"), [("HADD2", np.add), ("HMUL2", np.multiply)])
def test_packed_halves_equal_numpy_halves(name: str, function: Any) -> None:
    """HADD2 and HMUL2 against NumPy's float16, both halves apart."""
    words = [patterns("f16", 2 * N, seed).reshape(N, 2) for seed in (16, 17)]
    with np.errstate(all="ignore"):
        expected = function(*(w.view(np.float16) for w in words))

    packed = [np.ascontiguousarray(w).view(np.uint32).ravel() for w in words]
    actual = run_llvm(name, *packed)[0].view(np.float16).reshape(N, 2)

    same(expected, np.ascontiguousarray(actual))


@cache
def representable(type: str) -> tuple[list[Fraction], list[int]]:
    """All non-negative finite values of a 16-bit format in order, with their patterns."""
    codes = np.arange(0x7C00 if type == "f16" else 0x7F80, dtype=np.uint32)
    if type == "f16":
        values = codes.astype(np.uint16).view(np.float16).astype(np.float64)
    else:
        values = (codes << np.uint32(16)).view(np.float32).astype(np.float64)
    return [Fraction(v) for v in values.tolist()], codes.tolist()


def nearest(value: Fraction, type: str) -> int:
    """The pattern of the nearest 16-bit float, ties to the even pattern, found by search."""
    values, codes = representable(type)
    magnitude = abs(value)
    limit = 2 * values[-1] - values[-2]  # what would come next
    at = bisect_left(values, magnitude)
    if at == len(values):
        low, high, top = values[-1], limit, codes[-1] + 1
        code = top if magnitude - low >= high - magnitude else codes[-1]
    elif values[at] == magnitude:
        code = codes[at]
    else:
        below, above = magnitude - values[at - 1], values[at] - magnitude
        even = codes[at - 1] if codes[at - 1] % 2 == 0 else codes[at]
        code = even if below == above else codes[at - 1] if below < above else codes[at]
    return code | (0x8000 if value < 0 else 0)


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_half_fma_rounds_once(type: str) -> None:
    """HFMA2 against exact rationals and a search for the nearest value; midpoints included."""
    rng = np.random.default_rng(18)
    finite = [p for p in range(0x8000) if p < (0x7C00 if type == "f16" else 0x7F80)]
    one = 0x3C00 if type == "f16" else 0x3F80
    # (1 + odd ulp) * (1 + half range) lands on midpoints; tiny addends then decide the rounding.
    near_one = one + rng.integers(0, 64, (2, 256))
    tiny = rng.integers(1, 300, 256) | rng.integers(0, 2, 256) << 15
    wild = rng.choice(finite, (3, 256)) | rng.integers(0, 2, (3, 256)) << 15
    a, b, c = (
        np.concatenate(p).astype(np.uint32) for p in zip((*near_one, tiny), wild, strict=True)
    )

    actual = run_llvm("HFMA2" if type == "f16" else "HFMA2.BF16_V2", a, b, c)[0] & 0xFFFF

    values = [Fraction(v) for v in _doubles(np.concatenate((a, b, c)), type).tolist()]
    for i, code in enumerate(actual.tolist()):
        exact = values[i] * values[i + 512] + values[i + 1024]
        if exact:
            assert code == nearest(exact, type), (hex(a[i]), hex(b[i]), hex(c[i]))


def _doubles(codes: Array, type: str) -> Array:
    if type == "f16":
        return codes.astype(np.uint16).view(np.float16).astype(np.float64)
    return (codes.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)


def test_constant_moves_keep_denormal_halves() -> None:
    """HFMA2 with -0 * 0 + x is a move for every pattern but NaN."""
    words = np.arange(0x10000, dtype=np.uint32)
    words = words[(words & 0x7FFF) <= 0x7C00][:-1]
    words = words[: len(words) // 32 * 32]
    packed = words | (words[::-1] << np.uint32(16))
    minus_zero, zero = np.full_like(packed, 0x80008000), np.zeros_like(packed)

    for name in ("HFMA2", "HFMA2.MMA"):
        assert np.array_equal(packed, run_llvm(name, minus_zero, zero, packed)[0])


LIMITS = {"": (-(1 << 31), (1 << 31) - 1), ".U32": (0, (1 << 32) - 1), ".U8": (0, 255),
          ".S16": (-32768, 32767), ".S64": (-(1 << 63), (1 << 63) - 1),
          ".U64": (0, (1 << 64) - 1)}  # fmt: skip


@pytest.mark.parametrize("target", LIMITS)
@pytest.mark.parametrize(
    ("mode", "round_function"),
    [("", np.rint), (".TRUNC", np.trunc), (".FLOOR", np.floor), (".CEIL", np.ceil)],
)
def test_float_to_integer_saturates(target: str, mode: str, round_function: Any) -> None:
    """F2I rounds, clamps to the type and gives zero (NTZ) or the top bit alone for NaN."""
    a = floats("f64", N, 19)
    low, high = LIMITS[target]
    bits = high.bit_length() + (low < 0)
    expected = []
    with np.errstate(invalid="ignore"):
        rounded = round_function(a)
    for value in rounded.tolist():
        if value != value:
            expected.append(1 << (bits - 1))
        else:
            expected.append(low if value < low else high if value > high else int(value))

    actual = run_llvm(f"F2I{target}.F64{mode}", a)[0]

    size = actual.dtype.itemsize * 8
    assert [e % (1 << size) for e in expected] == actual.tolist()


@pytest.mark.parametrize("mode", ["RN", "RM", "RP", "RZ"])
@pytest.mark.parametrize("source", ["S32", "U32", "S64", "U64"])
def test_integer_to_float_rounds_once(source: str, mode: str) -> None:
    """I2F to f32 and f64 against the neighbours of the exact value."""
    words = integers("u64" if "64" in source else "u32", N, 20)
    numbers = (words.view(f"i{words.itemsize}") if source[0] == "S" else words).tolist()
    suffix = "" if mode == "RN" else f".{mode}"
    single = run_llvm(f"I2F.{source}{suffix}", words)[0].view(np.float32)
    double = run_llvm(f"I2F.F64.{source}{suffix}", words)[0].view(np.float64)

    for results, kind in ((single, np.float32), (double, np.float64)):
        for number, result in zip(numbers, results, strict=True):
            assert _is_rounded(Fraction(number), kind(result), mode), (number, result)


def _is_rounded(exact: Fraction, result: Any, mode: str) -> bool:
    value = Fraction(float(result))
    up, down = (np.nextafter(result, type(result)(s * np.inf)) for s in (1, -1))
    if mode == "RN":
        distance = abs(value - exact)
        nearer = min(abs(Fraction(float(v)) - exact) for v in (up, down))
        even = int(result.view(f"u{result.itemsize}")) % 2 == 0
        return distance < nearer or (distance == nearer and even)
    below = mode == "RM" or (mode == "RZ" and exact >= 0)
    if below:
        return value <= exact < Fraction(float(up))
    return Fraction(float(down)) < exact <= value


@pytest.mark.parametrize("mode", ["RN", "RM", "RP", "RZ"])
def test_narrowing_rounds_as_the_host(mode: str) -> None:
    """F2F.F32.F64 in all four rounding modes."""
    a = floats("f64", N, 21)
    with np.errstate(all="ignore"), rounding(mode):
        expected = a.astype(np.float32)

    same(expected, run_llvm(f"F2F.F32.F64.{mode}", a)[0])


@pytest.mark.parametrize("source", ["f32", "f64"])
@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_narrowing_to_halves_rounds_once(source: str, type: str) -> None:
    """F2F to 16-bit floats against a search for the nearest value."""
    a = floats(source, 512, 22)
    a = a[np.isfinite(a) & (a != 0)]
    a = a[: len(a) // 32 * 32]

    actual = run_llvm(f"F2F.{type.upper()}.{source.upper()}", a)[0]

    expected = [nearest(Fraction(v), type) for v in a.astype(np.float64).tolist()]
    assert expected == actual.tolist()


@pytest.mark.parametrize(
    ("mode", "function"),
    [("", np.rint), (".FLOOR", np.floor), (".CEIL", np.ceil), (".TRUNC", np.trunc)],
)
@pytest.mark.parametrize("type", ["f32", "f64"])
def test_integral_rounding_equals_numpy(type: str, mode: str, function: Any) -> None:
    """FRND in its four modes, signs of zeros kept."""
    a = floats(type, N, 23)

    with np.errstate(invalid="ignore"):
        expected = function(a)

    same(expected, run_llvm(f"FRND{'.F64' if type == 'f64' else ''}{mode}", a)[0])


def fp8_values(kind: str) -> dict[int, Fraction]:
    """The finite non-negative values of an 8-bit format, from its definition."""
    fraction_bits, bias, last = (3, 7, 0x7E) if kind == "E4M3" else (2, 15, 0x7B)
    found = {}
    for code in range(last + 1):
        exponent, fraction = code >> fraction_bits, code & ((1 << fraction_bits) - 1)
        unit = Fraction(2) ** (max(exponent, 1) - bias - fraction_bits)
        found[code] = (fraction + (1 << fraction_bits if exponent else 0)) * unit
    return found


@pytest.mark.parametrize("kind", ["E4M3", "E5M2"])
def test_eight_bit_floats_round_to_nearest(kind: str) -> None:
    """F2FP to 8-bit floats: nearest even, saturating; and back without loss."""
    values = fp8_values(kind)
    rng = np.random.default_rng(24)
    table = np.array([float(v) for v in values.values()], np.float32)
    middles = (table[1:] + table[:-1]) / 2
    above, below = (np.nextafter(middles, np.float32(limit)) for limit in (np.inf, 0))
    a = np.concatenate((
        table, middles, above, below,
        rng.uniform(0, float(table[-1]) * 1.2, 301).astype(np.float32),
        np.float32([np.inf, 1e30, 1e-30, 1e-45]),
    ))  # fmt: skip
    a = np.concatenate((a, -a))
    a = a[: len(a) // 32 * 32]
    zero = np.zeros_like(a)
    name = f"F2FP.SATFINITE.{kind}.F32.PACK_AB_MERGE_C"

    actual = run_llvm(name, zero, a, zero.view(np.uint32))[0]

    for number, code in zip(a.tolist(), actual.tolist(), strict=True):
        magnitude = min(Fraction(min(abs(number), 1e38)), max(values.values()))
        best = min(values, key=lambda c: (abs(values[c] - magnitude), c % 2))
        assert code & 0x7F == best, (number, hex(code), hex(best))
        assert (code >> 7 == 1) == (number < 0 or str(number) == "-0.0")
    codes = np.array(list(values), np.uint32)[: len(values) // 32 * 32]
    halves = run_llvm(f"F2FP.F16.{kind}.UNPACK_B", codes)[0] & np.uint32(0xFFFF)
    back = halves.astype(np.uint16).view(np.float16).astype(np.float64)
    assert [float(values[c]) for c in codes.tolist()] == back.tolist()
