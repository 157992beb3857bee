"""F2FP: f32 to packed halves, TF32 and 8-bit floats, and back from 8-bit floats."""

from __future__ import annotations

from typing import Any

from warplens.isa import float_compare as fc
from warplens.isa.convert import merge_bytes
from warplens.isa.float16 import halves, pack
from warplens.isa.lanes import Lanes, Value
from warplens.isa.table import Modifiers, op

_F2FP = {"pipe": "alu", "latency": "alu", "category": "conversion"}


def _ready(x: Lanes, m: Modifiers, a: Value) -> Value:
    if m.has("FTZ") and a.type == "f32":
        a = x.flush(a)
    return fc.rectify(x, a) if m.has("RELU") else a


def _to_half(x: Lanes, m: Modifiers, a: Value) -> Value:
    kind = "bf16" if m.has("BF16") else "f16"
    return x.bits(x.float_to_float(_ready(x, m, a), kind, fc.rounding(m)))


_HALF_MODS = "F16 BF16 F32 RELU FTZ RN RZ"


@op("F2FP", "UF2FP", sig="r <- f f", mods=_HALF_MODS, requires="PACK_AB", **_F2FP)
def f2fp_pack(x: Lanes, m: Modifiers, a: Value, b: Value) -> Value:
    """d = (a as half << 16) | b as half."""
    return pack(x, _to_half(x, m, b), _to_half(x, m, a))


@op("F2FP", "UF2FP", sig="r <- f r", mods=_HALF_MODS, requires="MERGE_C", **_F2FP)
def f2fp_merge(x: Lanes, m: Modifiers, a: Value, c: Value) -> Value:
    """d = (c << 16) | a as half: two of them make a pair, the high half first."""
    return pack(x, _to_half(x, m, a), c)


@op(
    "F2FP",
    "UF2FP",
    sig="r <- f",
    mods="F32 RELU SATFINITE RN RZ",
    requires="TF32 PACK_B",
    **_F2FP,
)
def f2fp_tf32(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = a with a fraction of 10 bits, the other 13 zero; to nearest even, or RZ."""
    bits = x.bits(_ready(x, m, a))
    if m.has("RZ"):
        rounded = bits
    else:
        odd = x.and_(x.lshr(bits, x.u32(13)), x.u32(1))
        rounded = x.add(x.add(bits, x.u32(0xFFF)), odd)
    rounded = x.and_(rounded, x.u32(0xFFFFE000))
    if m.has("SATFINITE"):
        too_big = x.icmp("uge", x.and_(rounded, x.u32(0x7FFFFFFF)), x.u32(0x7F800000))
        largest = x.or_(x.and_(bits, x.u32(0x80000000)), x.u32(0x7F7FE000))
        rounded = x.select(too_big, largest, rounded)
    return x.select(fc.is_nan(x, a), x.u32(0x7FFFE000), rounded)


# An 8-bit format: fraction bits, exponent bias, largest finite code; the code above it is E5M2's
# infinity and E4M3's NaN. NaN is 0x7f in conversions.
_FP8 = {"E4M3": (3, 7, 0x7E), "E5M2": (2, 15, 0x7B)}


def _fp8_format(m: Modifiers) -> tuple[int, int, int]:
    return _FP8["E4M3" if m.has("E4M3") else "E5M2"]


def _nearest(x: Lanes, magnitude: Value, fraction_bits: int, bias: int) -> Value:
    """The code of a magnitude (an f32's bits without the sign) in a shorter float, to nearest even;
    codes beyond the format's are those that more exponents would have."""
    dropped = 23 - fraction_bits
    odd = x.and_(x.lshr(magnitude, x.u32(dropped)), x.u32(1))
    rounded = x.add(x.add(magnitude, x.u32((1 << (dropped - 1)) - 1)), odd)
    normal = x.sub(x.lshr(rounded, x.u32(dropped)), x.u32((127 - bias) << fraction_bits))
    # Adding 2**k, whose last place is the format's smallest step, rounds denormals in f32 itself.
    magic = (127 + 23 + 1 - bias - fraction_bits) << 23
    shifted = x.fadd(x.bits_to_f32(magnitude), x.f32(magic))
    tiny = x.sub(x.raw_bits(shifted), x.u32(magic))
    smallest_normal = x.u32((127 + 1 - bias) << 23)
    return x.select(x.icmp("ult", magnitude, smallest_normal), tiny, normal)


def _encode_fp8(x: Lanes, m: Modifiers, a: Value) -> Value:
    """An f32 as an 8-bit float, to nearest even.

    With .SATFINITE too large values become the largest finite one, else infinity (E5M2) or NaN.
    """
    fraction_bits, bias, largest = _fp8_format(m)
    a = _ready(x, m, a)
    bits = x.raw_bits(a)
    magnitude = x.and_(bits, x.u32(0x7FFFFFFF))
    code = _nearest(x, magnitude, fraction_bits, bias)
    code = x.umin(code, x.u32(largest if m.has("SATFINITE") else largest + 1))
    is_nan = fc.is_nan(x, a)
    if m.has("E4M3"):
        is_nan = x.por(is_nan, x.icmp("eq", code, x.u32(0x7F)))
    code = x.or_(code, x.and_(x.lshr(bits, x.u32(24)), x.u32(0x80)))
    return x.select(is_nan, x.u32(0x7F), code)


_FP8_MODS = "E4M3 E5M2 SATFINITE RELU F32 F16 RN"


@op("F2FP", "UF2FP", sig="r <- f f r", mods=_FP8_MODS, requires="PACK_AB_MERGE_C", **_F2FP)
def f2fp_fp8(x: Lanes, m: Modifiers, a: Value, b: Value, c: Value) -> Value:
    """d = (c << 16) | (a as 8-bit float << 8) | b as 8-bit float."""
    return merge_bytes(x, _encode_fp8(x, m, a), _encode_fp8(x, m, b), c)


@op("F2FP", "UF2FP", sig="r <- h r", mods=_FP8_MODS, requires="UNPACK_B_MERGE_C", **_F2FP)
def f2fp_fp8_from_half(x: Lanes, m: Modifiers, a: Value, c: Value) -> Value:
    """d = (c << 16) | both halves of a as 8-bit floats."""
    low, high = (x.float_to_float(half, "f32") for half in halves(x, "f16", a))
    return merge_bytes(x, _encode_fp8(x, m, high), _encode_fp8(x, m, low), c)


def _encode_scale(x: Lanes, m: Modifiers, bits: Value) -> Value:
    """The exponent of the power of two at or above (RP) or below (RZ) an f32's size, by its bits:
    255 for NaN, for infinity and what is above 2**127 too without SATFINITE."""
    size = x.and_(bits, x.u32(0x7FFFFFFF))
    code, infinity = x.lshr(size, x.u32(23)), x.u32(0x7F800000)
    if m.has("RP"):
        is_between = x.icmp("ne", x.and_(size, x.u32(0x7FFFFF)), x.u32(0))
        is_above = x.pand(x.icmp("ugt", size, x.u32(0x400000)), x.icmp("ult", size, infinity))
        code = x.select(x.pand(is_between, is_above), x.add(code, x.u32(1)), code)
    if not m.has("SATFINITE"):
        return code
    is_nan = x.icmp("ugt", size, infinity)
    return x.select(is_nan, code, x.umin(code, x.u32(254)))


_TO_SCALE = "SATFINITE RZ RP"


@op("F2FP", sig="r <- f f r", mods=_TO_SCALE, requires="PACK_AB_MERGE_C E8 F32", **_F2FP)
def f2fp_scale(x: Lanes, m: Modifiers, a: Value, b: Value, c: Value) -> Value:
    """d = (c << 16) | (a's power of two << 8) | b's power of two, as exponents."""
    high, low = (_encode_scale(x, m, x.raw_bits(value)) for value in (a, b))
    return merge_bytes(x, high, low, c)


@op("F2FP", sig="r <- h r", mods=_TO_SCALE, requires="UNPACK_B_MERGE_C E8 BF16", **_F2FP)
def f2fp_scale_from_bfloat16(x: Lanes, m: Modifiers, a: Value, c: Value) -> Value:
    """d = (c << 16) | both bfloat16 of a as exponents of powers of two."""
    high, low = (_encode_scale(x, m, x.shl(x.lshr(a, x.u32(n)), x.u32(16))) for n in (16, 0))
    return merge_bytes(x, high, low, c)


def decode_fp8(x: Lanes, kind: str, code: Value) -> Value:
    """The bits of the half that an 8-bit float, E4M3 or E5M2, stands for (exact)."""
    if kind == "E5M2":
        return x.bits(x.bits_to_f16(x.shl(code, x.u32(8))))
    magnitude = x.and_(code, x.u32(0x7F))
    # As a half the code shifted by 7 is 2**-8 times its value, denormals included.
    scaled = x.bits_to_f16(x.shl(magnitude, x.u32(7)))
    value = x.fmul(x.float_to_float(scaled, "f32"), x.f32((127 + 8) << 23))
    half = x.raw_bits(x.float_to_float(value, "f16"))
    half = x.or_(half, x.shl(x.and_(code, x.u32(0x80)), x.u32(8)))
    return x.select(x.icmp("eq", magnitude, x.u32(0x7F)), x.u32(0x7FFF), half)


# fraction bits, bias, bits, the power of two that its magnitude lacks as the top of a half
_NARROW = {"E3M2": (2, 3, 6, 12), "E2M3": (3, 1, 6, 14), "E2M1": (1, 1, 4, 14)}


def decode_narrow(x: Lanes, kind: str, code: Value) -> Value:
    """The bits of the half that a float of 6 or 4 bits stands for (exact)."""
    fraction_bits, _, bits, power = _NARROW[kind]
    magnitude = x.and_(code, x.u32((1 << (bits - 1)) - 1))
    half = x.bits_to_f16(x.shl(magnitude, x.u32(10 - fraction_bits)))
    value = x.fmul(x.float_to_float(half, "f32"), x.f32((127 + power) << 23))
    sign = x.shl(x.and_(code, x.u32(1 << (bits - 1))), x.u32(16 - bits))
    return x.or_(x.raw_bits(x.float_to_float(value, "f16")), sign)


def _encode_narrow(x: Lanes, kind: str, a: Value) -> Value:
    """An f32 as a float of 6 or 4 bits, to nearest even; the largest for NaN and what is above."""
    fraction_bits, bias, bits, _ = _NARROW[kind]
    magnitude = x.and_(x.raw_bits(a), x.u32(0x7FFFFFFF))
    code = _nearest(x, magnitude, fraction_bits, bias)
    largest = x.u32((1 << (bits - 1)) - 1)
    code = x.umin(code, largest)
    sign = x.and_(x.lshr(x.raw_bits(a), x.u32(32 - bits)), x.u32(1 << (bits - 1)))
    return x.select(fc.is_nan(x, a), largest, x.or_(code, sign))


def _f2fp_narrow(kind: str) -> dict[str, Any]:
    return {"sig": "r <- f f r", "mods": "SATFINITE RELU F32 RN", "marks": "no merge",
            "requires": f"PACK_AB_MERGE_C SATFINITE F32 {kind}", **_F2FP}  # fmt: skip


@op("F2FP", **_f2fp_narrow("E3M2"))
@op("F2FP", **_f2fp_narrow("E2M3"))
@op("F2FP", **_f2fp_narrow("E2M1"))
def f2fp_narrow(x: Lanes, m: Modifiers, a: Value, b: Value, c: Value) -> Value:
    """d = a and b as floats of 6 bits in two bytes, or of 4 bits in one; b is the lower one."""
    kind = m.one_of(*_NARROW, default="E2M1")
    high, low = (_encode_narrow(x, kind, _ready(x, m, value)) for value in (a, b))
    return x.or_(x.shl(high, x.u32(4 if kind == "E2M1" else 8)), low)


def _unpack_narrow(kind: str) -> dict[str, Any]:
    return {"sig": "r <- r", "mods": "F16 RELU", "requires": f"UNPACK_B F16 {kind}", **_F2FP}


@op("F2FP", **_unpack_narrow("E3M2"))
@op("F2FP", **_unpack_narrow("E2M3"))
@op("F2FP", **_unpack_narrow("E2M1"))
def f2fp_unpack_narrow(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = floats of 6 bits in the two low bytes, or of 4 bits in the lowest, as packed halves."""
    kind = m.one_of(*_NARROW, default="E2M1")
    codes = a, x.lshr(a, x.u32(4 if kind == "E2M1" else 8))
    decoded = [x.bits_to_f16(decode_narrow(x, kind, code)) for code in codes]
    return pack(x, *(x.bits(_ready(x, m, half)) for half in decoded))


@op("F2FP", sig="r <- r", requires="UNPACK_B BF16 E8", **_F2FP)
def f2fp_unpack_scale(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = the two low bytes, exponents of powers of two, as bfloat16; 255 is NaN."""
    found = []
    for shift in (0, 8):
        code = x.and_(x.lshr(a, x.u32(shift)), x.u32(0xFF))
        is_nan, is_least = x.icmp("eq", code, x.u32(255)), x.icmp("eq", code, x.u32(0))
        bits = x.select(is_least, x.u32(0x40), x.shl(code, x.u32(7)))
        found.append(x.select(is_nan, x.u32(0x7FFF), bits))
    return pack(x, *found)


@op(
    "F2FP",
    "UF2FP",
    sig="r <- r",
    mods="E4M3 E5M2 RELU F16",
    requires="UNPACK_B",
    **_F2FP,
)
def f2fp_unpack(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = the two low bytes of a, 8-bit floats, as packed halves."""
    byte = x.u32(0xFF)
    codes = x.and_(a, byte), x.and_(x.lshr(a, x.u32(8)), byte)
    kind = m.one_of("E4M3", "E5M2", default="E4M3")
    decoded = [x.bits_to_f16(decode_fp8(x, kind, code)) for code in codes]
    return pack(x, *(x.bits(_ready(x, m, half)) for half in decoded))
