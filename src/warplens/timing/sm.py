"""The cycle loop of one SM. Its stages, in the order in which a cycle visits them:

    blocks.launch     a block takes a free place
    schedule.pick     per sub-partition, one of the ready warps      (dispatch.blocked)
    dispatch.start    registers, pipes, constants, memory path: queue, lsu, shared, l1, l2, dram
                      (scoreboard.hold)
    _advance          next instruction: stall count, fetch, scoreboards; barriers, end
    _account          who stood where and why; on to the next cycle in which anything can happen
    progress.note     now and then: all sums as they stand
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.timing import (
    blocks,
    dispatch,
    fetch,
    lsu,
    phases,
    progress,
    scoreboard,
    sleep,
    stall,
)
from warplens.timing.schedule import pick, settle
from warplens.timing.state import (
    ARRIVE,
    AT_BARRIER,
    AT_PHASE,
    BLOCK_BARRIER,
    BRANCH,
    CLUSTER_BARRIER,
    CODE_LINE,
    CONSTANT,
    FENCE,
    JOIN,
    N_BARRIERS,
    NEVER,
    RUNNING,
    SLEEP,
    Counts,
    Record,
    Records,
    State,
    Trace,
    stage,
)

TAKEN = 5  # cycles from a branch's issue to when warps are counted to wait for it
FETCHED = 2  # cycles from when a branch is resolved to its target's issue
BEHIND = 3  # from the target's to that of the next line's first instruction, at least
# Cycles for which a warp that waits for a scoreboard counts as told to go on: it does where it
# waits for special functions, shuffles and shared memory, hardly for loads of constants, which take
# 27 at least (waits for others in sampled_states_sm90.json)
TOLD = 28


@native
def simulate(specs: Records, code: Records, trace: Trace, state: State, counts: Counts,
             limit: int) -> None:  # fmt: skip
    """Replays the blocks of `trace.order` until all have ended or `limit` instructions issued."""
    spec, sm = specs[0], state.sm[0]
    now = sm.now
    while sm.finished < trace.order.size and sm.issued < limit:
        blocks.launch(state, counts, spec, trace, now)
        issued = 0
        for number in range(spec.sub_partitions):
            sub = state.subs[number]
            if sub.next > now:
                continue
            index = pick(
                sm, counts, state.warps, state.ready, sub, number, spec, code, now
            )  # fmt: skip
            if index >= 0:
                issued += 1
                sub.switched = int(sub.last_warp != index)
                sub.last_warp, sub.stuck = index, 0
                _issue(state, counts, spec, code, trace, index, now)
        following = blocks.next_launch(state, trace)
        for number in range(spec.sub_partitions):
            following = min(following, state.subs[number].next)
        following = max(now + 1, following)
        if following >= NEVER:
            following = _unlock(state, counts, spec, now)
        _account(sm, now, following, issued)
        now = following
        if now >= sm.note_at:
            _note(state, counts, spec, code, now)
    if sm.finished >= trace.order.size and sm.drained > now:
        sm.cycles += sm.drained - now
        now = sm.drained
    sm.now = now
    _note(state, counts, spec, code, now)


@stage
def _issue(state: State, counts: Counts, spec: Record, code: Records, trace: Trace, index: int,
           now: int) -> None:  # fmt: skip
    sm, warp = state.sm[0], state.warps[index]
    inst = code[warp.pc]
    stall.charge(sm, counts, index, warp, stall.SELECTED, now, now + 1)
    sm.issued += 1
    warp.issued_at = now
    depth = inst.depth
    if depth == lsu.NAMED:
        depth = lsu.named(trace, warp)
    if inst.kind == SLEEP:
        sleep.begin(spec, inst, trace, warp, now)
    dispatch.start(state, counts, spec, inst, trace, warp, index, now)
    if not _advance(state, counts, spec, code, trace, index, now):
        blocks.finish(state, counts, spec, warp, index, now)
    elif inst.kind == BLOCK_BARRIER or inst.kind == CLUSTER_BARRIER or inst.kind == ARRIVE:
        unit = state.subs[index % spec.sub_partitions].pipe_free[inst.pipe]
        there = max(now, int(unit) - inst.interval)
        goes_on = inst.defers and not code[warp.pc].meets
        blocks.arrive(state, counts, spec, index, depth, there, inst.kind != ARRIVE, goes_on)
    elif warp.phase:
        phases.wait(state, counts, spec, index)


@stage
def _advance(state: State, counts: Counts, spec: Record, code: Records, trace: Trace, index: int,
             now: int) -> bool:  # fmt: skip
    """Moves a warp to its next instruction and tells when that can issue; False at the end."""
    sm, warp = state.sm[0], state.warps[index]
    before, inst = warp.pc, code[warp.pc]
    following = before + 1
    if following >= warp.end:
        warp.entry += 1
        if warp.entry >= warp.last_entry:
            return False
        lifted = trace.entries[warp.entry].lifted_block
        following, warp.end = trace.blocks[lifted, 0], trace.blocks[lifted, 1]
    warp.pc = following
    ready = now + max(1, inst.stall)
    if inst.stall == 1 and not inst.keep:
        ready = now + 2
    there = ready
    if following != before + 1:
        ready, there = _jump(sm, counts, spec, inst, index, warp, now, ready)
    else:
        _late(sm, counts, index, warp, stall.WAIT, now + 1, ready)
        if inst.kind == JOIN:
            until = ready + inst.latency
            ready = there = _late(sm, counts, index, warp, stall.BRANCH_RESOLVING, ready, until)
        elif following % CODE_LINE == 0:
            there = max(ready, warp.behind)
    if inst.kind == FENCE:
        ready = _late(sm, counts, index, warp, stall.MEMBAR, ready, warp.fenced)
    if inst.kind == SLEEP:
        ready = _late(sm, counts, index, warp, stall.SLEEPING, ready, warp.woken)
        ready = _late(sm, counts, index, warp, stall.BRANCH_RESOLVING, ready, warp.resumed)
    until = fetch.ready(state, spec, index % spec.sub_partitions, before, following, ready)
    until = max(until, there)
    ready = _late(sm, counts, index, warp, stall.NO_INSTRUCTION, ready, until)
    if code[following].kind != CONSTANT:  # a load from a constant bank has its result late
        line = code[following].constant
        if line < 0:
            line = _line_of_load(trace, warp)
        until = fetch.constant(state, spec, index % spec.sub_partitions, line, ready)
        ready = _late(sm, counts, index, warp, stall.IMC_MISS, ready, until)
    until, reason = scoreboard.waits(warp, code[following])
    if until > ready:
        sm.queued += min(until - ready, warp.queued)
        warp.queued = 0
    warp.kept = int(inst.keep and max(ready, until - TOLD) <= now + max(1, inst.stall))
    until = _late(sm, counts, index, warp, reason, ready, until)
    warp.needs = scoreboard.ticket(warp, code[following])
    warp.ready = max(ready, until)
    if code[following].meets:
        if warp.barrier:
            blocks.stop(state, index)
            return True
        warp.ready = _late(sm, counts, index, warp, stall.BARRIER, warp.ready, warp.opened)
    state.ready[index] = warp.ready
    sub = state.subs[index % spec.sub_partitions]
    sub.next = min(sub.next, warp.ready)
    return True


@stage
def _jump(sm: Record, counts: Counts, spec: Record, inst: Record, index: int, warp: Record,
          now: int, ready: int) -> tuple[int, int]:  # fmt: skip
    """When the target of what has jumped is known, and when it can issue at the earliest: as long
    after the branch, whatever that one's stall count (h200_loops.json, states_sm90.json)."""
    there = max(ready + 1, now + int(inst.latency if inst.kind == BRANCH else spec.branch_latency))
    waited = _late(sm, counts, index, warp, stall.WAIT, now + 1, min(ready, now + TAKEN))
    known = _late(sm, counts, index, warp, stall.BRANCH_RESOLVING, waited, there - FETCHED)
    warp.behind = there + BEHIND
    return known, there


@stage
def _line_of_load(trace: Trace, warp: Record) -> int:
    """The line that a warp's next instruction loads constants from; 0: not known."""
    if not lsu.has_access(trace, warp):
        return 0
    access = trace.accesses[warp.access]
    warp.access += 1
    return int(1 + (trace.lines[access.first_line] >> 4 & (1 << 40) - 1))


@stage
def _late(sm: Record, counts: Counts, index: int, warp: Record, reason: int, begin: int,
          until: int) -> int:  # fmt: skip
    """Notes what keeps a warp from its next instruction, and says when that is over. Behind a
    barrier, too: only what the warp waits for longer than for all of that is the barrier's (counted
    so on an H200: atomic_shared of validation/data/counters_sm90.npz)."""
    if until <= begin:
        return begin
    stall.charge(sm, counts, index, warp, reason, begin, until)
    return until


@stage
def _unlock(state: State, counts: Counts, spec: Record, now: int) -> int:
    """Opens every barrier when nothing else can go on (diverged arrivals count differently)."""
    for number in range(state.slots.size):
        for name in range(N_BARRIERS):
            if state.slots[number].arrived[name]:
                blocks.open_barrier(state, counts, spec, number, name, now)
    for index in range(state.warps.size):
        if state.warps[index].status == AT_BARRIER or state.warps[index].status == AT_PHASE:
            state.warps[index].status, state.warps[index].phase = RUNNING, 0
            state.warps[index].barrier = 0
            state.warps[index].ready = state.ready[index] = now + 1
            state.subs[index % spec.sub_partitions].next = now + 1
    return now + 1


@stage
def _note(state: State, counts: Counts, spec: Record, code: Records, now: int) -> None:
    for number in range(spec.sub_partitions):
        sub = state.subs[number]
        since = sub.held_since
        settle(state.sm[0], counts, state.warps, state.ready, sub, number, spec, now)
        sub.held_since = now if since >= 0 else since
    progress.note(state, counts, code, now)


@stage
def _account(sm: Record, now: int, following: int, issued: int) -> None:
    passed = following - now
    sm.warp_cycles += passed * sm.resident
    if sm.resident == 0:  # still active until the last store of the last warp has left
        passed = max(min(1, issued), min(following, sm.drained) - now)
    sm.cycles += passed
    sm.issue_active += issued
