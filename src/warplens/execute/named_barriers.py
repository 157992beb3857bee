"""A block's named barriers: who has arrived, and whom a complete one lets go on.

Functions over the arrays of run_layout.py and raw warp records (lift/layout.py).
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.clusters import leave_cluster
from warplens.execute.native import call_release, peek32, poke32, population
from warplens.execute.run_layout import (
    BARRIER_LANES,
    BARRIER_MODE,
    BARRIER_NEED,
    BARRIER_ROUNDED,
    BARRIER_TABLED,
    BARRIER_TALLY,
    BLOCK_ALIVE,
    BLOCK_BARRIERS,
    CLUSTER_ALIVE,
    CLUSTER_ARRIVED,
    CLUSTER_BLOCKS,
    ENV_ADDRESS,
    N_BARRIER,
    OBSERVE_RELEASE,
    WARP_PARKED,
    WARP_READY,
    WARPS,
)
from warplens.execute.splits import Ints, add_split, split_field
from warplens.lift import layout as at

_FULL = 0xFFFFFFFF


@native
def release_splits(slot: int, i: int, number: int, result: int, arrived: Ints, warps: Ints,
                   states: Ints) -> None:  # fmt: skip
    """Frees the splits of a divided warp that wait at a named barrier."""
    arrived[slot, number, i] = 0
    w = warps[slot, i]
    for j in range(peek32(w + at.WARP_SPLITS)):
        if (
            peek32(split_field(w, j, 2)) == at.SPLIT_AT_BARRIER
            and peek32(split_field(w, j, 3)) == number
        ):
            poke32(split_field(w, j, 2), at.SPLIT_READY)
            poke32(split_field(w, j, 3), at.IN_POOL)
            poke32(w + at.WARP_BAR_RESULT, result)
            states[slot, i] = WARP_READY


@native
def release_barrier(slot: int, number: int, control: Ints, barriers: Ints, arrived: Ints,
                    warps: Ints, states: Ints) -> None:  # fmt: skip
    """Lets everyone who waits at a named barrier go on, with the reduction's result."""
    if control[OBSERVE_RELEASE] != 0 and number < at.FIRST_WARPGROUP_BARRIER:
        call_release(control[OBSERVE_RELEASE], control[ENV_ADDRESS], slot, number)
    tally = barriers[slot, number, BARRIER_TALLY]
    mode = barriers[slot, number, BARRIER_MODE]
    lanes = barriers[slot, number, BARRIER_LANES]
    result = tally
    if mode == at.BARRIER_AND:
        result = 1 if tally == lanes else 0
    elif mode == at.BARRIER_OR:
        result = 1 if tally > 0 else 0
    tabled = barriers[slot, number, BARRIER_TABLED] != 0
    for i in range(control[WARPS]):
        if states[slot, i] == WARP_PARKED + number:
            states[slot, i] = WARP_READY
            if mode != 0:
                poke32(warps[slot, i] + at.WARP_BAR_RESULT, result)
        if tabled:
            release_splits(slot, i, number, result, arrived, warps, states)
    for k in range(N_BARRIER):
        barriers[slot, number, k] = 0


@native
def is_complete(slot: int, number: int, blocks: Ints, barriers: Ints) -> bool:
    """Whether all that a named barrier waits for have come."""
    lanes = barriers[slot, number, BARRIER_LANES]
    need = barriers[slot, number, BARRIER_NEED]
    if need == 0:
        return bool(lanes != 0 and lanes >= blocks[slot, BLOCK_ALIVE])
    return bool(lanes != 0 and barriers[slot, number, BARRIER_ROUNDED] >= need)


@native
def check_barrier(slot: int, number: int, control: Ints, blocks: Ints, barriers: Ints,
                  arrived: Ints, warps: Ints, states: Ints) -> None:  # fmt: skip
    """Releases a named barrier if it is complete."""
    if is_complete(slot, number, blocks, barriers):
        release_barrier(slot, number, control, barriers, arrived, warps, states)


@native
def arrive(slot: int, i: int, w: int, control: Ints, blocks: Ints, barriers: Ints, arrived: Ints,
           warps: Ints, states: Ints) -> bool:  # fmt: skip
    """A split arrives at the named barrier of its event. True: a whole warp that may go on or is
    parked; its record keeps mask and pc."""
    mask = peek32(w + at.WARP_MASK)
    number = peek32(w + at.WARP_ARGS)
    need = peek32(w + at.WARP_ARGS + 4)
    mode = peek32(w + at.WARP_ARGS + 8)
    ballot = peek32(w + at.WARP_ARGS + 12)
    lanes = population(mask)
    blocks[slot, BLOCK_BARRIERS] = max(blocks[slot, BLOCK_BARRIERS], number + 1)
    if peek32(w + at.WARP_SPLITS) == 0 and mode != at.BARRIER_ARRIVE:
        barriers[slot, number, BARRIER_LANES] += lanes
        barriers[slot, number, BARRIER_ROUNDED] += 32
        if need > 0:
            barriers[slot, number, BARRIER_NEED] = (need + 31) // 32 * 32
        if mode >= at.BARRIER_POPC:
            barriers[slot, number, BARRIER_MODE] = mode
            barriers[slot, number, BARRIER_TALLY] += population(ballot)
        states[slot, i] = WARP_PARKED + number
        if is_complete(slot, number, blocks, barriers):  # few arrivals are worth the call
            release_barrier(slot, number, control, barriers, arrived, warps, states)
        return True
    before = arrived[slot, number, i]
    alive = _FULL & ~peek32(w + at.WARP_EXITED)
    arrived[slot, number, i] = before | mask
    barriers[slot, number, BARRIER_LANES] += lanes
    rounded = lanes
    if before | mask == alive:
        rounded += 32 - population(alive)
    barriers[slot, number, BARRIER_ROUNDED] += rounded
    if need > 0:
        barriers[slot, number, BARRIER_NEED] = (need + 31) // 32 * 32
    if mode >= at.BARRIER_POPC:
        barriers[slot, number, BARRIER_MODE] = mode
        barriers[slot, number, BARRIER_TALLY] += population(ballot)
    if mode == at.BARRIER_ARRIVE:
        add_split(w, mask, peek32(w + at.WARP_PC), at.SPLIT_READY, 0, False)
    else:
        add_split(w, mask, peek32(w + at.WARP_PC), at.SPLIT_AT_BARRIER, number, False)
        barriers[slot, number, BARRIER_TABLED] += 1
    check_barrier(slot, number, control, blocks, barriers, arrived, warps, states)
    return False


@native
def note_exits(slot: int, i: int, w: int, control: Ints, blocks: Ints, barriers: Ints,
               arrived: Ints, seen: Ints, warps: Ints, states: Ints) -> None:  # fmt: skip
    """Counts lanes that ended since the last look; barriers may be complete without them."""
    exited = peek32(w + at.WARP_EXITED)
    new = exited & ~seen[slot, i]
    seen[slot, i] = exited
    blocks[slot, BLOCK_ALIVE] -= population(new)
    arrivals = blocks[slot, BLOCK_BARRIERS] + blocks[slot, CLUSTER_ARRIVED]
    if control[CLUSTER_BLOCKS] != 1 or arrivals != 0:
        open_without(slot, w, new, control, blocks, barriers, arrived, warps, states)
    else:
        blocks[slot, CLUSTER_ALIVE] -= population(new)


@native
def open_without(slot: int, w: int, ended: int, control: Ints, blocks: Ints, barriers: Ints,
                 arrived: Ints, warps: Ints, states: Ints) -> None:  # fmt: skip
    """Lanes have ended: whatever waited only for them goes on."""
    leave_cluster(slot, w, ended, control[WARPS], control, blocks, warps, states)
    for number in range(blocks[slot, BLOCK_BARRIERS]):
        if barriers[slot, number, BARRIER_LANES] > 0:
            check_barrier(slot, number, control, blocks, barriers, arrived, warps, states)
