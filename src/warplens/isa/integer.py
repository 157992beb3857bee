"""Integer addition, multiplication, shifted addition and comparison."""

from __future__ import annotations

from collections.abc import Callable

from warplens.isa.lanes import Lanes, Value
from warplens.isa.table import Modifiers, op

# A source of kind "c": its bits (inverted if negated) and whether 1 is still to be added.
Carried = tuple[Value, bool]


def one_if(x: Lanes, p: Value, size: int = 32) -> Value:
    """1 where the predicate holds, else 0, in 32 or 64 bits."""
    return x.select(p, x.u32(1), x.u32(0)) if size == 32 else x.select(p, x.u64(1), x.u64(0))


def plain(*values: Value) -> list[Carried]:
    """Values as sources that are not negated."""
    return [(value, False) for value in values]


Sum = tuple[Value, Callable[[], Value], Callable[[], Value]]


def sum_with_carries(x: Lanes, sources: list[Carried]) -> Sum:
    """The sum, and on demand: at least one, at least two carries out of the top bit.

    A negated source adds ~x + 1, so a negated zero carries.
    """
    return _total(x, sources), lambda: _one_carry(x, sources), lambda: _two_carries(x, sources)


def _total(x: Lanes, sources: list[Carried]) -> Value:
    added = [bits for bits, is_negated in sources if not is_negated]
    total = x.u64(0) if sources[0][0].type == "u64" else x.u32(0)
    for term in added:
        total = x.add(total, term)
    for bits, is_negated in sources:
        if is_negated:
            total = x.sub(total, x.not_(bits))
    return total


def _carries(x: Lanes, sources: list[Carried]) -> list[Value]:
    """The carry out of every partial sum; as many hold as the whole sum has carries."""
    terms = [bits for bits, _ in sources if x.known(bits) != 0]
    constant = x.u64 if sources[0][0].type == "u64" else x.u32
    n_negated = sum(is_negated for _, is_negated in sources)
    if n_negated:
        terms.append(constant(n_negated))
    if not terms:
        return []
    total, carries = terms[0], []
    for term in terms[1:]:
        total = x.add(total, term)
        carries.append(x.icmp("ult", total, term))
    return carries


def _difference(x: Lanes, sources: list[Carried]) -> tuple[Value, Value] | None:
    """(a, b) if the sum is just a - b."""
    live = [s for s in sources if s[1] or x.known(s[0]) != 0]
    if len(live) != 2 or live[0][1] == live[1][1]:
        return None
    (a, _), (b, _) = sorted(live, key=lambda source: source[1])
    return a, x.not_(b)


def _one_carry(x: Lanes, sources: list[Carried]) -> Value:
    difference = _difference(x, sources)
    if difference is not None:
        return x.icmp("uge", *difference)
    result = x.false()
    for carry in _carries(x, sources):
        result = x.por(result, carry)
    return result


def _two_carries(x: Lanes, sources: list[Carried]) -> Value:
    one, two = x.false(), x.false()
    for carry in _carries(x, sources):
        two = x.por(two, x.pand(one, carry))
        one = x.por(one, carry)
    return two


@op("IADD3", "UIADD3", sig="r p? p? <- c c c", pipe="alu", latency="alu", category="integer")
def iadd3(x: Lanes, m: Modifiers, a: Carried, b: Carried, c: Carried) -> Sum:
    """d = a + b + c; p0, p1 = at least one, at least two carries out of bit 31.

    A negated source adds ~x + 1, so a negated zero carries.
    """
    return sum_with_carries(x, [a, b, c])


@op(
    "IADD3",
    "UIADD3",
    sig="r p? p? <- c c c p p",
    requires="X",
    pipe="alu",
    latency="alu",
    category="integer",
)
def iadd3_x(x: Lanes, m: Modifiers, a: Carried, b: Carried, c: Carried, p: Value, q: Value) -> Sum:
    """d = a + b + c + p + q; carries as IADD3."""
    return sum_with_carries(x, [a, b, c, *plain(one_if(x, p), one_if(x, q))])


@op(
    "UIADD3",
    sig="q p? p? <- k k k",
    requires="64",
    pipe="alu",
    latency="alu",
    category="integer",
)
def uiadd3_64(x: Lanes, m: Modifiers, a: Carried, b: Carried, c: Carried) -> Sum:
    """d = a + b + c in 64 bits; p0, p1 = at least one, at least two carries out of bit 63."""
    return sum_with_carries(x, [a, b, c])


@op(
    "UIADD3",
    sig="q p? p? <- k k k p p",
    requires="64 X",
    pipe="alu",
    latency="alu",
    category="integer",
)
def uiadd3_64_x(
    x: Lanes, m: Modifiers, a: Carried, b: Carried, c: Carried, p: Value, q: Value
) -> Sum:
    """d = a + b + c + p + q in 64 bits; carries as without .X."""
    return sum_with_carries(x, [a, b, c, *plain(one_if(x, p, 64), one_if(x, q, 64))])


@op("IADD", sig="r p? <- c c", pipe="alu", latency="alu", category="integer")
def iadd(x: Lanes, m: Modifiers, a: Carried, b: Carried) -> tuple[Value, Callable[[], Value]]:
    """d = a + b; p = carry out of bit 31."""
    return sum_with_carries(x, [a, b])[:2]


@op("IADD", sig="r p? <- c c p", requires="X", pipe="alu", latency="alu", category="integer")
def iadd_x(
    x: Lanes, m: Modifiers, a: Carried, b: Carried, p: Value
) -> tuple[Value, Callable[[], Value]]:
    """d = a + b + p; p = carry out of bit 31."""
    return sum_with_carries(x, [a, b, *plain(one_if(x, p))])[:2]


@op("IADD", sig="q p? <- k k", requires="64", pipe="alu", latency="alu", category="integer")
def iadd_64(x: Lanes, m: Modifiers, a: Carried, b: Carried) -> tuple[Value, Callable[[], Value]]:
    """d = a + b in 64 bits; p = carry out of bit 63."""
    return sum_with_carries(x, [a, b])[:2]


@op("IADD", sig="q p? <- k k p", requires="64 X", pipe="alu", latency="alu", category="integer")
def iadd_64_x(
    x: Lanes, m: Modifiers, a: Carried, b: Carried, p: Value
) -> tuple[Value, Callable[[], Value]]:
    """d = a + b + p in 64 bits; p0 = carry out of bit 63."""
    return sum_with_carries(x, [a, b, *plain(one_if(x, p, 64))])[:2]


@op(
    "IMAD",
    "UIMAD",
    sig="r <- r r r",
    mods="MOV U32 SHL IADD",
    pipe="fma",
    latency="fma",
    category="integer",
)
def imad(x: Lanes, m: Modifiers, a: Value, b: Value, c: Value) -> Value:
    """d = low word of a * b + c; .MOV, .SHL and .IADD are the disassembler's names for uses."""
    return x.add(x.mul(a, b), c)


@op(
    "IMAD",
    "UIMAD",
    sig="r <- r r r p",
    requires="X",
    mods="U32 MOV SHL IADD",
    pipe="fma",
    latency="fma",
    category="integer",
)
def imad_x(x: Lanes, m: Modifiers, a: Value, b: Value, c: Value, p: Value) -> Value:
    """d = low word of a * b + c + p."""
    return x.add(x.add(x.mul(a, b), c), one_if(x, p))


def _product(x: Lanes, m: Modifiers, a: Value, b: Value) -> Value:
    widen = x.zext64 if m.has("U32") else x.sext64
    return x.mul(widen(a), widen(b))


def _wide_sum(
    x: Lanes, m: Modifiers, a: Value, b: Value, c: Value, p: Value | None
) -> tuple[Value, Callable[[], Value]]:
    terms = [_product(x, m, a, b), c]
    if p is not None:
        terms.append(one_if(x, p, 64))
    return sum_with_carries(x, plain(*terms))[:2]


def imad_wide(
    x: Lanes, m: Modifiers, a: Value, b: Value, c: Value, p: Value | None = None
) -> tuple[Value, Callable[[], Value]]:
    """d = a * b + c (+ p), 32 x 32 -> 64 bits, signed unless .U32; p = carry out of bit 63."""
    return _wide_sum(x, m, a, b, c, p)


def imad_hi(
    x: Lanes, m: Modifiers, a: Value, b: Value, c: Value, p: Value | None = None
) -> tuple[Value, Callable[[], Value]]:
    """d = high word of a * b + c (+ p), where c is a register pair; p = carry out of bit 63."""
    total, carry = _wide_sum(x, m, a, b, c, p)
    return x.high32(total), carry


for _name, _target, _function in (("WIDE", "q", imad_wide), ("HI", "r", imad_hi)):
    for _carry_in, _requires in (("", _name), (" p", _name + " X")):
        op(
            "IMAD",
            "UIMAD",
            sig=f"{_target} p? <- r r q{_carry_in}",
            requires=_requires,
            mods="U32",
            pipe="fma",
            latency="fma_wide",
            category="integer",
        )(_function)


def _field(x: Lanes, a: Value, position: int, size: int, is_signed: bool) -> Value:
    left = x.shl(a, x.u32(32 - size - position))
    return (x.ashr if is_signed else x.lshr)(left, x.u32(32 - size))


@op(
    "IDP",
    sig="r <- r r r",
    mods="4A 2A LO HI U8 S8 U16 S16",
    pipe="fma",
    latency="fma",
    category="integer",
)
def idp(x: Lanes, m: Modifiers, a: Value, b: Value, c: Value) -> Value:
    """d = c + sum of a_i * b_i: four bytes (.4A), or two halves with two bytes (.2A.LO, .2A.HI)."""
    kinds = [name for name in m if name in ("U8", "S8", "U16", "S16")]
    a_signed, b_signed = kinds[0][0] == "S", kinds[-1][0] == "S"
    n, a_size = (4, 8) if m.has("4A") else (2, 16)
    first_byte = 2 if m.has("HI") else 0
    total = c
    for i in range(n):
        left = _field(x, a, i * a_size, a_size, a_signed)
        right = _field(x, b, 8 * (first_byte + i), 8, b_signed)
        total = x.add(total, x.mul(left, right))
    return total


@op("IABS", "UIABS", sig="r <- r", pipe="alu", latency="alu", category="integer")
def iabs(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = |a|; the most negative integer stays."""
    return x.smax(a, x.sub(x.u32(0), a))


_COMPARE = {"LT": "lt", "LE": "le", "GT": "gt", "GE": "ge"}
_COMPARE_MODS = "F LT EQ LE GT NE GE T AND OR XOR"


def _compare(x: Lanes, m: Modifiers, is_signed: bool, a: Value, b: Value) -> Value:
    if m.has("F"):
        return x.false()
    if m.has("T"):
        return x.true()
    if m.has("EQ") or m.has("NE"):
        return x.icmp("eq" if m.has("EQ") else "ne", a, b)
    name = m.one_of(*_COMPARE, default="GE")
    return x.icmp(("s" if is_signed else "u") + _COMPARE[name], a, b)


def combine(x: Lanes, m: Modifiers, r: Value, p: Value) -> Value:
    """`r` AND, OR or XOR `p`, as the modifiers of a comparison say."""
    if m.has("OR"):
        return x.por(r, p)
    return x.pxor(r, p) if m.has("XOR") else x.pand(r, p)


def _set_predicates(x: Lanes, m: Modifiers, r: Value, p: Value) -> tuple[Value, Value]:
    return combine(x, m, r, p), combine(x, m, x.pnot(r), p)


@op(
    "ISETP",
    "UISETP",
    sig="p p <- r r p",
    mods=_COMPARE_MODS + " U32",
    pipe="alu",
    latency="alu",
    category="integer",
)
def isetp(x: Lanes, m: Modifiers, a: Value, b: Value, p: Value) -> tuple[Value, Value]:
    """p0 = (a cmp b) BOOL p, p1 = !(a cmp b) BOOL p; signed unless .U32."""
    return _set_predicates(x, m, _compare(x, m, not m.has("U32"), a, b), p)


@op(
    "ISETP",
    "UISETP",
    sig="p p <- r r p p?",
    requires="EX",
    mods=_COMPARE_MODS + " U32",
    pipe="alu",
    latency="alu",
    category="integer",
)
def isetp_ex(
    x: Lanes, m: Modifiers, a: Value, b: Value, p: Value, low: Value | None
) -> tuple[Value, Value]:
    """The high words of a 64-bit comparison: `low`, the comparison of the low words, if a = b.

    The text leaves out a `low` of PT (encoding 0x7), which says that it holds.
    """
    low = x.true() if low is None else low
    is_equal = x.icmp("eq", a, b)
    r = _compare(x, m, not m.has("U32"), a, b)
    if m.has("EQ"):
        r = x.pand(is_equal, low)
    elif m.has("NE"):
        r = x.por(r, low)
    elif not (m.has("F") or m.has("T")):
        r = x.select(is_equal, low, r)
    return _set_predicates(x, m, r, p)


def _isetp_64(x: Lanes, m: Modifiers, a: Value, b: Value, p: Value) -> tuple[Value, Value]:
    """p0 = (a cmp b) BOOL p, p1 = !(a cmp b) BOOL p, of 64-bit integers."""
    return _set_predicates(x, m, _compare(x, m, m.has("S64"), a, b), p)


for _type in ("S64", "U64"):
    op(
        "ISETP",
        "UISETP",
        sig="p p <- q q p",
        requires=_type,
        mods=_COMPARE_MODS,
        pipe="alu",
        latency="alu",
        category="integer",
    )(_isetp_64)
