"""Dispatch: an issued instruction takes its pipe, starts its memory access, raises scoreboards."""

from __future__ import annotations

from numba import njit

from warplens.timing import lsu, scoreboard
from warplens.timing.stall import (
    LG_THROTTLE,
    LONG_SCOREBOARD,
    MATH_PIPE_THROTTLE,
    MEMBAR,
    MIO_THROTTLE,
    SHORT_SCOREBOARD,
)
from warplens.timing.state import (
    CONSTANT,
    FENCE,
    MEMORY,
    SHARED,
    VARIABLE,
    Code,
    Counts,
    Spec,
    State,
    Trace,
)


@njit(cache=True)
def blocked(state: State, spec: Spec, code: Code, sub: int, pc: int, now: int) -> int:
    """The reason why a ready instruction cannot go to its unit now; 0 if it can."""
    kind = code.kind[pc]
    if kind == MEMORY:
        return 0 if lsu.has_room(state, spec, sub, now) else LG_THROTTLE
    if kind == SHARED:
        return 0 if lsu.has_room(state, spec, sub, now) else MIO_THROTTLE
    return MATH_PIPE_THROTTLE if state.pipe_free[sub, code.pipe[pc]] > now else 0


@njit(cache=True)
def start(state: State, counts: Counts, spec: Spec, code: Code, trace: Trace, warp: int,
          pc: int, now: int) -> None:  # fmt: skip
    """Starts the instruction of a warp."""
    kind, pipe = code.kind[pc], code.pipe[pc]
    sub = warp % spec.sub_partitions
    state.pipe_free[sub, pipe] = max(state.pipe_free[sub, pipe], float(now)) + code.interval[pc]
    counts.pipe_busy[pipe] += code.interval[pc]
    if kind == MEMORY or kind == SHARED:
        done, read = lsu.perform(state, counts, spec, code, trace, warp, pc, now)
        reason = LONG_SCOREBOARD if kind == MEMORY else SHORT_SCOREBOARD
        scoreboard.hold(state, warp, code.write[pc], int(done) + 1, reason)
        scoreboard.hold(state, warp, code.read[pc], int(read) + 1, reason)
        if code.write[pc] == scoreboard.NO_BARRIER:
            state.stores[warp] = max(state.stores[warp], int(read))
    elif kind == FENCE:
        until = max(now, state.stores[warp]) + int(spec.fence_latency)
        scoreboard.hold(state, warp, code.write[pc], until, MEMBAR)
        scoreboard.hold(state, warp, code.read[pc], until, MEMBAR)
    elif kind == VARIABLE or kind == CONSTANT or code.write[pc] != scoreboard.NO_BARRIER:
        until = now + code.latency[pc] + 1
        scoreboard.hold(state, warp, code.write[pc], until, SHORT_SCOREBOARD)
        soon = now + min(spec.sources_load, code.latency[pc]) + 1
        scoreboard.hold(state, warp, code.read[pc], soon, SHORT_SCOREBOARD)
