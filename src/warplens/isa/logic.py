"""Bitwise logic, shifts and bit fields."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from warplens.isa.lanes import Lanes, Value
from warplens.isa.table import Modifiers, op

Binary = Callable[[Value, Value], Value]


class _Algebra:
    """AND, OR, XOR and NOT of words or of predicates, with truth tables on top.

    A table lists the result for the inputs (1, 1, 1) down to (0, 0, 0) from bit 7 to bit 0, the
    first input being the highest bit of the index.
    """

    def __init__(
        self, and_: Binary, or_: Binary, xor: Binary, not_: Callable[[Value], Value],
        zero: Value, ones: Value,
    ) -> None:  # fmt: skip
        self.and_, self.or_, self.xor, self.not_ = and_, or_, xor, not_
        self.zero, self.ones = zero, ones

    def function(self, table: int, inputs: tuple[Value, ...]) -> Value:
        """Any function of the inputs, by splitting off one input at a time."""
        full = (1 << (1 << len(inputs))) - 1
        if table == 0:
            return self.zero
        if table == full:
            return self.ones
        best, low, high = _split(table, len(inputs))
        rest = inputs[:best] + inputs[best + 1 :]
        return self._merge(inputs[best], low, high, rest)

    def _merge(self, v: Value, low: int, high: int, rest: tuple[Value, ...]) -> Value:
        """v ? high : low, in the fewest operations."""
        full = (1 << (1 << len(rest))) - 1
        if low == high:
            return self.function(low, rest)
        if low == 0:
            return v if high == full else self.and_(v, self.function(high, rest))
        if high == full:
            return self.or_(v, self.function(low, rest))
        if high == 0:
            not_v = self.not_(v)
            return not_v if low == full else self.and_(not_v, self.function(low, rest))
        if low == full:
            return self.or_(self.not_(v), self.function(high, rest))
        if low == high ^ full:
            return self.xor(v, self.function(low, rest))
        base = self.function(low, rest)
        return self.xor(base, self.and_(v, self.function(low ^ high, rest)))


@cache
def _split(table: int, n: int) -> tuple[int, int, int]:
    """The input to split off first, and the tables that remain when it is 0 and when it is 1."""
    best = min(range(n), key=lambda which: _cost(table, n, which))
    return best, *_cofactors(table, n, best)


def _cofactors(table: int, n: int, which: int) -> tuple[int, int]:
    """The tables of the remaining inputs when input `which` is 0 and when it is 1."""
    position = n - 1 - which
    parts = [0, 0]
    seen = [0, 0]
    for index in range(1 << n):
        value = index >> position & 1
        parts[value] |= (table >> index & 1) << seen[value]
        seen[value] += 1
    return parts[0], parts[1]


def _cost(table: int, n: int, which: int) -> int:
    """A rank of splitting off an input: one that does not matter first, a general mix last."""
    low, high = _cofactors(table, n, which)
    full = (1 << (1 << (n - 1))) - 1
    if low == high:
        return 0
    if low == 0 or high == full:
        return 1
    if low == high ^ full:
        return 2
    return 3 if high == 0 or low == full else 4


@op(
    "LOP3",
    "ULOP3",
    sig="p? r <- r r r i p",
    mods="LUT",
    pipe="alu",
    latency="alu",
    category="integer",
)
def lop3(
    x: Lanes, m: Modifiers, a: Value, b: Value, c: Value, table: int, p: Value
) -> tuple[Callable[[], Value], Value]:
    """Each bit of d is table[4 a + 2 b + c]; p0 = (d != 0) OR p."""
    words = _Algebra(x.and_, x.or_, x.xor, x.not_, x.u32(0), x.u32(0xFFFFFFFF))
    d = words.function(table & 0xFF, (a, b, c))
    return lambda: x.por(x.icmp("ne", d, x.u32(0)), p), d


@op(
    "PLOP3",
    "UPLOP3",
    sig="p p <- p p p i i",
    mods="LUT",
    pipe="alu",
    latency="alu",
    category="bit",
)
def plop3(
    x: Lanes, m: Modifiers, p: Value, q: Value, r: Value, first: int, second: int
) -> tuple[Value, Callable[[], Value]]:
    """p0 = first[4 p + 2 q + r], p1 = second[4 p + 2 q + r]."""
    truth = _Algebra(x.pand, x.por, x.pxor, x.pnot, x.false(), x.true())
    return (
        truth.function(first & 0xFF, (p, q, r)),
        lambda: truth.function(second & 0xFF, (p, q, r)),
    )


def _shl(x: Lanes, a: Value, n: Value) -> Value:
    """a << n, 0 for amounts of 32 and more."""
    shifted = x.shl(a, x.and_(n, x.u32(31)))
    return x.select(x.icmp("ult", n, x.u32(32)), shifted, x.u32(0))


def _lshr(x: Lanes, a: Value, n: Value) -> Value:
    """a >> n, 0 for amounts of 32 and more."""
    shifted = x.lshr(a, x.and_(n, x.u32(31)))
    return x.select(x.icmp("ult", n, x.u32(32)), shifted, x.u32(0))


def _ashr(x: Lanes, a: Value, n: Value) -> Value:
    """a >> n with the sign, all sign for amounts of 32 and more."""
    return x.ashr(a, x.umin(n, x.u32(31)))


@op(
    "SHF",
    "USHF",
    sig="r <- r r r",
    mods="L R W U32 S32 U64 S64 HI",
    pipe="alu",
    latency="alu",
    category="integer",
)
def shf(x: Lanes, m: Modifiers, low: Value, n: Value, high: Value) -> Value:
    """d = low word (.HI: high word) of {high, low} shifted by n.

    n counts modulo 32 (64 for 64-bit types) with .W and saturates there without it.
    """
    is_wide = m.has("U64") or m.has("S64")
    size = 64 if is_wide else 32
    n = x.and_(n, x.u32(size - 1)) if m.has("W") else x.umin(n, x.u32(size))
    if m.has("L"):
        return _funnel_high(x, low, high, n, is_wide) if m.has("HI") else _shl(x, low, n)
    is_signed = m.has("S32") or m.has("S64")
    if m.has("HI"):
        return (_ashr if is_signed else _lshr)(x, high, n)
    return _funnel_low(x, low, high, n, is_wide, is_signed)


def _funnel_high(x: Lanes, low: Value, high: Value, n: Value, is_wide: bool) -> Value:
    """High word of {high, low} << n. Amounts that wrap below zero shift everything out."""
    thirty_two = x.u32(32)
    result = x.or_(_shl(x, high, n), _lshr(x, low, x.sub(thirty_two, n)))
    return x.or_(result, _shl(x, low, x.sub(n, thirty_two))) if is_wide else result


def _funnel_low(
    x: Lanes, low: Value, high: Value, n: Value, is_wide: bool, is_signed: bool
) -> Value:
    """Low word of {high, low} >> n."""
    thirty_two = x.u32(32)
    result = x.or_(_lshr(x, low, n), _shl(x, high, x.sub(thirty_two, n)))
    if not is_wide:
        return result
    beyond = x.sub(n, thirty_two)
    if not is_signed:
        return x.or_(result, _lshr(x, high, beyond))
    return x.select(x.icmp("ugt", n, thirty_two), _ashr(x, high, beyond), result)


@op("POPC", "UPOPC", sig="r <- r", pipe="xu", latency="bit_count", category="integer")
def popc(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = number of ones in a."""
    return x.popcount(a)


@op("BREV", "UBREV", sig="r <- r", pipe="xu", latency="bit_count", category="bit")
def brev(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = a with its bits in reverse order."""
    return x.reverse_bits(a)


@op("FLO", "UFLO", sig="r p? <- r", mods="U32 SH", pipe="xu", latency="bit_count",
    category="integer")  # fmt: skip
def flo(x: Lanes, m: Modifiers, a: Value) -> tuple[Value, Value]:
    """d = place of the leading one (signed: of the bit that first differs from the sign), or -1.

    .SH gives instead the left shift that brings it to bit 31, again -1 if there is none. p = there
    is one.
    """
    if not m.has("U32"):
        a = x.xor(a, x.ashr(a, x.u32(31)))
    zeros, is_none = x.count_leading_zeros(a), x.icmp("eq", a, x.u32(0))
    shift = x.select(is_none, x.u32(0xFFFFFFFF), zeros)
    return shift if m.has("SH") else x.sub(x.u32(31), zeros), x.pnot(is_none)


@op("BMSK", "UBMSK", sig="r <- r r", mods="W", pipe="alu", latency="alu", category="bit")
def bmsk(x: Lanes, m: Modifiers, position: Value, width: Value) -> Value:
    """d = `width` ones from bit `position` up; both count modulo 32 with .W, else saturate."""
    if m.has("W"):
        position, width = x.and_(position, x.u32(31)), x.and_(width, x.u32(31))
    # Each saturates on its own before they are added, so that the sum cannot wrap.
    position, width = x.umin(position, x.u32(32)), x.umin(width, x.u32(32))
    ones = x.u32(0xFFFFFFFF)
    above = _shl(x, ones, x.add(position, width))
    return x.and_(_shl(x, ones, position), x.not_(above))


@op("SGXT", "USGXT", sig="r <- r r", mods="U32 W", pipe="alu", latency="alu", category="integer")
def sgxt(x: Lanes, m: Modifiers, a: Value, n: Value) -> Value:
    """d = the low n bits of a, sign-extended, or zero-extended with .U32; n modulo 32 with .W."""
    n = x.and_(n, x.u32(31)) if m.has("W") else x.umin(n, x.u32(32))
    room = x.sub(x.u32(32), n)
    left = _shl(x, a, room)
    if m.has("U32"):
        return _lshr(x, left, room)
    return x.select(x.icmp("eq", n, x.u32(0)), x.u32(0), _ashr(x, left, room))


# Every fourth bit: sixteen bits' products add up to sixteen at most, which no other bit of a kind
# sees within 64 bits.
_FOURTHS = tuple(0x1111111111111111 << k for k in range(4))


def _carryless(x: Lanes, a: Value, b: Value) -> Value:
    """The low 64 bits of a product whose partial sums do not carry."""
    left, right = ([x.and_(value, x.u64(mask)) for mask in _FOURTHS] for value in (a, b))
    total = x.u64(0)
    for k, mask in enumerate(_FOURTHS):
        found = x.mul(left[0], right[k])
        for i in range(1, 4):
            found = x.xor(found, x.mul(left[i], right[(k - i) % 4]))
        total = x.or_(total, x.and_(found, x.u64(mask)))
    return total


def _carryless_high(x: Lanes, a: Value, b: Value) -> Value:
    """The high 64 bits: the low ones of the mirrored numbers, mirrored."""
    mirrored = _carryless(x, x.reverse_bits(a), x.reverse_bits(b))
    return x.lshr(x.reverse_bits(mirrored), x.u64(1))


_CLMAD: dict[str, Any] = {
    "sig": "q <- q q q", "pipe": "fp64", "latency": "fp64", "category": "integer", "marks": "none",
}  # fmt: skip


@op("CLMAD", requires="LO", **_CLMAD)
def clmad_low(x: Lanes, m: Modifiers, a: Value, b: Value, c: Value) -> Value:
    """d = low 64 bits of the carry-less product of a and b, XOR c."""
    return x.xor(x.shared("clmad.lo", _carryless, a, b), c)


@op("CLMAD", requires="HI", **_CLMAD)
def clmad_high(x: Lanes, m: Modifiers, a: Value, b: Value, c: Value) -> Value:
    """d = high 64 bits of the carry-less product of a and b, XOR c."""
    return x.xor(x.shared("clmad.hi", _carryless_high, a, b), c)
