"""Instruction fetch: lines that a sub-partition used last, the SM's small cache of code (L0), the
large one behind it (L1), a stream prefetcher."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warplens.timing.state import (
    BANK_LINES,
    BANKS_KNOWN,
    CLOSE_LINES,
    CODE_LINE,
    CODE_WAYS,
    CONSTANT_WAYS,
    L0_WAYS,
    OPERAND_LINES,
    RECENT_LINES,
    Record,
    Records,
    State,
    stage,
)

IDEAL_FETCH = 64
_BROUGHT = 512  # lines that are near when a launch begins (validation/data/gaps_sm90.json)
_LEAD = 8  # cycles before a warp needs it that the line behind its own is asked for
_FIRST = 128  # lines that are in all caches then (skips_sm90.json)
_ROOM = 1.06  # times the SM's cache: what those outside it keep of a launch's code
# How many lines a jump may go and still be in the stream; how many behind a farther one nobody asks
# for ahead; cycles that L1 takes for each of them if warps ask for such lines by turns: of 48 cases
# of 2 KiB in no order L0 has a third, and sixteen warps of every SM take 25 cycles for each line
# (many_cases_sm90.json). Straight code that all SMs go through takes l0_line, one SM or all.
_FAR, _UNKNOWN, _IN_NO_ORDER = 16, 16, 48.0
_AHEAD = 2  # lines that a jump may pass over and still meet what was asked for before
# Lines of a module's constants that come from L2 together, and cycles until they are there: of
# constant_walks_sm90.json the lines of a first pass cost a warp 42 cycles more, all four
# sub-partitions 38, on average
_TOGETHER, _FROM_L2 = 4, 215
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
    line, last = pc // CODE_LINE, before // CODE_LINE
    if line == last or spec.ideal & IDEAL_FETCH:
        return now
    sub, recent = state.subs[part], state.recent_lines[part]
    held = recent[place_of(recent, line, RECENT_LINES)]
    newer = _newer(recent, int(held.used)) if held.tag == line + 1 else RECENT_LINES
    held.tag, held.used = line + 1, now
    asked = _asked(state.l1i, spec, last, line, now)
    if abs(line - last) > _FAR and last >= 0:
        sub.unknown_lines = _UNKNOWN
    near = state.l0[place_of(state.l0, line, L0_WAYS)]
    is_in = near.tag == line + 1
    had = state.brought[line % state.brought.size] != 0
    until = _in_l0(near, state.l0, state.l1i, state.brought, spec, last, line, asked, now)
    if not is_in:
        until = max(until, _in_turn(sub, state.sm[0], had, line, now))
    if before < 0:
        return until
    is_next = line == last + 1
    begin = max(now - _LEAD if is_next else now, int(sub.fetch_free))
    late = 0
    if newer < CLOSE_LINES:
        turn = spec.close_turn
    elif newer < RECENT_LINES:
        turn, late = spec.near_turn, spec.jump_near
    else:
        turn, late = spec.next_turn if is_next else spec.jump_turn, spec.jump_far
    sub.fetch_free = begin + turn
    if not is_next:
        if until > now:
            sub.fetch_free = max(sub.fetch_free, float(until))
        until = max(until, asked + late)
    return max(until, begin)


@stage
def _in_turn(sub: Record, sm: Record, had: bool, line: int, now: int) -> int:
    """When L1 has time for a line that L0 `had` before and nobody has asked for ahead."""
    until = 0
    if sub.unknown_lines > 0 and had:
        sub.unknown_lines -= 1
        if abs(line - sm.code_line) > _PREFETCHED:
            sm.code_free = max(float(now), sm.code_free) + _IN_NO_ORDER
            until = int(sm.code_free)
    sm.code_line = line
    return until


@stage
def _asked(l1i: Records, spec: Record, last: int, line: int, now: int) -> int:
    """When a line was asked for: those behind a warp's line are, one after the other, when it comes
    there, so that a short jump may meet them."""
    if not 1 < line - last <= _AHEAD or last < 0:
        return now
    held = l1i[place_of(l1i, last, CODE_WAYS)]
    if held.tag != last + 1:
        return now
    return min(now, int(held.used) + (line - last - 1) * int(spec.l0_line) // 2)


@stage
def _newer(lines: Records, used: int) -> int:
    """How many lines were used later than at a time."""
    count = 0
    for number in range(lines.size):
        count += lines[number].used > used
    return count


@stage
def _in_l0(near: Record, l0: Records, l1i: Records, brought: npt.NDArray[np.uint8], spec: Record,
           last: int, line: int, asked: int, now: int) -> int:  # fmt: skip
    """When a line is in the SM's small cache of code, where `near` is its place."""
    if near.tag == line + 1:
        near.used = now
        return max(now, int(near.ready))
    is_next = line == last + 1
    far = l1i[place_of(l1i, line, CODE_WAYS)]
    late = 0 if is_next or last < 0 else spec.l0_miss
    if is_next and far.tag == line + 1:  # lines come one after the other
        now = max(now, int(l0[place_of(l0, line - 1, L0_WAYS)].ready) + spec.l0_line)
    far.used = now
    if far.tag != line + 1:
        there = now
        if is_next and (far.tag != 0 or line >= _BROUGHT):
            # Code larger than the cache, again and again, or at first: a line behind the other.
            there = min(now, int(l1i[place_of(l1i, line - 1, CODE_WAYS)].ready))
            there += _turn_of(brought, l1i, spec, line)
            ahead = l1i[place_of(l1i, line - _PREFETCHED, CODE_WAYS)]
            if ahead.tag == line - _PREFETCHED + 1:
                there = max(there, int(ahead.used))
        elif is_next or (asked < now and line < _BROUGHT):
            there += spec.first_line
        elif far.tag == 0 and line < _FIRST:
            late = 0
        elif last >= 0:
            there = asked + spec.l1i_miss
        far.tag = line + 1
        far.ready = max(now, there)
        brought[line % brought.size] = 1
    until = max(far.ready, now, asked + late)
    near.tag, near.used = line + 1, now
    near.ready = until
    return int(until)


@stage
def _turn_of(brought: npt.NDArray[np.uint8], l1i: Records, spec: Record, line: int) -> int:
    """Cycles from one line that the SM brings to the next. Code that does not fit drives out what
    caches outside the SM had of an earlier launch, so that its lines come from DRAM at first
    (fetch_together_sm90.json)."""
    if brought.size > _ROOM * l1i.size and line >= _BROUGHT and not brought[line % brought.size]:
        return int(spec.cold_line)
    return int(spec.l1i_line)


@stage
def constant(state: State, spec: Record, part: int, line: int, now: int) -> int:
    """When a line of a constant bank is in a sub-partition's cache of operands. The SM brings one
    after the other (constant_walks_sm90.json). What a launch fills (bank 0) comes to all of them
    the first time; of what a module holds L2 gives 256 bytes the first time."""
    lines, sm = state.constants[part], state.sm[0]
    if line == 0 or spec.ideal & IDEAL_FETCH:
        return now
    place = lines[place_of(lines, line, OPERAND_LINES)]
    if place.tag != line + 1:
        at = bank_place(line - 1)
        of_launch = at < BANK_LINES
        if not of_launch:
            at -= at % _TOGETHER
        is_met, state.met[at] = state.met[at], 1
        wait = spec.operand_miss
        if not is_met:
            wait = spec.constant_miss if of_launch else _FROM_L2
        begin = max(now, int(sm.constant_free))
        sm.constant_free = begin + (spec.constant_turn if is_met else wait)
        for other in range(spec.sub_partitions):
            if other == part or (of_launch and not is_met):
                _put(state.constants[other], line, begin, begin + int(wait))
    place.used = now
    return max(now, int(place.ready))


@stage
def _put(lines: Records, line: int, now: int, ready: int) -> None:
    """A line comes in place of the one that was not used longest."""
    place = lines[place_of(lines, line, OPERAND_LINES)]
    place.tag, place.used, place.ready = line + 1, now, ready


@stage
def bank_place(line: int) -> int:
    """Where it is noted whether the SM has had a line of a constant bank, counted from 0."""
    return line & BANK_LINES - 1 | (line >> 12 & BANKS_KNOWN - 1) * BANK_LINES


@stage
def loaded(lines: Records, spec: Record, line: int, now: int) -> int:
    """The same for a load by a fixed address, which has a cache of its own."""
    if line == 0 or spec.ideal & IDEAL_FETCH:
        return now
    place = lines[place_of(lines, line, CONSTANT_WAYS)]
    place.used = now
    if place.tag != line + 1:
        place.tag = line + 1
        place.ready = now + int(spec.indexed_miss)
    return max(now, int(place.ready))
