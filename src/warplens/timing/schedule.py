"""The warp scheduler of a sub-partition: which of the ready warps issues."""

from __future__ import annotations

from numba import njit

from warplens.timing import dispatch
from warplens.timing.state import RUNNING, Record, Records

POLICIES = ("gty", "lrr", "gto")  # greedy then youngest, loose round robin, greedy then oldest
ISSUED = -1  # in Warp.blocked: not waiting for its turn; 0 is eligible, else a stall reason


@njit(cache=True)
def pick(warps: Records, sub: Record, number: int, spec: Record, code: Records,
         now: int) -> tuple[int, int]:  # fmt: skip
    """The warp to issue (-1: none) and the number of eligible ones; sets every warp's `blocked`."""
    best, best_rank, eligible = -1, -1, 0
    n = warps.size
    for index in range(number, n, spec.sub_partitions):
        warp = warps[index]
        warp.blocked = ISSUED
        if warp.status != RUNNING or warp.ready > now:
            continue
        warp.blocked = dispatch.blocked(sub, spec, code[warp.pc], now)
        if warp.blocked:
            continue
        eligible += 1
        if spec.policy == 1:
            rank = n - (index - sub.last_warp - 1) % n
        elif index == sub.last_warp:
            rank = 1 << 50
        elif spec.policy == 0:
            rank = warp.age
        else:
            rank = (1 << 49) - warp.age
        if rank > best_rank:
            best, best_rank = index, rank
    return best, eligible
