"""Communication between the lanes of a warp."""

from __future__ import annotations

from collections.abc import Callable

from warplens.isa import float_compare as fc
from warplens.isa.lanes import Lanes, Value
from warplens.isa.table import Modifiers, op

_INTER = {"category": "inter_thread"}


@op(
    "SHFL",
    sig="p r <- r r r",
    mods="IDX UP DOWN BFLY",
    pipe="lsu",
    latency="shuffle",
    **_INTER,
)
def shfl(x: Lanes, m: Modifiers, a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    """d = a of the lane that b names; p = that lane is within the segment, else d = own a.

    c holds the last lane of a segment in bits 4:0 and the lane bits that name it in bits 12:8.
    A lane that does not execute gives 0, as recorded on hardware (sm_90).
    """
    lane = x.lane_id()
    low_bits = x.u32(31)
    amount = x.and_(b, low_bits)
    segment = x.and_(x.lshr(c, x.u32(8)), low_bits)
    inside = x.xor(segment, low_bits)
    first = x.and_(lane, segment)
    last = x.or_(first, x.and_(x.and_(c, low_bits), inside))
    if m.has("UP"):
        source = x.sub(lane, amount)
        is_valid = x.icmp("sge", source, last)
    else:
        if m.has("DOWN"):
            source = x.add(lane, amount)
        elif m.has("BFLY"):
            source = x.xor(lane, amount)
        else:
            source = x.or_(first, x.and_(amount, inside))
        is_valid = x.icmp("sle", source, last)
    given = x.select(x.active(), a, x.u32(0))
    return is_valid, x.gather_lane(given, x.select(is_valid, source, lane))


@op("VOTE", "VOTEU", sig="r? p? <- p", mods="ALL ANY EQ", pipe="alu", latency="vote", **_INTER)
def vote(x: Lanes, m: Modifiers, p: Value) -> tuple[Value, Callable[[], Value]]:
    """d = executing lanes whose p holds; p0 = it holds in all, in any, or equally in all."""
    votes = x.ballot(p)

    def verdict() -> Value:
        none = x.icmp("eq", votes, x.u32(0))
        if m.has("ANY"):
            return x.pnot(none)
        every = x.icmp("eq", votes, x.ballot(x.true()))
        return x.por(every, none) if m.has("EQ") else every

    return votes, verdict


def _match_any(x: Lanes, words: tuple[Value, ...]) -> Value:
    """For every lane the executing lanes that hold the same words."""
    result = x.u32(0)
    for lane in range(32):
        is_same = x.true()
        for word in words:
            is_same = x.pand(is_same, x.icmp("eq", word, x.gather_lane(word, x.u32(lane))))
        result = x.or_(result, x.select(is_same, x.u32(1 << lane), x.u32(0)))
    return x.and_(result, x.ballot(x.true()))


def _match_all(x: Lanes, words: tuple[Value, ...]) -> tuple[Value, Value]:
    """Whether all executing lanes hold the same words, and their mask, or 0 if they differ."""
    is_same = x.true()
    for word in words:
        is_same = x.pand(is_same, x.icmp("eq", word, x.first_active(word)))
    everyone = x.ballot(x.true())
    agreed = x.icmp("eq", x.ballot(is_same), everyone)
    return agreed, x.select(agreed, everyone, x.u32(0))


@op("MATCH", sig="r <- r", requires="ANY", mods="U32", pipe="adu", latency="match", **_INTER)
def match_any(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = executing lanes whose a equals this lane's."""
    return _match_any(x, (a,))


@op("MATCH", sig="r <- q", requires="ANY U64", pipe="adu", latency="match", **_INTER)
def match_any_64(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = executing lanes whose 64-bit a equals this lane's."""
    return _match_any(x, (x.low32(a), x.high32(a)))


@op("MATCH", sig="p? r <- r", requires="ALL", mods="U32", pipe="adu", latency="match", **_INTER)
def match_all(x: Lanes, m: Modifiers, a: Value) -> tuple[Value, Value]:
    """p = all executing lanes have the same a; d = their mask, or 0."""
    return _match_all(x, (a,))


@op("MATCH", sig="p? r <- q", requires="ALL U64", pipe="adu", latency="match", **_INTER)
def match_all_64(x: Lanes, m: Modifiers, a: Value) -> tuple[Value, Value]:
    """p = all executing lanes have the same 64-bit a; d = their mask, or 0."""
    return _match_all(x, (x.low32(a), x.high32(a)))


def _reduction(x: Lanes, m: Modifiers) -> tuple[Callable[[Value, Value], Value], int]:
    """The operation and the value that does not change its result."""
    if m.has("MIN"):
        return (x.smin, 0x7FFFFFFF) if m.has("S32") else (x.umin, 0xFFFFFFFF)
    if m.has("MAX"):
        return (x.smax, 0x80000000) if m.has("S32") else (x.umax, 0)
    if m.has("SUM"):
        return x.add, 0
    if m.has("OR"):
        return x.or_, 0
    return (x.xor, 0) if m.has("XOR") else (x.and_, 0xFFFFFFFF)


@op(
    "REDUX",
    "CREDUX",
    sig="r <- r",
    mods="SUM MIN MAX AND OR XOR S32 U32",
    pipe="adu",
    latency="redux",
    **_INTER,
)
def redux(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = SUM, MIN, MAX, OR, XOR or (without any of them) AND of a over the executing lanes."""
    combine, neutral = _reduction(x, m)
    total = x.select(x.active(), a, x.u32(neutral))
    for distance in (16, 8, 4, 2, 1):
        other = x.gather_lane(total, x.xor(x.lane_id(), x.u32(distance)))
        total = combine(total, other)
    return total


@op(
    "CREDUX",
    sig="b <- f",
    requires="F32",
    mods="MIN MAX MINABS MAXABS NAN",
    pipe="adu",
    latency="redux",
    **_INTER,
)
def credux_float(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = the least or greatest a, or |a| with .MINABS and .MAXABS, of the executing lanes.

    A NaN loses against numbers, or wins with .NAN, as PTX says of redux.sync (sm_100a).
    """
    take_min = x.true() if m.has("MIN") or m.has("MINABS") else x.false()
    a = x.fabs(a) if m.has("MINABS") or m.has("MAXABS") else a
    infinity = x.select(take_min, x.u32(0x7F800000), x.u32(0xFF800000))
    neutral = infinity if m.has("NAN") else x.u32(0x7FFFFFFF)
    total = x.bits_to_f32(x.select(x.active(), x.raw_bits(a), neutral))
    for distance in (16, 8, 4, 2, 1):
        lane = x.xor(x.lane_id(), x.u32(distance))
        other = x.bits_to_f32(x.gather_lane(x.raw_bits(total), lane))
        total = fc.minimum_or_maximum(x, m, total, other, take_min)
    return x.bits(total)


@op("R2UR", sig="p? r <- r", mods="BROADCAST FILL", pipe="alu", latency="alu", category="misc")
def r2ur(x: Lanes, m: Modifiers, a: Value) -> tuple[Callable[[], Value], Value]:
    """d = a of the lowest executing lane; p = this lane holds another value."""
    first = x.first_active(a)

    def differs() -> Value:
        return x.icmp("ne", a, first)

    return differs, first


@op("R2UR", sig="p r <- r", mods="BROADCAST", requires="OR", pipe="alu", latency="alu",
    category="misc", reads_first_result=True)  # fmt: skip
def r2ur_or(x: Lanes, m: Modifiers, a: Value, before: Value) -> tuple[Callable[[], Value], Value]:
    """d = a of the lowest executing lane; p is set, too, where this lane holds another value."""
    first = x.first_active(a)
    return (lambda: x.por(before, x.icmp("ne", a, first))), first


@op("ELECT", sig="p r <- p", pipe="alu", latency="vote", **_INTER)
def elect(x: Lanes, m: Modifiers, p: Value) -> tuple[Value, Value]:
    """d = lowest executing lane whose p holds; p0 = this lane is it."""
    votes = x.ballot(p)
    lowest = x.and_(votes, x.sub(x.u32(0), votes))
    leader = x.sub(x.u32(31), x.count_leading_zeros(lowest))
    return x.icmp("eq", x.lane_id(), leader), leader
