"""The warp scheduler of a sub-partition: which of the ready warps issues."""

from __future__ import annotations

from numba import njit

from warplens.timing import dispatch
from warplens.timing.state import RUNNING, Code, Ints, Spec, State

POLICIES = ("gty", "lrr", "gto")  # greedy then youngest, loose round robin, greedy then oldest


@njit(cache=True)
def pick(state: State, spec: Spec, code: Code, sub: int, now: int,
         reasons: Ints) -> tuple[int, int]:  # fmt: skip
    """The warp to issue (-1: none) and the number of eligible ones; fills `reasons` per warp."""
    best, eligible = -1, 0
    best_rank = -1
    n = state.status.size
    last = state.last_warp[sub]
    for warp in range(sub, n, spec.sub_partitions):
        reasons[warp] = -1
        if state.status[warp] != RUNNING or state.ready[warp] > now:
            continue
        reason = dispatch.blocked(state, spec, code, sub, state.pc[warp], now)
        reasons[warp] = reason
        if reason:
            continue
        eligible += 1
        if spec.policy == 1:
            rank = n - (warp - last - 1) % n
        elif warp == last:
            rank = 1 << 50
        elif spec.policy == 0:
            rank = state.age[warp]
        else:
            rank = (1 << 49) - state.age[warp]
        if rank > best_rank:
            best, best_rank = warp, rank
    return best, eligible
