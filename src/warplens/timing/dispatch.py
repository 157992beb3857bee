"""Dispatch: an issued instruction takes its pipe, starts its memory access, raises scoreboards."""

from __future__ import annotations

from warplens.timing import (
    constants,
    copies,
    fetch,
    lsu,
    queue,
    registers,
    results,
    scoreboard,
    texels,
)
from warplens.timing.stall import (
    DISPATCH_STALL,
    GMMA,
    LG_THROTTLE,
    LONG_SCOREBOARD,
    MATH_PIPE_THROTTLE,
    MEMBAR,
    MIO_THROTTLE,
    SHORT_SCOREBOARD,
    TEX_THROTTLE,
)
from warplens.timing.state import (
    CONSTANT,
    COPIES,
    FENCE,
    INDEXED_HELD,
    MEMORY,
    PIPES,
    PRODUCTS,
    SHARED,
    TEXTURE,
    VARIABLE,
    Counts,
    Record,
    State,
    Trace,
    stage,
)

FENCES_JOIN = 32  # cycles: on an H200 those of eight warps go together, not those of sixteen
_XU, _ADU = PIPES.index("xu"), PIPES.index("adu")


@stage
def blocked(sub: Record, spec: Record, inst: Record, now: int) -> int:
    """The reason why a ready instruction cannot go to its unit now; 0 if it can. Special functions,
    conversions and loads of constants wait in the queue of memory instructions, as ncu's
    description of it says, at places of their own. What fills the queue names the wait of those
    behind it."""
    if inst.kind == MEMORY or inst.kind == SHARED:
        if queue.room_at(sub) <= now:
            return DISPATCH_STALL if sub.issues_at > now else 0
        is_own = inst.kind == MEMORY and queue.full_of(sub, spec, now) == MEMORY
        return LG_THROTTLE if is_own else MIO_THROTTLE
    if sub.issues_at > now:
        return DISPATCH_STALL
    if inst.kind == TEXTURE and sub.taken[sub.next_taken] > now:
        return TEX_THROTTLE
    if _room_at(sub, spec, inst, now) <= now:
        return DISPATCH_STALL if registers.busy_until(sub, inst) > now + 1 else 0
    return MIO_THROTTLE if _is_queued(inst) else MATH_PIPE_THROTTLE


@stage
def _is_queued(inst: Record) -> bool:
    """Whether it goes through the queue of memory instructions to another unit."""
    return bool(inst.pipe in (_XU, _ADU) or inst.depth == queue.NUMBERS)


@stage
def _room_at(sub: Record, spec: Record, inst: Record, now: int) -> float:
    """When the instruction's unit takes it: that of special functions has a queue, in which warps
    do not wait at their instruction but, later, for its result. So has that of constants' addresses
    and barriers, a shorter one; loads of constants by registers wait in one of their own."""
    if inst.depth == queue.NUMBERS:
        return queue.room_of_numbers_at(sub, spec, now)
    free = float(sub.pipe_free[inst.pipe])
    if inst.depth == lsu.INDEXED:
        free = max(free - INDEXED_HELD * inst.interval, sub.indexed[sub.next_indexed])
    elif inst.pipe == _XU:
        free -= spec.special_held * inst.interval
    elif inst.pipe == _ADU:
        free -= spec.address_held * inst.interval
    return free


@stage
def free_at(sub: Record, spec: Record, inst: Record, now: int) -> int:
    """When a blocked instruction may go, if its sub-partition issues nothing else: or just before,
    since the times of units are fractions."""
    if sub.issues_at > now:  # what else holds it up is seen then
        return int(sub.issues_at)
    if inst.kind == MEMORY or inst.kind == SHARED:
        return int(max(now + 1, int(queue.room_at(sub))))
    free = max(_room_at(sub, spec, inst, now), registers.busy_until(sub, inst))
    if inst.kind == TEXTURE:
        free = max(free, sub.taken[sub.next_taken])
    return int(max(now + 1, int(free)))


@stage
def _fence(sm: Record, spec: Record, inst: Record, warp: Record, now: int) -> int:
    """When a fence of the GPU lets its warp go on: when the accesses before it are known to have
    arrived. Where fences of an SM are recorded to wait for each other, those that come while one
    is on its way go together behind it, and wait for what all of the SM's warps have asked for."""
    least, more = spec.fence_least, spec.fence_more
    if inst.depth == 2:
        least, more = spec.fence_latency, spec.fence_more_of_all
    if not spec.fence_together:
        return int(max(now + least, warp.known + more))
    if now < sm.fence_begun + FENCES_JOIN:  # the next ones have not left yet
        sm.fence_free = max(sm.fence_free, sm.fence_begun + least, sm.pending + more)
        return int(sm.fence_free)
    begin = max(float(now), sm.fence_free)
    if begin > now:  # behind others
        least = max(least, spec.fence_turn)
    sm.fence_begun = begin
    sm.fence_free = max(begin + least, sm.pending + more)
    return int(sm.fence_free)


@stage
def start(state: State, counts: Counts, spec: Record, inst: Record, trace: Trace, warp: Record,
          index: int, now: int) -> None:  # fmt: skip
    """Starts the instruction of a warp."""
    kind = inst.kind
    if kind in (MEMORY, SHARED):
        state.sm[0].pipe_busy[inst.pipe] += 1
        done, read, left = lsu.perform(state, counts, spec, inst, trace, warp, index, now)
        reason = LONG_SCOREBOARD if kind == MEMORY else SHORT_SCOREBOARD
        scoreboard.hold(warp, inst.write, int(done) + 1, reason)
        if inst.writes:
            results.load(state.subs[index % spec.sub_partitions], warp, inst.write, inst.writes,
                         float(int(done) + 1))  # fmt: skip
        scoreboard.hold(warp, inst.read, int(read) + 1, reason)
        if inst.write == scoreboard.NO_BARRIER:
            warp.stores = max(warp.stores, int(left))
        return
    sub = state.subs[index % spec.sub_partitions]
    registers.read(sub, inst, now)
    if inst.writes:
        results.operate(sub, now, inst.writes)
    sub.issues_at = now + 1 + inst.holds
    begin = float(now)
    if inst.depth != queue.NUMBERS:
        begin = max(begin, sub.pipe_free[inst.pipe])
    sub.pipe_free[inst.pipe] = begin + inst.interval
    if _is_queued(inst):
        begin = max(begin, queue.pass_by(state, spec, index, inst, now))
    state.sm[0].pipe_busy[inst.pipe] += inst.interval
    if kind == TEXTURE:
        until = texels.perform(state, sub, spec, inst, trace, warp, now)
        scoreboard.hold(warp, inst.write, until, LONG_SCOREBOARD)
        scoreboard.hold(warp, inst.read, int(state.sm[0].texture_free), LONG_SCOREBOARD)
    elif kind == COPIES:
        until = int(copies.perform(state, counts, spec, trace, warp, now))
        if inst.depth == lsu.COPIED:  # a group of stores
            until = max(until, warp.stored)
        scoreboard.hold(warp, inst.read, until, LONG_SCOREBOARD)
        scoreboard.hold(warp, inst.write, until, LONG_SCOREBOARD)
    elif kind == FENCE:
        until = now + inst.latency
        if inst.depth:  # holds the warp itself, without a scoreboard
            until = warp.fenced = _fence(state.sm[0], spec, inst, warp, now)
        scoreboard.hold(warp, inst.write, until, MEMBAR)
        scoreboard.hold(warp, inst.read, until, MEMBAR)
    elif kind in (VARIABLE, CONSTANT) or inst.write != scoreboard.NO_BARRIER:
        until = int(begin) + inst.latency + 1
        if kind == CONSTANT:
            until = int(constants.load(state, spec, inst, trace, warp, index, now)) + 1
            there = fetch.loaded(state.loaded, spec, inst.constant, now)
            until = max(until, there + inst.latency + 1)
        reason = SHORT_SCOREBOARD
        if inst.write == PRODUCTS:
            reason = GMMA
        scoreboard.hold(warp, inst.write, until, reason)
        soon = int(begin) + min(spec.sources_load, inst.latency) + 1
        scoreboard.hold(warp, inst.read, soon, SHORT_SCOREBOARD)
