"""MUFU: the special functions, bit for bit as recorded on an H200 (sm_90).

The unit interpolates: reduction gives a segment and a 17-bit offset x into it, three numbers from
the segment's table entry give `c0 + c1 x + c2 square(x)`, and bits below the result's are dropped.
All of it is integer arithmetic. The tables of other architectures are not known to differ, nor to
agree; every table keeps NVIDIA's documented error bounds.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib import resources

from warplens.isa.convert import widen_half
from warplens.isa.lanes import Lanes, Value
from warplens.isa.table import Modifiers, op

_MUFU = {"pipe": "xu", "latency": "mufu", "category": "fp32"}
_NAN, _INFINITY, _SIGN, _ONE = 0x7FFFFFFF, 0x7F800000, 1 << 31, 0x3F800000
_LEAST_NORMAL = 0x800000
Words = tuple[int, ...]


@cache
def _table(name: str) -> tuple[Words, Words, Words, Words]:
    """c0's low and high words, c1 and c2 of every segment."""
    text = resources.files("warplens.isa").joinpath("data/mufu_sm90.json").read_text("utf-8")
    table = json.loads(text)["tables"][name]
    c0 = [int(n) for n in table["c0"]]
    return (
        tuple(n & 0xFFFFFFFF for n in c0),
        tuple(n >> 32 for n in c0),
        tuple(int(n) & 0xFFFFFFFF for n in table["c1"]),
        tuple(int(n) & 0xFFFFFFFF for n in table["c2"]),
    )


def _square(x: Lanes, a: Value) -> Value:
    """(a * a) >> 19 for 17 bits, without the partial products below bit 19."""
    zero = x.u32(0)
    high, low = x.lshr(a, x.u32(9)), x.and_(a, x.u32(511))
    total = x.lshr(x.mul(high, high), x.u32(1))
    for i in range(1, 8):
        bit = x.icmp("ne", x.and_(high, x.u32(1 << i)), zero)
        total = x.add(total, x.select(bit, x.lshr(low, x.u32(9 - i)), zero))
    return total


def _interpolate(x: Lanes, name: str, segment: Value, offset: Value) -> Value:
    """c0 + c1 * offset + c2 * square(offset) of a table's segment, as u64."""
    low, high, c1, c2 = (x.table(words, segment) for words in _table(name))
    linear = x.mul(x.sext64(c1), x.zext64(offset))
    quadratic = x.mul(x.sext64(c2), x.zext64(_square(x, offset)))
    return x.add(x.add(x.pair(low, high), linear), quadratic)


@cache
def _short_table(name: str) -> tuple[Words, Words, Words, int]:
    """c0 >> 18, c0's 18 low bits, |c1| beside |c2|, and the bits that |c2| takes."""
    low, high, c1, c2 = _table(name)
    c0 = tuple(h << 32 | n for h, n in zip(high, low, strict=True))
    first, second = ([min(n, (1 << 32) - n) for n in words] for words in (c1, c2))
    width = max(second).bit_length()
    both = tuple(n << width | m for n, m in zip(first, second, strict=True))
    return tuple(n >> 18 for n in c0), tuple(n & 0x3FFFF for n in c0), both, width


def _mantissa(x: Lanes, name: str, segment: Value, offset: Value) -> Value:
    """_interpolate's result without its 18 low bits, in 32-bit steps of 9 bits.

    Tables whose result is used like this have coefficients of one sign and at most 32 bits.
    """
    top, rest, both, width = _short_table(name)
    _, _, c1, c2 = _table(name)
    pair, low = x.table(both, segment), x.table(rest, segment)
    linear, quadratic = x.lshr(pair, x.u32(width)), x.and_(pair, x.u32((1 << width) - 1))
    add_linear = x.sub if c1[0] >> 31 else x.add
    add_quadratic = x.sub if c2[0] >> 31 else x.add
    nine, mask = x.u32(9), x.u32(511)
    total = add_linear(x.and_(low, mask), x.mul(linear, x.and_(offset, mask)))
    total = add_quadratic(total, x.mul(quadratic, _square(x, offset)))
    total = x.add(x.ashr(total, nine), x.lshr(low, nine))
    total = add_linear(total, x.mul(linear, x.lshr(offset, nine)))
    return x.add(x.table(top, segment), x.ashr(total, nine))


def _to_single(x: Lanes, acc: Value, fraction_bits: int) -> Value:
    """The pattern of acc * 2**-fraction_bits, cut to 24 bits."""
    zeros = x.count_leading_zeros(acc)
    normal = x.shl(acc, x.and_(zeros, x.u64(63)))
    mantissa = x.low32(x.lshr(normal, x.u64(40)))
    exponent = x.sub(x.u32(63 - fraction_bits + 126), x.low32(zeros))
    pattern = x.add(x.shl(exponent, x.u32(23)), mantissa)
    return x.select(x.icmp("eq", acc, x.u64(0)), x.u32(0), pattern)


def _fields(x: Lanes, bits: Value, fraction_bits: int = 23) -> tuple[Value, Value, Value]:
    """Sign (in place), biased exponent and fraction of a single or of a double's high word."""
    sign = x.and_(bits, x.u32(_SIGN))
    exponent = x.lshr(x.and_(bits, x.u32(_SIGN - 1)), x.u32(fraction_bits))
    return sign, exponent, x.and_(bits, x.u32((1 << fraction_bits) - 1))


def _first(x: Lanes, *cases: tuple[Value, Value], otherwise: Value) -> Value:
    """The value of the first case whose condition holds."""
    result = otherwise
    for condition, value in reversed(cases):
        result = x.select(condition, value, result)
    return result


def _is_nan(x: Lanes, bits: Value, infinity: int = _INFINITY) -> Value:
    return x.icmp("ugt", x.and_(bits, x.u32(_SIGN - 1)), x.u32(infinity))


def _equal(x: Lanes, a: Value, n: int) -> Value:
    return x.icmp("eq", a, x.u32(n))


def _half_exponent(x: Lanes, exponent: Value, bias: int) -> Value:
    """floor((exponent - bias) / 2)."""
    return x.ashr(x.sub(exponent, x.u32(bias)), x.u32(1))


def _reciprocal(x: Lanes, bits: Value) -> Value:
    sign, exponent, fraction = _fields(x, bits)
    offset = x.shl(x.and_(fraction, x.u32(0xFFFF)), x.u32(1))
    value = _mantissa(x, "rcp", x.lshr(fraction, x.u32(16)), offset)
    result = x.add(value, x.shl(x.sub(x.u32(127), exponent), x.u32(23)))
    zero = x.u32(0)
    magnitude = _first(
        x,
        (_equal(x, exponent, 255), zero),
        (_equal(x, exponent, 0), x.u32(_INFINITY)),
        (x.icmp("slt", result, x.u32(_LEAST_NORMAL)), zero),
        otherwise=result,
    )
    return x.select(_is_nan(x, bits), x.u32(_NAN), x.or_(magnitude, sign))


def _root_value(
    x: Lanes, name: str, exponent: Value, fraction: Value, fraction_bits: int = 23
) -> Value:
    """The table over two binades: 64 segments for even powers of two, 64 for odd ones."""
    odd = x.xor(x.and_(exponent, x.u32(1)), x.u32(1))
    rest = fraction_bits - 6
    segment = x.or_(x.shl(odd, x.u32(6)), x.lshr(fraction, x.u32(rest)))
    offset = x.shl(x.and_(fraction, x.u32((1 << rest) - 1)), x.u32(17 - rest))
    value = _mantissa(x, name, segment, offset)
    if name == "sqrt":
        return value
    power_of_four = x.pand(_equal(x, fraction, 0), _equal(x, odd, 0))
    return x.select(power_of_four, x.u32(_ONE), value)


def _reciprocal_root(x: Lanes, bits: Value) -> Value:
    sign, exponent, fraction = _fields(x, bits)
    value = _root_value(x, "rsq", exponent, fraction)
    result = x.sub(value, x.shl(_half_exponent(x, exponent, 127), x.u32(23)))
    return _first(
        x,
        (_is_nan(x, bits), x.u32(_NAN)),
        (_equal(x, exponent, 0), x.or_(sign, x.u32(_INFINITY))),
        (x.icmp("ne", sign, x.u32(0)), x.u32(_NAN)),
        (_equal(x, exponent, 255), x.u32(0)),
        otherwise=result,
    )


def _root(x: Lanes, bits: Value) -> Value:
    sign, exponent, fraction = _fields(x, bits)
    value = _root_value(x, "sqrt", exponent, fraction)
    result = x.add(value, x.shl(_half_exponent(x, exponent, 127), x.u32(23)))
    return _first(
        x,
        (_is_nan(x, bits), x.u32(_NAN)),
        (_equal(x, exponent, 0), sign),
        (x.icmp("ne", sign, x.u32(0)), x.u32(_NAN)),
        (_equal(x, exponent, 255), x.u32(_INFINITY)),
        otherwise=result,
    )


def _fixed_point(x: Lanes, exponent: Value, fraction: Value, fraction_bits: int) -> Value:
    """The low 32 bits of |a| in fixed point, cut; for |a| below 2**(32 - fraction_bits)."""
    full = x.or_(fraction, x.u32(_LEAST_NORMAL))
    full = x.select(_equal(x, exponent, 0), x.u32(0), full)
    shift = x.sub(exponent, x.u32(150 - fraction_bits))
    limit, zero = x.u32(31), x.u32(0)
    left = x.umin(x.smax(shift, zero), limit)
    right = x.umin(x.smax(x.sub(zero, shift), zero), limit)
    return x.lshr(x.shl(full, left), right)


def _exp2(x: Lanes, bits: Value) -> Value:
    sign, exponent, fraction = _fields(x, bits)
    negative = x.icmp("ne", sign, x.u32(0))
    fixed = _fixed_point(x, exponent, fraction, 23)
    rest = x.u32(0x7FFFFF)
    whole = _equal(x, x.and_(fixed, rest), 0)
    # Negative arguments are inverted instead of negated, unless they are whole numbers.
    mirrored = x.select(whole, x.sub(x.u32(0), fixed), x.not_(fixed))
    fixed = x.select(negative, mirrored, fixed)
    f = x.and_(fixed, rest)
    value = _mantissa(x, "ex2", x.lshr(f, x.u32(17)), x.and_(f, x.u32(0x1FFFF)))
    result = x.add(value, x.and_(fixed, x.not_(rest)))
    zero = x.u32(0)
    return _first(
        x,
        (_is_nan(x, bits), x.u32(_NAN)),
        (x.icmp("uge", exponent, x.u32(134)), x.select(negative, zero, x.u32(_INFINITY))),
        (x.icmp("slt", result, x.u32(_LEAST_NORMAL)), zero),
        otherwise=result,
    )


def _log2(x: Lanes, bits: Value) -> Value:
    sign, exponent, fraction = _fields(x, bits)
    offset = x.and_(fraction, x.u32(0x1FFFF))
    acc = _interpolate(x, "lg2", x.lshr(fraction, x.u32(17)), offset)
    whole = x.shl(x.sext64(x.sub(exponent, x.u32(127))), x.u64(36))
    total = x.add(whole, x.lshr(acc, x.u64(2)))
    negative = x.icmp("slt", total, x.u64(0))
    magnitude = x.select(negative, x.not_(total), total)
    result = x.or_(_to_single(x, magnitude, 36), x.select(negative, x.u32(_SIGN), x.u32(0)))
    return _first(
        x,
        (_is_nan(x, bits), x.u32(_NAN)),
        (_equal(x, exponent, 0), x.u32(_INFINITY | _SIGN)),
        (x.icmp("ne", sign, x.u32(0)), x.u32(_NAN)),
        (_equal(x, exponent, 255), x.u32(_INFINITY)),
        (_equal(x, bits, _ONE), x.u32(0)),
        otherwise=result,
    )


def _turn(x: Lanes, bits: Value, quarters_ahead: int) -> Value:
    """The sine of a turns, some quarters ahead; 25 bits of the fraction of a turn count."""
    sign, exponent, fraction = _fields(x, bits)
    fixed = _fixed_point(x, exponent, fraction, 25)
    fixed = x.select(x.icmp("uge", exponent, x.u32(150)), x.u32(0), fixed)
    quadrant = x.and_(x.add(x.lshr(fixed, x.u32(23)), x.u32(quarters_ahead)), x.u32(3))
    odd = x.icmp("ne", x.and_(quadrant, x.u32(1)), x.u32(0))
    f = x.and_(x.select(odd, x.not_(fixed), fixed), x.u32(0x7FFFFF))
    acc = _interpolate(x, "sin", x.lshr(f, x.u32(17)), x.and_(f, x.u32(0x1FFFF)))
    flip = x.shl(x.lshr(quadrant, x.u32(1)), x.u32(31))
    if quarters_ahead == 0:
        flip = x.xor(flip, sign)
    result = x.or_(_to_single(x, acc, 37), flip)
    return x.select(_equal(x, exponent, 255), x.u32(_NAN), result)


def _sine(x: Lanes, bits: Value) -> Value:
    return _turn(x, bits, 0)


def _cosine(x: Lanes, bits: Value) -> Value:
    return _turn(x, bits, 1)


# For the exponents 119 to 129: the logarithm of the number of segments, and the first segment.
_TANH_SPLIT = (0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3)
_TANH_FIRST = (0, 1, 2, 3, 5, 7, 11, 15, 19, 27, 43)


def _tanh(x: Lanes, bits: Value) -> Value:
    sign, exponent, fraction = _fields(x, bits)
    row = x.smin(x.smax(x.sub(exponent, x.u32(119)), x.u32(0)), x.u32(10))
    split = x.table(_TANH_SPLIT, row)
    segment = x.add(x.table(_TANH_FIRST, row), x.lshr(fraction, x.sub(x.u32(23), split)))
    offset = x.and_(x.lshr(fraction, x.sub(x.u32(6), split)), x.u32(0x1FFFF))
    value = _to_single(x, _interpolate(x, "tanh", segment, offset), 39)
    return _first(
        x,
        (_is_nan(x, bits), x.u32(_NAN)),
        (x.icmp("ult", exponent, x.u32(119)), bits),
        (x.icmp("uge", exponent, x.u32(130)), x.or_(sign, x.u32(_ONE))),
        otherwise=x.or_(value, sign),
    )


_INFINITY_HIGH = 0x7FF00000


def _reciprocal_high(x: Lanes, bits: Value) -> Value:
    """High word of a double: the reciprocal's table, three bits shorter."""
    sign, exponent, fraction = _fields(x, bits, 20)
    offset = x.shl(x.and_(fraction, x.u32(0x1FFF)), x.u32(4))
    value = _mantissa(x, "rcp", x.lshr(fraction, x.u32(13)), offset)
    value = x.ashr(x.sub(value, x.u32(_ONE)), x.u32(3))
    result = x.add(value, x.shl(x.sub(x.u32(2046), exponent), x.u32(20)))
    zero = x.u32(0)
    magnitude = _first(
        x,
        (_equal(x, exponent, 0x7FF), zero),
        (_equal(x, exponent, 0), x.u32(_INFINITY_HIGH)),
        (x.icmp("slt", result, x.u32(0x100000)), zero),
        otherwise=result,
    )
    is_nan = _is_nan(x, bits, _INFINITY_HIGH)
    return x.select(is_nan, x.u32(_NAN), x.or_(magnitude, sign))


def _reciprocal_root_high(x: Lanes, bits: Value) -> Value:
    """High word of a double: the reciprocal root's table, three bits shorter."""
    sign, exponent, fraction = _fields(x, bits, 20)
    value = _root_value(x, "rsq", exponent, fraction, 20)
    value = x.ashr(x.sub(value, x.u32(_ONE)), x.u32(3))
    power = x.sub(x.u32(1023), _half_exponent(x, exponent, 1023))
    result = x.add(value, x.shl(power, x.u32(20)))
    return _first(
        x,
        (_is_nan(x, bits, _INFINITY_HIGH), x.u32(_NAN)),
        (_equal(x, exponent, 0), x.or_(sign, x.u32(_INFINITY_HIGH))),
        (x.icmp("ne", sign, x.u32(0)), x.u32(_NAN)),
        (_equal(x, exponent, 0x7FF), x.u32(0)),
        otherwise=result,
    )


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
    "RCP64H": _reciprocal_high,
    "RSQ64H": _reciprocal_root_high,
}
_NAMES = " ".join(FUNCTIONS)


def _apply(x: Lanes, m: Modifiers, bits: Value) -> Value:
    name = m.one_of(*FUNCTIONS, default="RCP")
    return x.shared(f"mufu.{name}", FUNCTIONS[name], bits)


@op("MUFU", sig="b <- b", mods=_NAMES, **_MUFU)
def mufu(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = 1/a, 1/sqrt(a), sqrt(a), 2^a, log2(a), sin or cos of a turns, or tanh(a).

    RCP64H and RSQ64H take and give the high word of a double. Denormals count as zero, except for
    TANH.
    """
    return _apply(x, m, a)


@op("MUFU", sig="r <- h", mods=_NAMES, requires="F16", **_MUFU)
@op("MUFU", sig="r <- h", mods=_NAMES, requires="BF16", **_MUFU)
@op("MUFU", sig="r <- h", mods=_NAMES, requires="BF16_V2", **_MUFU)
def mufu_half(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = the f32 function of the low half of a, cut to a half; zeros above."""
    kind = "f16" if m.has("F16") else "bf16"
    result = x.bits_to_f32(_apply(x, m, x.raw_bits(widen_half(x, kind, a))))
    half = x.bits(x.float_to_float(result, kind, "RZ"))
    if kind == "bf16":
        return half
    # Cutting alone would stop at the largest finite half.
    infinite = x.or_(x.u32(0x7C00), x.and_(half, x.u32(0x8000)))
    too_large = x.fcmp("oge", x.fabs(result), x.f32((127 + 16) << 23))
    return x.select(too_large, infinite, half)
