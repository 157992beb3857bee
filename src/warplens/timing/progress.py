"""How far everything has come, noted now and then during a replay: what timelines are made of.

A note costs a pass over the stall table, so it is taken at intervals. When the table of notes is
full, every second one is dropped and the interval doubles: short replays are seen finely, long ones
in as many notes.
"""

from __future__ import annotations

from warplens.timing import scoreboard
from warplens.timing.stall import BARRIER, WAIT
from warplens.timing.state import (
    AT_BARRIER,
    EMPTY,
    FIRST_PIPE,
    FIRST_REASON,
    Counts,
    Records,
    State,
    stage,
)


@stage
def note(state: State, counts: Counts, code: Records, now: int) -> None:
    """Writes down all sums as they stand at `now`."""
    sm, rows = state.sm[0], counts.progress
    if sm.notes == rows.shape[0]:
        _thin_out(state, counts)
    sm.note_at = now + sm.note_interval
    row = rows[sm.notes]
    sm.notes += 1
    row[0], row[1], row[2], row[3] = now, sm.cycles, sm.warp_cycles, sm.issued
    row[4], row[5], row[6] = sm.eligible, sm.next_block, sm.finished
    row[7], row[8], row[9], row[10] = sm.l1_sectors, sm.l1_hits, sm.tags, sm.data_cycles
    row[11], row[12], row[13] = sm.shared_passes, sm.l2_read, sm.l2_read_hit
    row[14], row[15] = sm.l2_write, sm.l2_atomic
    row[16], row[17], row[18] = sm.dram_read, sm.dram_write, sm.dram_busy
    row[19] = max(0.0, max(sm.l2_free, sm.answers_free) - now)
    row[20] = max(0.0, sm.dram_free - now)
    for pipe in range(FIRST_REASON - FIRST_PIPE):
        row[FIRST_PIPE + pipe] = sm.pipe_busy[pipe]
    _states(state, counts, code, now)


@stage
def _thin_out(state: State, counts: Counts) -> None:
    """Keeps every second note."""
    sm, rows = state.sm[0], counts.progress
    kept = rows.shape[0] // 2
    for i in range(kept):
        for column in range(rows.shape[1]):
            rows[i, column] = rows[2 * i + 1, column]
    sm.notes = kept
    sm.note_interval *= 2


@stage
def _states(state: State, counts: Counts, code: Records, now: int) -> None:
    """Warp cycles by state up to `now`: what was charged in advance is taken off again."""
    row = counts.progress[state.sm[0].notes - 1]
    stalls = counts.stalls
    for reason in range(stalls.shape[1]):
        row[FIRST_REASON + reason] = 0.0
    for pc in range(stalls.shape[0]):
        for reason in range(stalls.shape[1]):
            row[FIRST_REASON + reason] += stalls[pc, reason]
    for index in range(state.warps.size):
        warp = state.warps[index]
        if warp.status == EMPTY:
            continue
        if warp.status == AT_BARRIER:  # charged when the barrier opens
            row[FIRST_REASON + BARRIER] += max(0, now - warp.issued_at - 1)
        elif warp.ready > now:
            until, reason = scoreboard.waits(warp, code[warp.pc])
            if until < warp.ready:
                reason = WAIT
            row[FIRST_REASON + reason] -= warp.ready - now
