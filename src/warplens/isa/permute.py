"""PRMT: any four bytes of two words."""

from __future__ import annotations

from warplens.isa.lanes import Lanes, Value
from warplens.isa.table import Modifiers, op

# The selectors that the special modes stand for, by the low two bits of the selector operand.
_MODES = {
    "F4E": (0x3210, 0x4321, 0x5432, 0x6543),
    "B4E": (0x5670, 0x6701, 0x7012, 0x0123),
    "RC8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ECL": (0x3210, 0x3211, 0x3222, 0x3333),
    "ECR": (0x0000, 0x1110, 0x2210, 0x3210),
    "RC16": (0x1010, 0x3232, 0x1010, 0x3232),
}


@op(
    "PRMT",
    "UPRMT",
    sig="r <- r r r",
    mods="IDX " + " ".join(_MODES),
    pipe="alu",
    latency="alu",
    category="bit",
)
def prmt(x: Lanes, m: Modifiers, a: Value, selector: Value, b: Value) -> Value:
    """Byte k of d is the byte of {b, a} that nibble k of the selector names.

    Bit 3 of a nibble asks for the byte's sign in all eight bits.
    """
    for name in m:
        if name in _MODES:
            selector = x.table(_MODES[name], x.and_(selector, x.u32(3)))
    known = x.known(selector)
    if known is not None:
        return _fixed(x, a, b, known)
    result = x.u32(0)
    for k in range(4):
        nibble = x.and_(x.lshr(selector, x.u32(4 * k)), x.u32(15))
        result = x.or_(result, x.shl(_byte(x, a, b, nibble), x.u32(8 * k)))
    return result


def _byte(x: Lanes, a: Value, b: Value, nibble: Value) -> Value:
    source = x.select(x.icmp("eq", x.and_(nibble, x.u32(4)), x.u32(0)), a, b)
    # The byte goes to the top of the word and comes back down with or without its sign.
    up = x.shl(source, x.shl(x.xor(x.and_(nibble, x.u32(3)), x.u32(3)), x.u32(3)))
    signs = x.lshr(x.ashr(up, x.u32(31)), x.u32(24))
    is_sign = x.icmp("ugt", nibble, x.u32(7))
    return x.select(is_sign, signs, x.lshr(up, x.u32(24)))


def _fixed(x: Lanes, a: Value, b: Value, selector: int) -> Value:
    """With a known selector, bytes that move by the same distance move together."""
    moves: dict[tuple[int, int], int] = {}
    signs: list[Value] = []
    for k in range(4):
        nibble = selector >> 4 * k & 15
        source, byte = nibble >> 2 & 1, nibble & 3
        if nibble & 8:
            up = x.shl((a, b)[source], x.u32(24 - 8 * byte))
            signs.append(x.and_(x.ashr(up, x.u32(31)), x.u32(0xFF << 8 * k)))
        else:
            key = (source, 8 * (k - byte))
            moves[key] = moves.get(key, 0) | 0xFF << 8 * k
    result = x.u32(0)
    for (source, left), mask in moves.items():
        word = (a, b)[source]
        moved = x.shl(word, x.u32(left)) if left > 0 else x.lshr(word, x.u32(-left))
        kept = 0xFFFFFFFF << left if left > 0 else 0xFFFFFFFF >> -left
        # A shift alone has already cleared what lies outside `kept`.
        if mask != kept & 0xFFFFFFFF:
            moved = x.and_(moved, x.u32(mask))
        result = x.or_(result, moved)
    for sign in signs:
        result = x.or_(result, sign)
    return result
