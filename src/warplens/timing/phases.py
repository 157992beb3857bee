"""Phases of mbarriers: a warp that waits goes on when all that adds to its phase has been replayed.

What adds to which phase is known from the trace (execute/phases.py).
"""

from __future__ import annotations

from warplens.timing import stall
from warplens.timing.state import AT_PHASE, NEVER, RUNNING, Counts, Record, State, stage

SPACE = 6  # of an access: an mbarrier (SPACE_MBARRIER of lift/layout.py)


@stage
def add(state: State, counts: Counts, spec: Record, number: int, at: float) -> None:
    """One of those that a phase waits for is done; the last one lets the phase's warps go on."""
    phase = state.phases[number]
    phase.at = max(phase.at, at)
    phase.missing -= 1
    if phase.missing > 0:
        return
    for index in range(state.warps.size):
        warp = state.warps[index]
        if warp.status == AT_PHASE and warp.phase == number:
            warp.status = RUNNING
            _go_on(state, counts, spec, index, phase.at)


@stage
def wait(state: State, counts: Counts, spec: Record, index: int) -> None:
    """Puts a warp aside until the phase that it waits for is complete."""
    warp = state.warps[index]
    phase = state.phases[warp.phase]
    if phase.missing > 0:
        warp.status = AT_PHASE
        state.ready[index] = NEVER
        return
    _go_on(state, counts, spec, index, phase.at)


@stage
def _go_on(state: State, counts: Counts, spec: Record, index: int, at: float) -> None:
    warp = state.warps[index]
    warp.phase = 0
    until = warp.ready
    if at > warp.issued_at:
        until = max(until, int(at + spec.phase_wake))
    stall.charge(state.sm[0], counts, index, warp, stall.LONG_SCOREBOARD, warp.ready, until)
    state.sm[0].phase_waits += until - warp.ready
    warp.ready = until
    state.ready[index] = until
    sub = state.subs[index % spec.sub_partitions]
    sub.next = min(sub.next, until)
