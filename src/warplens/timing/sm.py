"""The cycle loop of one SM. Its stages, in the order in which a cycle visits them:

    blocks.launch          a block takes a free place
    schedule.pick          per sub-partition, one of the ready warps     (dispatch.blocked)
    dispatch.start         pipes, memory path: lsu, shared, l1, l2, dram (scoreboard.hold)
    advance                next instruction: stall count, scoreboard, fetch; barriers, end
    account                who stood where and why; jump to the next cycle in which anything can happen
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from warplens.timing import blocks, dispatch, fetch, scoreboard, stall
from warplens.timing.schedule import pick
from warplens.timing.state import (
    ARRIVE,
    AT_BARRIER,
    BLOCK_BARRIER,
    FINISHED,
    ISSUED,
    NEVER,
    NOW,
    RESIDENT,
    RUNNING,
    S_ACTIVE_SUBS,
    S_CYCLES,
    S_DRAM_READ,
    S_DRAM_WRITE,
    S_ELIGIBLE,
    S_ISSUE_ACTIVE,
    S_L1_SECTORS,
    S_L2_READ,
    S_L2_WRITE,
    S_WARP_CYCLES,
    Code,
    Counts,
    Spec,
    State,
    Trace,
)


@njit(cache=True, nogil=True)
def simulate(spec: Spec, code: Code, trace: Trace, state: State, counts: Counts, limit: int,
             bin_cycles: int) -> None:  # fmt: skip
    """Replays the blocks of `trace.order` until all have ended or `limit` instructions issued."""
    reasons = np.zeros(state.status.size, np.int64)
    now = state.control[NOW]
    while state.control[FINISHED] < trace.order.size and state.control[ISSUED] < limit:
        blocks.launch(state, counts, spec, code, trace, now)
        issued = 0
        eligible = 0
        for sub in range(spec.sub_partitions):
            warp, n = pick(state, spec, code, sub, now, reasons)
            eligible += n
            if warp >= 0:
                issued += 1
                reasons[warp] = -1
                _issue(state, counts, spec, code, trace, warp, now)
        following = _next(state, spec, code, trace, now, reasons, eligible > issued)
        if following >= NEVER:
            following = _unlock(state, counts, spec, code, now)
        _account(state, counts, spec, now, following, reasons, issued, eligible, bin_cycles)
        now = following
    state.control[NOW] = now


@njit(cache=True)
def _issue(state: State, counts: Counts, spec: Spec, code: Code, trace: Trace, warp: int,
           now: int) -> None:  # fmt: skip
    pc = state.pc[warp]
    stall.charge(state, counts, warp, pc, stall.SELECTED, now, now + 1)
    counts.issues[pc] += 1
    state.control[ISSUED] += 1
    state.issued_at[warp] = now
    state.last_warp[warp % spec.sub_partitions] = warp
    dispatch.start(state, counts, spec, code, trace, warp, pc, now)
    if not _advance(state, counts, spec, code, trace, warp, pc, now):
        blocks.finish(state, counts, spec, code, warp, now)
        return
    kind = code.kind[pc]
    if kind == BLOCK_BARRIER or kind == ARRIVE:
        blocks.arrive(state, counts, spec, code, warp, pc, now, kind == BLOCK_BARRIER)


@njit(cache=True)
def _advance(state: State, counts: Counts, spec: Spec, code: Code, trace: Trace, warp: int,
             pc: int, now: int) -> bool:  # fmt: skip
    """Moves a warp to its next instruction and tells when that can issue; False at the end."""
    following = pc + 1
    jumped = False
    if following >= state.end[warp]:
        state.entry[warp] += 1
        if state.entry[warp] >= state.last_entry[warp]:
            return False
        lifted = trace.entries[state.entry[warp], 0]
        jumped = trace.starts[lifted] != following
        following, state.end[warp] = trace.starts[lifted], trace.ends[lifted]
    state.pc[warp] = following
    apart = max(1, code.stall[pc])
    if code.stall[pc] == 1 and not code.keep[pc]:
        apart = 2
    ready = now + apart
    waiting = code.kind[pc] == BLOCK_BARRIER
    if not waiting:
        stall.charge(state, counts, warp, following, stall.WAIT, now + 1, ready)
    if jumped:
        stall.charge(
            state, counts, warp, following, stall.BRANCH_RESOLVING, ready,
            ready + spec.branch_latency,
        )  # fmt: skip
        ready += spec.branch_latency
    late = fetch.delay(state, spec, warp % spec.sub_partitions, pc, following)
    if late:
        stall.charge(
            state, counts, warp, following, stall.NO_INSTRUCTION, ready, ready + late
        )
        ready += late
    until, reason = scoreboard.waits(state, code, warp, following)
    if until > ready:
        stall.charge(state, counts, warp, following, reason, ready, until)
        ready = until
    state.ready[warp] = ready
    return True


@njit(cache=True)
def _next(state: State, spec: Spec, code: Code, trace: Trace, now: int,
          reasons: npt.NDArray[np.int64], more: bool) -> int:  # fmt: skip
    """The next cycle in which something can issue or start."""
    if more:
        return now + 1
    earliest = blocks.next_launch(state, spec, trace)
    for warp in range(state.status.size):
        if state.status[warp] == RUNNING:
            if reasons[warp] > 0:
                return now + 1
            earliest = min(earliest, state.ready[warp])
    return max(now + 1, earliest)


@njit(cache=True)
def _unlock(state: State, counts: Counts, spec: Spec, code: Code, now: int) -> int:
    """Opens every barrier when nothing else can go on (diverged arrivals count differently)."""
    for slot in range(spec.slots):
        for name in range(16):
            if state.arrived[slot, name]:
                blocks.open_barrier(state, counts, spec, code, slot, name, now)
    for warp in range(state.status.size):
        if state.status[warp] == AT_BARRIER:
            state.status[warp] = RUNNING
            state.ready[warp] = now + 1
    return now + 1


@njit(cache=True)
def _account(state: State, counts: Counts, spec: Spec, now: int, following: int,
             reasons: npt.NDArray[np.int64], issued: int, eligible: int,
             bin_cycles: int) -> None:  # fmt: skip
    passed = following - now
    for warp in range(reasons.size):
        if reasons[warp] >= 0 and state.status[warp] == RUNNING:
            reason = stall.NOT_SELECTED if reasons[warp] == 0 else reasons[warp]
            stall.charge(state, counts, warp, state.pc[warp], reason, now, following)
    sums = counts.sums
    if state.control[RESIDENT] > 0 or issued:
        sums[S_CYCLES] += passed
        sums[S_WARP_CYCLES] += passed * state.control[RESIDENT]
    sums[S_ELIGIBLE] += eligible
    sums[S_ISSUE_ACTIVE] += issued
    sums[S_ACTIVE_SUBS] += passed
    row = min(now // bin_cycles, counts.timeline.shape[0] - 1)
    bins = counts.timeline[row]
    bins[0] += issued
    bins[1] += passed * state.control[RESIDENT]
    bins[2] = sums[S_DRAM_READ] + sums[S_DRAM_WRITE]
    bins[3] = sums[S_L2_READ] + sums[S_L2_WRITE]
    bins[4] = sums[S_L1_SECTORS]
    bins[5] = state.control[FINISHED]
