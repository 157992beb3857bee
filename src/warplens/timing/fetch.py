"""Instruction fetch: the sub-partition's L0, the SM's L1 instruction cache, a stream prefetcher."""

from __future__ import annotations

from warplens.timing.state import (
    CODE_WAYS, CONSTANT_WAYS, LAST_WAYS, Record, Records, State, stage,
)  # fmt: skip

IDEAL_FETCH = 64
_BROUGHT = 512  # lines that are near when a launch begins (validation/data/gaps_sm90.json)
_LEAD = 8  # cycles before a warp needs it that the line behind its own is asked for
_FIRST = 128  # lines that are in all caches then (skips_sm90.json)
_PREFETCHED = 8  # a stream buffer runs so many lines ahead


@stage
def place_of(lines: Records, line: int, ways: int) -> int:
    """Where a line is in a cache, or else the line of its set that was not used longest."""
    first = line % max(1, lines.size // ways) * ways
    oldest = first
    for way in range(first, min(first + ways, lines.size)):
        if lines[way].tag == line + 1:
            return way
        if lines[way].used < lines[oldest].used:
            oldest = way
    return oldest


@stage
def ready(state: State, spec: Record, part: int, before: int, pc: int, now: int) -> int:
    """When the instruction at `pc` is in the buffer of a sub-partition's warp that comes from
    `before`."""
    line = pc >> 3  # 8 instructions of 16 bytes
    if line == before >> 3 or spec.ideal & IDEAL_FETCH:
        return now
    sequential = line == (before >> 3) + 1
    sub, last_lines = state.subs[part], state.last_lines[part]
    last = last_lines[place_of(last_lines, line, LAST_WAYS)]
    is_last = last.tag == line + 1
    last.tag, last.used = line + 1, now
    until = _in_l0(state.l0[part], state.l1i, spec, before, line, now)
    if before < 0:
        return until
    asked = now - _LEAD if sequential else now
    begin = max(asked, int(sub.fetch_free))
    turn = spec.near_turn if is_last else spec.next_turn if sequential else spec.jump_turn
    late = 0 if sequential else spec.jump_near if is_last else spec.jump_far
    until = max(until, begin) + late
    sub.fetch_free = max(begin + turn, float(until if until > now + late else 0))
    return max(now, until)


@stage
def _in_l0(l0: Records, l1i: Records, spec: Record, before: int, line: int, now: int) -> int:
    """When a line is in the sub-partition's cache."""
    near = l0[line % l0.size]
    if near.tag == line + 1:
        return max(now, int(near.ready))
    sequential = line == (before >> 3) + 1
    far = l1i[place_of(l1i, line, CODE_WAYS)]
    far.used = now
    late = 0 if sequential or before < 0 else spec.l0_miss
    if sequential and far.tag == line + 1:  # lines come one after the other
        last = l0[(line - 1) % l0.size]
        now = max(now, int(last.ready) + spec.l0_line)
    if far.tag != line + 1:
        there = now
        if sequential and (far.tag != 0 or line >= _BROUGHT):
            # Code larger than the cache, again and again, or at first: a line behind the other.
            there = min(now, int(l1i[place_of(l1i, line - 1, CODE_WAYS)].ready)) + spec.l1i_line
            ahead = l1i[place_of(l1i, line - _PREFETCHED, CODE_WAYS)]
            if ahead.tag == line - _PREFETCHED + 1:
                there = max(there, int(ahead.used))
        elif far.tag == 0 and line < _FIRST:
            late = 0
        elif sequential:
            there += spec.l1i_miss // _PREFETCHED
        elif before >= 0:
            there += spec.l1i_miss
        far.tag = line + 1
        far.ready = max(now, there)
    until = max(far.ready, now + late)
    near.tag = line + 1
    near.ready = until
    return int(until)


@stage
def constant(sm: Record, lines: Records, spec: Record, line: int, now: int) -> int:
    """When a line of a constant bank is in the SM's cache of operands, which fetches one after the
    other (inferred: warps that walk through 16 KB of constants out of step wait for nothing else,
    cp of Parboil on an H200)."""
    begin = max(now, int(sm.constant_free))
    ready = int(_constant(lines, spec, line, begin - now + spec.constant_miss, now))
    sm.constant_free = max(sm.constant_free, float(ready) if ready > now else 0.0)
    return ready


@stage
def loaded(lines: Records, spec: Record, line: int, now: int) -> int:
    """The same for a load by a fixed address, which has a cache of its own."""
    return int(_constant(lines, spec, line, int(spec.indexed_miss), now))


@stage
def _constant(lines: Records, spec: Record, line: int, miss: int, now: int) -> int:
    if line == 0 or spec.ideal & IDEAL_FETCH:
        return now
    place = lines[place_of(lines, line, CONSTANT_WAYS)]
    place.used = now
    if place.tag != line + 1:
        place.tag = line + 1
        place.ready = now + miss
    return max(now, int(place.ready))
