"""The NumPy engine: the primitives of isa/lanes.py, computed at once and meant to be read.

It is slow and it is the reference: directed rounding, fused multiply-add and the half types are
computed with exact rational numbers and rounded once, in `lift/engines/exact.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from warplens.lift.engines import exact

Array = np.ndarray[Any, Any]

DTYPES: dict[str, Any] = {
    "u32": np.uint32,
    "u64": np.uint64,
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": np.uint16,
    "p": np.bool_,
}
_NAN = {"f32": 0x7FFFFFFF, "f64": 0xFFF8000000000000, "f16": 0x7FFF, "bf16": 0x7FFF}
_PATTERN: dict[str, Any] = {"f32": np.uint32, "f64": np.uint64, "f16": np.uint16, "bf16": np.uint16}
_COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_INTEGRAL: dict[str, Callable[[Array], Array]] = {
    "RN": np.rint,
    "RZ": np.trunc,
    "RM": np.floor,
    "RP": np.ceil,
}


@dataclass(frozen=True, slots=True)
class NumpyValue:
    """One value per lane. bfloat16 is kept as its 16 bits."""

    type: str
    array: Array


def _signed(a: NumpyValue) -> Array:
    return a.array.view(np.int32 if a.type == "u32" else np.int64)


class NumpyLanes:
    """The engine; `active` has one bool per lane."""

    def __init__(self, active: Array) -> None:
        self.width = len(active)
        self._active = np.asarray(active, np.bool_)

    # constants

    def _constant(self, type: str, bits: int) -> NumpyValue:
        pattern = np.full(self.width, bits, _PATTERN.get(type, DTYPES[type]))
        return NumpyValue(type, pattern.view(DTYPES[type]))

    def u32(self, n: int) -> NumpyValue:
        return self._constant("u32", n & 0xFFFFFFFF)

    def u64(self, n: int) -> NumpyValue:
        return self._constant("u64", n & 0xFFFFFFFFFFFFFFFF)

    def f32(self, bits: int) -> NumpyValue:
        return self._constant("f32", bits & 0xFFFFFFFF)

    def f64(self, bits: int) -> NumpyValue:
        return self._constant("f64", bits & 0xFFFFFFFFFFFFFFFF)

    def true(self) -> NumpyValue:
        return self._constant("p", 1)

    def false(self) -> NumpyValue:
        return self._constant("p", 0)

    def known(self, a: NumpyValue) -> int | None:
        return None

    # reinterpretation and width

    def raw_bits(self, a: NumpyValue) -> NumpyValue:
        pattern = a.array.view(_PATTERN[a.type])
        if a.type == "f64":
            return NumpyValue("u64", pattern)
        return NumpyValue("u32", pattern.astype(np.uint32))

    def bits(self, a: NumpyValue) -> NumpyValue:
        raw = self.raw_bits(a)
        is_nan = np.isnan(self._as_double(a))
        return NumpyValue(raw.type, np.where(is_nan, raw.array.dtype.type(_NAN[a.type]), raw.array))

    def bits_to_f32(self, a: NumpyValue) -> NumpyValue:
        return NumpyValue("f32", a.array.view(np.float32))

    def bits_to_f64(self, a: NumpyValue) -> NumpyValue:
        return NumpyValue("f64", a.array.view(np.float64))

    def bits_to_f16(self, a: NumpyValue) -> NumpyValue:
        return NumpyValue("f16", a.array.astype(np.uint16).view(np.float16))

    def bits_to_bf16(self, a: NumpyValue) -> NumpyValue:
        return NumpyValue("bf16", a.array.astype(np.uint16))

    def zext64(self, a: NumpyValue) -> NumpyValue:
        return NumpyValue("u64", a.array.astype(np.uint64))

    def sext64(self, a: NumpyValue) -> NumpyValue:
        return NumpyValue("u64", _signed(a).astype(np.int64).view(np.uint64))

    def low32(self, a: NumpyValue) -> NumpyValue:
        return NumpyValue("u32", a.array.astype(np.uint32))

    def high32(self, a: NumpyValue) -> NumpyValue:
        return NumpyValue("u32", (a.array >> np.uint64(32)).astype(np.uint32))

    def pair(self, low: NumpyValue, high: NumpyValue) -> NumpyValue:
        wide = high.array.astype(np.uint64) << np.uint64(32)
        return NumpyValue("u64", wide | low.array.astype(np.uint64))

    # integers: NumPy wraps around silently on arrays

    def add(self, a: NumpyValue, b: NumpyValue) -> NumpyValue:
        return NumpyValue(a.type, a.array + b.array)

    def sub(self, a: NumpyValue, b: NumpyValue) -> NumpyValue:
        return NumpyValue(a.type, a.array - b.array)

    def mul(self, a: NumpyValue, b: NumpyValue) -> NumpyValue:
        return NumpyValue(a.type, a.array * b.array)

    def and_(self, a: NumpyValue, b: NumpyValue) -> NumpyValue:
        return NumpyValue(a.type, a.array & b.array)

    def or_(self, a: NumpyValue, b: NumpyValue) -> NumpyValue:
        return NumpyValue(a.type, a.array | b.array)

    def xor(self, a: NumpyValue, b: NumpyValue) -> NumpyValue:
        return NumpyValue(a.type, a.array ^ b.array)

    def not_(self, a: NumpyValue) -> NumpyValue:
        return NumpyValue(a.type, ~a.array)

    def shl(self, a: NumpyValue, n: NumpyValue) -> NumpyValue:
        return NumpyValue(a.type, a.array << n.array)

    def lshr(self, a: NumpyValue, n: NumpyValue) -> NumpyValue:
        return NumpyValue(a.type, a.array >> n.array)

    def ashr(self, a: NumpyValue, n: NumpyValue) -> NumpyValue:
        shifted = _signed(a) >> n.array.view(_signed(a).dtype)
        return NumpyValue(a.type, shifted.view(a.array.dtype))

    def umin(self, a: NumpyValue, b: NumpyValue) -> NumpyValue:
        return NumpyValue(a.type, np.minimum(a.array, b.array))

    def umax(self, a: NumpyValue, b: NumpyValue) -> NumpyValue:
        return NumpyValue(a.type, np.maximum(a.array, b.array))

    def smin(self, a: NumpyValue, b: NumpyValue) -> NumpyValue:
        return NumpyValue(a.type, np.minimum(_signed(a), _signed(b)).view(a.array.dtype))

    def smax(self, a: NumpyValue, b: NumpyValue) -> NumpyValue:
        return NumpyValue(a.type, np.maximum(_signed(a), _signed(b)).view(a.array.dtype))

    def umax_parts(self, a: NumpyValue, b: NumpyValue, bits: int) -> NumpyValue:
        kind = np.dtype(f"u{bits // 8}")
        return NumpyValue("u32", np.maximum(a.array.view(kind), b.array.view(kind)).view(np.uint32))

    def umin_parts(self, a: NumpyValue, b: NumpyValue, bits: int) -> NumpyValue:
        kind = np.dtype(f"u{bits // 8}")
        return NumpyValue("u32", np.minimum(a.array.view(kind), b.array.view(kind)).view(np.uint32))

    def _each(self, type: str, function: Callable[[int], int], a: NumpyValue) -> NumpyValue:
        return NumpyValue(type, np.array([function(n) for n in a.array.tolist()], DTYPES[type]))

    def popcount(self, a: NumpyValue) -> NumpyValue:
        return self._each(a.type, int.bit_count, a)

    def count_leading_zeros(self, a: NumpyValue) -> NumpyValue:
        size = a.array.dtype.itemsize * 8
        return self._each(a.type, lambda n: size - n.bit_length(), a)

    def reverse_bits(self, a: NumpyValue) -> NumpyValue:
        size = a.array.dtype.itemsize * 8
        return self._each(a.type, lambda n: int(f"{n:0{size}b}"[::-1], 2), a)

    # comparisons and predicates

    def icmp(self, kind: str, a: NumpyValue, b: NumpyValue) -> NumpyValue:
        if kind[0] == "s":
            return NumpyValue("p", _COMPARE[kind[1:]](_signed(a), _signed(b)))
        return NumpyValue("p", _COMPARE[kind[-2:]](a.array, b.array))

    def fcmp(self, kind: str, a: NumpyValue, b: NumpyValue) -> NumpyValue:
        left, right = self._as_double(a), self._as_double(b)
        is_nan = np.isnan(left) | np.isnan(right)
        if kind in ("ord", "uno"):
            return NumpyValue("p", is_nan if kind == "uno" else ~is_nan)
        compared = _COMPARE[kind[1:]](left, right)
        return NumpyValue("p", compared | is_nan if kind[0] == "u" else compared & ~is_nan)

    def pand(self, a: NumpyValue, b: NumpyValue) -> NumpyValue:
        return self.and_(a, b)

    def por(self, a: NumpyValue, b: NumpyValue) -> NumpyValue:
        return self.or_(a, b)

    def pxor(self, a: NumpyValue, b: NumpyValue) -> NumpyValue:
        return self.xor(a, b)

    def pnot(self, a: NumpyValue) -> NumpyValue:
        return self.not_(a)

    def select(self, p: NumpyValue, a: NumpyValue, b: NumpyValue) -> NumpyValue:
        return NumpyValue(a.type, np.where(p.array, a.array, b.array))

    # floats

    def _as_double(self, a: NumpyValue) -> Array:
        """The values as f64, which holds those of every float type exactly."""
        if a.type == "bf16":
            single = (a.array.astype(np.uint32) << np.uint32(16)).view(np.float32)
            with np.errstate(invalid="ignore"):
                return single.astype(np.float64)
        with np.errstate(invalid="ignore"):
            return a.array.astype(np.float64)

    def _from_bits(self, type: str, patterns: list[int]) -> NumpyValue:
        return NumpyValue(type, np.array(patterns, _PATTERN[type]).view(DTYPES[type]))

    def _rounded(
        self, type: str, rounding: str, op: Callable[..., exact.Number], *args: NumpyValue
    ) -> NumpyValue:
        """Applies `op` to exact numbers lane by lane and rounds once."""
        columns = [[exact.number(v) for v in self._as_double(a).tolist()] for a in args]
        return self._from_bits(
            type,
            [
                exact.encode(op(*row, rounding), type, rounding)
                for row in zip(*columns, strict=True)
            ],
        )

    def fadd(self, a: NumpyValue, b: NumpyValue, rounding: str = "RN") -> NumpyValue:
        return self._rounded(a.type, rounding, exact.add, a, b)

    def fmul(self, a: NumpyValue, b: NumpyValue, rounding: str = "RN") -> NumpyValue:
        return self._rounded(a.type, rounding, exact.multiply, a, b)

    def ffma(self, a: NumpyValue, b: NumpyValue, c: NumpyValue, rounding: str = "RN") -> NumpyValue:
        return self._rounded(a.type, rounding, exact.multiply_add, a, b, c)

    def fdiv(self, a: NumpyValue, b: NumpyValue) -> NumpyValue:
        return self._rounded(a.type, "RN", exact.divide, a, b)

    def fsqrt(self, a: NumpyValue) -> NumpyValue:
        with np.errstate(all="ignore"):
            if a.type in ("f32", "f64"):
                return NumpyValue(a.type, np.sqrt(a.array))
            single = NumpyValue("f32", np.sqrt(self._as_double(a).astype(np.float32)))
        return self.float_to_float(single, a.type)

    def fneg(self, a: NumpyValue) -> NumpyValue:
        pattern = a.array.view(_PATTERN[a.type])
        sign = pattern.dtype.type(1 << (pattern.dtype.itemsize * 8 - 1))
        return NumpyValue(a.type, (pattern ^ sign).view(DTYPES[a.type]))

    def fabs(self, a: NumpyValue) -> NumpyValue:
        pattern = a.array.view(_PATTERN[a.type])
        magnitude = pattern.dtype.type((1 << (pattern.dtype.itemsize * 8 - 1)) - 1)
        return NumpyValue(a.type, (pattern & magnitude).view(DTYPES[a.type]))

    def flush(self, a: NumpyValue) -> NumpyValue:
        smallest = exact.smallest_normal(a.type)
        is_tiny = np.abs(self._as_double(a)) < smallest
        pattern = a.array.view(_PATTERN[a.type])
        sign = pattern & pattern.dtype.type(1 << (pattern.dtype.itemsize * 8 - 1))
        return NumpyValue(a.type, np.where(is_tiny, sign, pattern).view(DTYPES[a.type]))

    def round_integral(self, a: NumpyValue, rounding: str) -> NumpyValue:
        with np.errstate(all="ignore"):
            integral = _INTEGRAL[rounding](self._as_double(a))
        return self.float_to_float(NumpyValue("f64", integral), a.type)

    def float_to_float(self, a: NumpyValue, type: str, rounding: str = "RN") -> NumpyValue:
        return self._rounded(type, rounding, lambda n, _: n, a)

    def int_to_float(
        self, a: NumpyValue, type: str, signed: bool, rounding: str = "RN"
    ) -> NumpyValue:
        integers = (_signed(a) if signed else a.array).tolist()
        patterns = [exact.encode(exact.integer(n), type, rounding) for n in integers]
        return self._from_bits(type, patterns)

    def float_to_int(self, a: NumpyValue, type: str, signed: bool) -> NumpyValue:
        size = 32 if type == "u32" else 64
        low, high = (-(1 << size - 1), (1 << size - 1) - 1) if signed else (0, (1 << size) - 1)
        words = [
            exact.saturate(value, low, high) & ((1 << size) - 1)
            for value in self._as_double(a).tolist()
        ]
        return NumpyValue(type, np.array(words, DTYPES[type]))

    def halves_at_once(self, op: str, *words: NumpyValue) -> NumpyValue | None:
        return None

    def cut_products(
        self, rows: list[list[NumpyValue]], columns: list[NumpyValue], least: list[NumpyValue]
    ) -> None:
        return None

    def truncated(self, a: NumpyValue) -> NumpyValue:
        return self.float_to_int(self.round_integral(a, "RZ"), "u32", True)

    # across lanes

    def lane_id(self) -> NumpyValue:
        return NumpyValue("u32", np.arange(self.width, dtype=np.uint32))

    def active(self) -> NumpyValue:
        return NumpyValue("p", self._active)

    def ballot(self, p: NumpyValue) -> NumpyValue:
        voted = (p.array & self._active).tolist()
        return self.u32(sum(1 << lane for lane, on in enumerate(voted) if on))

    def gather_lane(self, a: NumpyValue, index: NumpyValue) -> NumpyValue:
        return NumpyValue(a.type, a.array[index.array & np.uint32(31)])

    def first_active(self, a: NumpyValue) -> NumpyValue:
        lane = int(np.argmax(self._active))
        return NumpyValue(a.type, np.full(self.width, a.array[lane]))

    def shared(self, name: str, function: Callable[..., Any], *args: NumpyValue) -> Any:
        return function(self, *args)

    def rarely(
        self,
        p: NumpyValue,
        usual: tuple[NumpyValue, ...],
        otherwise: Callable[[], tuple[NumpyValue, ...]],
    ) -> tuple[NumpyValue, ...]:
        return otherwise() if p.array.any() else usual

    def table(self, words: tuple[int, ...], index: NumpyValue) -> NumpyValue:
        return NumpyValue("u32", np.array(words, np.uint32)[index.array])
