"""Whose turn it is: how an H200 chooses the next part of a warp when the last one has stopped.

Parts of the pool come first, the newest of them before others. Then lanes that have stopped (at
YIELD, BSYNC or WARPSYNC) get turns, lane after lane round the warp. Those come first that had
stopped when somebody stopped for the first time after the last turn. A part that is taken from the
pool has the turn, too, if from the lane on that had the last one none that has stopped, except the
last to do so, comes before its own.
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import peek32, poke32
from warplens.execute.part_table import (
    CALLED,
    FIRST,
    FULL,
    NEXT,
    STOPPED,
    TURN,
    VAIN,
    gather,
    gather_at,
    lanes_in,
    members,
    run,
    stopped,
)
from warplens.execute.splits import lowest_lane, split_field
from warplens.lift import layout as at


@native
def from_lane(lanes: int, start: int) -> int:
    """The first of some lanes round the warp, from `start` on."""
    high = lanes & (FULL << start) & FULL
    lane: int = lowest_lane(high if high != 0 else lanes)
    return lane


@native
def take_newest(w: int) -> bool:
    """The newest part of the pool that is not at YIELD goes on, with those at its place."""
    resting = peek32(w + at.WARP_YIELDED)
    for i in range(peek32(w + at.WARP_SPLITS) - 1, -1, -1):
        if peek32(split_field(w, i, 2)) != at.SPLIT_READY or (
            peek32(split_field(w, i, 0)) & resting != 0
        ):
            continue
        pc = peek32(split_field(w, i, 1))
        lanes = gather_at(w, pc)
        others = (stopped(w) & ~peek32(w + STOPPED)) | peek32(w + FIRST)
        lane = from_lane(lanes | others, peek32(w + TURN))
        if (lanes >> lane) & 1 != 0:
            poke32(w + NEXT, (lane + 1) & 31)
            poke32(w + FIRST, 0)
        return run(w, lanes, pc)
    return False


@native
def at_turn(w: int, lane: int) -> int:
    """The split of a lane, or -1."""
    for i in range(peek32(w + at.WARP_SPLITS)):
        if (peek32(split_field(w, i, 0)) >> lane) & 1 != 0:
            return i
    return -1


@native
def waiting_with(w: int, i: int) -> int:
    """The lanes that wait at the place of a split, in the way it does."""
    lanes = 0
    for j in range(peek32(w + at.WARP_SPLITS)):
        if peek32(split_field(w, j, 2)) == peek32(split_field(w, i, 2)) and (
            peek32(split_field(w, j, 1)) == peek32(split_field(w, i, 1))
        ):
            lanes |= peek32(split_field(w, j, 0))
    return lanes


@native
def try_turn(w: int, i: int) -> bool:
    """The part of a lane whose turn it is goes on, if it can: BSYNC and WARPSYNC execute again."""
    state, pc = peek32(split_field(w, i, 2)), peek32(split_field(w, i, 1))
    exited = peek32(w + at.WARP_EXITED)
    if state == at.SPLIT_READY:
        return run(w, gather_at(w, pc), pc)
    syncing = lanes_in(w, at.SPLIT_AT_WARPSYNC, -1)
    if state == at.SPLIT_AT_WARPSYNC:
        if peek32(split_field(w, i, 3)) & ~(syncing | exited) & FULL != 0:
            return False
        return run(w, gather(w, at.SPLIT_AT_WARPSYNC, pc, -1, FULL), pc)
    number = peek32(split_field(w, i, 3))
    need, there = members(w, number), lanes_in(w, at.SPLIT_AT_BSYNC, number)
    excused = peek32(w + at.WARP_YIELDED)
    if waiting_with(w, i) & peek32(w + CALLED) != 0:
        excused &= ~peek32(w + CALLED)
    excused |= lanes_in(w, at.SPLIT_AT_BSYNC, -1) | syncing
    if need & there != 0 and need & ~(there | exited | excused) & FULL != 0:
        return False
    lanes = gather(w, at.SPLIT_AT_BSYNC, pc, number, FULL)
    lanes |= gather(w, at.SPLIT_READY, pc - 1, -1, FULL)  # at YIELD, and BSYNC is next
    if need & lanes != 0:  # the others need not come any more
        poke32(w + at.WARP_BARRIERS + 128 * number, need & lanes)
    return run(w, lanes, pc - 1)


@native
def execute_in_vain(w: int, lanes: int, pc: int) -> bool:
    """Lanes execute BSYNC or WARPSYNC again, which counts, and wait where they did."""
    poke32(w + STOPPED, lanes)
    poke32(w + at.WARP_MASK, lanes)
    poke32(w + at.WARP_PC, pc)
    return True


@native
def take_turn(w: int) -> bool:
    """The next lane that has stopped gets its turn; who has just stopped comes last.

    A BSYNC or WARPSYNC that still has to wait is like one who has just stopped.
    """
    own = peek32(w + STOPPED)
    for _ in range(34):
        everyone = stopped(w)
        if everyone == 0:
            return False
        others = everyone & ~own & FULL
        among = peek32(w + FIRST) & others
        if among == 0:
            among = others if others != 0 else everyone
        lane = from_lane(among, peek32(w + NEXT))
        poke32(w + NEXT, (lane + 1) & 31)
        poke32(w + FIRST, 0)
        i = at_turn(w, lane)
        if i < 0:
            return False
        own = waiting_with(w, i)
        if try_turn(w, i):
            poke32(w + TURN, lane)
            return True
        poke32(w + CALLED, peek32(w + CALLED) & ~own & FULL)
        poke32(w + VAIN, peek32(w + VAIN) + 1)
        if peek32(w + VAIN) <= peek32(w + at.WARP_SPLITS):
            return execute_in_vain(w, own, peek32(split_field(w, i, 1)) - 1)
    poke32(w + VAIN, 0)
    return False
