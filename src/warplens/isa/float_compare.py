"""Comparing, choosing and clamping floats: what the float families of all widths share."""

from __future__ import annotations

from warplens.isa.lanes import Lanes, Value
from warplens.isa.table import Modifiers

_COMPARISONS = {
    "LT": "olt",
    "EQ": "oeq",
    "LE": "ole",
    "GT": "ogt",
    "NE": "one",
    "GE": "oge",
    "NUM": "ord",
    "NAN": "uno",
    "LTU": "ult",
    "EQU": "ueq",
    "LEU": "ule",
    "GTU": "ugt",
    "NEU": "une",
    "GEU": "uge",
}
COMPARISON_MODIFIERS = " ".join((*_COMPARISONS, "F", "T", "AND", "OR", "XOR"))


def compare(x: Lanes, m: Modifiers, a: Value, b: Value) -> Value:
    """The comparison that the modifiers name; a missing one is `F`, always false."""
    for name, kind in _COMPARISONS.items():
        if m.has(name):
            return x.fcmp(kind, a, b)
    return x.true() if m.has("T") else x.false()


def combine(x: Lanes, m: Modifiers, p: Value, q: Value) -> Value:
    """Joins a comparison with the predicate source by AND, OR or XOR."""
    if m.has("OR"):
        return x.por(p, q)
    if m.has("XOR"):
        return x.pxor(p, q)
    return x.pand(p, q)


def compare_both(x: Lanes, m: Modifiers, a: Value, b: Value, q: Value) -> tuple[Value, Value]:
    """Both predicate results of a SETP: the comparison and its opposite, each joined with `q`."""
    p = compare(x, m, a, b)
    return combine(x, m, p, q), combine(x, m, x.pnot(p), q)


def from_bits(x: Lanes, kind: str, a: Value) -> Value:
    """Reinterprets bits as a float of type `kind`."""
    return {
        "f32": x.bits_to_f32,
        "f64": x.bits_to_f64,
        "f16": x.bits_to_f16,
        "bf16": x.bits_to_bf16,
    }[kind](a)


def zero(x: Lanes, kind: str) -> Value:
    """Plus zero of a float type."""
    return from_bits(x, kind, x.u64(0) if kind == "f64" else x.u32(0))


_ONE = {"f32": 0x3F800000, "f64": 0x3FF0000000000000, "f16": 0x3C00, "bf16": 0x3F80}
_NAN = {"f32": 0x7FFFFFFF, "f64": 0xFFF8000000000000, "f16": 0x7FFF, "bf16": 0x7FFF}


def one(x: Lanes, kind: str) -> Value:
    """The number 1 of a float type."""
    return from_bits(x, kind, x.u64(_ONE[kind]) if kind == "f64" else x.u32(_ONE[kind]))


def canonical_nan(x: Lanes, kind: str) -> Value:
    """The NaN that results carry."""
    return from_bits(x, kind, x.u64(_NAN[kind]) if kind == "f64" else x.u32(_NAN[kind]))


def is_nan(x: Lanes, a: Value) -> Value:
    """Whether a float is a NaN."""
    return x.fcmp("uno", a, a)


def minimum_or_maximum(x: Lanes, m: Modifiers, a: Value, b: Value, take_min: Value) -> Value:
    """The lesser operand where `take_min`, else the greater; -0 is less than +0.

    A NaN loses against a number, or wins if the modifiers hold NAN.
    """
    kind = a.type
    bits_a, bits_b = x.raw_bits(a), x.raw_bits(b)
    # Equal operands differ at most in the sign of a zero: OR keeps the minus, AND drops it.
    same = x.select(take_min, x.or_(bits_a, bits_b), x.and_(bits_a, bits_b))
    a_first = x.select(take_min, x.fcmp("olt", a, b), x.fcmp("ogt", a, b))
    chosen = x.select(a_first, a, b)
    chosen = x.select(x.fcmp("oeq", a, b), from_bits(x, kind, same), chosen)
    if m.has("NAN"):
        return x.select(x.fcmp("uno", a, b), canonical_nan(x, kind), chosen)
    return x.select(is_nan(x, b), a, chosen)


def xor_sign(x: Lanes, m: Modifiers, a: Value, b: Value, take_min: Value) -> Value:
    """Minimum or maximum of the magnitudes with the product's sign (PTX `.xorsign.abs`)."""
    chosen = minimum_or_maximum(x, m, x.fabs(a), x.fabs(b), take_min)
    sign = x.xor(x.raw_bits(a), x.raw_bits(b))
    negative = x.icmp("ne", x.and_(sign, _sign_bit(x, a.type)), _zero_bits(x, a.type))
    return x.select(negative, x.fneg(chosen), chosen)


def _sign_bit(x: Lanes, kind: str) -> Value:
    if kind == "f64":
        return x.u64(1 << 63)
    return x.u32(1 << 31 if kind == "f32" else 1 << 15)


def _zero_bits(x: Lanes, kind: str) -> Value:
    return x.u64(0) if kind == "f64" else x.u32(0)


def saturate(x: Lanes, a: Value) -> Value:
    """Clamps to [0, 1]; NaN and -0 become +0."""
    kind = a.type
    low = x.select(x.fcmp("ogt", a, zero(x, kind)), a, zero(x, kind))
    return x.select(x.fcmp("ogt", low, one(x, kind)), one(x, kind), low)


def rectify(x: Lanes, a: Value) -> Value:
    """Replaces what is below or equal to zero by +0; NaN stays NaN (PTX `.relu`)."""
    return x.select(x.fcmp("ole", a, zero(x, a.type)), zero(x, a.type), a)


# A power of two that lifts the smallest normal number out of reach of denormals, and where to.
_LIFT = {"f32": (0x5F800000, 0x20800000), "f16": (0x6400, 0x2C00), "bf16": (0x5F80, 0x2080)}


def lift(x: Lanes, a: Value) -> Value:
    """`a` scaled up by the power of two that `flush_result` expects."""
    return x.fmul(a, from_bits(x, a.type, x.u32(_LIFT[a.type][0])))


def flush_result(x: Lanes, a: Value, lifted: Value) -> Value:
    """Flushes a rounded result that is tiny; `lifted` is the same operation on lifted operands.

    The chip decides after rounding as if exponents had no limit (recorded on an H200): a result
    that only the coarse steps of denormals round up to the smallest normal number is flushed.
    """
    kind = a.type
    smallest = from_bits(x, kind, x.u32(_LIFT[kind][1]))
    sign = from_bits(x, kind, x.and_(x.raw_bits(a), _sign_bit(x, kind)))
    return x.select(x.fcmp("olt", x.fabs(lifted), smallest), sign, x.flush(a))


def rounding(m: Modifiers) -> str:
    """The rounding mode that the modifiers name: RN, RZ, RM or RP."""
    return m.one_of("RZ", "RM", "RP", default="RN")
