"""Why a warp does not issue: Nsight Compute's reasons, and where their cycles are added up."""

from __future__ import annotations

from numba import njit

from warplens.timing.state import N_EVENTS, Counts, State

REASONS = (
    "selected", "not_selected", "wait", "long_scoreboard", "short_scoreboard", "barrier",
    "membar", "lg_throttle", "mio_throttle", "math_pipe_throttle", "no_instruction",
    "branch_resolving", "dispatch_stall", "imc_miss", "drain", "sleeping", "tex_throttle",
    "gmma", "misc",
)  # fmt: skip
(
    SELECTED, NOT_SELECTED, WAIT, LONG_SCOREBOARD, SHORT_SCOREBOARD, BARRIER,
    MEMBAR, LG_THROTTLE, MIO_THROTTLE, MATH_PIPE_THROTTLE, NO_INSTRUCTION,
    BRANCH_RESOLVING, DISPATCH_STALL, IMC_MISS, DRAIN, SLEEPING, TEX_THROTTLE,
    GMMA, MISC,
) = range(len(REASONS))  # fmt: skip


@njit(cache=True)
def charge(state: State, counts: Counts, warp: int, pc: int, reason: int, begin: int,
           end: int) -> None:  # fmt: skip
    """Notes that a warp stood at `pc` for a reason during [begin, end)."""
    if end <= begin:
        return
    counts.stalls[pc, reason] += end - begin
    n = state.control[N_EVENTS]
    if n < counts.events.shape[0]:
        row = counts.events[n]
        row[0], row[1], row[2], row[3], row[4] = warp, begin, end, reason, pc
        row[5] = state.trace[warp]
        state.control[N_EVENTS] = n + 1
