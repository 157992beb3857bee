"""Blocks on the SM: launch into a free place, barriers among their warps, and their end."""

from __future__ import annotations

from warplens.timing import fetch, scoreboard, stall
from warplens.timing.state import (
    AT_BARRIER,
    EMPTY,
    N_BARRIERS,
    NEVER,
    RUNNING,
    Counts,
    Record,
    State,
    Trace,
    stage,
)

IDEAL_BARRIERS, IDEAL_LAUNCH = 256, 512


@stage
def launch(state: State, counts: Counts, spec: Record, trace: Trace, now: int) -> None:
    """Starts blocks whose place is free and whose turn has come."""
    sm = state.sm[0]
    if sm.empty == 0:
        return
    for number in range(spec.slots):
        if sm.next_block >= trace.order.size or sm.launch_free > now:
            return
        slot = state.slots[number]
        if slot.live or slot.free > now:
            continue
        sm.empty -= 1
        block = trace.order[sm.next_block]
        sm.next_block += 1
        if not spec.ideal & IDEAL_LAUNCH:
            gap = spec.launch_first if sm.next_block <= spec.slots else spec.launch_interval
            sm.launch_free = max(sm.launch_free, float(now)) + gap
        for i in range(N_BARRIERS):
            slot.arrived[i] = 0
        n = spec.warps_per_block
        for i in range(n):
            _place(state, counts, spec, trace, number, number * n + i, block * n + i, now)


@stage
def next_launch(state: State, trace: Trace) -> int:
    """When the next block can start, or NEVER."""
    sm = state.sm[0]
    earliest = NEVER
    if sm.empty and sm.next_block < trace.order.size:
        for number in range(state.slots.size):
            if not state.slots[number].live:
                earliest = min(earliest, state.slots[number].free)
    return earliest if earliest == NEVER else max(earliest, int(sm.launch_free + 0.999))


@stage
def _place(state: State, counts: Counts, spec: Record, trace: Trace, slot: int, index: int,
           source: int, now: int) -> None:  # fmt: skip
    sm, warp = state.sm[0], state.warps[index]
    warp.status = EMPTY
    first, last = trace.ranges[source, 0], trace.ranges[source + 1, 0]
    if first == last:
        return
    warp.status, warp.trace, warp.block = RUNNING, source, slot
    warp.entry, warp.last_entry = first, last
    warp.access, warp.last_access = trace.ranges[source, 1], trace.ranges[source + 1, 1]
    lifted = trace.entries[first, 0]
    warp.pc, warp.end = trace.blocks[lifted, 0], trace.blocks[lifted, 1]
    warp.issued_at = now
    warp.stores = 0
    scoreboard.clear(warp)
    sm.age += 1
    warp.age = sm.age
    l0 = state.l0[index % spec.sub_partitions]
    warp.ready = fetch.ready(l0, state.l1i, spec, -16, warp.pc, now)
    state.ready[index] = warp.ready
    sub = state.subs[index % spec.sub_partitions]
    sub.next = min(sub.next, warp.ready)
    stall.charge(sm, counts, index, warp, stall.NO_INSTRUCTION, now, warp.ready)
    state.slots[slot].live += 1
    sm.resident += 1


@stage
def arrive(state: State, counts: Counts, spec: Record, index: int, inst: Record, now: int,
           waits: bool) -> None:  # fmt: skip
    """A warp comes to a block barrier; the last one opens it."""
    if spec.ideal & IDEAL_BARRIERS:
        return
    sm, warp = state.sm[0], state.warps[index]
    slot = state.slots[warp.block]
    name, wanted = inst.depth >> 8 & 15, inst.depth & 255
    sm.barrier_free = max(float(now), sm.barrier_free) + spec.barrier_arrival
    slot.arrived[name] += 1
    if waits:
        warp.status = AT_BARRIER
        state.ready[index] = NEVER
    if slot.arrived[name] >= (wanted if wanted else slot.live):
        open_barrier(state, counts, spec, warp.block, name, int(sm.barrier_free))


@stage
def open_barrier(state: State, counts: Counts, spec: Record, number: int, name: int,
                 now: int) -> None:  # fmt: skip
    """Lets all warps of a block that wait at a barrier go on."""
    state.slots[number].arrived[name] = 0
    n = spec.warps_per_block
    for index in range(number * n, number * n + n):
        warp = state.warps[index]
        if warp.status == AT_BARRIER:
            warp.status = RUNNING
            until = max(warp.ready, now + spec.barrier_latency)
            begin = warp.issued_at + 1
            stall.charge(state.sm[0], counts, index, warp, stall.BARRIER, begin, until)
            warp.ready = until
            state.ready[index] = until
            sub = state.subs[index % spec.sub_partitions]
            sub.next = min(sub.next, until)


@stage
def finish(state: State, counts: Counts, spec: Record, warp: Record, index: int,
           now: int) -> None:  # fmt: skip
    """A warp ran its last instruction; the last one of a block frees its place."""
    sm, slot = state.sm[0], state.slots[warp.block]
    leaves = max(now + 1, warp.stores)
    stall.charge(sm, counts, index, warp, stall.DRAIN, now + 1, leaves)
    warp.status = EMPTY
    state.ready[index] = NEVER
    slot.live -= 1
    sm.resident -= 1
    slot.free = max(slot.free, leaves)
    if slot.live == 0:
        counts.done[sm.finished, 0] = slot.free
        counts.done[sm.finished, 1] = sm.issued
        sm.finished += 1
        sm.empty += 1
        slot.free += 0 if spec.ideal & IDEAL_LAUNCH else spec.block_start
        return
    for name in range(N_BARRIERS):  # the others may have waited only for this warp
        if slot.arrived[name] and slot.arrived[name] >= slot.live:
            open_barrier(state, counts, spec, warp.block, name, now)
