"""Warps whose lanes stay together, from one barrier of the block to the next.

What most warps do most of the time, without what divided warps need; whatever else comes up is left
to `warp_runner.run_warp`. Both leave the same in the arrays of run_layout.py and in warp records.
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import call_region, peek32, poke32, population
from warplens.execute.run_layout import (
    BARRIER_LANES,
    BARRIER_MODE,
    BARRIER_NEED,
    BARRIER_ROUNDED,
    BARRIER_TABLED,
    BLOCK_ALIVE,
    BLOCK_BARRIERS,
    CLUSTER_ALIVE,
    CLUSTER_ARRIVED,
    CLUSTER_BLOCKS,
    OBSERVE_RELEASE,
    PARTS,
    TURN,
    WARP_FINISHED,
    WARP_PARKED,
    WARP_READY,
    WARPS,
)
from warplens.execute.splits import Ints
from warplens.lift import layout as at

_FULL = 0xFFFFFFFF


@native
def has_whole_warps(control: Ints) -> bool:
    """Whether warps of a launch may run here: nobody looks on, no turns, clusters or parts."""
    others = control[OBSERVE_RELEASE] | control[PARTS] | control[TURN]
    return bool(others == 0 and control[CLUSTER_BLOCKS] == 1)


@native
def is_whole(w: int) -> bool:
    """Whether all lanes of a warp that have not ended run."""
    return bool(peek32(w + at.WARP_SPLITS) == 0 and peek32(w + at.WARP_MASK) != 0)


@native
def open_block(slot: int, control: Ints, barriers: Ints, states: Ints) -> None:
    """Lets all whole warps go on that wait at barrier 0."""
    barriers[slot, 0, BARRIER_LANES] = 0
    barriers[slot, 0, BARRIER_ROUNDED] = 0
    for k in range(control[WARPS]):
        if states[slot, k] == WARP_PARKED:
            states[slot, k] = WARP_READY


@native
def is_plain(slot: int, barriers: Ints) -> bool:
    """Whether whole warps alone wait at barrier 0, for all others."""
    kinds = barriers[slot, 0, BARRIER_NEED] | barriers[slot, 0, BARRIER_MODE]
    return bool(kinds | barriers[slot, 0, BARRIER_TABLED] == 0)


@native
def run_whole(slot: int, i: int, w: int, control: Ints, env: int, blocks: Ints, barriers: Ints,
              seen: Ints, states: Ints, regions: Ints, region_of: Ints) -> int:  # fmt: skip
    """Runs a whole warp until it is parked or has ended (0), or gives the event that needs more."""
    while True:
        event = call_region(regions[region_of[peek32(w + at.WARP_PC)]], w, env)
        if event == at.EVENT_JUMP:
            continue
        if peek32(w + at.WARP_SPLITS) != 0 or not is_plain(slot, barriers):
            return int(event)
        if event == at.EVENT_BARRIER:
            other = peek32(w + at.WARP_ARGS) | peek32(w + at.WARP_ARGS + 4)
            if other | peek32(w + at.WARP_ARGS + 8) != at.BARRIER_SYNC:
                return int(event)
            if peek32(w + at.WARP_EXITED) != seen[slot, i]:
                return int(event)
            lanes = barriers[slot, 0, BARRIER_LANES] + population(peek32(w + at.WARP_MASK))
            blocks[slot, BLOCK_BARRIERS] = max(blocks[slot, BLOCK_BARRIERS], 1)
            if lanes < blocks[slot, BLOCK_ALIVE]:
                barriers[slot, 0, BARRIER_LANES] = lanes
                barriers[slot, 0, BARRIER_ROUNDED] += 32
                states[slot, i] = WARP_PARKED
                return 0
            open_block(slot, control, barriers, states)
            continue
        if event != at.EVENT_DONE or peek32(w + at.WARP_EXITED) != _FULL or (
            blocks[slot, BLOCK_BARRIERS] > 1 or blocks[slot, CLUSTER_ARRIVED] != 0
        ):
            return int(event)
        ended = population(_FULL & ~seen[slot, i])
        seen[slot, i] = _FULL
        blocks[slot, BLOCK_ALIVE] -= ended
        blocks[slot, CLUSTER_ALIVE] -= ended
        poke32(w + at.WARP_MASK, 0)
        states[slot, i] = WARP_FINISHED
        lanes = barriers[slot, 0, BARRIER_LANES]
        if lanes != 0 and lanes >= blocks[slot, BLOCK_ALIVE]:
            open_block(slot, control, barriers, states)
        return 0
