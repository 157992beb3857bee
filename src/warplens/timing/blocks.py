"""Blocks on the SM: launch into a free place, barriers among their warps, and their end."""

from __future__ import annotations

import math

from warplens.timing import fetch, scoreboard, stall
from warplens.timing.state import (
    AT_BARRIER,
    EMPTY,
    N_BARRIERS,
    NEVER,
    OF_CLUSTER,
    RUNNING,
    Counts,
    Record,
    State,
    Trace,
    stage,
)

IDEAL_BARRIERS, IDEAL_LAUNCH = 256, 512
# Cycles of a warp behind its last instruction, of one whose stores are on their way behind them:
# an H200 counts 8 and 22 to 23 cycles of a streaming kernel's warps as branch_resolving and drain.
EXIT_BRANCH, EXIT_DRAIN, EXIT_STORE = 8, 9, 31


@stage
def launch(state: State, counts: Counts, spec: Record, trace: Trace, now: int) -> None:
    """Starts as many blocks as fit, when one has ended (and at first).

    A warp that ends gives back its place and its registers at once, its block the shared memory:
    if few warps of a block live on, there is room for further blocks. But it is the end of a block
    that is told, with what room there was then, and answered a while later (measured,
    validation/data/residency_sm90.json).
    """
    sm = state.sm[0]
    if sm.launch_at > now:
        return
    sm.launch_at = NEVER
    for number in range(state.slots.size):
        _tell(state, spec, number, now)
    while sm.next_block < trace.order.size:
        number = _free_slot(state, now)
        if number < 0 or not _fits(state, spec):
            break
        if sm.launch_free > now:
            sm.launch_at = int(sm.launch_free + 0.999)
            return
        _start(state, counts, spec, trace, number, now)
    for number in range(state.slots.size):
        slot = state.slots[number]
        if not slot.live and slot.free > now:
            sm.launch_at = min(sm.launch_at, slot.free)


@stage
def _tell(state: State, spec: Record, number: int, now: int) -> None:
    """The end of a block, if it is known by now."""
    slot = state.slots[number]
    if slot.ended and slot.free <= now:
        slot.ended = 0
        for part in range(spec.sub_partitions):
            state.subs[part].told = max(state.subs[part].told, slot.gone[part])


@stage
def next_launch(state: State, trace: Trace) -> int:
    """When the next block can start, or NEVER."""
    sm = state.sm[0]
    return int(sm.launch_at) if sm.next_block < trace.order.size else NEVER


@stage
def _free_slot(state: State, now: int) -> int:
    for number in range(state.slots.size):
        if not state.slots[number].live and state.slots[number].free <= now:
            return number
    return -1


@stage
def _fits(state: State, spec: Record) -> bool:
    """Whether every sub-partition has room for its warps of a block."""
    n = spec.sub_partitions
    for number in range(n):
        more = (spec.warps_per_block - (number - state.sm[0].first_sub) % n + n - 1) // n
        if state.subs[number].placed - state.subs[number].told + more > spec.warp_slots:
            return False
    return True


@stage
def _start(state: State, counts: Counts, spec: Record, trace: Trace, number: int,
           now: int) -> None:  # fmt: skip
    """Warps go to the sub-partitions in turn (see residency.first_step)."""
    sm, slot = state.sm[0], state.slots[number]
    block = trace.order[sm.next_block]
    slot.began, slot.trace = now, block
    sm.next_block += 1
    if not spec.ideal & IDEAL_LAUNCH:
        if sm.next_block <= spec.resident:
            sm.launch_free = max(sm.launch_free, float(now)) + spec.launch_first
            sm.launch_turn = sm.launch_free
        else:  # the turns that it has not taken are there for blocks that end together
            missed = float(now) - spec.launch_missed * spec.launch_interval
            sm.launch_turn = max(sm.launch_turn, missed) + spec.launch_interval
            sm.launch_free = sm.launch_turn
    for i in range(N_BARRIERS):
        slot.arrived[i] = 0
    n = spec.warps_per_block
    for i in range(n):
        part = (sm.first_sub + i) % spec.sub_partitions
        _place(state, counts, spec, trace, number, part, block * n + i, now)
    sm.first_sub = (sm.first_sub + spec.first_step) % spec.sub_partitions
    if not slot.live:  # of a window: its warps had ended before
        _end(state, counts, spec, number, now)


@stage
def _place(state: State, counts: Counts, spec: Record, trace: Trace, slot: int, part: int,
           source: int, now: int) -> None:  # fmt: skip
    first, last = trace.ranges[source, 0], trace.ranges[source + 1, 0]
    if first == last:
        return
    sm, index = state.sm[0], part
    while state.warps[index].status != EMPTY:
        index += spec.sub_partitions
    warp = state.warps[index]
    sub = state.subs[part]
    sub.placed += 1
    warp.status, warp.trace, warp.block = RUNNING, source, slot
    warp.entry, warp.last_entry = first, last
    warp.access, warp.last_access = trace.ranges[source, 1], trace.ranges[source + 1, 1]
    lifted = trace.entries[first].lifted_block
    warp.pc, warp.end = trace.blocks[lifted, 0], trace.blocks[lifted, 1]
    warp.issued_at, warp.kept = now, 0
    warp.stores = warp.queued = warp.known = warp.fenced = warp.copied = 0
    warp.stored = warp.phase = warp.barrier = warp.opened = warp.behind = 0
    scoreboard.clear(warp)
    warp.age = sm.next_block
    warp.ready = fetch.ready(state, spec, part, -16, warp.pc, now)
    state.ready[index] = warp.ready
    sub.next = min(sub.next, warp.ready)
    stall.charge(sm, counts, index, warp, stall.NO_INSTRUCTION, now, warp.ready)
    state.slots[slot].live += 1
    sm.resident += 1


@stage
def arrive(state: State, counts: Counts, spec: Record, index: int, depth: int, now: int,
           waits: bool, goes_on: bool) -> None:  # fmt: skip
    """A warp comes to a block barrier; the last one opens it. Whoever `waits` may have something
    to do before (see code.meets)."""
    if spec.ideal & IDEAL_BARRIERS:
        return
    sm, warp = state.sm[0], state.warps[index]
    slot = state.slots[warp.block]
    name, wanted = depth >> 8 & 31, depth & 255
    sm.barrier_free = max(float(now), sm.barrier_free) + spec.barrier_arrival
    slot.arrived[name] += 1
    if waits:
        warp.barrier = name + 1
        if not goes_on:
            stop(state, index)
    if slot.arrived[name] >= (wanted if wanted else slot.live):
        open_barrier(state, counts, spec, warp.block, name, int(sm.barrier_free))


@stage
def stop(state: State, index: int) -> None:
    """A warp can do nothing before its barrier opens."""
    state.warps[index].status = AT_BARRIER
    state.ready[index] = NEVER


@stage
def open_barrier(state: State, counts: Counts, spec: Record, number: int, name: int,
                 now: int) -> None:  # fmt: skip
    """Lets all warps of a block that wait at a barrier go on. Where the blocks of a cluster meet,
    they wait for the last one: they have come apart since they met before."""
    slot, latency = state.slots[number], int(spec.barrier_latency)
    slot.arrived[name] = 0
    if name == OF_CLUSTER:
        since = max(0, now - max(slot.met, slot.began))
        latency = int(spec.cluster_latency + spec.fellows_apart * math.sqrt(since))
        slot.met = now + latency
    for index in range(state.warps.size):
        warp = state.warps[index]
        if warp.barrier != name + 1 or warp.block != number:
            continue
        warp.barrier, warp.opened = 0, now + latency
        if warp.status == AT_BARRIER:
            warp.status = RUNNING
            until = max(warp.ready, warp.issued_at + 1, warp.opened)
            stall.charge(state.sm[0], counts, index, warp, stall.BARRIER, warp.ready, until)
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
    # It is there a little longer, though its place is free: so every kernel's states on an H200.
    resolved = now + 1 + EXIT_BRANCH
    gone = max(resolved + EXIT_DRAIN, leaves + EXIT_STORE if warp.known > now else 0)
    stall.charge(sm, counts, index, warp, stall.BRANCH_RESOLVING, now + 1, resolved)
    stall.charge(sm, counts, index, warp, stall.DRAIN, resolved, gone)
    warp.status = EMPTY
    state.ready[index] = NEVER
    slot.live -= 1
    if warp.barrier:  # its stretch ends between a barrier and what it would have waited before
        slot.arrived[warp.barrier - 1] -= 1
    sm.resident -= 1
    sm.warp_cycles += gone - now - 1
    sm.drained = max(sm.drained, leaves)
    state.subs[index % spec.sub_partitions].gone += 1
    slot.free = max(slot.free, leaves)
    if slot.live == 0:
        _end(state, counts, spec, warp.block, slot.free)
        return
    for name in range(N_BARRIERS):  # the others may have waited only for this warp
        if slot.arrived[name] and slot.arrived[name] >= slot.live:
            open_barrier(state, counts, spec, warp.block, name, now)


@stage
def _end(state: State, counts: Counts, spec: Record, number: int, now: int) -> None:
    """A block has ended: its place can be taken again a while later."""
    sm, slot = state.sm[0], state.slots[number]
    counts.done[sm.finished, 0] = now
    counts.done[sm.finished, 1] = sm.issued
    counts.done[sm.finished, 2], counts.done[sm.finished, 3] = slot.began, slot.trace
    sm.finished += 1
    slot.free = now + (0 if spec.ideal & IDEAL_LAUNCH else spec.block_start)
    slot.ended = 1
    for part in range(spec.sub_partitions):
        slot.gone[part] = state.subs[part].gone
    sm.launch_at = min(sm.launch_at, slot.free)
