"""Splits of one warp: the split table, convergence barriers, WARPSYNC and indirect jumps.

Functions over raw warp records (lift/layout.py), compiled by `warplens.compiled`.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.compiled import native
from warplens.execute.native import lowest_bit, peek32, poke32, population
from warplens.execute.run_layout import HOOK, MASK
from warplens.lift import layout as at

Ints = npt.NDArray[np.int64]

_FULL = 0xFFFFFFFF


@native
def split_field(w: int, i: int, field: int) -> Any:
    """Address of a field (0 mask, 1 pc, 2 state, 3 info) of split table entry `i`."""
    return w + at.WARP_SPLIT_TABLE + at.SPLIT_SIZE * i + 4 * field


@native
def insert_split(w: int, place: int, mask: int, pc: int, state: int, info: int) -> None:
    """Puts an entry into the split table, below those at `place` and above."""
    n = peek32(w + at.WARP_SPLITS)
    for i in range(n, place, -1):
        for field in range(4):
            poke32(split_field(w, i, field), peek32(split_field(w, i - 1, field)))
    poke32(split_field(w, place, 0), mask)
    poke32(split_field(w, place, 1), pc)
    poke32(split_field(w, place, 2), state)
    poke32(split_field(w, place, 3), info)
    poke32(w + at.WARP_SPLITS, n + 1)


@native
def add_split(w: int, mask: int, pc: int, state: int, info: int, at_bottom: bool) -> None:
    """Adds an entry on top of the split table, or below all others."""
    insert_split(w, 0 if at_bottom else peek32(w + at.WARP_SPLITS), mask, pc, state, info)


@native
def remove_split(w: int, i: int) -> None:
    """Closes the gap of entry `i`."""
    n = peek32(w + at.WARP_SPLITS)
    for j in range(i, n - 1):
        for field in range(4):
            poke32(split_field(w, j, field), peek32(split_field(w, j + 1, field)))
    poke32(w + at.WARP_SPLITS, n - 1)


@native
def release_warpsync(w: int) -> bool:
    """Frees splits waiting at WARPSYNC whose mask is complete; those at one pc become one."""
    n = peek32(w + at.WARP_SPLITS)
    exited = peek32(w + at.WARP_EXITED)
    union = 0
    for i in range(n):
        if peek32(split_field(w, i, 2)) == at.SPLIT_AT_WARPSYNC:
            union |= peek32(split_field(w, i, 0))
    if union == 0:
        return False
    released = False
    for i in range(n):
        if peek32(split_field(w, i, 2)) != at.SPLIT_AT_WARPSYNC:
            continue
        need = peek32(split_field(w, i, 3)) & ~exited
        if need & ~union == 0:
            poke32(split_field(w, i, 2), at.SPLIT_READY)
            poke32(split_field(w, i, 3), 1)
            released = True
    if not released:
        return False
    i = 0
    while i < peek32(w + at.WARP_SPLITS):
        if peek32(split_field(w, i, 2)) == at.SPLIT_READY and peek32(split_field(w, i, 3)) == 1:
            poke32(split_field(w, i, 3), 0)
            j = i + 1
            while j < peek32(w + at.WARP_SPLITS):
                same = peek32(split_field(w, j, 1)) == peek32(split_field(w, i, 1))
                if same and peek32(split_field(w, j, 3)) == 1 and (
                    peek32(split_field(w, j, 2)) == at.SPLIT_READY
                ):
                    merged = peek32(split_field(w, i, 0)) | peek32(split_field(w, j, 0))
                    poke32(split_field(w, i, 0), merged)
                    remove_split(w, j)
                else:
                    j += 1
        i += 1
    return True


@native
def lowest_lane(mask: int) -> int:
    """Number of the lowest lane of a mask; 31 if it has none."""
    lane: int = lowest_bit(mask | (1 << 31))
    return lane


@native
def participants(w: int, number: int, mask: int) -> int:
    """The participants of a convergence barrier as the lanes of `mask` know them."""
    lanes: int = peek32(w + at.WARP_BARRIERS + 128 * number + 4 * lowest_lane(mask))
    return lanes


@native
def meet(w: int, number: int, need: int, union: int, forced: bool) -> bool:
    """Resumes the splits that wait at one convergence barrier if all participants are there.

    `union` holds lanes that are about to wait and are not in the table. `forced`: lanes that rest
    in a YIELD are not waited for. So an H200 does it; those that wait here leave the barrier.
    """
    exited = peek32(w + at.WARP_EXITED)
    arriving, pc = union, -1
    for i in range(peek32(w + at.WARP_SPLITS)):
        if peek32(split_field(w, i, 2)) == at.SPLIT_AT_BSYNC and (
            peek32(split_field(w, i, 3)) == number
        ):
            lanes = peek32(split_field(w, i, 0))
            if participants(w, number, lanes) == need:
                union |= lanes
                pc = peek32(split_field(w, i, 1))
    missing = need & ~(union | exited) & _FULL
    if missing != 0 and not (forced and missing & ~peek32(w + at.WARP_YIELDED) & _FULL == 0):
        return False
    i = 0
    while i < peek32(w + at.WARP_SPLITS):
        if (
            peek32(split_field(w, i, 2)) == at.SPLIT_AT_BSYNC
            and peek32(split_field(w, i, 3)) == number
            and participants(w, number, peek32(split_field(w, i, 0))) == need
        ):
            remove_split(w, i)
        else:
            i += 1
    if missing != 0:
        for lane in range(32):  # nobody waits at this barrier for lanes that have left it
            place = w + at.WARP_BARRIERS + 128 * number + 4 * lane
            if not (union >> lane) & 1:
                poke32(place, peek32(place) & ~union)
        if arriving == 0:
            add_split(w, union, pc, at.SPLIT_READY, 0, False)
            return True
    poke32(w + at.WARP_MASK, union)
    if pc >= 0:
        poke32(w + at.WARP_PC, pc)
    return True


@native
def bsync(w: int) -> bool:
    """A split has reached BSYNC without its fellows. True: they all wait, go on together."""
    mask, number = peek32(w + at.WARP_MASK), peek32(w + at.WARP_ARGS)
    pc = peek32(w + at.WARP_PC)
    if meet(w, number, participants(w, number, mask), mask, True):
        poke32(w + at.WARP_PC, pc)
        return True
    add_split(w, mask, pc, at.SPLIT_AT_BSYNC, number, False)
    return False


@native
def meet_any(w: int, forced: bool) -> bool:
    """Tries every convergence barrier at which some split waits."""
    for i in range(peek32(w + at.WARP_SPLITS)):
        if peek32(split_field(w, i, 2)) == at.SPLIT_AT_BSYNC:
            number = peek32(split_field(w, i, 3))
            need = participants(w, number, peek32(split_field(w, i, 0)))
            if meet(w, number, need, 0, forced):
                return True
    return False


@native
def unstick(w: int) -> bool:
    """Frees one group that waits at BSYNC for lanes that themselves wait at another BSYNC.

    Compiled switches on sm_100 and later leave a BSSY.RELIABLE region without BREAK on some paths,
    so such a wait must end. The group with the fewest participants stands in the innermost region.
    """
    blocked = 0
    for i in range(peek32(w + at.WARP_SPLITS)):
        if peek32(split_field(w, i, 2)) == at.SPLIT_AT_BSYNC:
            blocked |= peek32(split_field(w, i, 0))
    exited = peek32(w + at.WARP_EXITED)
    best, fewest = -1, 33
    for i in range(peek32(w + at.WARP_SPLITS)):
        if peek32(split_field(w, i, 2)) != at.SPLIT_AT_BSYNC:
            continue
        number = peek32(split_field(w, i, 3))
        need = participants(w, number, peek32(split_field(w, i, 0))) & ~exited
        if need & ~blocked == 0 and population(need) < fewest:
            best, fewest = i, population(need)
    if best < 0:
        return False
    number = peek32(split_field(w, best, 3))
    need = participants(w, number, peek32(split_field(w, best, 0)))
    resting = peek32(w + at.WARP_YIELDED)
    poke32(w + at.WARP_YIELDED, blocked)
    freed: bool = meet(w, number, need, 0, True)
    poke32(w + at.WARP_YIELDED, resting)
    return freed


@native
def circle_of(w: int, state: int) -> tuple[int, int, int]:
    """(lanes at BSYNC, lanes that wait in another `state`, lanes that those at BSYNC wait for)."""
    joining, waiting, awaited = 0, 0, 0
    for i in range(peek32(w + at.WARP_SPLITS)):
        lanes = peek32(split_field(w, i, 0))
        if peek32(split_field(w, i, 2)) == at.SPLIT_AT_BSYNC:
            joining |= lanes
            awaited |= participants(w, peek32(split_field(w, i, 3)), lanes)
        elif peek32(split_field(w, i, 2)) == state:
            waiting |= lanes
    return joining, waiting, awaited


@native
def give_up_warpsync(w: int) -> bool:
    """Frees lanes that wait at WARPSYNC for lanes that wait at BSYNC for them.

    Up to sm_89 `if (t < 2) __syncwarp();` compiles to such a circle: the mask names all lanes, and
    the others have gone on to the end of the branch. numba's reductions do it, and end on hardware.
    """
    exited = peek32(w + at.WARP_EXITED)
    joining, syncing, awaited = circle_of(w, at.SPLIT_AT_WARPSYNC)
    if syncing == 0 or awaited & ~(joining | syncing | exited) & _FULL != 0:
        return False
    freed = False
    for i in range(peek32(w + at.WARP_SPLITS)):
        if peek32(split_field(w, i, 2)) == at.SPLIT_AT_WARPSYNC and (
            peek32(split_field(w, i, 3)) & ~(joining | syncing | exited) & _FULL == 0
        ):
            poke32(split_field(w, i, 2), at.SPLIT_READY)
            poke32(split_field(w, i, 3), 0)
            freed = True
    return freed


@native
def can_go_on(w: int) -> bool:
    """Whether some split of a warp is ready, or may look again."""
    for i in range(peek32(w + at.WARP_SPLITS)):
        state = peek32(split_field(w, i, 2))
        if state == at.SPLIT_READY or state == at.SPLIT_LOOKS:
            return True
    return False


@native
def take_ready(w: int) -> None:
    """Lanes that are ready at the same place as the running split go with it from here on.

    An H200 does so where a YIELD gives way and where its lanes go on, and not elsewhere.
    """
    i, pc = 0, peek32(w + at.WARP_PC)
    while i < peek32(w + at.WARP_SPLITS):
        if peek32(split_field(w, i, 2)) == at.SPLIT_READY and peek32(split_field(w, i, 1)) == pc:
            poke32(w + at.WARP_MASK, peek32(w + at.WARP_MASK) | peek32(split_field(w, i, 0)))
            remove_split(w, i)
        else:
            i += 1


@native
def pick_split(w: int, strict_masks: int) -> bool:
    """Makes a runnable split current; False if there is none.

    With strict masks, lanes that a WARPSYNC names are waited for even where they never come.
    """
    if meet_any(w, False):
        return True
    for _ in range(3):
        for i in range(peek32(w + at.WARP_SPLITS) - 1, -1, -1):
            if peek32(split_field(w, i, 2)) == at.SPLIT_READY:
                poke32(w + at.WARP_MASK, peek32(split_field(w, i, 0)))
                poke32(w + at.WARP_PC, peek32(split_field(w, i, 1)))
                remove_split(w, i)
                resting = peek32(w + at.WARP_YIELDED)
                if resting & peek32(w + at.WARP_MASK) != 0:
                    take_ready(w)
                poke32(w + at.WARP_YIELDED, resting & ~peek32(w + at.WARP_MASK))
                return True
        if release_warpsync(w):
            continue
        if can_go_on(w):
            return False  # those that look at memory may still come
        if not unstick(w) and (strict_masks != 0 or not give_up_warpsync(w)):
            return False
    return False


@native
def rotate(w: int, rests: bool) -> None:
    """The running split goes below all others; if it rests, lanes at BSYNC do not wait for it."""
    mask = peek32(w + at.WARP_MASK)
    add_split(w, mask, peek32(w + at.WARP_PC), at.SPLIT_READY, 0, True)
    poke32(w + at.WARP_MASK, 0)
    if rests:
        poke32(w + at.WARP_YIELDED, peek32(w + at.WARP_YIELDED) | mask)
        meet_any(w, True)


@native
def look_again(w: int) -> bool:
    """Makes the splits that wait for a write ready; True if others were, or one is current."""
    others = peek32(w + at.WARP_MASK) != 0
    for i in range(peek32(w + at.WARP_SPLITS)):
        state = peek32(split_field(w, i, 2))
        if state == at.SPLIT_READY:
            others = True
        elif state == at.SPLIT_LOOKS:
            poke32(split_field(w, i, 2), at.SPLIT_READY)
    return bool(others)


def release_grid(w: int) -> bool:
    """Lets the splits of a warp go on that wait at the grid's barrier; whether there were any."""
    found = False
    for i in range(ctypes.c_uint32.from_address(w + at.WARP_SPLITS).value):
        state = ctypes.c_uint32.from_address(w + at.WARP_SPLIT_TABLE + at.SPLIT_SIZE * i + 8)
        if state.value == at.SPLIT_AT_GRID:
            state.value = at.SPLIT_READY
            found = True
    return found


def part_from_grid(w: int) -> bool:
    """Frees lanes that wait at BSYNC for lanes at the grid's barrier; whether there were any.

    So an H200 does it where only some lanes of a warp call the barrier.
    """
    waiting = 0
    for i in range(ctypes.c_uint32.from_address(w + at.WARP_SPLITS).value):
        base = w + at.WARP_SPLIT_TABLE + at.SPLIT_SIZE * i
        mask, _, state = (ctypes.c_uint32.from_address(base + 4 * k).value for k in range(3))
        if state == at.SPLIT_AT_GRID:
            waiting |= mask
    resting = ctypes.c_uint32.from_address(w + at.WARP_YIELDED)
    kept = resting.value
    resting.value = waiting
    freed = bool(waiting) and bool(meet_any(w, True))
    resting.value = kept
    return freed


@native
def put_aside(w: int) -> None:
    """The running split waits for a write: it looks again when others have run."""
    add_split(w, peek32(w + at.WARP_MASK), peek32(w + at.WARP_PC), at.SPLIT_LOOKS, at.IN_POOL, True)
    poke32(w + at.WARP_MASK, 0)


@native
def same_target(w: int, lanes: int, absolute: bool) -> int:
    """Those of `lanes` that jump where the lowest of them does."""
    lane = lowest_lane(lanes)
    low = peek32(w + at.WARP_TARGETS + 4 * lane)
    high = peek32(w + at.WARP_TARGETS_HIGH + 4 * lane)
    same = 0
    for j in range(32):
        if (lanes >> j) & 1 and peek32(w + at.WARP_TARGETS + 4 * j) == low and (
            not absolute or peek32(w + at.WARP_TARGETS_HIGH + 4 * j) == high
        ):
            same |= 1 << j
    return same


@native
def has_hook(w: int, control: Ints, mask: int) -> bool:
    """Whether lanes call a function that is served outside; the others come back to the jump."""
    rest = mask
    while rest != 0:
        same = same_target(w, rest, True)
        lane = lowest_lane(same)
        if peek32(w + at.WARP_TARGETS_HIGH + 4 * lane) == at.HOOK_WINDOW_HIGH:
            control[HOOK] = peek32(w + at.WARP_TARGETS + 4 * lane)
            control[MASK] = same
            poke32(w + at.WARP_MASK, mask & ~same)
            return True
        rest &= ~same
    return False


@native
def resolve_targets(w: int, control: Ints, code_map: Ints) -> int:
    """Splits the lanes of an indirect jump by target. 0: go on, 1: hook, 2: bad address.

    As recorded on an H200, the lanes that go where the lowest lane goes are split off; they run
    first if they are not more than those left at the jump and those put off by it before. The lanes
    that are left jump again, and those put off run when all others wait or have ended.
    """
    mask = peek32(w + at.WARP_MASK)
    absolute = peek32(w + at.WARP_ARGS) == at.INDIRECT_ABSOLUTE
    if absolute and has_hook(w, control, mask):
        return 1
    rest = mask
    bottom = peek32(w + at.WARP_SPLITS)  # of the table; above it those put off, then those left
    put_off = 0
    current_mask = current_pc = 0
    while rest != 0:
        same = same_target(w, rest, absolute)
        lane = lowest_lane(same)
        low = peek32(w + at.WARP_TARGETS + 4 * lane)
        high = peek32(w + at.WARP_TARGETS_HIGH + 4 * lane)
        rest &= ~same
        index = low >> 4
        if index >= code_map.size or low & 15 or code_map[index] < 0 or (
            low == 0  # a null function pointer: the kernel's own first instruction is no target
            or (absolute and high not in (at.CODE_WINDOW_HIGH, 0))
        ):
            control[MASK] = same
            return 2
        waits = rest != 0 and population(same) > population(rest) + put_off
        if not waits and current_mask == 0:
            current_mask, current_pc = same, code_map[index]
            continue
        insert_split(w, bottom, same, code_map[index], at.SPLIT_READY, 0)
        if waits:
            bottom += 1
            put_off += population(same)
    poke32(w + at.WARP_MASK, current_mask)
    poke32(w + at.WARP_PC, current_pc)
    return 0
