"""The warp scheduler of a sub-partition: which of the ready warps issues."""

from __future__ import annotations

from warplens.timing import dispatch, stall
from warplens.timing.state import NEVER, Counts, Ints, Record, Records, stage

POLICIES = ("gty", "lrr", "gto")  # greedy then youngest, loose round robin, greedy then oldest


@stage
def pick(sm: Record, counts: Counts, warps: Records, ready: Ints, sub: Record, number: int,
         spec: Record, code: Records, now: int) -> int:  # fmt: skip
    """The warp to issue (-1: none); the other ready ones are charged a cycle for their reason."""
    settle(sm, counts, warps, ready, sub, number, spec, now)
    best, best_rank, eligible, held = -1, -1, 0, 0
    n, following = warps.size, NEVER
    for index in range(number, n, spec.sub_partitions):
        if ready[index] > now:
            following = min(following, ready[index])
            continue
        warp = warps[index]
        warp.blocked = dispatch.blocked(sub, spec, code[warp.pc], now)
        if warp.blocked:
            held += 1
            following = min(following, dispatch.free_at(sub, spec, code[warp.pc], now))
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
    sm.eligible += eligible
    if best < 0 and held:
        sub.held_since = now  # nothing changes until `following`: charged then, see settle
    elif held + eligible > 1:
        following = now + 1
        for index in range(number, n, spec.sub_partitions):
            if ready[index] <= now and index != best:
                warp = warps[index]
                reason = warp.blocked if warp.blocked else stall.NOT_SELECTED
                stall.charge(sm, counts, index, warp, reason, now, now + 1)
    sub.next = following
    return best


@stage
def settle(sm: Record, counts: Counts, warps: Records, ready: Ints, sub: Record, number: int,
           spec: Record, now: int) -> None:  # fmt: skip
    """Charges the cycles up to `now` in which every ready warp waited for a unit."""
    since = sub.held_since
    if since < 0:
        return
    sub.held_since = -1
    for index in range(number, warps.size, spec.sub_partitions):
        if ready[index] <= since:
            warp = warps[index]
            stall.charge(sm, counts, index, warp, warp.blocked, since, now)
