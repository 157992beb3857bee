"""Resident blocks: how one begins in a slot, and which slots are free.

Functions over the arrays of run_layout.py and raw warp records (lift/layout.py).
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.clusters import block_of
from warplens.execute.native import clear_lines, fill_zero, poke32, poke64
from warplens.execute.run_layout import (
    BLOCK_ALIVE,
    BLOCK_BARRIERS,
    BLOCK_CUT,
    BLOCK_INDEX,
    BLOCK_RUNNING,
    BLOCK_WAITING,
    BLOCK_YIELDS,
    CLUSTER_ALIVE,
    CLUSTER_ARRIVED,
    CLUSTER_BLOCKS,
    FUEL,
    GRID_X,
    GRID_Y,
    LAST_BLOCK,
    MAX_SLOTS,
    N_SLOTS,
    N_SM,
    NEXT_BLOCK,
    PAIR_BARRIER,
    PARTS,
    SHARED_BYTES,
    SHARED_TABLE,
    TENSOR_MEMORY,
    THREADS,
    WARP_READY,
    WARPS,
)
from warplens.execute.splits import Ints
from warplens.execute.tensor_memory.state import pair_barrier
from warplens.lift import layout as at

_FULL = 0xFFFFFFFF


@native
def start_block(slot: int, block: int, control: Ints, blocks: Ints, barriers: Ints, seen: Ints,
                warps: Ints, states: Ints, shared: Ints, zero_keys: Ints) -> None:  # fmt: skip
    """Puts a block into a slot: every warp at lifted block 0 with all its lanes."""
    n_warps, n_threads = control[WARPS], control[THREADS]
    blocks[slot, BLOCK_INDEX] = block
    blocks[slot, BLOCK_ALIVE] = n_threads
    blocks[slot, BLOCK_RUNNING] = 1
    blocks[slot, BLOCK_YIELDS] = 0
    blocks[slot, BLOCK_WAITING] = 0
    blocks[slot, BLOCK_CUT] = 0
    for number in range(blocks[slot, BLOCK_BARRIERS]):
        barriers[slot, number] = 0
    clear_lines(shared[slot], control[SHARED_BYTES])  # has bytes to spare behind its end
    if control[TENSOR_MEMORY] != 0:
        word = pair_barrier(slot % control[CLUSTER_BLOCKS])
        poke64(shared[slot] + control[PAIR_BARRIER], word)
    for i in range(n_warps):
        w = warps[slot, i]
        lanes = min(32, n_threads - 32 * i)
        mask = (1 << lanes) - 1
        poke32(w + at.WARP_MASK, mask)
        poke32(w + at.WARP_PC, 0)
        poke32(w + at.WARP_EXITED, _FULL & ~mask)
        poke32(w + at.WARP_CLUSTER, 0)
        poke32(w + at.WARP_SPLITS, 0)
        poke64(w + at.WARP_FUEL, control[FUEL])
        poke32(w + at.WARP_YIELDED, 0)
        fill_zero(w + at.WARP_PREDICATES, 64)
        for k in range(zero_keys.size):
            fill_zero(w + at.WARP_REGISTERS + 128 * zero_keys[k], 128)
        if control[PARTS] != 0:
            fill_zero(w + at.WARP_BARRIERS, 64)
            for number in range(16):
                poke32(w + at.WARP_BARRIERS + 128 * number, 0)
        seen[slot, i] = _FULL & ~mask
        states[slot, i] = WARP_READY


@native
def start_cluster(first: int, control: Ints, blocks: Ints, barriers: Ints, seen: Ints, warps: Ints,
                  states: Ints, shared: Ints, zero_keys: Ints) -> None:  # fmt: skip
    """Puts the next cluster, often one block, into the slots from `first` on."""
    size = control[CLUSTER_BLOCKS]
    for rank in range(size):
        slot = first + rank
        turn = control[NEXT_BLOCK] + rank
        block = block_of(turn, control[GRID_X], control[GRID_Y], control)
        start_block(slot, block, control, blocks, barriers, seen, warps, states, shared, zero_keys)
        poke64(control[SHARED_TABLE] + 8 * slot, shared[slot])
    blocks[first, CLUSTER_ARRIVED] = 0
    blocks[first, CLUSTER_ALIVE] = size * control[THREADS]
    control[NEXT_BLOCK] += size


@native
def fill_slots(control: Ints, blocks: Ints, barriers: Ints, seen: Ints, warps: Ints, states: Ints,
               shared: Ints, zero_keys: Ints) -> None:  # fmt: skip
    """Puts the first clusters into all slots, which are empty."""
    for first in range(0, min(control[N_SLOTS], control[MAX_SLOTS]), control[CLUSTER_BLOCKS]):
        if control[NEXT_BLOCK] < control[LAST_BLOCK]:
            start_cluster(first, control, blocks, barriers, seen, warps, states, shared, zero_keys)


@native
def is_free(first: int, control: Ints, blocks: Ints) -> bool:
    """Whether no block runs in the slots of a cluster."""
    for slot in range(first, first + control[CLUSTER_BLOCKS]):
        if blocks[slot, BLOCK_RUNNING] != 0:
            return False
    return True


@native
def free_slot(control: Ints, blocks: Ints) -> int:
    """The first slot of a cluster in which no block runs, or -1."""
    for first in range(0, control[N_SLOTS], control[CLUSTER_BLOCKS]):
        if is_free(first, control, blocks):
            return first
    return -1


@native
def enter_block(slot: int, control: Ints, env: Ints, blocks: Ints, shared: Ints) -> None:
    """Sets the environment for the block in a slot."""
    block = blocks[slot, BLOCK_INDEX]
    gx, gy = control[GRID_X], control[GRID_Y]
    env[at.ENV_BLOCK] = block
    row, rest = 0, block
    if block >= gx:  # divisions cost as much as all else here
        row = block // gx
        rest = block - row * gx
    env[at.ENV_CTAID] = rest
    plane = row // gy if row >= gy else 0
    env[at.ENV_CTAID + 1] = row - plane * gy
    env[at.ENV_CTAID + 2] = plane
    env[at.ENV_SHARED] = shared[slot]
    env[at.ENV_SLOT] = slot
    env[at.ENV_SMID] = block % control[N_SM]
    rank = slot % control[CLUSTER_BLOCKS] if control[CLUSTER_BLOCKS] > 1 else 0
    env[at.ENV_CLUSTER_RANK] = rank << 24
    env[at.ENV_CLUSTER_SHARED] = control[SHARED_TABLE] + 8 * (slot - rank)
