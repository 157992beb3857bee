"""Bulk and tensor copies.

A copy's requests leave its unit one after another, a line of 128 bytes each at most, and go to L2
beside those of the SM's loads. Stores leave through the SM's port.
"""

from __future__ import annotations

from warplens.timing import l2, lsu, phases
from warplens.timing.state import COPIES_HELD, Counts, Record, State, Trace, stage

LOADS, STORES = range(2)


@stage
def perform(state: State, counts: Counts, spec: Record, trace: Trace, warp: Record,
            now: int) -> float:  # fmt: skip
    """Starts a copy; when its operands have been read."""
    sm = state.sm[0]
    done, read = now + spec.copy_start, now + spec.copy_read
    while lsu.has_access(trace, warp):
        access = trace.accesses[warp.access]
        warp.access += 1
        if access.space == phases.SPACE:
            phases.add(state, counts, spec, access.first_line, done + spec.copy_told)
            continue
        if access.space == lsu.SHARED_SPACE:  # the mbarrier's word: see `phases`
            continue
        kind = STORES if access.kind != lsu.READ else LOADS
        begin = max(now + spec.copy_start, sm.copy_free[kind])
        read = max(read, _enter(sm, kind, begin))
        if kind == LOADS:
            done = _load(sm, spec, trace, access.first_line, access.n_lines, begin)
            sm.pending = max(sm.pending, done)
        else:
            is_sum = access.kind == lsu.ATOMIC
            done = _store(sm, spec, trace, access.first_line, access.n_lines, is_sum, begin)
            warp.stored = max(warp.stored, int(done + spec.copy_stored))
            warp.known = max(warp.known, int(done + spec.l2_hit))
            sm.pending = max(sm.pending, done + spec.l2_hit)
    return float(read)


@stage
def _enter(sm: Record, kind: int, begin: float) -> float:
    """When there is room in the unit's queue for a copy that begins at a time."""
    at = kind * COPIES_HELD + sm.next_copy[kind]
    room = sm.copy_began[at]
    sm.copy_began[at] = begin
    sm.next_copy[kind] = (sm.next_copy[kind] + 1) % COPIES_HELD
    return float(room)


@stage
def _load(sm: Record, spec: Record, trace: Trace, first: int, count: int, begin: float) -> float:
    """When all lines of a box are there."""
    at, done = begin, begin
    for i in range(first, first + count):
        line, sectors = trace.lines[i] >> 4, trace.lines[i] & 15
        done = max(done, l2.load(sm, spec, trace, i, trace.hits[i], line, sectors, at))
        asked = max(spec.l2_request, l2.count_bits(sectors) * 32 / spec.l2_rate) * trace.merged[i]
        more = max(spec.copy_request, asked * spec.copy_share) - asked
        sm.l2_free += more
        sm.answers_free += more
        at += max(spec.copy_line, l2.count_bits(sectors) * spec.copy_sector)
    sm.copy_free[LOADS] = at
    return float(done)


@stage
def _stored(sm: Record, spec: Record, sectors: int, partial: int) -> None:
    """What a row of a box costs L2 beyond its sectors: a row of one more than a sector of several,
    and each sector that is written in part, whatever line it is in, more if it goes to DRAM before
    it is complete. All of it keeps L2 from loads.
    """
    of_sector = spec.l2_stored * 32 / spec.l2_rate
    if partial:
        alone = spec.copy_partial * (spec.l2_partial + spec.l2_partial_line)
        alone *= 1.0 + spec.copy_evicted * spec.dram_write_share
        sm.partial_free += partial * (alone - spec.l2_partial) - spec.l2_partial_line
        sm.l2_free += partial * max(0.0, alone - of_sector)
    elif sectors:
        sm.l2_free += max(0.0, spec.copy_store - max(spec.l2_request, sectors * of_sector))


@stage
def _store(sm: Record, spec: Record, trace: Trace, first: int, count: int, is_sum: bool,
           begin: float) -> float:  # fmt: skip
    """When all lines of a box have left shared memory."""
    at, done = begin, begin
    for i in range(first, first + count):
        if is_sum:  # whole sectors, not word by word; nothing waits for what was there before
            before = max(at, sm.atomic_free)
            l2.atomics(sm, spec, trace, i, spec.copy_added, 1.0, 0.5, at, 0, 0, 0.0, 0.0, 0.0)
            sectors = l2.count_bits(trace.lines[i] & 15)
            sm.atomic_free = max(sm.atomic_free, before + sectors * spec.atomic_sector)
            sm.l2_free = max(sm.l2_free, at) + sm.atomic_free - before
            done = max(done, sm.atomic_free, sm.port_write_free)
        else:
            partial = int(trace.depths[i]) if i < trace.depths.size else 0
            l2.store(sm, spec, trace, i, trace.joins[i], partial, False, at)
            _stored(sm, spec, l2.count_bits(trace.lines[i] & 15 & ~trace.joins[i]), partial)
            done = max(done, sm.port_write_free, sm.l2_write_free)  # loads do not hold it back
        at += spec.copy_stored_line
    sm.copy_free[STORES] = max(at, done)
    return float(max(at, done))
