"""Single-precision arithmetic, comparison and selection."""

from __future__ import annotations

from warplens.isa import float_compare as fc
from warplens.isa.lanes import Lanes, Value
from warplens.isa.table import Modifiers, op

_ARITHMETIC = "FTZ SAT RN RM RP RZ"
_SCALES = {"D2": -1, "D4": -2, "D8": -3, "M2": 1, "M4": 2, "M8": 3}  # powers of two


def _flushes(m: Modifiers) -> bool:
    return m.has("FTZ") or m.has("FMZ")


def _flushed(x: Lanes, m: Modifiers, *values: Value) -> tuple[Value, ...]:
    return tuple(x.flush(a) for a in values) if _flushes(m) else values


def _by_zero(x: Lanes, a: Value, b: Value) -> Value:
    """Whether a factor is zero: with .FMZ so is then the product, whatever the other factor."""
    return x.por(x.fcmp("oeq", a, x.f32(0)), x.fcmp("oeq", b, x.f32(0)))


def _saturated(x: Lanes, m: Modifiers, a: Value) -> Value:
    return fc.saturate(x, a) if m.has("SAT") else a


@op("FADD", "UFADD", sig="f <- f f", mods=_ARITHMETIC, pipe="fma", latency="fma", category="fp32")
def fadd(x: Lanes, m: Modifiers, a: Value, b: Value) -> Value:
    """d = a + b."""
    a, b = _flushed(x, m, a, b)
    total = x.fadd(a, b, fc.rounding(m))
    # Sums are exact where they are denormal, so that flushing needs no second look.
    return _saturated(x, m, x.flush(total) if m.has("FTZ") else total)


@op(
    "FMUL",
    "UFMUL",
    sig="f <- f f",
    mods=f"{_ARITHMETIC} FMZ D2 D4 D8 M2 M4 M8",
    pipe="fma",
    latency="fma",
    category="fp32",
)
def fmul(x: Lanes, m: Modifiers, a: Value, b: Value) -> Value:
    """d = a * b; .D2 to .D8 divide and .M2 to .M8 multiply the product before it is rounded.

    Compilers contract `a * b * 0.5f` to the scaled forms, and only where they may contract. That
    neither overflow nor denormals come in between is inferred.
    """
    a, b = _flushed(x, m, a, b)
    mode, scale = fc.rounding(m), m.one_of(*_SCALES, default="")

    def times(a: Value) -> Value:
        if not scale:
            return x.fmul(a, b, mode)
        # A double holds the product of two singles, scaled or not.
        exact = x.fmul(x.float_to_float(a, "f64"), x.float_to_float(b, "f64"))
        exact = x.fmul(exact, x.f64(1023 + _SCALES[scale] << 52))
        return x.float_to_float(exact, "f32", mode)

    product = times(a)
    if _flushes(m):
        product = fc.flush_result(x, product, times(fc.lift(x, a)))
    if m.has("FMZ"):
        product = x.select(_by_zero(x, a, b), x.f32(0), product)
    return _saturated(x, m, product)


@op(
    "FFMA",
    "UFFMA",
    sig="f <- f f f",
    mods=f"{_ARITHMETIC} FMZ",
    pipe="fma",
    latency="fma",
    category="fp32",
)
def ffma(x: Lanes, m: Modifiers, a: Value, b: Value, c: Value) -> Value:
    """d = a * b + c, rounded once."""
    a, b, c = _flushed(x, m, a, b, c)
    mode = fc.rounding(m)
    total = x.ffma(a, b, c, mode)
    if _flushes(m):
        total = fc.flush_result(x, total, x.ffma(fc.lift(x, a), b, fc.lift(x, c), mode))
    if m.has("FMZ"):
        total = x.select(_by_zero(x, a, b), x.fadd(x.f32(0), c, mode), total)
    return _saturated(x, m, total)


_MIXED = {"mods": "BF16 RM RP RZ SAT", "pipe": "fma", "latency": "fma", "category": "fp32"}


def _widened(x: Lanes, m: Modifiers, a: Value) -> Value:
    """The low half of an operand as f32."""
    kind = "bf16" if m.has("BF16") else "f16"
    return x.float_to_float(fc.from_bits(x, kind, x.and_(a, x.u32(0xFFFF))), "f32")


@op("FHADD", sig="f <- h f", **_MIXED)
def fhadd(x: Lanes, m: Modifiers, a: Value, b: Value) -> Value:
    """d = a + b; a is a half, b and d are f32 (sm_100)."""
    return _saturated(x, m, x.fadd(_widened(x, m, a), b, fc.rounding(m)))


@op("FHFMA", sig="f <- h h f", **_MIXED)
def fhfma(x: Lanes, m: Modifiers, a: Value, b: Value, c: Value) -> Value:
    """d = a * b + c, rounded once; a and b are halves, c and d are f32 (sm_100)."""
    total = x.ffma(_widened(x, m, a), _widened(x, m, b), c, fc.rounding(m))
    return _saturated(x, m, total)


Pair = tuple[Value, Value]
_FMA2 = {"mods": _ARITHMETIC, "pipe": "fma", "latency": "fma", "category": "fp32"}


@op("FADD2", sig="r2 <- v v", **_FMA2)
def fadd2(x: Lanes, m: Modifiers, a: Pair, b: Pair) -> Pair:
    """d = a + b of two f32 values each (sm_100)."""
    return x.bits(fadd(x, m, a[0], b[0])), x.bits(fadd(x, m, a[1], b[1]))


@op("FMUL2", sig="r2 <- v v", **_FMA2)
def fmul2(x: Lanes, m: Modifiers, a: Pair, b: Pair) -> Pair:
    """d = a * b of two f32 values each (sm_100)."""
    return x.bits(fmul(x, m, a[0], b[0])), x.bits(fmul(x, m, a[1], b[1]))


@op("FFMA2", sig="r2 <- v v v", **_FMA2)
def ffma2(x: Lanes, m: Modifiers, a: Pair, b: Pair, c: Pair) -> Pair:
    """d = a * b + c of two f32 values each, rounded once (sm_100)."""
    return x.bits(ffma(x, m, a[0], b[0], c[0])), x.bits(ffma(x, m, a[1], b[1], c[1]))


@op(
    "FMNMX",
    "UFMNMX",
    sig="f <- f f p",
    mods="FTZ NAN",
    pipe="alu",
    latency="alu",
    category="fp32",
)
def fmnmx(x: Lanes, m: Modifiers, a: Value, b: Value, take_min: Value) -> Value:
    """d = p ? min(a, b) : max(a, b); a NaN loses against a number, -0 is below +0."""
    a, b = _flushed(x, m, a, b)
    return fc.minimum_or_maximum(x, m, a, b, take_min)


@op(
    "FMNMX",
    "UFMNMX",
    sig="f <- f f p",
    mods="FTZ NAN",
    requires="XORSIGN",
    pipe="alu",
    latency="alu",
    category="fp32",
    ignore_absolute=True,
    marks="magnitudes",
)
def fmnmx_xorsign(x: Lanes, m: Modifiers, a: Value, b: Value, take_min: Value) -> Value:
    """d = the lesser or greater of |a|, |b| with the sign of a * b.

    The text prints both operands as `|R|`; their signs count all the same.
    """
    a, b = _flushed(x, m, a, b)
    return fc.xor_sign(x, m, a, b, take_min)


@op(
    "FMNMX3",
    sig="f <- f f f p",
    mods="FTZ NAN",
    pipe="alu",
    latency="alu",
    category="fp32",
)
def fmnmx3(x: Lanes, m: Modifiers, a: Value, b: Value, c: Value, take_min: Value) -> Value:
    """d = p ? min(a, b, c) : max(a, b, c), with FMNMX's rules."""
    a, b, c = _flushed(x, m, a, b, c)
    return fc.minimum_or_maximum(x, m, fc.minimum_or_maximum(x, m, a, b, take_min), c, take_min)


@op("FSEL", "UFSEL", sig="b <- b b p", mods="FTZ", pipe="alu", latency="alu", category="fp32")
def fsel(x: Lanes, m: Modifiers, a: Value, b: Value, p: Value) -> Value:
    """d = p ? a : b, bit for bit; FTZ flushes denormals."""
    chosen = x.select(p, a, b)
    return x.raw_bits(x.flush(x.bits_to_f32(chosen))) if m.has("FTZ") else chosen


@op(
    "FSETP",
    "UFSETP",
    sig="p p <- f f p",
    mods=f"FTZ {fc.COMPARISON_MODIFIERS}",
    pipe="alu",
    latency="alu",
    category="fp32",
)
def fsetp(x: Lanes, m: Modifiers, a: Value, b: Value, q: Value) -> tuple[Value, Value]:
    """p0 = (a ? b) op q; p1 = !(a ? b) op q; LTU and the like are true on NaN."""
    a, b = _flushed(x, m, a, b)
    return fc.compare_both(x, m, a, b, q)


@op(
    "FSET",
    "UFSET",
    sig="r <- f f p",
    mods=f"BF FTZ {fc.COMPARISON_MODIFIERS}",
    pipe="alu",
    latency="alu",
    category="fp32",
)
def fset(x: Lanes, m: Modifiers, a: Value, b: Value, q: Value) -> Value:
    """d = ((a ? b) op q) ? 0xffffffff : 0; BF gives 1.0f instead of all ones."""
    a, b = _flushed(x, m, a, b)
    p = fc.combine(x, m, fc.compare(x, m, a, b), q)
    return x.select(p, x.u32(0x3F800000 if m.has("BF") else 0xFFFFFFFF), x.u32(0))


@op("FCHK", sig="p <- f f", mods="DIVIDE", pipe="xu", latency="xu", category="fp32")
def fchk(x: Lanes, m: Modifiers, a: Value, b: Value) -> Value:
    """p = whether a / b needs the slow path because an exponent is near its limits.

    With biased exponents A and B it is false where 25 <= A <= 254, 2 <= B <= 251 and
    -124 <= A - B <= 126, and true elsewhere, whatever the fractions are (recorded on an H200,
    all pairs of exponents). There the fast path is exact: it takes MUFU.RCP(b), improves it,
    multiplies by a and corrects the quotient by its remainder; neither 1/b nor the quotient nor
    the remainder, which is about 2**-47 of a, can overflow or become a denormal.
    """
    exponent = x.u32(0xFF)
    ea = x.and_(x.lshr(x.raw_bits(a), x.u32(23)), exponent)
    eb = x.and_(x.lshr(x.raw_bits(b), x.u32(23)), exponent)
    bad_divisor = x.icmp("ugt", x.sub(eb, x.u32(2)), x.u32(251 - 2))
    bad_dividend = x.icmp("ugt", x.sub(ea, x.u32(25)), x.u32(254 - 25))
    bad_quotient = x.icmp("ugt", x.add(x.sub(ea, eb), x.u32(124)), x.u32(126 + 124))
    return x.por(bad_divisor, x.por(bad_dividend, bad_quotient))
