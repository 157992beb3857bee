"""Why a warp does not issue: Nsight Compute's reasons, and where their cycles are added up."""

from __future__ import annotations

from warplens.timing.state import Counts, Record, stage

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


@stage
def charge(sm: Record, counts: Counts, index: int, warp: Record, reason: int, begin: int,
           end: int) -> None:  # fmt: skip
    """Notes that a warp stood at its instruction for a reason during [begin, end)."""
    if end <= begin:
        return
    counts.stalls[warp.pc, reason] += end - begin
    n = sm.n_events
    if n < counts.events.shape[0]:
        row = counts.events[n]
        row[0], row[1], row[2], row[3], row[4] = index, begin, end, reason, warp.pc
        row[5] = warp.trace
        sm.n_events = n + 1
