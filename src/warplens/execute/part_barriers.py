"""Convergence barriers of kernels that have BREAK or YIELD, as recorded on an H200.

A barrier is one mask for the warp: BSSY adds lanes, BREAK takes them out, a completed BSYNC clears
it. A lane that is not in the mask goes through BSYNC as if there were none.
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import peek32, poke32
from warplens.execute.part_table import (
    CALLED,
    FULL,
    STOPPED,
    VAIN,
    gather,
    lanes_in,
    members,
    note_stop,
    run,
)
from warplens.execute.splits import add_split, split_field
from warplens.lift import layout as at

# What the lanes do for which the lanes at a barrier wait: end or wait there, too; rest in YIELD;
# wait at other barriers; some this, some that; nothing, as the barrier was cleared without those
# that wait; these and WARPSYNC; something else.
COMPLETE, RESTING, BLOCKED, MIXED, CLEARED, SYNCING, RUNNING = range(7)


@native
def newest_at(w: int, number: int) -> int:
    """The split that came last to a convergence barrier, of its members if it has any; else -1."""
    mask = members(w, number) & lanes_in(w, at.SPLIT_AT_BSYNC, number)
    for i in range(peek32(w + at.WARP_SPLITS) - 1, -1, -1):
        if (
            peek32(split_field(w, i, 2)) == at.SPLIT_AT_BSYNC
            and peek32(split_field(w, i, 3)) == number
            and (mask == 0 or peek32(split_field(w, i, 0)) & mask != 0)
        ):
            return i
    return -1


@native
def release(w: int, number: int) -> bool:
    """The members that wait at the place of the newest go on together; the barrier is cleared.

    If no member waits there, others that do go on, and it is not.
    """
    i = newest_at(w, number)
    if i < 0:
        return False
    mask, pc = members(w, number), peek32(split_field(w, i, 1))
    if mask & lanes_in(w, at.SPLIT_AT_BSYNC, number) == 0:
        return run(w, gather(w, at.SPLIT_AT_BSYNC, pc, number, FULL), pc)
    lanes = gather(w, at.SPLIT_AT_BSYNC, pc, number, mask)
    poke32(w + at.WARP_BARRIERS + 128 * number, mask & lanes)
    return run(w, lanes, pc - 1)


@native
def does_not_wait(w: int, missing: int) -> bool:
    """Whether BSYNC passes: nobody is ready, and who is missing has stopped, not all at barriers.

    Lanes without which a BSYNC of theirs has passed count as ready until they have run.
    """
    resting = peek32(w + at.WARP_YIELDED)
    if lanes_in(w, at.SPLIT_READY, -1) & ~resting & FULL != 0 or peek32(w + CALLED) != 0:
        return False
    resting |= lanes_in(w, at.SPLIT_AT_WARPSYNC, -1)
    blocked = lanes_in(w, at.SPLIT_AT_BSYNC, -1)
    return bool(missing & resting != 0 and missing & ~(resting | blocked) & FULL == 0)


@native
def come_to_barrier(w: int) -> bool:
    """A part has reached BSYNC without its fellows. True: it goes on, some of it at least."""
    if peek32(w + VAIN) != 0:  # executed again in its turn, in vain: it waits as before
        return False
    mask, number = peek32(w + at.WARP_MASK), peek32(w + at.WARP_ARGS)
    pc, need = peek32(w + at.WARP_PC), members(w, number)
    there = lanes_in(w, at.SPLIT_AT_BSYNC, number) & ~peek32(w + CALLED)
    there |= mask | peek32(w + at.WARP_EXITED)
    missing = need & ~there & FULL
    own = mask & need
    if missing != 0:
        if own == 0:
            return True
        if own != mask:  # the others need not wait
            add_split(w, own, pc, at.SPLIT_AT_BSYNC, number, False)
            note_stop(w, own)
            poke32(w + STOPPED, 0)
            poke32(w + at.WARP_MASK, mask & ~own)
            return True
        if not does_not_wait(w, missing):
            add_split(w, mask, pc, at.SPLIT_AT_BSYNC, number, False)
            note_stop(w, mask)
            return False
    mask |= gather(w, at.SPLIT_AT_BSYNC, pc, number, need)
    poke32(w + at.WARP_MASK, mask)
    if missing != 0:
        called = (peek32(w + CALLED) | need) & ~mask & ~peek32(w + at.WARP_EXITED) & FULL
        poke32(w + CALLED, called)
    poke32(w + at.WARP_BARRIERS + 128 * number, 0)
    return True


@native
def state_of(w: int, number: int) -> int:
    """What those do for whom the lanes at a barrier wait."""
    need, there = members(w, number), lanes_in(w, at.SPLIT_AT_BSYNC, number)
    missing = need & ~(there | peek32(w + at.WARP_EXITED)) & FULL
    if need & there == 0:
        return CLEARED
    if missing == 0 and need & there & peek32(w + CALLED) == 0:
        return COMPLETE
    resting, blocked = peek32(w + at.WARP_YIELDED), lanes_in(w, at.SPLIT_AT_BSYNC, -1)
    if missing & ~resting & FULL == 0:
        return RESTING
    if missing & ~blocked & FULL == 0:
        return BLOCKED
    if missing & ~(resting | blocked) & FULL == 0:
        return MIXED
    if missing & ~(resting | blocked | lanes_in(w, at.SPLIT_AT_WARPSYNC, -1)) & FULL == 0:
        return SYNCING
    return RUNNING


@native
def release_one(w: int, state: int) -> bool:
    """Lets those go on whose barrier is in a state: of several the one to which no lane came for
    longest, of complete ones the one to which lanes came last."""
    n = peek32(w + at.WARP_SPLITS)
    for k in range(n):
        i = n - 1 - k if state == COMPLETE else k
        if peek32(split_field(w, i, 2)) != at.SPLIT_AT_BSYNC:
            continue
        number, later = peek32(split_field(w, i, 3)), False
        for j in range(i + 1, n):
            if peek32(split_field(w, j, 2)) == at.SPLIT_AT_BSYNC and (
                peek32(split_field(w, j, 3)) == number
            ):
                later = True
        if not later and state_of(w, number) == state:
            return release(w, number)
    return False


@native
def release_ended(w: int, lanes: int) -> bool:
    """The lanes at a barrier go on at once that EXIT of the running part has completed."""
    for i in range(peek32(w + at.WARP_SPLITS) - 1, -1, -1):
        number = peek32(split_field(w, i, 3))
        if (
            peek32(split_field(w, i, 2)) == at.SPLIT_AT_BSYNC
            and members(w, number) & lanes != 0
            and state_of(w, number) == COMPLETE
        ):
            return release(w, number)
    return False
