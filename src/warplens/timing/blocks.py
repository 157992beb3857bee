"""Blocks on the SM: launch into a free place, barriers among their warps, and their end."""

from __future__ import annotations

from numba import njit

from warplens.timing import fetch, scoreboard, stall
from warplens.timing.state import (
    AGE,
    AT_BARRIER,
    EMPTY,
    FINISHED,
    ISSUED,
    LAUNCH,
    NEVER,
    NEXT_BLOCK,
    RUNNING,
    RESIDENT,
    Code,
    Counts,
    Spec,
    State,
    Trace,
)

IDEAL_BARRIERS, IDEAL_LAUNCH = 256, 512


@njit(cache=True)
def launch(state: State, counts: Counts, spec: Spec, code: Code, trace: Trace, now: int) -> None:
    """Starts blocks whose place is free and whose turn has come."""
    for slot in range(spec.slots):
        if state.control[NEXT_BLOCK] >= trace.order.size:
            return
        if state.slot_live[slot] or state.slot_free[slot] > now or state.free[LAUNCH] > now:
            continue
        block = trace.order[state.control[NEXT_BLOCK]]
        state.control[NEXT_BLOCK] += 1
        state.free[LAUNCH] = now + (0.0 if spec.ideal & IDEAL_LAUNCH else spec.launch_interval)
        _place(state, counts, spec, code, trace, slot, block, now)


@njit(cache=True)
def next_launch(state: State, spec: Spec, trace: Trace) -> int:
    """When the next block can start, or NEVER."""
    if state.control[NEXT_BLOCK] >= trace.order.size:
        return NEVER
    earliest = NEVER
    for slot in range(spec.slots):
        if not state.slot_live[slot]:
            earliest = min(earliest, state.slot_free[slot])
    if earliest == NEVER:
        return NEVER
    return max(earliest, int(state.free[LAUNCH] + 0.999))


@njit(cache=True)
def _place(state: State, counts: Counts, spec: Spec, code: Code, trace: Trace, slot: int,
           block: int, now: int) -> None:  # fmt: skip
    n = spec.warps_per_block
    state.arrived[slot] = 0
    for i in range(n):
        warp, source = slot * n + i, block * n + i
        first, last = trace.warp_entries[source], trace.warp_entries[source + 1]
        state.status[warp] = EMPTY
        if first == last:
            continue
        state.status[warp] = RUNNING
        state.trace[warp], state.block[warp] = source, slot
        state.entry[warp], state.last_entry[warp] = first, last
        state.access[warp] = trace.warp_accesses[source]
        lifted = trace.entries[first, 0]
        state.pc[warp], state.end[warp] = trace.starts[lifted], trace.ends[lifted]
        state.issued_at[warp] = now
        state.stores[warp] = 0
        scoreboard.clear(state, warp)
        state.control[AGE] += 1
        state.age[warp] = state.control[AGE]
        sub = warp % spec.sub_partitions
        late = fetch.delay(state, spec, sub, -16, state.pc[warp])
        state.ready[warp] = now + late
        stall.charge(state, counts, warp, state.pc[warp], stall.NO_INSTRUCTION, now, now + late)
        state.slot_live[slot] += 1
        state.control[RESIDENT] += 1


@njit(cache=True)
def arrive(state: State, counts: Counts, spec: Spec, code: Code, warp: int, pc: int, now: int,
           waits: bool) -> None:  # fmt: skip
    """A warp comes to a block barrier; the last one opens it."""
    if spec.ideal & IDEAL_BARRIERS:
        return
    slot = state.block[warp]
    packed = code.depth[pc]
    name, wanted = packed >> 8 & 15, packed & 255
    state.arrived[slot, name] += 1
    if waits:
        state.status[warp] = AT_BARRIER
    if wanted == 0:
        wanted = state.slot_live[slot]
    if state.arrived[slot, name] >= wanted:
        open_barrier(state, counts, spec, code, slot, name, now)


@njit(cache=True)
def open_barrier(state: State, counts: Counts, spec: Spec, code: Code, slot: int, name: int,
                 now: int) -> None:  # fmt: skip
    """Lets all warps of a block that wait at a barrier go on."""
    state.arrived[slot, name] = 0
    n = spec.warps_per_block
    late = spec.barrier_latency
    for warp in range(slot * n, slot * n + n):
        if state.status[warp] == AT_BARRIER:
            state.status[warp] = RUNNING
            until = max(state.ready[warp], now + late)
            begin = state.issued_at[warp] + 1
            stall.charge(state, counts, warp, state.pc[warp], stall.BARRIER, begin, until)
            state.ready[warp] = until


@njit(cache=True)
def finish(state: State, counts: Counts, spec: Spec, code: Code, warp: int, now: int) -> None:
    """A warp ran its last instruction; the last one of a block frees its place."""
    slot = state.block[warp]
    leaves = max(now + 1, state.stores[warp])
    stall.charge(state, counts, warp, state.pc[warp], stall.DRAIN, now + 1, leaves)
    state.status[warp] = EMPTY
    state.slot_live[slot] -= 1
    state.control[RESIDENT] -= 1
    state.slot_free[slot] = max(state.slot_free[slot], leaves)
    if state.slot_live[slot] == 0:
        extra = 0 if spec.ideal & IDEAL_LAUNCH else spec.block_start
        done = state.control[FINISHED]
        counts.done[done] = state.slot_free[slot]
        counts.work[done] = state.control[ISSUED]
        state.control[FINISHED] = done + 1
        state.slot_free[slot] += extra
        return
    for name in range(16):  # the others may have waited only for this warp
        arrived = state.arrived[slot, name]
        if arrived and arrived >= state.slot_live[slot]:
            open_barrier(state, counts, spec, code, slot, name, now)
