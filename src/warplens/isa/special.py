"""MUFU: the special functions.

The chip interpolates tables; its exact bits are not published. Each function here is computed in
double precision and rounded once to single, which is well inside the error bounds that NVIDIA
documents. `FUNCTIONS` maps a modifier to its function, so that a rule recorded from a chip can
take the place of any of them.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from warplens.isa import float_compare as fc
from warplens.isa.convert import widen_half
from warplens.isa.lanes import Lanes, Value
from warplens.isa.table import Modifiers, op

_MUFU = {"pipe": "xu", "latency": "mufu", "category": "fp32"}


def double(x: Lanes, value: float) -> Value:
    """An f64 constant."""
    return x.f64(struct.unpack("<Q", struct.pack("<d", value))[0])


def _polynomial(x: Lanes, a: Value, coefficients: tuple[float, ...]) -> Value:
    """Horner's rule; the coefficient of the highest power comes first."""
    total = double(x, coefficients[0])
    for c in coefficients[1:]:
        total = x.ffma(total, a, double(x, c))
    return total


def _single(x: Lanes, a: Value) -> Value:
    return x.flush(x.float_to_float(a, "f32"))


def _reciprocal(x: Lanes, a: Value) -> Value:
    wide = x.float_to_float(x.flush(a), "f64")
    return _single(x, x.fdiv(double(x, 1.0), wide))


def _reciprocal_root(x: Lanes, a: Value) -> Value:
    wide = x.float_to_float(x.flush(a), "f64")
    return _single(x, x.fdiv(double(x, 1.0), x.fsqrt(wide)))


def _root(x: Lanes, a: Value) -> Value:
    return _single(x, x.fsqrt(x.float_to_float(x.flush(a), "f64")))


_EXP2 = tuple(math.log(2.0) ** k / math.factorial(k) for k in range(14, -1, -1))


def _exp2(x: Lanes, a: Value) -> Value:
    wide = x.float_to_float(x.flush(a), "f64")
    # Outside these limits the result is zero or infinite in single precision in any case.
    wide = x.select(x.fcmp("ogt", wide, double(x, 200.0)), double(x, 200.0), wide)
    wide = x.select(x.fcmp("olt", wide, double(x, -200.0)), double(x, -200.0), wide)
    whole = x.round_integral(wide, "RN")
    power = _polynomial(x, x.fadd(wide, x.fneg(whole)), _EXP2)
    exponent = x.add(x.float_to_int(whole, "u64", True), x.u64(1023))
    return _single(x, x.fmul(power, x.bits_to_f64(x.shl(exponent, x.u64(52)))))


# log2(m) = 2/ln 2 * (s + s^3/3 + s^5/5 + ...) with s = (m - 1) / (m + 1)
_LOG2 = tuple(2.0 / math.log(2.0) / k for k in range(23, 0, -2))


def _log2(x: Lanes, a: Value) -> Value:
    a = x.flush(a)
    bits = x.raw_bits(x.float_to_float(a, "f64"))
    # Exponent such that the fraction lies in [sqrt(1/2), sqrt(2)): exact near 1.
    offset = x.u64(0x3FE6A09E667F3BCD)
    exponent = x.ashr(x.sub(bits, offset), x.u64(52))
    fraction = x.bits_to_f64(x.sub(bits, x.shl(exponent, x.u64(52))))
    one = double(x, 1.0)
    s = x.fdiv(x.fadd(fraction, x.fneg(one)), x.fadd(fraction, one))
    series = x.fmul(s, _polynomial(x, x.fmul(s, s), _LOG2))
    result = _single(x, x.fadd(x.int_to_float(exponent, "f64", True), series))
    zero, infinity = x.f32(0), x.f32(0x7F800000)
    result = x.select(x.fcmp("oeq", a, infinity), infinity, result)
    result = x.select(x.fcmp("oeq", a, zero), x.f32(0xFF800000), result)
    return x.select(x.fcmp("ult", a, zero), fc.canonical_nan(x, "f32"), result)


_SINE = tuple(
    (-1.0) ** k * (2.0 * math.pi) ** (2 * k + 1) / math.factorial(2 * k + 1)
    for k in range(11, -1, -1)
)


def _quarter_sine(x: Lanes, turns: Value) -> Value:
    """sin(2 pi t) for t in [-1/4, 1/4]."""
    return x.fmul(turns, _polynomial(x, x.fmul(turns, turns), _SINE))


def _turns(x: Lanes, a: Value) -> Value:
    """The part of a turn in [-1/2, 1/2]; an infinity becomes NaN."""
    wide = x.float_to_float(x.flush(a), "f64")
    whole = x.round_integral(wide, "RN")
    rest = x.fadd(wide, x.fneg(whole))
    # x - x is +0; the sine of -0 is -0.
    return x.select(x.fcmp("oeq", rest, double(x, 0.0)), _signed_zero(x, wide), rest)


def _signed_zero(x: Lanes, wide: Value) -> Value:
    return x.bits_to_f64(x.and_(x.raw_bits(wide), x.u64(1 << 63)))


def _sine(x: Lanes, a: Value) -> Value:
    turns = _turns(x, a)
    sign = x.and_(x.raw_bits(turns), x.u64(1 << 63))
    size = x.fabs(turns)
    mirrored = x.fadd(double(x, 0.5), x.fneg(size))
    folded = x.select(x.fcmp("ogt", size, double(x, 0.25)), mirrored, size)
    signed = x.bits_to_f64(x.or_(x.raw_bits(folded), sign))
    # NaN keeps its bits through the OR and stays NaN.
    return _single(x, _quarter_sine(x, signed))


def _cosine(x: Lanes, a: Value) -> Value:
    size = x.fabs(_turns(x, a))
    return _single(x, _quarter_sine(x, x.fadd(double(x, 0.25), x.fneg(size))))


def _tanh(x: Lanes, a: Value) -> Value:
    """tanh keeps denormals: it is the one function that code calls without scaling them first."""
    wide = x.float_to_float(a, "f64")
    size = x.fabs(wide)
    bounded = x.select(x.fcmp("ogt", size, double(x, 20.0)), double(x, 20.0), size)
    scaled = x.fmul(bounded, double(x, 2.0 / math.log(2.0)))
    whole = x.round_integral(scaled, "RN")
    power = _polynomial(x, x.fadd(scaled, x.fneg(whole)), _EXP2)
    exponent = x.add(x.float_to_int(whole, "u64", True), x.u64(1023))
    growth = x.fmul(power, x.bits_to_f64(x.shl(exponent, x.u64(52))))
    one = double(x, 1.0)
    large = x.fadd(one, x.fneg(x.fdiv(double(x, 2.0), x.fadd(growth, one))))
    cube = x.fmul(x.fmul(size, size), size)
    small = x.ffma(cube, double(x, -1.0 / 3.0), size)
    result = x.select(x.fcmp("olt", size, double(x, 2.0**-12)), small, large)
    result = x.select(fc.is_nan(x, wide), wide, result)
    sign = x.and_(x.raw_bits(wide), x.u64(1 << 63))
    return x.float_to_float(x.bits_to_f64(x.or_(x.raw_bits(result), sign)), "f32")


Function = Callable[[Lanes, Value], Value]

FUNCTIONS: dict[str, Function] = {
    "RCP": _reciprocal,
    "RSQ": _reciprocal_root,
    "SQRT": _root,
    "EX2": _exp2,
    "LG2": _log2,
    "SIN": _sine,
    "COS": _cosine,
    "TANH": _tanh,
}
_NAMES = " ".join(FUNCTIONS)


@op("MUFU", sig="f <- f", mods=_NAMES, **_MUFU)
def mufu(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = 1/a, 1/sqrt(a), sqrt(a), 2^a, log2(a), sin or cos of a turns, or tanh(a).

    Denormal inputs and results count as zero, except for TANH.
    """
    return FUNCTIONS[m.one_of(*FUNCTIONS, default="RCP")](x, a)


@op("MUFU", sig="r <- h", mods=_NAMES, requires="F16", **_MUFU)
@op("MUFU", sig="r <- h", mods=_NAMES, requires="BF16", **_MUFU)
@op("MUFU", sig="r <- h", mods=_NAMES, requires="BF16_V2", **_MUFU)
def mufu_half(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = the function of the low half of a, as a half with zeros above."""
    kind = "f16" if m.has("F16") else "bf16"
    result = FUNCTIONS[m.one_of(*FUNCTIONS, default="TANH")](x, widen_half(x, kind, a))
    return x.bits(x.float_to_float(result, kind))


def _from_high_word(x: Lanes, a: Value) -> Value:
    """The f64 with this high word and a low word of zero; denormals become zero."""
    exponent = x.and_(a, x.u32(0x7FF00000))
    kept = x.select(x.icmp("eq", exponent, x.u32(0)), x.and_(a, x.u32(1 << 31)), a)
    return x.bits_to_f64(x.pair(x.u32(0), kept))


def _high_word(x: Lanes, result: Value) -> Value:
    word = x.high32(x.bits(result))
    exponent = x.and_(word, x.u32(0x7FF00000))
    return x.select(x.icmp("eq", exponent, x.u32(0)), x.and_(word, x.u32(1 << 31)), word)


@op("MUFU", sig="b <- b", requires="RCP64H", **_MUFU)
def mufu_rcp64h(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = high word of 1/a, for a the high word of a double; division code refines it."""
    return _high_word(x, x.fdiv(double(x, 1.0), _from_high_word(x, a)))


@op("MUFU", sig="b <- b", requires="RSQ64H", **_MUFU)
def mufu_rsq64h(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = high word of 1/sqrt(a), for a the high word of a double; square-root code refines it."""
    return _high_word(x, x.fdiv(double(x, 1.0), x.fsqrt(_from_high_word(x, a))))
