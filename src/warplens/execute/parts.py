"""Which part of a diverged warp runs next where BREAK or YIELD occur, as recorded on an H200.

The part that the last branch put aside goes on, then lanes whose barrier is complete, then the
newest part of the pool; when all have stopped, they get turns (`part_turns.py`).
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import peek32, poke32, population
from warplens.execute.part_barriers import (
    BLOCKED,
    CLEARED,
    COMPLETE,
    MIXED,
    RESTING,
    SYNCING,
    newest_at,
    release_one,
    state_of,
)
from warplens.execute.part_draws import draw, drawn
from warplens.execute.part_table import (
    gather,
    gather_at,
    members,
    note_stop,
    pool_all,
    run,
)
from warplens.execute.part_turns import take_newest, take_turn
from warplens.execute.run_layout import PART_ORDER, STRICT_MASKS
from warplens.execute.splits import (
    Ints,
    add_split,
    can_go_on,
    give_up_warpsync,
    release_warpsync,
    remove_split,
    split_field,
)
from warplens.lift import layout as at


@native
def take_aside(w: int) -> bool:
    """The part goes on that the last branch put aside."""
    for i in range(peek32(w + at.WARP_SPLITS) - 1, -1, -1):
        if peek32(split_field(w, i, 2)) == at.SPLIT_READY and peek32(split_field(w, i, 3)) == 0:
            lanes, pc = peek32(split_field(w, i, 0)), peek32(split_field(w, i, 1))
            remove_split(w, i)
            return run(w, lanes, pc)
    return False


@native
def take_oldest(w: int, but: int) -> bool:
    """The oldest part of the pool that does not stand at the place `but` goes on."""
    best, place = -1, -1
    for i in range(peek32(w + at.WARP_SPLITS)):
        pc = peek32(split_field(w, i, 1))
        if peek32(split_field(w, i, 2)) != at.SPLIT_READY or pc == but:
            continue
        last = i
        for j in range(i + 1, peek32(w + at.WARP_SPLITS)):
            if peek32(split_field(w, j, 2)) == at.SPLIT_READY and (
                peek32(split_field(w, j, 1)) == pc
            ):
                last = j
        if best < 0 or last < best:
            best, place = last, pc
    if best < 0:
        return False
    return run(w, gather_at(w, place), place)


@native
def leave_barrier(w: int, control: Ints) -> None:
    """BREAK has completed a barrier: as at a branch the fewer of those that wait there and those
    that run go first, and the others are put aside."""
    if control[PART_ORDER] < 0 and drawn(control) & 1 != 0:
        return
    mask, number = peek32(w + at.WARP_MASK), peek32(w + at.WARP_ARGS)
    i, need = newest_at(w, number), members(w, number)
    if i < 0 or need == 0 or state_of(w, number) != COMPLETE:
        return
    pc, here = peek32(split_field(w, i, 1)) - 1, peek32(w + at.WARP_PC)
    freed = gather(w, at.SPLIT_AT_BSYNC, pc + 1, number, need)
    poke32(w + at.WARP_BARRIERS + 128 * number, 0)
    if population(freed) >= population(mask):
        add_split(w, freed, pc, at.SPLIT_READY, 0, False)
        return
    poke32(w + at.WARP_MASK, freed)
    poke32(w + at.WARP_PC, pc)
    add_split(w, mask, here, at.SPLIT_READY, 0, False)


@native
def next_part(w: int, control: Ints) -> bool:
    """Makes the part of a warp that an H200 takes next the running one; False if all wait."""
    for _ in range(3):
        if control[PART_ORDER] < 0 and draw(w, control):
            return True
        if take_aside(w) or release_one(w, COMPLETE) or draw(w, control):
            return True
        if take_newest(w) or take_turn(w):
            return True
        if release_one(w, RESTING) or release_one(w, MIXED) or release_one(w, CLEARED):
            return True
        if release_one(w, BLOCKED) or take_oldest(w, -1):
            return True
        if not release_warpsync(w):
            if can_go_on(w):
                return False  # those that look at memory may still come
            if release_one(w, SYNCING):
                return True
            if control[STRICT_MASKS] != 0 or not give_up_warpsync(w):
                return False
        pool_all(w)
    return False


@native
def rest(w: int, control: Ints) -> bool:
    """The running part executes YIELD: another one goes on, if there is one."""
    mask, pc = peek32(w + at.WARP_MASK), peek32(w + at.WARP_PC)
    poke32(w + at.WARP_MASK, 0)
    poke32(w + at.WARP_YIELDED, peek32(w + at.WARP_YIELDED) | mask)
    add_split(w, mask, pc, at.SPLIT_READY, at.IN_POOL, False)
    note_stop(w, mask)
    if control[PART_ORDER] < 0 and draw(w, control):
        return True
    if take_aside(w) or release_one(w, COMPLETE) or draw(w, control):
        return True
    if take_newest(w) or take_turn(w):
        return True
    return run(w, gather_at(w, pc), pc)


@native
def give_way(w: int) -> None:
    """The running part has run for long: all others that are ready come before it."""
    mask = peek32(w + at.WARP_MASK)
    add_split(w, mask, peek32(w + at.WARP_PC), at.SPLIT_READY, at.IN_POOL, True)
    poke32(w + at.WARP_MASK, 0)
    poke32(w + at.WARP_YIELDED, 0)


@native
def part(w: int) -> bool:
    """Frees lanes at a barrier whose fellows wait for a write or at YIELD."""
    if release_one(w, RESTING) or release_one(w, BLOCKED) or release_one(w, MIXED):
        mask, pc = peek32(w + at.WARP_MASK), peek32(w + at.WARP_PC)
        add_split(w, mask, pc, at.SPLIT_READY, at.IN_POOL, False)
        poke32(w + at.WARP_MASK, 0)
        return True
    return False
