"""Double-precision arithmetic and comparison."""

from __future__ import annotations

from warplens.isa import float_compare as fc
from warplens.isa.lanes import Lanes, Value
from warplens.isa.table import Modifiers, op

_ROUNDING = "RN RM RP RZ"


@op("DADD", sig="d <- d d", mods=_ROUNDING, pipe="fp64", latency="fp64", category="fp64")
def dadd(x: Lanes, m: Modifiers, a: Value, b: Value) -> Value:
    """d = a + b."""
    return x.fadd(a, b, fc.rounding(m))


@op("DMUL", sig="d <- d d", mods=_ROUNDING, pipe="fp64", latency="fp64", category="fp64")
def dmul(x: Lanes, m: Modifiers, a: Value, b: Value) -> Value:
    """d = a * b."""
    return x.fmul(a, b, fc.rounding(m))


@op("DFMA", sig="d <- d d d", mods=_ROUNDING, pipe="fp64", latency="fp64", category="fp64")
def dfma(x: Lanes, m: Modifiers, a: Value, b: Value, c: Value) -> Value:
    """d = a * b + c, rounded once."""
    return x.ffma(a, b, c, fc.rounding(m))


@op(
    "DSETP",
    sig="p p <- d d p",
    mods=fc.COMPARISON_MODIFIERS,
    pipe="fp64",
    latency="fp64",
    category="fp64",
)
def dsetp(x: Lanes, m: Modifiers, a: Value, b: Value, q: Value) -> tuple[Value, Value]:
    """p0 = (a ? b) op q; p1 = !(a ? b) op q; LTU and the like are true on NaN."""
    return fc.compare_both(x, m, a, b, q)


def _choose_first(
    x: Lanes, m: Modifiers, a: Value, b: Value, q: Value, maximum: bool
) -> tuple[Value, Value]:
    better = x.fcmp("ogt" if maximum else "olt", a, b)
    # Equal operands differ at most in a zero's sign; signed integer order tells the zeros apart.
    order = x.icmp("sgt" if maximum else "sle", x.raw_bits(a), x.raw_bits(b))
    better = x.por(better, x.pand(x.fcmp("oeq", a, b), order))
    nan_a, nan_b = fc.is_nan(x, a), fc.is_nan(x, b)
    first = x.por(better, x.pand(nan_b, x.pnot(nan_a)))
    return fc.combine(x, m, first, q), x.pand(nan_a, nan_b)


@op(
    "DSETP",
    sig="p p <- d d p",
    mods="AND OR XOR",
    requires="MAX",
    pipe="fp64",
    latency="fp64",
    category="fp64",
)
def dsetp_max(x: Lanes, m: Modifiers, a: Value, b: Value, q: Value) -> tuple[Value, Value]:
    """p0 = a is fmax(a, b); p1 = both are NaN. Selections after it then build the maximum."""
    return _choose_first(x, m, a, b, q, maximum=True)


@op(
    "DSETP",
    sig="p p <- d d p",
    mods="AND OR XOR",
    requires="MIN",
    pipe="fp64",
    latency="fp64",
    category="fp64",
)
def dsetp_min(x: Lanes, m: Modifiers, a: Value, b: Value, q: Value) -> tuple[Value, Value]:
    """p0 = a is fmin(a, b); p1 = both are NaN. Selections after it then build the minimum."""
    return _choose_first(x, m, a, b, q, maximum=False)
