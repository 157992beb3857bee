"""Thread block clusters: blocks that are resident together and meet at the cluster barrier.

The blocks of a cluster stand in neighbouring slots, the first at a multiple of the cluster's size,
in the order of their ranks. Functions over the runner's arrays, compiled by `warplens.compiled`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warplens.compiled import native
from warplens.execute.native import peek32, poke32, population
from warplens.execute.run_layout import (
    BLOCK_WAITING,
    CLUSTER_ALIVE,
    CLUSTER_ARRIVED,
    CLUSTER_BLOCKS,
    CLUSTER_X,
    CLUSTER_Y,
    CLUSTER_Z,
    WARP_READY,
)
from warplens.execute.splits import add_split, circle_of, split_field
from warplens.lift import layout as at

Ints = npt.NDArray[np.int64]


@native
def block_of(turn: int, gx: int, gy: int, control: Ints) -> int:
    """The linear index of the block that comes at a turn: cluster by cluster, rank by rank."""
    size = control[CLUSTER_BLOCKS]
    if size == 1:
        return turn
    cx, cy, cz = control[CLUSTER_X], control[CLUSTER_Y], control[CLUSTER_Z]
    cluster, rank = turn // size, turn % size
    nx, ny = gx // cx, gy // cy
    x = cluster % nx * cx + rank % cx
    y = cluster // nx % ny * cy + rank // cx % cy
    z = cluster // (nx * ny) * cz + rank // (cx * cy)
    return int(x + gx * (y + gy * z))


@native
def check_cluster(first: int, size: int, n_warps: int, blocks: Ints, warps: Ints,
                  states: Ints) -> None:  # fmt: skip
    """Lets the lanes of a cluster go on if all of them that have not ended have arrived."""
    arrived = blocks[first, CLUSTER_ARRIVED]
    if arrived == 0 or arrived < blocks[first, CLUSTER_ALIVE]:
        return
    blocks[first, CLUSTER_ARRIVED] = 0
    for slot in range(first, first + size):
        blocks[slot, BLOCK_WAITING] = 0
        for i in range(n_warps):
            w = warps[slot, i]
            poke32(w + at.WARP_CLUSTER, 0)
            for j in range(peek32(w + at.WARP_SPLITS)):
                if peek32(split_field(w, j, 2)) == at.SPLIT_AT_CLUSTER:
                    poke32(split_field(w, j, 2), at.SPLIT_READY)
                    states[slot, i] = WARP_READY


@native
def arrive_at_cluster(slot: int, w: int, n_warps: int, control: Ints, blocks: Ints, warps: Ints,
                      states: Ints) -> None:  # fmt: skip
    """The running split arrives at the cluster barrier and goes on."""
    mask, pending = peek32(w + at.WARP_MASK), peek32(w + at.WARP_CLUSTER)
    poke32(w + at.WARP_CLUSTER, pending | mask)
    size = control[CLUSTER_BLOCKS]
    first = slot - slot % size
    blocks[first, CLUSTER_ARRIVED] += population(mask & ~pending)
    check_cluster(first, size, n_warps, blocks, warps, states)


@native
def count_joining(slot: int, w: int, n_warps: int, control: Ints, blocks: Ints, warps: Ints,
                  states: Ints) -> None:  # fmt: skip
    """Of a warp that cannot go on: lanes at BSYNC arrive at the cluster barrier with those that
    they wait for, which wait there.

    ptxas 13.0 compiles an early return to such a circle for sm_100 and later, unoptimised. Its
    arrival is one uniform instruction for the warp, behind a WARPSYNC of all lanes.
    """
    joining, waiting, awaited = circle_of(w, at.SPLIT_AT_CLUSTER)
    pending = peek32(w + at.WARP_CLUSTER)
    others = awaited & ~(joining | waiting | peek32(w + at.WARP_EXITED))
    if waiting == 0 or joining & ~pending == 0 or others & 0xFFFFFFFF != 0:
        return
    poke32(w + at.WARP_CLUSTER, pending | joining)
    size = control[CLUSTER_BLOCKS]
    first = slot - slot % size
    blocks[first, CLUSTER_ARRIVED] += population(joining & ~pending)
    check_cluster(first, size, n_warps, blocks, warps, states)


@native
def waits_for_cluster(w: int) -> bool:
    """The running split waits at the cluster barrier: False if its phase is over, else parked."""
    mask = peek32(w + at.WARP_MASK)
    if mask & peek32(w + at.WARP_CLUSTER) == 0:
        return False
    add_split(w, mask, peek32(w + at.WARP_PC), at.SPLIT_AT_CLUSTER, 0, False)
    return True


@native
def leave_cluster(slot: int, w: int, ended: int, n_warps: int, control: Ints, blocks: Ints,
                  warps: Ints, states: Ints) -> None:  # fmt: skip
    """Lanes have ended: the cluster barrier no longer waits for them."""
    size = control[CLUSTER_BLOCKS]
    first = slot - slot % size
    pending = peek32(w + at.WARP_CLUSTER)
    poke32(w + at.WARP_CLUSTER, pending & ~ended)
    blocks[first, CLUSTER_ARRIVED] -= population(ended & pending)
    blocks[first, CLUSTER_ALIVE] -= population(ended)
    check_cluster(first, size, n_warps, blocks, warps, states)
