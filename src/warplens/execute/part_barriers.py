"""Convergence barriers of kernels that have BREAK or YIELD, as recorded on an H200.

A barrier is one mask for the warp: BSSY adds lanes, BREAK takes them out, a completed BSYNC clears
it. A lane that is not in the mask goes through BSYNC as if there were none.
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import peek32, poke32, population
from warplens.execute.part_table import (
    FRESH,
    FULL,
    STACKED,
    STOPPED,
    advance,
    call,
    lanes_at,
    lanes_in,
    members,
    place_of,
    run,
    take_out,
)
from warplens.execute.splits import add_split, lowest_lane
from warplens.lift import layout as at


@native
def is_ready_without(w: int, number: int, missing: int) -> bool:
    """Whether a barrier is complete though members have not come: all of them have stopped.

    If one of them is at YIELD or WARPSYNC, nobody else in the warp may be ready.
    """
    resting = peek32(w + at.WARP_YIELDED)
    ready = (lanes_in(w, at.SPLIT_READY, -1) & ~resting & FULL) | lanes_at(w, -1)
    if missing & ready != 0:
        return False
    if missing & (resting | lanes_in(w, at.SPLIT_AT_WARPSYNC, -1)) == 0:
        return True
    mask = peek32(w + at.WARP_MASK)
    return bool((ready | (mask & ~members(w, number))) & FULL == 0)


@native
def come_to_barrier(w: int) -> bool:
    """A part has reached BSYNC without its fellows. True: it goes on, some of it at least."""
    mask, number = peek32(w + at.WARP_MASK), peek32(w + at.WARP_ARGS)
    pc, need = peek32(w + at.WARP_PC), members(w, number)
    there, exited = lanes_in(w, at.SPLIT_AT_BSYNC, number), peek32(w + at.WARP_EXITED)
    own, missing = mask & need, need & ~(there | mask | exited) & FULL
    if own == 0:
        return True
    if missing != 0 and not is_ready_without(w, number, missing):
        add_split(w, own, pc, at.SPLIT_AT_BSYNC, number, False)
        if own != mask:  # the others need not wait
            poke32(w + at.WARP_MASK, mask & ~own)
            return True
        poke32(w + STOPPED, mask)
        return False
    mask |= take_out(w, pc - 1, need & there)
    poke32(w + at.WARP_MASK, mask)
    poke32(w + at.WARP_BARRIERS + 128 * number, 0)
    call(w, need & ~(mask | exited) & FULL)
    advance(w, mask)
    return True


@native
def leave_barrier(w: int) -> None:
    """BREAK may have completed a barrier: those that wait there, or at others inside, are ready.

    As at a branch the fewer of these and of those that run go first.
    """
    mask, number = peek32(w + at.WARP_MASK), peek32(w + at.WARP_ARGS)
    need = members(w, number) & ~peek32(w + at.WARP_EXITED) & FULL
    if need == 0 or need & ~lanes_in(w, at.SPLIT_AT_BSYNC, -1) & FULL != 0:
        return
    poke32(w + at.WARP_BARRIERS + 128 * number, 0)
    call(w, need)
    pc, here = place_of(w, lowest_lane(need)), peek32(w + at.WARP_PC)
    freed = take_out(w, pc, need)
    if population(need) >= population(mask):
        add_split(w, freed, pc, at.SPLIT_READY, STACKED, False)
        return
    add_split(w, mask, here, at.SPLIT_READY, FRESH, False)
    run(w, freed, pc)
    advance(w, freed)


@native
def release_ended(w: int, ended: int) -> bool:
    """The lanes at a barrier go on at once that EXIT of the running part has completed."""
    exited = peek32(w + at.WARP_EXITED)
    for number in range(16):
        need, there = members(w, number), lanes_in(w, at.SPLIT_AT_BSYNC, number)
        if need & ended != 0 and need & there != 0 and need & ~(there | exited) & FULL == 0:
            pc = place_of(w, lowest_lane(need & there))
            run(w, take_out(w, pc, need & there), pc)
            return True
    return False
