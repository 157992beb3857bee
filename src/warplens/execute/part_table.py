"""Parts of a diverged warp where BREAK or YIELD occur: who stands where, who runs, who has stopped.

A part is ready, waits at BSYNC or at WARPSYNC, or rests in YIELD. The one that the last branch put
aside goes on alone; all others stand in a pool.
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import peek32, poke32
from warplens.execute.splits import remove_split, split_field
from warplens.lift import layout as at

FULL = 0xFFFFFFFF
# What a warp remembers of turns, behind the mask of B0: from which lane on the next one is looked
# for; which lanes of those that stopped are to have their turn first; which lanes that have stopped
# count as ready, since a BSYNC passed without them; who stopped last; which lane had the last turn;
# how many turns were in vain since then.
NEXT, FIRST, CALLED, STOPPED, TURN = (at.WARP_BARRIERS + 4 * k for k in range(1, 6))
VAIN = at.PARTS_VAIN


@native
def members(w: int, number: int) -> int:
    """The mask of a convergence barrier."""
    lanes: int = peek32(w + at.WARP_BARRIERS + 128 * number)
    return lanes


@native
def lanes_in(w: int, state: int, number: int) -> int:
    """Lanes of all splits in a state; `number`: those at one convergence barrier, if not -1."""
    found = 0
    for i in range(peek32(w + at.WARP_SPLITS)):
        if peek32(split_field(w, i, 2)) == state and (
            number < 0 or peek32(split_field(w, i, 3)) == number
        ):
            found |= peek32(split_field(w, i, 0))
    return found


@native
def gather(w: int, state: int, pc: int, number: int, lanes: int) -> int:
    """Takes splits in a state that stand at one place and have one of `lanes` out of the table."""
    i, found = 0, 0
    while i < peek32(w + at.WARP_SPLITS):
        own = peek32(split_field(w, i, 0))
        if (
            peek32(split_field(w, i, 2)) == state
            and peek32(split_field(w, i, 1)) == pc
            and (number < 0 or peek32(split_field(w, i, 3)) == number)
            and own & lanes != 0
        ):
            found |= own
            remove_split(w, i)
        else:
            i += 1
    return found


@native
def gather_at(w: int, pc: int) -> int:
    """Takes all parts that stand at a place out of the table, those too that wait there at BSYNC.

    BSYNC is a block of its own; lanes that wait at it are to go on at the next one.
    """
    lanes: int = gather(w, at.SPLIT_READY, pc, -1, FULL)
    return lanes | gather(w, at.SPLIT_AT_BSYNC, pc + 1, -1, FULL)


@native
def pool_all(w: int) -> None:
    """Parts that were not put aside by a branch stand in the pool."""
    for i in range(peek32(w + at.WARP_SPLITS)):
        if peek32(split_field(w, i, 2)) == at.SPLIT_READY:
            poke32(split_field(w, i, 3), at.IN_POOL)


@native
def run(w: int, lanes: int, pc: int) -> bool:
    """Makes lanes the running part; nobody else is put aside from now on but stands in the pool."""
    poke32(w + at.WARP_MASK, lanes)
    poke32(w + at.WARP_PC, pc)
    others = ~lanes & FULL
    poke32(w + at.WARP_YIELDED, peek32(w + at.WARP_YIELDED) & others)
    poke32(w + CALLED, peek32(w + CALLED) & others)
    poke32(w + STOPPED, 0)
    poke32(w + VAIN, 0)
    pool_all(w)
    return True


@native
def stopped(w: int) -> int:
    """Lanes at YIELD, at barriers and at WARPSYNC."""
    lanes: int = lanes_in(w, at.SPLIT_AT_BSYNC, -1) | lanes_in(w, at.SPLIT_AT_WARPSYNC, -1)
    lanes |= peek32(w + at.WARP_YIELDED)
    return lanes


@native
def note_stop(w: int, lanes: int) -> None:
    """Lanes stop: if nobody is left who is to have a turn first, those are who stopped before."""
    poke32(w + STOPPED, lanes)
    others = stopped(w) & ~lanes & FULL
    if peek32(w + FIRST) & others == 0:
        poke32(w + FIRST, others)
