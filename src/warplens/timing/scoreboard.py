"""A warp's scoreboards: when each is released, and for what reason one waits for it.

Every latency is known at issue, so a scoreboard is kept as the times of its releases instead of a
counter; `wait` needs all of them past, DEPBAR.LE all but the last few.
"""

from __future__ import annotations

from warplens.timing.state import FIXED, N_SCOREBOARDS, RING, Record, stage

NO_BARRIER = 7


@stage
def hold(warp: Record, board: int, until: int, reason: int) -> None:
    """Raises a scoreboard until a time."""
    if board == NO_BARRIER:
        return
    if until >= warp.release[board]:
        warp.release[board] = until
        warp.cause[board] = reason
    oldest = board * RING
    for i in range(board * RING + 1, board * RING + RING):
        if warp.ring[i] < warp.ring[oldest]:
            oldest = i
    warp.ring[oldest] = until


@stage
def clear(warp: Record) -> None:
    """All scoreboards of a new warp are free."""
    warp.needs = 0
    for board in range(N_SCOREBOARDS):
        warp.release[board] = 0
        warp.tickets[board] = 0
    for i in range(N_SCOREBOARDS * RING):
        warp.ring[i] = 0


@stage
def waits(warp: Record, inst: Record) -> tuple[int, int]:
    """When the scoreboards allow the instruction, and the reason of the last to be released."""
    until, reason = 0, 0
    if inst.wait == 0 and inst.depth < 0:
        return until, reason
    for board in range(N_SCOREBOARDS):
        if inst.wait >> board & 1 and warp.release[board] > until:
            until, reason = warp.release[board], warp.cause[board]
    if inst.depth >= 0 and inst.kind == FIXED:
        board = inst.depth >> 8
        when = after(warp, board, inst.depth & 255)
        if when > until:
            until, reason = when, warp.cause[board]
    return until, reason


@stage
def ticket(warp: Record, inst: Record) -> int:
    """The last load from shared memory that an instruction waits for (results.py)."""
    found = 0
    if inst.wait == 0:
        return found
    for board in range(N_SCOREBOARDS):
        if inst.wait >> board & 1 and warp.tickets[board] > found:
            found = warp.tickets[board]
    return int(found)


@stage
def after(warp: Record, board: int, allowed: int) -> int:
    """When at most `allowed` releases of a scoreboard are still to come."""
    for i in range(board * RING, board * RING + RING):
        later = 0
        for j in range(board * RING, board * RING + RING):
            if warp.ring[j] > warp.ring[i] or (warp.ring[j] == warp.ring[i] and j < i):
                later += 1
        if later == allowed:
            return int(warp.ring[i])
    return 0
