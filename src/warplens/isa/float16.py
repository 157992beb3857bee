"""Packed half-precision and bfloat16 arithmetic: two 16-bit lanes in each register.

Every operation rounds once to the 16-bit format; the engines' primitives of types f16 and bf16 do
so. A source printed with `.F32` comes as an f32 value instead of a packed pair.
"""

from __future__ import annotations

from collections.abc import Callable

from warplens.isa import float_compare as fc
from warplens.isa.lanes import Lanes, Value
from warplens.isa.table import Modifiers, op

_ARITHMETIC = "BF16_V2 BF16 FTZ SAT RELU"
_FP16 = {"pipe": "fp16", "latency": "fp16", "category": "fp16"}


def _kind(m: Modifiers) -> str:
    return "bf16" if m.has("BF16_V2") or m.has("BF16") else "f16"


def halves(x: Lanes, kind: str, a: Value) -> tuple[Value, Value]:
    """The low and the high 16 bits of a word as floats; an f32 source is cut towards zero."""
    if a.type == "f32":
        cut = x.float_to_float(a, kind, "RZ")
        return cut, cut
    return fc.from_bits(x, kind, a), fc.from_bits(x, kind, x.lshr(a, x.u32(16)))


def pack(x: Lanes, low: Value, high: Value) -> Value:
    """Two 16-bit patterns in one word; `low` has zeros above."""
    return x.or_(low, x.shl(high, x.u32(16)))


def _each_half(x: Lanes, m: Modifiers, function: Callable[..., Value], *sources: Value) -> Value:
    """Applies `function` to the low and to the high halves, sources flushed, results clamped."""
    pairs = [halves(x, _kind(m), a) for a in sources]
    results = []
    for half in zip(*pairs, strict=True):
        operands = [x.flush(a) for a in half] if m.has("FTZ") else list(half)
        results.append(x.bits(_clamped(x, m, function(*operands))))
    return pack(x, *results)


def _clamped(x: Lanes, m: Modifiers, a: Value) -> Value:
    if m.has("SAT"):
        return fc.saturate(x, a)
    return fc.rectify(x, a) if m.has("RELU") else a


def _at_once(x: Lanes, m: Modifiers, op: str, *sources: Value) -> Value | None:
    """Both halves by one operation of the engine, for the plain forms."""
    is_plain = all(a.type == "u32" for a in sources) and _kind(m) == "f16"
    if not is_plain or any(m.has(name) for name in ("FTZ", "SAT", "RELU", "OOB")):
        return None
    return x.halves_at_once(op, *sources)


@op("HADD2", sig="r <- h h", mods=_ARITHMETIC, **_FP16)
def hadd2(x: Lanes, m: Modifiers, a: Value, b: Value) -> Value:
    """d = a + b in both halves."""
    if "f32" in (a.type, b.type):
        return _add_single(x, m, a, b)
    both = _at_once(x, m, "fadd", a, b)
    if both is not None:
        return both

    def add(p: Value, q: Value) -> Value:
        return x.flush(x.fadd(p, q)) if m.has("FTZ") else x.fadd(p, q)

    return _each_half(x, m, add, a, b)


def _add_single(x: Lanes, m: Modifiers, a: Value, b: Value) -> Value:
    """A sum with an f32 source, the same in both halves, cut towards zero.

    The compiler of sm_75 writes cvt.rz.f16.f32 so; for the other roundings it takes F2F.
    """

    def double(value: Value) -> Value:
        if value.type == "u32":
            value = halves(x, _kind(m), value)[0]
        return x.float_to_float(value, "f64")

    total = x.float_to_float(x.fadd(double(a), double(b)), _kind(m), "RZ")
    bits = x.bits(_clamped(x, m, total))
    return pack(x, bits, bits)


@op("HADD2", sig="f <- h h", mods="BF16_V2 FTZ SAT", requires="F32", **_FP16)
def hadd2_f32(x: Lanes, m: Modifiers, a: Value, b: Value) -> Value:
    """d = a + b of the selected halves, as f32: with b = -0 the conversion of a half."""
    wide = [x.float_to_float(halves(x, _kind(m), source)[0], "f32") for source in (a, b)]
    total = x.fadd(*wide)
    return _clamped(x, m, x.flush(total) if m.has("FTZ") else total)


@op("HMUL2", sig="r <- h h", mods=_ARITHMETIC, **_FP16)
def hmul2(x: Lanes, m: Modifiers, a: Value, b: Value) -> Value:
    """d = a * b in both halves."""
    both = _at_once(x, m, "fmul", a, b)
    if both is not None:
        return both

    def multiply(p: Value, q: Value) -> Value:
        product = x.fmul(p, q)
        if not m.has("FTZ"):
            return product
        return fc.flush_result(x, product, x.fmul(fc.lift(x, p), q))

    return _each_half(x, m, multiply, a, b)


@op("HFMA2", sig="r <- h h h p?", mods=f"OOB {_ARITHMETIC}", **_FP16)
@op(
    "HFMA2",
    sig="r <- h h h p?",
    mods=f"OOB {_ARITHMETIC}",
    requires="MMA",
    pipe="fp16",
    latency="fp16_mma_pipe",
    category="fp16",
)
def hfma2(
    x: Lanes, m: Modifiers, a: Value, b: Value, c: Value, clamps: Value | None
) -> Value:  # fmt: skip
    """d = a * b + c in both halves, each rounded once; `.RELU` acts in lanes whose `clamps` holds.

    `HFMA2 R,-RZ,RZ,x,y` moves a constant: -0 * 0 + x is x, also for denormals.
    """
    if clamps is not None:
        plain = Modifiers(name for name in m if name != "RELU")
        return x.select(clamps, hfma2(x, m, a, b, c, None), hfma2(x, plain, a, b, c, None))
    both = _at_once(x, m, "fma", a, b, c)
    if both is not None:
        return both

    def multiply_add(p: Value, q: Value, r: Value) -> Value:
        total = x.ffma(p, q, r)
        if not m.has("FTZ"):
            return total
        return fc.flush_result(x, total, x.ffma(fc.lift(x, p), q, fc.lift(x, r)))

    result = _each_half(x, m, multiply_add, a, b, c)
    return _without_out_of_bounds(x, a, b, result) if m.has("OOB") else result


def _without_out_of_bounds(x: Lanes, a: Value, b: Value, result: Value) -> Value:
    """Zero in each half where a or b is the NaN that tensor copies fill in out of bounds."""
    for shift in (0, 16):
        mask, filler = x.u32(0x7FFF << shift), x.u32(0x7FF7 << shift)
        outside = x.por(
            x.icmp("eq", x.and_(a, mask), filler), x.icmp("eq", x.and_(b, mask), filler)
        )
        result = x.select(outside, x.and_(result, x.u32(0xFFFF0000 >> shift)), result)
    return result


@op("HMNMX2", sig="r <- h h p", mods="BF16_V2 FTZ NAN", **_FP16)
def hmnmx2(x: Lanes, m: Modifiers, a: Value, b: Value, take_min: Value) -> Value:
    """d = p ? min(a, b) : max(a, b) in both halves, with FMNMX's rules."""
    return _each_half(x, m, lambda p, q: fc.minimum_or_maximum(x, m, p, q, take_min), a, b)


@op(
    "HMNMX2",
    sig="r <- h h p",
    mods="BF16_V2 FTZ NAN",
    requires="XORSIGN",
    ignore_absolute=True,
    marks="magnitudes",
    **_FP16,
)
def hmnmx2_xorsign(x: Lanes, m: Modifiers, a: Value, b: Value, take_min: Value) -> Value:
    """d = the lesser or greater of |a|, |b| with the sign of a * b, in both halves."""
    return _each_half(x, m, lambda p, q: fc.xor_sign(x, m, p, q, take_min), a, b)


@op(
    "VHMNMX", sig="r <- h h h p", mods="BF16_V2 FTZ NAN", pipe="alu", latency="alu", category="fp16"
)
def vhmnmx(x: Lanes, m: Modifiers, a: Value, b: Value, c: Value, take_min: Value) -> Value:
    """d = p ? min(a, b, c) : max(a, b, c) in both halves, with FMNMX's rules."""

    def choose(p: Value, q: Value, r: Value) -> Value:
        first = fc.minimum_or_maximum(x, m, p, q, take_min)
        return fc.minimum_or_maximum(x, m, first, r, take_min)

    return _each_half(x, m, choose, a, b, c)


def _comparisons(x: Lanes, m: Modifiers, a: Value, b: Value) -> list[Value]:
    found = []
    for p, q in zip(halves(x, _kind(m), a), halves(x, _kind(m), b), strict=True):
        if m.has("FTZ"):
            p, q = x.flush(p), x.flush(q)
        found.append(fc.compare(x, m, p, q))
    return found


@op(
    "HSETP2",
    sig="p p <- h h p",
    mods=f"BF16_V2 FTZ {fc.COMPARISON_MODIFIERS}",
    **_FP16,
)
def hsetp2(x: Lanes, m: Modifiers, a: Value, b: Value, q: Value) -> tuple[Value, Value]:
    """p0 = (a ? b) op q of the low halves; p1 = the same of the high halves."""
    low, high = _comparisons(x, m, a, b)
    return fc.combine(x, m, low, q), fc.combine(x, m, high, q)


@op(
    "HSETP2",
    sig="p p <- h h p",
    mods=f"BF16_V2 FTZ {fc.COMPARISON_MODIFIERS}",
    requires="H_AND",
    **_FP16,
)
def hsetp2_both(x: Lanes, m: Modifiers, a: Value, b: Value, q: Value) -> tuple[Value, Value]:
    """p0 = (both halves compare) op q; p1 = !(both halves compare) op q."""
    low, high = _comparisons(x, m, a, b)
    both = x.pand(low, high)
    return fc.combine(x, m, both, q), fc.combine(x, m, x.pnot(both), q)


@op(
    "HSET2",
    sig="r <- h h p",
    mods=f"BF BF16_V2 FTZ {fc.COMPARISON_MODIFIERS}",
    **_FP16,
)
def hset2(x: Lanes, m: Modifiers, a: Value, b: Value, q: Value) -> Value:
    """d = ((a ? b) op q) ? 0xffff : 0 in both halves; BF gives 1.0 instead of all ones."""
    true = 0xFFFF
    if m.has("BF"):
        true = 0x3F80 if _kind(m) == "bf16" else 0x3C00
    low, high = (
        x.select(fc.combine(x, m, p, q), x.u32(true), x.u32(0)) for p in _comparisons(x, m, a, b)
    )
    return pack(x, low, high)
