"""Minimum and maximum of integers, and the packed (SIMD in a word) integer operations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from warplens.isa.integer import Carried
from warplens.isa.lanes import Lanes, Value
from warplens.isa.table import Modifiers, op

# Modifier -> (parts of a word, bits of a part, signed).
_PACKED = {
    "S16x2": (2, 16, True),
    "U16x2": (2, 16, False),
    "S8x4": (4, 8, True),
    "U8x4": (4, 8, False),
}
_TYPES = "S32 U32 RELU " + " ".join(_PACKED)
_FAST = {"pipe": "alu", "latency": "alu", "category": "integer"}


def _parts(x: Lanes, a: Value, n: int, size: int, is_signed: bool) -> list[Value]:
    """The packed parts, lowest first, each extended to 32 bits."""
    shift = x.ashr if is_signed else x.lshr
    room = x.u32(32 - size)
    return [shift(x.shl(a, x.u32(32 - size * (i + 1))), room) for i in range(n)]


def _pack(x: Lanes, parts: list[Value], size: int) -> Value:
    mask = x.u32((1 << size) - 1)
    result = x.u32(0)
    for i, part in enumerate(parts):
        field = part if size * (i + 1) == 32 else x.and_(part, mask)
        result = x.or_(result, x.shl(field, x.u32(size * i)))
    return result


def _unpacker(m: Modifiers) -> tuple[int, int, bool]:
    for name in m:
        if name in _PACKED:
            return _PACKED[name]
    return 1, 32, not m.has("U32")


def _split(x: Lanes, m: Modifiers, a: Value) -> list[Value]:
    n, size, is_signed = _unpacker(m)
    return [a] if n == 1 else _parts(x, a, n, size, is_signed)


def _join(x: Lanes, m: Modifiers, parts: list[Value]) -> Value:
    n, size, _ = _unpacker(m)
    return parts[0] if n == 1 else _pack(x, parts, size)


def _extreme(x: Lanes, m: Modifiers, take_min: Value, a: Value, b: Value) -> Value:
    is_signed = _unpacker(m)[2]
    low = x.smin(a, b) if is_signed else x.umin(a, b)
    high = x.smax(a, b) if is_signed else x.umax(a, b)
    return x.select(take_min, low, high)


def _relu(x: Lanes, m: Modifiers, a: Value) -> Value:
    return x.smax(a, x.u32(0)) if m.has("RELU") else a


def _keeps_first(x: Lanes, m: Modifiers, take_min: Value, a: Value, b: Value) -> Value:
    """Whether the first source is the result, which it also is if both are equal."""
    if m.has("RELU"):
        return x.icmp("eq", a, _relu(x, m, _extreme(x, m, take_min, a, b)))
    kind = "s" if _unpacker(m)[2] else "u"
    return x.select(take_min, x.icmp(kind + "le", a, b), x.icmp(kind + "ge", a, b))


@op("IMNMX", sig="r <- r r p", mods="S32 U32", **_FAST)
def imnmx(x: Lanes, m: Modifiers, a: Value, b: Value, take_min: Value) -> Value:
    """d = p ? min(a, b) : max(a, b); signed unless .U32."""
    return _extreme(x, m, take_min, a, b)


def _imnmx_64(
    x: Lanes, m: Modifiers, a: Value, b: Value, take_min: Value, unused: Value
) -> tuple[Callable[[], Value], Callable[[], Value], Value]:
    """d = p ? min(a, b) : max(a, b) of 64-bit integers; p0 = a is the result, p1 = it is not."""
    kind = "s" if m.has("S64") else "u"
    keeps = x.select(take_min, x.icmp(kind + "le", a, b), x.icmp(kind + "ge", a, b))
    return lambda: keeps, lambda: x.pnot(keeps), x.select(keeps, a, b)


for _type in ("S64", "U64"):
    op("IMNMX", "UIMNMX", sig="p? p? q <- q q p p", requires=_type, **_FAST)(_imnmx_64)


@op("VIMNMX", "UVIMNMX", sig="r p? p? <- r r p", mods=_TYPES, **_FAST)
def vimnmx(
    x: Lanes, m: Modifiers, a: Value, b: Value, take_min: Value
) -> tuple[Value, Callable[[], Value], Callable[[], Value]]:
    """d = p ? min(a, b) : max(a, b), whole or packed; p0, p1 = the first source won.

    Of packed halves, p0 tells of the low one and p1 of the high one.
    """
    left, right = _split(x, m, a), _split(x, m, b)
    pairs = list(zip(left, right, strict=True))
    parts = [_relu(x, m, _extreme(x, m, take_min, p, q)) for p, q in pairs]
    keeps = [partial(_keeps_first, x, m, take_min, p, q) for p, q in pairs]
    return _join(x, m, parts), keeps[0], keeps[-1]


@op("VIMNMX3", sig="r <- r r r p", mods=_TYPES, **_FAST)
def vimnmx3(x: Lanes, m: Modifiers, a: Value, b: Value, c: Value, take_min: Value) -> Value:
    """d = p ? min(a, b, c) : max(a, b, c), whole or packed; .RELU takes the maximum with 0."""
    columns = zip(_split(x, m, a), _split(x, m, b), _split(x, m, c), strict=True)
    parts = [
        _relu(x, m, _extreme(x, m, take_min, _extreme(x, m, take_min, p, q), r))
        for p, q, r in columns
    ]
    return _join(x, m, parts)


def _packed_add(x: Lanes, a: Carried, b: Carried, n: int, size: int) -> list[Value]:
    """Sums of the parts, not yet cut to size; a negated source comes inverted and lacks a 1."""
    ones = x.u32(a[1] + b[1])
    columns = zip(_parts(x, a[0], n, size, True), _parts(x, b[0], n, size, True), strict=True)
    return [x.add(x.add(p, q), ones) for p, q in columns]


@op(
    "VIADD",
    "UVIADD",
    sig="r <- c c",
    mods="16x2 U8x4",
    pipe="alu",
    latency="viadd",
    category="integer",
)
def viadd(x: Lanes, m: Modifiers, a: Carried, b: Carried) -> Value:
    """d = a + b; .16x2 and .U8x4 add the halves or bytes by themselves."""
    if m.has("16x2") or m.has("U8x4"):
        n, size = (2, 16) if m.has("16x2") else (4, 8)
        return _pack(x, _packed_add(x, a, b, n, size), size)
    return x.add(x.add(a[0], b[0]), x.u32(a[1] + b[1]))


@op("VIADD", sig="r <- r r", mods="S32", requires="ISAT", marks="none", pipe="alu",
    latency="viadd", category="integer")  # fmt: skip
def viadd_saturating(x: Lanes, m: Modifiers, a: Value, b: Value) -> Value:
    """d = a + b as signed integers, the nearest one there is if the sum is none."""
    total = x.add(a, b)
    overflows = x.icmp("slt", x.and_(x.xor(a, total), x.xor(b, total)), x.u32(0))
    edge = x.xor(x.ashr(a, x.u32(31)), x.u32(0x7FFFFFFF))
    return x.select(overflows, edge, total)


@op("VIADDMNMX", sig="r <- c c r p", mods=_TYPES, **_FAST)
def viaddmnmx(x: Lanes, m: Modifiers, a: Carried, b: Carried, c: Value, take_min: Value) -> Value:
    """d = p ? min(a + b, c) : max(a + b, c), the sum wrapping; .RELU takes the maximum with 0."""
    n, size, is_signed = _unpacker(m)
    if n == 1:
        sums = [x.add(x.add(a[0], b[0]), x.u32(a[1] + b[1]))]
    else:
        wide = _pack(x, _packed_add(x, a, b, n, size), size)
        sums = _parts(x, wide, n, size, is_signed)
    columns = zip(sums, _split(x, m, c), strict=True)
    return _join(x, m, [_relu(x, m, _extreme(x, m, take_min, s, t)) for s, t in columns])


@op("VABSDIFF", sig="r <- r r r", mods="U32 S32", **_FAST)
def vabsdiff(x: Lanes, m: Modifiers, a: Value, b: Value, c: Value) -> Value:
    """d = |a - b| + c; signed unless .U32."""
    return x.add(_distance(x, a, b, not m.has("U32")), c)


def _distance(x: Lanes, a: Value, b: Value, is_signed: bool) -> Value:
    if is_signed:
        return x.sub(x.smax(a, b), x.smin(a, b))
    return x.sub(x.umax(a, b), x.umin(a, b))


@op("VABSDIFF4", sig="r <- r r r", mods="U8 ACC", **_FAST)
def vabsdiff4(x: Lanes, m: Modifiers, a: Value, b: Value, c: Value) -> Value:
    """d = |a_i - b_i| of four bytes, signed unless .U8; .ACC adds all four to the word c."""
    is_signed = not m.has("U8")
    columns = zip(_parts(x, a, 4, 8, is_signed), _parts(x, b, 4, 8, is_signed), strict=True)
    distances = [_distance(x, p, q, is_signed) for p, q in columns]
    if m.has("ACC"):
        for distance in distances:
            c = x.add(c, distance)
        return c
    return _pack(x, distances, 8)
