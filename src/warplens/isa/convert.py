"""Conversions between integers and floats of all widths, and rounding to integral floats."""

from __future__ import annotations

from warplens.isa import float_compare as fc
from warplens.isa.lanes import Lanes, Value
from warplens.isa.table import Modifiers, op

_ROUND = {"FLOOR": "RM", "CEIL": "RP", "TRUNC": "RZ"}
_NARROW = {"U8": (0, 255), "S8": (-128, 127), "U16": (0, 65535), "S16": (-32768, 32767)}


def _half_kind(m: Modifiers) -> str:
    return "bf16" if m.has("BF16") else "f16"


def widen_half(x: Lanes, kind: str, a: Value) -> Value:
    """The low 16 bits of `a`, a half of type `kind`, as f32 (exact)."""
    return x.float_to_float(fc.from_bits(x, kind, a), "f32")


def _source_half(x: Lanes, m: Modifiers, a: Value) -> Value:
    """As `widen_half`, with .FTZ zero in the place of a denormal half."""
    kind = _half_kind(m)
    half = fc.from_bits(x, kind, a)
    return x.float_to_float(x.flush(half) if m.has("FTZ") else half, "f32")


def _integral_rounding(m: Modifiers) -> str:
    for name, mode in _ROUND.items():
        if m.has(name):
            return mode
    return "RN"


# ---------------------------------------------------------------------------------- F2I

_F2I_MODS = "FTZ NTZ FLOOR CEIL TRUNC F32 U8 S8 U16 S16 U32 S32"
_F2I = {"pipe": "xu", "latency": "convert", "category": "conversion"}


@op("F2I", "UF2I", sig="r <- f", mods=_F2I_MODS, **_F2I)
@op("F2I", "UF2I", sig="r <- d", mods=_F2I_MODS, requires="F64", **_F2I)
@op("F2I", "UF2I", sig="r <- h", mods=_F2I_MODS, requires="F16", **_F2I)
@op("F2I", "UF2I", sig="r <- h", mods=_F2I_MODS, requires="BF16", **_F2I)
@op("F2I", "UF2I", sig="q <- f", mods=_F2I_MODS, requires="S64", **_F2I)
@op("F2I", "UF2I", sig="q <- d", mods=_F2I_MODS, requires="S64 F64", **_F2I)
@op("F2I", "UF2I", sig="q <- h", mods=_F2I_MODS, requires="S64 F16", **_F2I)
@op("F2I", "UF2I", sig="q <- h", mods=_F2I_MODS, requires="S64 BF16", **_F2I)
@op("F2I", "UF2I", sig="q <- f", mods=_F2I_MODS, requires="U64", **_F2I)
@op("F2I", "UF2I", sig="q <- d", mods=_F2I_MODS, requires="U64 F64", **_F2I)
@op("F2I", "UF2I", sig="q <- h", mods=_F2I_MODS, requires="U64 F16", **_F2I)
@op("F2I", "UF2I", sig="q <- h", mods=_F2I_MODS, requires="U64 BF16", **_F2I)
def f2i(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = integer nearest to a (or FLOOR, CEIL, TRUNC), clamped to the type's range.

    NaN gives 0 with NTZ, else only the type's top bit set, as the PTX manual says of conversions
    from f64 or to 64 bits. Types narrower than 32 bits come extended to 32.
    """
    if a.type == "u32":
        a = _source_half(x, m, a)
    elif m.has("FTZ"):
        a = x.flush(a)
    target = m.one_of("U8", "S8", "U16", "S16", "U32", "U64", "S64", default="S32")
    signed = target[0] == "S"
    wide = target in ("U64", "S64")
    number = x.round_integral(a, _integral_rounding(m))
    if target in _NARROW:
        # Narrow unsigned targets go through a signed word, so that both limits are its own.
        number = _clamped_word(x, x.float_to_int(number, "u32", True), *_NARROW[target])
    else:
        number = x.float_to_int(number, "u64" if wide else "u32", signed)
    if m.has("NTZ"):
        return number
    bits = 1 << (int(target[1:]) - 1)
    return x.select(fc.is_nan(x, a), x.u64(bits) if wide else x.u32(bits), number)


def _clamped_word(x: Lanes, a: Value, low: int, high: int) -> Value:
    return x.smin(x.smax(a, x.u32(low & 0xFFFFFFFF)), x.u32(high))


@op("F2IP", "UF2IP", sig="r <- f f r", mods="U8 S8 F32 FLOOR CEIL TRUNC NTZ FTZ", **_F2I)
def f2ip(x: Lanes, m: Modifiers, a: Value, b: Value, c: Value) -> Value:
    """d = (c << 16) | (byte of a << 8) | byte of b, each converted and clamped as by F2I."""
    high, low = f2i(x, m, a), f2i(x, m, b)
    return merge_bytes(x, high, low, c)


def merge_bytes(x: Lanes, high: Value, low: Value, c: Value) -> Value:
    """(c << 16) | (low byte of `high` << 8) | low byte of `low`."""
    byte = x.u32(0xFF)
    pair = x.or_(x.shl(x.and_(high, byte), x.u32(8)), x.and_(low, byte))
    return x.or_(x.shl(c, x.u32(16)), pair)


# ---------------------------------------------------------------------------------- I2F

_I2F_MODS = "U8 S8 U16 S16 U32 S32 F32 RN RM RP RZ"
_I2F = {"pipe": "xu", "latency": "convert", "category": "conversion"}


def _integer_source(x: Lanes, m: Modifiers, a: Value) -> tuple[Value, bool]:
    source = m.one_of("U8", "S8", "U16", "S16", "U32", "U64", "S64", default="S32")
    if source in ("U8", "U16"):
        return x.and_(a, x.u32(0xFF if source == "U8" else 0xFFFF)), False
    if source in ("S8", "S16"):
        shift = x.u32(24 if source == "S8" else 16)
        return x.ashr(x.shl(a, shift), shift), True
    return a, source[0] == "S"


@op("I2F", "UI2F", sig="f <- r", mods=_I2F_MODS, **_I2F)
@op("I2F", "UI2F", sig="f <- w", mods=_I2F_MODS, requires="S64", **_I2F)
@op("I2F", "UI2F", sig="f <- w", mods=_I2F_MODS, requires="U64", **_I2F)
@op(
    "I2FP",
    "UI2FP",
    sig="f <- r",
    mods=_I2F_MODS,
    pipe="alu",
    latency="alu",
    category="conversion",
)
def i2f(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = a as f32; `.B1` or `.H1` after the source picks a byte or half of it."""
    number, signed = _integer_source(x, m, a)
    return x.int_to_float(number, "f32", signed, fc.rounding(m))


@op("I2F", "UI2F", sig="d <- r", mods=_I2F_MODS, requires="F64", **_I2F)
@op("I2F", "UI2F", sig="d <- w", mods=_I2F_MODS, requires="F64 S64", **_I2F)
@op("I2F", "UI2F", sig="d <- w", mods=_I2F_MODS, requires="F64 U64", **_I2F)
def i2f_f64(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = a as f64."""
    number, signed = _integer_source(x, m, a)
    return x.int_to_float(number, "f64", signed, fc.rounding(m))


@op("I2F", "UI2F", sig="r <- r", mods=_I2F_MODS, requires="F16", **_I2F)
@op("I2F", "UI2F", sig="r <- r", mods=_I2F_MODS, requires="BF16", **_I2F)
@op("I2F", "UI2F", sig="r <- w", mods=_I2F_MODS, requires="F16 S64", **_I2F)
@op("I2F", "UI2F", sig="r <- w", mods=_I2F_MODS, requires="F16 U64", **_I2F)
@op("I2F", "UI2F", sig="r <- w", mods=_I2F_MODS, requires="BF16 S64", **_I2F)
@op("I2F", "UI2F", sig="r <- w", mods=_I2F_MODS, requires="BF16 U64", **_I2F)
def i2f_half(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = a as a 16-bit float in the low half, zeros above; rounded once."""
    number, signed = _integer_source(x, m, a)
    return x.bits(x.int_to_float(number, _half_kind(m), signed, fc.rounding(m)))


# ---------------------------------------------------------------------------------- F2F

_F2F_MODS = "F64 F32 F16 BF16 FTZ SAT RN RM RP RZ"
_F2F = {"mods": _F2F_MODS, "pipe": "xu", "latency": "convert", "category": "conversion"}


def _prepared(x: Lanes, m: Modifiers, a: Value) -> Value:
    """The source, flushed and clamped: clamping to [0, 1] first gives the same as afterwards."""
    if m.has("FTZ") and a.type == "f32":
        a = x.flush(a)
    return fc.saturate(x, a) if m.has("SAT") else a


@op("F2F", "UF2F", sig="f <- f", requires="F32.F32", **_F2F)
@op("F2F", "UF2F", sig="f <- d", requires="F32.F64", **_F2F)
def f2f_f32(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = a as f32."""
    a = _prepared(x, m, a)
    result = x.float_to_float(a, "f32", fc.rounding(m)) if a.type == "f64" else a
    return x.flush(result) if m.has("FTZ") else result


@op("F2F", "UF2F", sig="d <- f", requires="F64.F32", **_F2F)
@op("F2F", "UF2F", sig="d <- d", requires="F64.F64", **_F2F)
def f2f_f64(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = a as f64 (exact)."""
    a = _prepared(x, m, a)
    return x.float_to_float(a, "f64") if a.type == "f32" else a


@op("F2F", "UF2F", sig="f <- h", requires="F32.F16", **_F2F)
@op("F2F", "UF2F", sig="f <- h", requires="F32.BF16", **_F2F)
def f2f_f32_half(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = the low half of a as f32 (exact)."""
    return _prepared(x, m, widen_half(x, _half_kind(m), a))


@op("F2F", "UF2F", sig="d <- h", requires="F64.F16", **_F2F)
@op("F2F", "UF2F", sig="d <- h", requires="F64.BF16", **_F2F)
def f2f_f64_half(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = the low half of a as f64 (exact)."""
    return x.float_to_float(_prepared(x, m, widen_half(x, _half_kind(m), a)), "f64")


@op("F2F", "UF2F", sig="r <- f", requires="F16.F32", **_F2F)
@op("F2F", "UF2F", sig="r <- f", requires="BF16.F32", **_F2F)
@op("F2F", "UF2F", sig="r <- d", requires="F16.F64", **_F2F)
@op("F2F", "UF2F", sig="r <- d", requires="BF16.F64", **_F2F)
def f2f_half(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = a as a 16-bit float in the low half, zeros above."""
    half = x.float_to_float(_prepared(x, m, a), _half_kind(m), fc.rounding(m))
    return x.bits(x.flush(half) if m.has("FTZ") else half)


@op("F2F", "UF2F", sig="r <- h", requires="F16.BF16", **_F2F)
@op("F2F", "UF2F", sig="r <- h", requires="BF16.F16", **_F2F)
def f2f_half_half(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = the low half of a in the other 16-bit format."""
    to_bf16 = m.index("BF16") < m.index("F16")  # the result's type comes first
    target, source = ("bf16", "f16") if to_bf16 else ("f16", "bf16")
    value = _prepared(x, m, widen_half(x, source, a))
    return x.bits(x.float_to_float(value, target, fc.rounding(m)))


# ---------------------------------------------------------------------------------- FRND

_FRND = {"pipe": "xu", "latency": "convert", "category": "conversion"}


@op("FRND", "UFRND", sig="f <- f", mods="FTZ F32 FLOOR CEIL TRUNC", **_FRND)
@op("FRND", "UFRND", sig="d <- d", mods="FLOOR CEIL TRUNC", requires="F64", **_FRND)
def frnd(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = a rounded to an integral value: nearest even, or FLOOR, CEIL, TRUNC."""
    if m.has("FTZ"):
        a = x.flush(a)
    return x.round_integral(a, _integral_rounding(m))


@op("FRND", "UFRND", sig="r <- h", mods="FTZ FLOOR CEIL TRUNC", requires="F16", **_FRND)
@op("FRND", "UFRND", sig="r <- h", mods="FTZ FLOOR CEIL TRUNC", requires="BF16", **_FRND)
def frnd_half(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = the low half of a rounded to an integral value, zeros above."""
    whole = x.round_integral(_source_half(x, m, a), _integral_rounding(m))
    return x.bits(x.float_to_float(whole, _half_kind(m)))


# ---------------------------------------------------------------------------------- I2I

_I2I = {"pipe": "xu", "latency": "convert", "category": "conversion"}


@op("I2I", "UI2I", sig="r <- r", mods="U8 S8 U16 S16 U32 S32 SAT", **_I2I)
def i2i(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = the 32-bit source clamped (SAT) or cut to the narrow type named first."""
    target = m.one_of(*_NARROW, default="S16")
    if not m.has("SAT"):
        return _integer_source(x, Modifiers((target,)), a)[0]
    low, high = _NARROW[target]
    if m.has("U32"):
        return x.umin(a, x.u32(high))
    return _clamped_word(x, a, low, high)


@op("I2IP", "UI2IP", sig="r <- r r r", mods="U8 S8 U16 S16 U32 S32 SAT", **_I2I)
def i2ip(x: Lanes, m: Modifiers, a: Value, b: Value, c: Value) -> Value:
    """d = (c << 16) | (a as a byte << 8) | b as a byte, as PTX's cvt.pack.

    With a 16-bit type it is (a << 16) | b.
    """
    high, low = i2i(x, m, a), i2i(x, m, b)
    if m.has("U16") or m.has("S16"):
        return x.or_(x.shl(high, x.u32(16)), x.and_(low, x.u32(0xFFFF)))
    return merge_bytes(x, high, low, c)
