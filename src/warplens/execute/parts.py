"""Which part of a diverged warp runs next where BREAK or YIELD occur, as on an H200.

The part goes on that was put aside last; if there is none, the lane whose turn is next, with all
lanes at its place. Who has waited at BSYNC or WARPSYNC executes it again.
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import peek32, poke32
from warplens.execute.part_draws import drawn_lane
from warplens.execute.part_table import (
    CHAIN,
    CHAINED,
    FULL,
    NEXT,
    STACKED,
    STOPPED,
    VAIN,
    advance,
    from_lane,
    lanes_at,
    lanes_in,
    members,
    place,
    place_of,
    run,
    settle,
    stack_height,
    take_out,
    top_of_stack,
)
from warplens.execute.run_layout import PART_ORDER, STRICT_MASKS
from warplens.execute.splits import (
    Ints,
    add_split,
    can_go_on,
    give_up_warpsync,
    lowest_lane,
    release_warpsync,
    remove_split,
    split_field,
)
from warplens.lift import layout as at


@native
def barriers_at(w: int, pc: int) -> int:
    """Numbers of the barriers at which lanes wait at a place, as bits."""
    numbers = 0
    for i in range(peek32(w + at.WARP_SPLITS)):
        if peek32(split_field(w, i, 2)) == at.SPLIT_AT_BSYNC and place(w, i) == pc:
            numbers |= 1 << peek32(split_field(w, i, 3))
    return numbers


@native
def need_at(w: int, pc: int) -> int:
    """The mask for which lanes wait at a WARPSYNC, as the lowest of them names it; 0: none do."""
    need, lowest = 0, 32
    for i in range(peek32(w + at.WARP_SPLITS)):
        lane = lowest_lane(peek32(split_field(w, i, 0)))
        if peek32(split_field(w, i, 2)) == at.SPLIT_AT_WARPSYNC and place(w, i) == pc and (
            lane < lowest
        ):
            need, lowest = peek32(split_field(w, i, 3)), lane
    return need


@native
def take_all_at(w: int, pc: int) -> int:
    """All lanes at a place go on. With nobody put aside but the one that is taken, a BSYNC there
    waits for these lanes only; a WARPSYNC that has to wait still is executed in vain."""
    numbers, need, is_last = barriers_at(w, pc), need_at(w, pc), stack_height(w) < 2
    vain, exited = peek32(w + VAIN), peek32(w + at.WARP_EXITED)
    lanes = take_out(w, pc, FULL)
    run(w, lanes, pc)
    if is_last:
        for number in range(16):
            if (numbers >> number) & 1 != 0:
                poke32(w + at.WARP_BARRIERS + 128 * number, members(w, number) & lanes)
    if need != 0:
        if need & ~(lanes | exited) & FULL == 0:
            poke32(w + at.WARP_PC, pc + 1)
        else:
            poke32(w + at.WARP_ARGS, need)
            poke32(w + VAIN, vain + 1)
    return lanes


@native
def take_aside(w: int) -> bool:
    """The part goes on that was put aside last: alone if the last branch did it, or BRX."""
    i = top_of_stack(w)
    if i < 0:
        return False
    info, lanes = peek32(split_field(w, i, 3)), peek32(split_field(w, i, 0))
    pc = peek32(split_field(w, i, 1))
    settle(w)
    if info == STACKED:
        advance(w, take_all_at(w, pc))
        return True
    remove_split(w, i)
    run(w, lanes, pc)
    if info == CHAIN:
        k = i - 1
        while k >= 0 and peek32(split_field(w, k, 2)) == at.SPLIT_READY and (
            peek32(split_field(w, k, 3)) == CHAINED
        ):
            lanes |= peek32(split_field(w, k, 0))
            poke32(split_field(w, k, 3), CHAIN if k == i - 1 else CHAINED)
            k -= 1
    advance(w, lanes)
    return True


@native
def is_held(w: int, pc: int) -> bool:
    """Whether lanes at a BSYNC wait for some that wait for something outside the warp, or lanes at
    a WARPSYNC for some that look at memory."""
    numbers, elsewhere = barriers_at(w, pc), lanes_at(w, -1)
    if need_at(w, pc) & lanes_in(w, at.SPLIT_LOOKS, -1) != 0:
        return True
    for number in range(16):
        if (numbers >> number) & 1 != 0 and members(w, number) & elsewhere != 0:
            return True
    return False


@native
def take_turn(w: int, among: int, control: Ints) -> bool:
    """The lane whose turn is next goes on, with all at its place; who has just stopped is last."""
    own = peek32(w + STOPPED)
    if peek32(w + VAIN) > peek32(w + at.WARP_SPLITS):
        among &= lanes_in(w, at.SPLIT_READY, -1)  # all others have had a turn since somebody ran
    for _ in range(33):
        if among == 0:
            return False
        lane = peek32(w + NEXT)
        if (among & ~own) >> lane & 1 == 0:
            others = among & ~own & FULL
            lane = from_lane(others if others != 0 else among, lane + 1)
        if control[PART_ORDER] != 0:
            lane = from_lane(among, drawn_lane(control, lane))
        pc = place_of(w, lane)
        if is_held(w, pc):
            among &= ~lanes_at(w, pc) & FULL
            continue
        lanes = take_all_at(w, pc)
        others = ~(lanes | peek32(w + at.WARP_EXITED)) & FULL
        if others != 0:
            poke32(w + NEXT, from_lane(others, lane + 1))
        return True
    return False


@native
def runnable(w: int) -> int:
    """Lanes that are ready, at YIELD, BSYNC or WARPSYNC."""
    lanes = lanes_in(w, at.SPLIT_READY, -1) | lanes_in(w, at.SPLIT_AT_BSYNC, -1)
    return int(lanes | lanes_in(w, at.SPLIT_AT_WARPSYNC, -1))


@native
def look_anew(w: int) -> None:
    """Parts that wait for a write look again: what was in vain before may not be now."""
    poke32(w + VAIN, 0)


@native
def next_part(w: int, control: Ints) -> bool:
    """Makes the part of a warp that an H200 takes next the running one; False if all wait."""
    for _ in range(3):
        if take_aside(w):
            return True
        settle(w)
        if take_turn(w, runnable(w), control):
            return True
        if not release_warpsync(w):
            if can_go_on(w):
                return False  # those that look at memory may still come
            if control[STRICT_MASKS] != 0 or not give_up_warpsync(w):
                return False
        poke32(w + VAIN, 0)
    return False


@native
def rest(w: int, control: Ints) -> None:
    """The running part executes YIELD: another one goes on, if there is one."""
    mask = peek32(w + at.WARP_MASK)
    poke32(w + at.WARP_YIELDED, peek32(w + at.WARP_YIELDED) | mask)
    add_split(w, mask, peek32(w + at.WARP_PC), at.SPLIT_READY, at.IN_POOL, False)
    poke32(w + at.WARP_MASK, 0)
    poke32(w + STOPPED, mask)
    next_part(w, control)


@native
def give_way(w: int) -> None:
    """The running part has run for long: all others that are ready come before it."""
    mask = peek32(w + at.WARP_MASK)
    add_split(w, mask, peek32(w + at.WARP_PC), at.SPLIT_READY, at.IN_POOL, True)
    poke32(w + at.WARP_MASK, 0)
    poke32(w + STOPPED, mask)


@native
def part(w: int) -> bool:
    """Frees lanes at a barrier whose fellows wait for a write."""
    for i in range(peek32(w + at.WARP_SPLITS)):
        if peek32(split_field(w, i, 2)) == at.SPLIT_AT_BSYNC:
            pc = place(w, i)
            numbers, lanes = barriers_at(w, pc), lanes_at(w, pc)
            for number in range(16):
                if (numbers >> number) & 1 != 0:
                    poke32(w + at.WARP_BARRIERS + 128 * number, members(w, number) & lanes)
            take_out(w, pc, FULL)
            add_split(w, lanes, pc, at.SPLIT_READY, at.IN_POOL, False)
            return True
    return False
