"""Parts of a diverged warp where BREAK or YIELD occur: who stands where, and who is put aside.

A part is ready, waits at BSYNC or at WARPSYNC, or rests in YIELD. Ready ones stand on the stack of
those that branches have put aside, or beside it; the order in the table is that of the stack.
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import peek32, poke32
from warplens.execute.splits import add_split, lowest_lane, remove_split, split_field
from warplens.lift import layout as at

FULL = 0xFFFFFFFF
# What the info of a ready part says: put aside by the last branch; put aside before; not on the
# stack (at.IN_POOL); by BRX, with the part above it; by BRX, as the first of these.
FRESH, STACKED, CHAINED, CHAIN = 0, 1, 3, 4
# What a warp remembers, behind the mask of B0: the lane that has the next turn, as an H200 keeps it
# in bits 8 to 12 of API_CALL_DEPTH; which lanes have just stopped; how many turns were in vain.
NEXT, STOPPED, VAIN = at.PARTS_NEXT, at.WARP_BARRIERS + 8, at.PARTS_VAIN


@native
def members(w: int, number: int) -> int:
    """The mask of a convergence barrier."""
    lanes: int = peek32(w + at.WARP_BARRIERS + 128 * number)
    return lanes


@native
def waits(w: int, i: int) -> bool:
    """Whether a part waits at BSYNC or WARPSYNC."""
    state = peek32(split_field(w, i, 2))
    return bool(state == at.SPLIT_AT_BSYNC or state == at.SPLIT_AT_WARPSYNC)


@native
def place(w: int, i: int) -> int:
    """Where a part stands: at the BSYNC or WARPSYNC at which it waits; -1 if it cannot run.

    These are blocks of their own, and the table names the next one.
    """
    if waits(w, i):
        return int(peek32(split_field(w, i, 1)) - 1)
    if peek32(split_field(w, i, 2)) == at.SPLIT_READY:
        return int(peek32(split_field(w, i, 1)))
    return -1


@native
def lanes_in(w: int, state: int, number: int) -> int:
    """Lanes of all parts in a state; `number`: those at one convergence barrier, if not -1."""
    found = 0
    for i in range(peek32(w + at.WARP_SPLITS)):
        if peek32(split_field(w, i, 2)) == state and (
            number < 0 or peek32(split_field(w, i, 3)) == number
        ):
            found |= peek32(split_field(w, i, 0))
    return found


@native
def lanes_at(w: int, pc: int) -> int:
    """Lanes that stand at a place; -1 for it: those that wait for something outside the warp."""
    found = 0
    for i in range(peek32(w + at.WARP_SPLITS)):
        if place(w, i) == pc:
            found |= peek32(split_field(w, i, 0))
    return found


@native
def place_of(w: int, lane: int) -> int:
    """Where a lane stands."""
    for i in range(peek32(w + at.WARP_SPLITS)):
        if (peek32(split_field(w, i, 0)) >> lane) & 1 != 0:
            return place(w, i)
    return -1


@native
def take_out(w: int, pc: int, lanes: int) -> int:
    """Takes those of some lanes that stand at a place out of the table."""
    i, found = 0, 0
    while i < peek32(w + at.WARP_SPLITS):
        own = peek32(split_field(w, i, 0))
        if place(w, i) == pc and own & lanes != 0:
            found |= own & lanes
            if own & ~lanes & FULL != 0:
                poke32(split_field(w, i, 0), own & ~lanes & FULL)
            else:
                remove_split(w, i)
                continue
        i += 1
    return found


@native
def call(w: int, lanes: int) -> None:
    """Lanes that have stopped become ready where they stand, beside the stack."""
    poke32(w + at.WARP_YIELDED, peek32(w + at.WARP_YIELDED) & ~lanes & FULL)
    for i in range(peek32(w + at.WARP_SPLITS)):
        own, pc = peek32(split_field(w, i, 0)), place(w, i)
        if own & lanes == 0 or not waits(w, i):
            continue
        if own & ~lanes & FULL != 0:
            poke32(split_field(w, i, 0), own & ~lanes & FULL)
            add_split(w, own & lanes, pc, at.SPLIT_READY, at.IN_POOL, False)
        else:
            poke32(split_field(w, i, 1), pc)
            poke32(split_field(w, i, 2), at.SPLIT_READY)
            poke32(split_field(w, i, 3), at.IN_POOL)


@native
def top_of_stack(w: int) -> int:
    """The part that was put aside last, or -1."""
    for i in range(peek32(w + at.WARP_SPLITS) - 1, -1, -1):
        if peek32(split_field(w, i, 2)) == at.SPLIT_READY and (
            peek32(split_field(w, i, 3)) != at.IN_POOL
        ):
            return i
    return -1


@native
def stack_height(w: int) -> int:
    """How many parts are put aside."""
    height = 0
    for i in range(peek32(w + at.WARP_SPLITS)):
        height += peek32(split_field(w, i, 2)) == at.SPLIT_READY and (
            peek32(split_field(w, i, 3)) != at.IN_POOL
        )
    return height


@native
def settle(w: int) -> None:
    """No part on the stack is any more the one that the last branch put aside."""
    for i in range(peek32(w + at.WARP_SPLITS)):
        if peek32(split_field(w, i, 2)) == at.SPLIT_READY and (
            peek32(split_field(w, i, 3)) == FRESH
        ):
            poke32(split_field(w, i, 3), STACKED)


@native
def from_lane(lanes: int, start: int) -> int:
    """The first of some lanes round the warp, from `start` on."""
    high = lanes & (FULL << (start & 31)) & FULL
    lane: int = lowest_lane(high if high != 0 else lanes)
    return lane


@native
def advance(w: int, lanes: int) -> None:
    """These lanes run now: if one of them would have the next turn, or if the lane that would has
    ended, another one has it, if there is any."""
    lane, exited = peek32(w + NEXT), peek32(w + at.WARP_EXITED)
    others = ~(lanes | exited) & FULL
    if others != 0 and ((lanes | exited) >> lane) & 1 != 0:
        poke32(w + NEXT, from_lane(others, lane + 1))


@native
def run(w: int, lanes: int, pc: int) -> None:
    """Makes lanes that are out of the table the running part."""
    poke32(w + at.WARP_MASK, lanes)
    poke32(w + at.WARP_PC, pc)
    poke32(w + at.WARP_YIELDED, peek32(w + at.WARP_YIELDED) & ~lanes & FULL)
    poke32(w + STOPPED, 0)
    poke32(w + VAIN, 0)
