"""Which part of a diverged warp runs next where BREAK or YIELD occur, as recorded on an H200.

A convergence barrier is one mask for the warp: BSSY adds lanes, BREAK takes them out, a completed
BSYNC clears it. The part that the last branch put aside goes on alone; all others stand in a pool,
of which the newest is taken, with those at the same place. Lanes at YIELD come after these.
"""

from __future__ import annotations

from typing import Any

from warplens.compiled import native
from warplens.execute.native import peek32, poke32, population
from warplens.execute.run_layout import ENDED, PART_ORDER, STRICT_MASKS
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

_FULL = 0xFFFFFFFF
# What a warp remembers of turns, behind the mask of B0: from which lane on the next one is looked
# for, which lanes of those that stopped are to have their turn first, which barriers were named by
# BSSY while lanes waited for them, which lanes at YIELD count as ready again, who stopped last.
_START, _FIRST, _SEVERAL, _CALLED, _STOPPED = (at.WARP_BARRIERS + 4 * k for k in range(1, 6))
# What the lanes do for which the lanes at a barrier wait: end or wait there, too; rest in YIELD;
# wait at other barriers; some this, some that; nothing, as the barrier was cleared without those
# that wait; these and WARPSYNC; something else.
_COMPLETE, _RESTING, _BLOCKED, _MIXED, _CLEARED, _SYNCING, _RUNNING = range(7)


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
    lanes: int = gather(w, at.SPLIT_READY, pc, -1, _FULL)
    return lanes | gather(w, at.SPLIT_AT_BSYNC, pc + 1, -1, _FULL)


@native
def run(w: int, lanes: int, pc: int) -> bool:
    """Makes lanes the running part; nobody else is put aside from now on but stands in the pool."""
    poke32(w + at.WARP_MASK, lanes)
    poke32(w + at.WARP_PC, pc)
    poke32(w + at.WARP_YIELDED, peek32(w + at.WARP_YIELDED) & ~lanes & _FULL)
    poke32(w + _CALLED, peek32(w + _CALLED) & ~lanes & _FULL)
    poke32(w + _STOPPED, 0)
    for i in range(peek32(w + at.WARP_SPLITS)):
        if peek32(split_field(w, i, 2)) == at.SPLIT_READY:
            poke32(split_field(w, i, 3), at.IN_POOL)
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
    poke32(w + _STOPPED, lanes)
    others = stopped(w) & ~lanes & _FULL
    if peek32(w + _FIRST) & others == 0:
        poke32(w + _FIRST, others)


@native
def goes_on_at_once(w: int, number: int, missing: int) -> bool:
    """Whether BSYNC does not wait: who is missing rests in YIELD, and no lane is ready."""
    resting = peek32(w + at.WARP_YIELDED) & ~peek32(w + _CALLED) & _FULL
    ready = lanes_in(w, at.SPLIT_READY, -1) & ~resting & _FULL
    if ready != 0 or missing & resting == 0 or (peek32(w + _SEVERAL) >> number) & 1 != 0:
        return False
    return bool(missing & ~(resting | lanes_in(w, at.SPLIT_AT_BSYNC, -1)) & _FULL == 0)


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
        return run(w, gather(w, at.SPLIT_AT_BSYNC, pc, number, _FULL), pc)
    lanes = gather(w, at.SPLIT_AT_BSYNC, pc, number, mask)
    poke32(w + at.WARP_BARRIERS + 128 * number, 0)
    return run(w, lanes, pc)


@native
def come_to_barrier(w: int) -> bool:
    """A part has reached BSYNC without its fellows. True: they all wait, and go on with it."""
    mask, number = peek32(w + at.WARP_MASK), peek32(w + at.WARP_ARGS)
    pc, need = peek32(w + at.WARP_PC), members(w, number)
    there = mask | peek32(w + at.WARP_EXITED) | lanes_in(w, at.SPLIT_AT_BSYNC, number)
    missing = need & ~there & _FULL
    if missing != 0:
        if not goes_on_at_once(w, number, missing):
            add_split(w, mask, pc, at.SPLIT_AT_BSYNC, number, False)
            note_stop(w, mask)
            return False
        called = peek32(w + _CALLED) | (need & peek32(w + at.WARP_YIELDED))
        poke32(w + _CALLED, called)
    poke32(w + at.WARP_MASK, mask | gather(w, at.SPLIT_AT_BSYNC, pc, number, need))
    poke32(w + at.WARP_BARRIERS + 128 * number, 0)
    return True


@native
def drawn(control: Ints) -> int:
    """The next random number; the sign of what it is made from stays."""
    sign = -1 if control[PART_ORDER] < 0 else 1
    number = (sign * control[PART_ORDER] * 1103515245 + 12345) & 0x7FFFFFFF
    control[PART_ORDER] = sign * (number | 1)
    return int(number >> 16)


@native
def leave_barrier(w: int, control: Ints) -> None:
    """BREAK has completed a barrier: if fewer lanes wait there than run, they go first."""
    if control[PART_ORDER] < 0 and drawn(control) & 1 != 0:
        return
    mask, number = peek32(w + at.WARP_MASK), peek32(w + at.WARP_ARGS)
    i, need = newest_at(w, number), members(w, number)
    if i < 0 or need == 0 or state_of(w, number) != _COMPLETE:
        return
    pc, fewer = peek32(split_field(w, i, 1)), 0
    for j in range(peek32(w + at.WARP_SPLITS)):
        if (
            peek32(split_field(w, j, 2)) == at.SPLIT_AT_BSYNC
            and peek32(split_field(w, j, 3)) == number
            and peek32(split_field(w, j, 1)) == pc
            and peek32(split_field(w, j, 0)) & need != 0
        ):
            fewer |= peek32(split_field(w, j, 0))
    if population(fewer) >= population(mask):
        return
    here = peek32(w + at.WARP_PC)
    release(w, number)
    add_split(w, mask, here, at.SPLIT_READY, 0, False)


@native
def state_of(w: int, number: int) -> int:
    """What those do for whom the lanes at a barrier wait."""
    need, there = members(w, number), lanes_in(w, at.SPLIT_AT_BSYNC, number)
    missing = need & ~(there | peek32(w + at.WARP_EXITED)) & _FULL
    if need & there == 0:
        return _CLEARED
    if missing == 0:
        return _COMPLETE
    resting, blocked = peek32(w + at.WARP_YIELDED), lanes_in(w, at.SPLIT_AT_BSYNC, -1)
    if missing & ~resting & _FULL == 0:
        return _RESTING
    if missing & ~blocked & _FULL == 0:
        return _BLOCKED
    if missing & ~(resting | blocked) & _FULL == 0:
        return _MIXED
    if missing & ~(resting | blocked | lanes_in(w, at.SPLIT_AT_WARPSYNC, -1)) & _FULL == 0:
        return _SYNCING
    return _RUNNING


@native
def release_one(w: int, state: int) -> bool:
    """Lets those go on whose barrier is in a state: of several the one to which no lane came for
    longest, of complete ones the one to which lanes came last."""
    n = peek32(w + at.WARP_SPLITS)
    for k in range(n):
        i = n - 1 - k if state == _COMPLETE else k
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
def take_aside(w: int) -> bool:
    """The part goes on that the last branch put aside."""
    for i in range(peek32(w + at.WARP_SPLITS) - 1, -1, -1):
        if peek32(split_field(w, i, 2)) == at.SPLIT_READY and peek32(split_field(w, i, 3)) == 0:
            lanes, pc = peek32(split_field(w, i, 0)), peek32(split_field(w, i, 1))
            remove_split(w, i)
            return run(w, lanes, pc)
    return False


@native
def take_newest(w: int, alone: bool) -> bool:
    """The newest part of the pool that is not at YIELD goes on, with those at its place; `alone`:
    only if none of these is at YIELD."""
    resting = peek32(w + at.WARP_YIELDED)
    for i in range(peek32(w + at.WARP_SPLITS) - 1, -1, -1):
        if peek32(split_field(w, i, 2)) != at.SPLIT_READY:
            continue
        pc, fits = peek32(split_field(w, i, 1)), peek32(split_field(w, i, 0)) & resting == 0
        for j in range(peek32(w + at.WARP_SPLITS)):
            if (
                alone
                and peek32(split_field(w, j, 2)) == at.SPLIT_READY
                and peek32(split_field(w, j, 1)) == pc
                and peek32(split_field(w, j, 0)) & resting != 0
            ):
                fits = False
        if fits:
            lanes = gather_at(w, pc)
            lane = lowest_lane(lanes)
            poke32(w + _START, (lane + 1) & 31)
            poke32(w + _FIRST, peek32(w + _FIRST) & ((1 << lane) - 1))
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
def try_turn(w: int, i: int, has_ended: bool) -> bool:
    """The part of a lane whose turn it is goes on, if it can: BSYNC and WARPSYNC ask again."""
    state, pc = peek32(split_field(w, i, 2)), peek32(split_field(w, i, 1))
    if state == at.SPLIT_READY:
        return run(w, gather_at(w, pc), pc)
    if state == at.SPLIT_AT_WARPSYNC:
        if not release_warpsync(w):
            return False
        pool_all(w)
        return take_newest(w, True) or take_newest(w, False)
    number = peek32(split_field(w, i, 3))
    need, there = members(w, number), lanes_in(w, at.SPLIT_AT_BSYNC, number)
    missing = need & ~(there | peek32(w + at.WARP_EXITED)) & _FULL
    resting = peek32(w + at.WARP_YIELDED)
    if has_ended:
        resting &= ~peek32(w + _CALLED) & _FULL
    excused = resting | lanes_in(w, at.SPLIT_AT_BSYNC, -1)
    if need & there != 0 and missing & ~excused & _FULL != 0:
        return False
    own = peek32(split_field(w, i, 0))
    if need & own != 0:
        poke32(w + at.WARP_BARRIERS + 128 * number, 0)
        return run(w, gather(w, at.SPLIT_AT_BSYNC, pc, number, need), pc)
    return run(w, gather(w, at.SPLIT_AT_BSYNC, pc, number, _FULL), pc)


@native
def take_turn(w: int, has_ended: bool) -> bool:
    """The next lane that has stopped gets its turn, from the one behind the last turn's on.

    Those that are to have one first come first; who has just stopped comes last.
    """
    own = peek32(w + _STOPPED)
    for _ in range(34):
        everyone = stopped(w)
        if everyone == 0:
            return False
        others = everyone & ~own & _FULL
        if peek32(w + _FIRST) & others == 0:
            poke32(w + _FIRST, others)
        among = peek32(w + _FIRST) & others
        if among == 0:
            among = everyone
        start = peek32(w + _START)
        high = among & (_FULL << start) & _FULL
        lane = lowest_lane(high if high != 0 else among)
        poke32(w + _START, (lane + 1) & 31)
        i = at_turn(w, lane)
        if i < 0:
            return False
        group = peek32(split_field(w, i, 0))
        if try_turn(w, i, has_ended):
            poke32(w + _FIRST, 0)
            return True
        own = group
        poke32(w + _FIRST, peek32(w + _FIRST) & ~group & _FULL)
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
def is_choice(w: int, i: int, is_free: bool) -> bool:
    """Whether a split stands for parts that may go on where it is not known which one does.

    It is the newest of its place or barrier. Of parts that are ready and not at YIELD only the
    newest one counts, unless `is_free`.
    """
    state, pc = peek32(split_field(w, i, 2)), peek32(split_field(w, i, 1))
    number, resting = peek32(split_field(w, i, 3)), peek32(w + at.WARP_YIELDED)
    if state != at.SPLIT_READY and state != at.SPLIT_AT_BSYNC:
        return False
    for j in range(i + 1, peek32(w + at.WARP_SPLITS)):
        if peek32(split_field(w, j, 2)) != state:
            continue
        if state == at.SPLIT_AT_BSYNC and peek32(split_field(w, j, 3)) == number:
            return False
        lanes = peek32(split_field(w, j, 0)) | peek32(split_field(w, i, 0))
        if state == at.SPLIT_READY and (
            peek32(split_field(w, j, 1)) == pc or (not is_free and lanes & resting == 0)
        ):
            return False
    return bool(state == at.SPLIT_READY or state_of(w, number) < _SYNCING)


@native
def draw(w: int, control: Ints) -> bool:
    """Makes some part that may go on the running one, by a number drawn; mostly the usual one."""
    if control[PART_ORDER] == 0:
        return False
    is_free, n = control[PART_ORDER] < 0, 0
    for i in range(peek32(w + at.WARP_SPLITS)):
        n += is_choice(w, i, is_free)
    number = drawn(control)
    if n < 2 or number & 1 != 0:
        return False
    left = (number >> 1) % n
    for i in range(peek32(w + at.WARP_SPLITS)):
        if is_choice(w, i, is_free):
            if left == 0:
                if peek32(split_field(w, i, 2)) == at.SPLIT_AT_BSYNC:
                    return release(w, peek32(split_field(w, i, 3)))
                pc = peek32(split_field(w, i, 1))
                return run(w, gather_at(w, pc), pc)
            left -= 1
    return False


@native
def release_ended(w: int, lanes: int) -> bool:
    """The lanes at a barrier go on at once that EXIT of the running part has completed."""
    for i in range(peek32(w + at.WARP_SPLITS) - 1, -1, -1):
        number = peek32(split_field(w, i, 3))
        if (
            peek32(split_field(w, i, 2)) == at.SPLIT_AT_BSYNC
            and members(w, number) & lanes != 0
            and state_of(w, number) == _COMPLETE
        ):
            return release(w, number)
    return False


@native
def next_part(w: int, control: Ints) -> bool:
    """Makes the part of a warp that an H200 takes next the running one; False if all wait."""
    for _ in range(3):
        if control[PART_ORDER] < 0 and draw(w, control):
            return True
        if take_aside(w) or release_one(w, _COMPLETE) or draw(w, control):
            return True
        if take_newest(w, True) or take_newest(w, False):
            return True
        if take_turn(w, control[ENDED] >= 0):
            return True
        if release_one(w, _RESTING) or release_one(w, _MIXED) or release_one(w, _CLEARED):
            return True
        if release_one(w, _BLOCKED) or take_oldest(w, -1):
            return True
        if not release_warpsync(w):
            if can_go_on(w):
                return False  # those that look at memory may still come
            if release_one(w, _SYNCING):
                return True
            if control[STRICT_MASKS] != 0 or not give_up_warpsync(w):
                return False
        pool_all(w)
    return False


@native
def pool_all(w: int) -> None:
    """Parts that were not put aside by a branch stand in the pool."""
    for i in range(peek32(w + at.WARP_SPLITS)):
        if peek32(split_field(w, i, 2)) == at.SPLIT_READY:
            poke32(split_field(w, i, 3), at.IN_POOL)


@native
def rest(w: int, control: Ints) -> Any:
    """The running part executes YIELD: another one goes on, if there is one."""
    mask, pc = peek32(w + at.WARP_MASK), peek32(w + at.WARP_PC)
    poke32(w + at.WARP_MASK, 0)
    poke32(w + at.WARP_YIELDED, peek32(w + at.WARP_YIELDED) | mask)
    poke32(w + _CALLED, peek32(w + _CALLED) & ~mask & _FULL)
    add_split(w, mask, pc, at.SPLIT_READY, at.IN_POOL, False)
    note_stop(w, mask)
    if control[PART_ORDER] < 0 and draw(w, control):
        return
    if take_aside(w) or release_one(w, _COMPLETE) or draw(w, control):
        return
    if take_newest(w, True) or take_newest(w, False) or take_turn(w, False):
        return
    run(w, gather(w, at.SPLIT_READY, pc, -1, _FULL), pc)


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
    if release_one(w, _RESTING) or release_one(w, _BLOCKED) or release_one(w, _MIXED):
        mask, pc = peek32(w + at.WARP_MASK), peek32(w + at.WARP_PC)
        add_split(w, mask, pc, at.SPLIT_READY, at.IN_POOL, False)
        poke32(w + at.WARP_MASK, 0)
        return True
    return False
