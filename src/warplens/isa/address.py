"""LEA: addition of a shifted value, the instruction of array addresses."""

from __future__ import annotations

from collections.abc import Callable

from warplens.isa.integer import Carried, one_if, plain, sum_with_carries
from warplens.isa.lanes import Lanes, Value
from warplens.isa.table import Modifiers, op

Sum = tuple[Value, Callable[[], Value]]


def _plain(x: Lanes, a: Carried) -> Value:
    """The source before its negation, which acts on the shifted value."""
    bits, is_negated = a
    return x.not_(bits) if is_negated else bits


def _shifted_high(x: Lanes, low: Value, high: Value, n: int) -> Value:
    """The high word of {high, low} << n."""
    if n == 0:
        return high
    return x.or_(x.shl(high, x.u32(n)), x.lshr(low, x.u32(32 - n)))


def _finish(x: Lanes, shifted: Value, a: Carried, b: Carried, p: Value | None) -> Sum:
    """shifted (negated as `a` is) + b + p, and on demand whether any partial sum carried."""
    sources = [(x.not_(shifted), True) if a[1] else (shifted, False), b]
    if p is not None:
        sources += plain(one_if(x, p))
    return sum_with_carries(x, sources)[:2]


def _low(x: Lanes, a: Carried, n: int) -> Value:
    return x.shl(_plain(x, a), x.u32(n & 31))


def _high(x: Lanes, a: Carried, high: Value | None, n: int) -> Value:
    """High word of the shifted pair; without `high` the sign of a continues it (.SX32)."""
    low = _plain(x, a)
    if high is None:
        high = x.ashr(low, x.u32(31))
    return _shifted_high(x, low, high, n & 31)


_LEA = {"pipe": "alu", "latency": "alu", "category": "integer"}


@op("LEA", "ULEA", sig="r p? <- c c i", **_LEA)
def lea(x: Lanes, m: Modifiers, a: Carried, b: Carried, n: int) -> Sum:
    """d = (a << n) + b; p = carry. A negation of a acts on the shifted value."""
    return _finish(x, _low(x, a, n), a, b, None)


@op("LEA", "ULEA", sig="r p? <- c c i p", requires="X", marks="no ~ first", **_LEA)
def lea_x(x: Lanes, m: Modifiers, a: Carried, b: Carried, n: int, p: Value) -> Sum:
    """d = (a << n) + b + p; p = carry."""
    return _finish(x, _low(x, a, n), a, b, p)


@op("LEA", "ULEA", sig="r p? <- c c r i", requires="HI", marks="no ~ first", **_LEA)
def lea_hi(x: Lanes, m: Modifiers, a: Carried, b: Carried, high: Value, n: int) -> Sum:
    """d = high word of ({high, a} << n) + b."""
    return _finish(x, _high(x, a, high, n), a, b, None)


@op("LEA", "ULEA", sig="r p? <- c c r i p", requires="HI X", marks="no ~ first", **_LEA)
def lea_hi_x(x: Lanes, m: Modifiers, a: Carried, b: Carried, high: Value, n: int, p: Value) -> Sum:
    """d = high word of ({high, a} << n) + b + p: the second half of a 64-bit LEA."""
    return _finish(x, _high(x, a, high, n), a, b, p)


@op("LEA", "ULEA", sig="r p? <- c c i", requires="HI SX32", marks="no ~ first", **_LEA)
def lea_hi_sx32(x: Lanes, m: Modifiers, a: Carried, b: Carried, n: int) -> Sum:
    """d = high word of (sign-extended a << n) + b."""
    return _finish(x, _high(x, a, None, n), a, b, None)


@op("LEA", "ULEA", sig="r p? <- c c i p", requires="HI X SX32", marks="no ~ first", **_LEA)
def lea_hi_x_sx32(x: Lanes, m: Modifiers, a: Carried, b: Carried, n: int, p: Value) -> Sum:
    """d = high word of (sign-extended a << n) + b + p."""
    return _finish(x, _high(x, a, None, n), a, b, p)
