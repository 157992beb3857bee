"""Bulk and tensor copies.

A copy's requests leave its unit one after another, a line of 128 bytes each at most, and go to L2
beside those of the SM's loads. Stores leave through the SM's port.
"""

from __future__ import annotations

from warplens.timing import l2, lsu, phases
from warplens.timing.state import Counts, Record, State, Trace, stage


@stage
def perform(state: State, counts: Counts, spec: Record, trace: Trace, warp: Record,
            now: int) -> float:  # fmt: skip
    """Starts a copy; when its operands have been read."""
    sm = state.sm[0]
    done = begin = max(now + spec.copy_start, sm.copy_free)
    while lsu.has_access(trace, warp):
        access = trace.accesses[warp.access]
        warp.access += 1
        if access.space == phases.SPACE:
            phases.add(state, counts, spec, access.first_line, done + spec.copy_told)
        elif access.kind == lsu.READ:
            done = max(done, _load(sm, spec, trace, access.first_line, access.n_lines, begin))
        else:
            done = max(done, _store(sm, spec, trace, access.first_line, access.n_lines, begin))
            warp.stored = max(warp.stored, int(done + spec.copy_stored))
            warp.known = max(warp.known, int(done + spec.l2_hit))
    return float(max(now + spec.copy_read, begin))


@stage
def _load(sm: Record, spec: Record, trace: Trace, first: int, count: int, begin: float) -> float:
    """When all lines of a box are there."""
    at, done = begin, begin
    for i in range(first, first + count):
        line, sectors = trace.lines[i] >> 4, trace.lines[i] & 15
        done = max(done, l2.load(sm, spec, trace, i, trace.hits[i], line, sectors, at))
        at += spec.copy_line
    sm.copy_free = at
    return float(done)


@stage
def _store(sm: Record, spec: Record, trace: Trace, first: int, count: int, begin: float) -> float:
    """When all lines of a box have left shared memory."""
    at, done = begin, begin
    for i in range(first, first + count):
        done = max(done, l2.store(sm, spec, trace, i, 0, False, at))
        at += spec.copy_line
    sm.copy_free = at
    return float(done)
