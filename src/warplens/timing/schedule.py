"""The warp scheduler of a sub-partition: which of the ready warps issues."""

from __future__ import annotations

from warplens.timing import dispatch, results, stall
from warplens.timing.state import NEVER, SHARED, Counts, Ints, Record, Records, stage

# As an H200 does it (measured, validation/data/residency_sm90.json and tiles_sm90.json): the warp
# that issued last if it is ready at once, but for registers that are read or written; else those
# that their last instruction told to go on (its control bit) and that have not met a full queue of
# memory instructions, before others; of these the oldest block first, of its warps the one that has
# waited longest (sampled_states_sm90.json). Others, to see what a policy does: greedy then
# youngest, loose round robin, greedy then oldest.
POLICIES = ("oldest-block", "gty", "lrr", "gto")
OLDEST_BLOCK, GTY, LRR, GTO = range(len(POLICIES))
_GREEDY = 1 << 58


@stage
def pick(sm: Record, counts: Counts, warps: Records, ready: Ints, sub: Record, number: int,
         spec: Record, code: Records, now: int) -> int:  # fmt: skip
    """The warp to issue (-1: none); the other ready ones are charged a cycle for their reason."""
    settle(sm, counts, warps, ready, sub, number, spec, now)
    best, best_rank, eligible, held, late = -1, -1, 0, 0, 0
    stuck = _is_stuck(sub, warps, ready, spec, code, now)
    pressed = results.presses(sub, now)
    if stuck or pressed:
        sub.stuck = 1
    n, following = warps.size, NEVER
    at, reason, free = -1, 0, 0  # an instruction, and what was found of it: many wait at the same
    for index in range(number, n, spec.sub_partitions):
        if ready[index] > now:
            following = min(following, ready[index])
            continue
        warp = warps[index]
        if warp.needs > sub.come:
            until = results.until(sub, warp.needs, now)
            stall.charge(sm, counts, index, warp, stall.SHORT_SCOREBOARD, now, until)
            ready[index] = warp.ready = until
            following = min(following, until)
            continue
        if warp.pc != at:
            at = warp.pc
            reason = dispatch.blocked(sub, spec, code[at], now)
            free = dispatch.free_at(sub, spec, code[at], now) if reason else 0
        warp.blocked = reason
        if reason in (stall.MIO_THROTTLE, stall.LG_THROTTLE, stall.TEX_THROTTLE):
            warp.kept = 0
        if reason and (stuck or reason != stall.DISPATCH_STALL):
            held += 1
            following = min(following, free)
            continue
        if not reason and (stuck or (pressed and code[at].writes and code[at].kind != SHARED)):
            warp.blocked = stall.DISPATCH_STALL if stuck else stall.NOT_SELECTED
            held += 1
            following = now + 1
            continue
        if reason:  # its operands may be late, but it is chosen like others
            held += 1
        else:
            eligible += 1
        rank = _rank(spec, sub, warp, index, n, now)
        if rank > best_rank:
            best, best_rank, late = index, rank, free if reason else 0
    sm.eligible += eligible
    if late:  # nobody goes on until it has its operands
        for index in range(number, n, spec.sub_partitions):
            if ready[index] <= now and not warps[index].blocked:
                warps[index].blocked = stall.DISPATCH_STALL
        best, held = -1, held + eligible
        following = min(following, late)
    if best < 0 and held:
        sub.held_since = now  # nothing changes until `following`: charged then, see settle
    elif held + eligible > 1:
        following = now + 1
        for index in range(number, n, spec.sub_partitions):
            if ready[index] <= now and index != best:
                warp = warps[index]
                why = warp.blocked if warp.blocked else stall.NOT_SELECTED
                stall.charge(sm, counts, index, warp, why, now, now + 1)
    sub.next = following
    return best


@stage
def _is_stuck(sub: Record, warps: Records, ready: Ints, spec: Record, code: Records,
              now: int) -> bool:  # fmt: skip
    """Whether the warp that issued last would again, but for its registers: then no other does
    (recorded states of products' inner loops, validation/data/tiles_sm90.json)."""
    last = sub.last_warp
    if max(sub.port_free[0], sub.port_free[1]) <= now + 1 or last < 0:
        return False
    warp = warps[last]
    if ready[last] > now or warp.ready != warp.issued_at + 1 or warp.needs > sub.come:
        return False
    return bool(dispatch.blocked(sub, spec, code[warp.pc], now) == stall.DISPATCH_STALL)


@stage
def _rank(spec: Record, sub: Record, warp: Record, index: int, n: int, now: int) -> int:
    """How much a ready warp is preferred."""
    if spec.policy == LRR:
        return int(n - (index - sub.last_warp - 1) % n)
    is_last = index == sub.last_warp
    youth = warp.age << 24 | warp.trace & 0xFFFFFF
    if spec.policy == OLDEST_BLOCK:
        waited = min(now - warp.issued_at, 1 << 18)
        if is_last and (warp.ready == now or sub.stuck):
            return 4 * _GREEDY
        return int((1 + warp.kept) * _GREEDY - (warp.age << 24) + waited)
    if is_last:
        return _GREEDY
    return int(youth if spec.policy == GTY else _GREEDY - youth)


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
