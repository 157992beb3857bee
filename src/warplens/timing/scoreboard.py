"""The six scoreboards of a warp: when each is released, and for what reason one waits for it.

Every latency is known at issue, so a scoreboard is kept as the times of its releases instead of a
counter; `wait` needs all of them past, DEPBAR.LE all but the last few.
"""

from __future__ import annotations

from numba import njit

from warplens.timing.state import N_SCOREBOARDS, RING, Code, State

NO_BARRIER = 7


@njit(cache=True)
def hold(state: State, warp: int, board: int, until: int, reason: int) -> None:
    """Raises a scoreboard until a time."""
    if board == NO_BARRIER:
        return
    if until >= state.release[warp, board]:
        state.release[warp, board] = until
        state.cause[warp, board] = reason
    ring = state.ring[warp, board]
    oldest = 0
    for i in range(1, RING):
        if ring[i] < ring[oldest]:
            oldest = i
    ring[oldest] = until


@njit(cache=True)
def clear(state: State, warp: int) -> None:
    """All scoreboards of a new warp are free."""
    state.release[warp] = 0
    state.ring[warp] = 0


@njit(cache=True)
def waits(state: State, code: Code, warp: int, pc: int) -> tuple[int, int]:
    """When the scoreboards allow the instruction, and the reason of the last to be released."""
    until, reason = 0, 0
    mask = code.wait[pc]
    for board in range(N_SCOREBOARDS):
        if mask >> board & 1 and state.release[warp, board] > until:
            until, reason = state.release[warp, board], state.cause[warp, board]
    depth = code.depth[pc]
    if depth >= 0 and code.kind[pc] == 0:
        board, allowed = depth >> 8, depth & 255
        when = _after(state, warp, board, allowed)
        if when > until:
            until, reason = when, state.cause[warp, board]
    return until, reason


@njit(cache=True)
def _after(state: State, warp: int, board: int, allowed: int) -> int:
    """When at most `allowed` releases are still to come."""
    ring = state.ring[warp, board]
    for i in range(RING):
        later = 0
        for j in range(RING):
            if ring[j] > ring[i]:
                later += 1
        if later == allowed:
            return ring[i]
    return 0
