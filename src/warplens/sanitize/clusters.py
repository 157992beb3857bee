"""Blocks of a cluster: their barrier, and whose shared memory an address lies in.

The blocks of a cluster stand in neighbouring slots, in the order of their ranks. Their barrier is
a strong variable, written at the arrival, which releases by the fence before it, and acquired
behind the wait: two of them, taken in turn, since nobody arrives at a phase before all have left
the one before the last.
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import fill_zero, poke64
from warplens.lift import layout as at
from warplens.sanitize import clocks
from warplens.sanitize import state as st
from warplens.sanitize.native import lowest_bit, peek32, peek64

_BARRIERS = 1 << 43  # above the keys of shared memory


@native
def first_of(head: int, block: int) -> int:
    """The linear index of the first block of a block's cluster."""
    gx, gy = peek64(head + 8 * st.GRID_X), peek64(head + 8 * st.GRID_Y)
    cx, cy = peek64(head + 8 * st.CLUSTER_X), peek64(head + 8 * st.CLUSTER_Y)
    cz = peek64(head + 8 * st.CLUSTER_Z)
    x, y, z = block % gx, block // gx % gy, block // (gx * gy)
    return (x - x % cx) + gx * ((y - y % cy) + gy * (z - z % cz))


@native
def fellow(head: int, block: int, rank: int) -> int:
    """The linear index of the block with a rank in a block's cluster."""
    gx, gy = peek64(head + 8 * st.GRID_X), peek64(head + 8 * st.GRID_Y)
    cx, cy = peek64(head + 8 * st.CLUSTER_X), peek64(head + 8 * st.CLUSTER_Y)
    x, y, z = rank % cx, rank // cx % cy, rank // (cx * cy)
    return first_of(head, block) + x + gx * (y + gy * z)


@native
def record_of(head: int, env: int, rank: int) -> int:
    """The record of the slot of a block of the cluster, begun anew if another block was there."""
    own = peek64(env + 8 * at.ENV_CLUSTER_RANK) >> 24
    number = peek64(env + 8 * at.ENV_SLOT) - own + rank
    slot = peek64(head + 8 * st.SLOTS) + number * peek64(head + 8 * st.SLOT_BYTES)
    block = fellow(head, peek64(env + 8 * at.ENV_BLOCK), rank)
    if peek64(slot + peek64(head + 8 * st.AT_BLOCK)) != block + 1:
        clocks.begin_block(head, slot, block)
    return slot


@native
def shared_key(head: int, slot: int) -> int:
    """What the keys of synchronisation variables in a slot's shared memory begin at."""
    if peek64(head + 8 * st.CLUSTER) <= 1:
        return 1 << 42
    number = (slot - peek64(head + 8 * st.SLOTS)) // peek64(head + 8 * st.SLOT_BYTES)
    return (1 << 42) + (number << 24)


@native
def barrier_key(head: int, slot: int, block: int, phase: int) -> int:
    """The key of a cluster's barrier in a phase; its row begins anew with each cluster."""
    number = (slot - peek64(head + 8 * st.SLOTS)) // peek64(head + 8 * st.SLOT_BYTES)
    key = _BARRIERS + (2 * (number - number % peek64(head + 8 * st.CLUSTER)) + (phase & 1)) * 8
    row = clocks.sync_variable(head, key, True)
    tag = first_of(head, block) + 1
    if row != 0 and peek64(row + 16) != tag:
        poke64(row + 16, tag)
        poke64(row + 8, 0)
        head_bytes = 8 * st.SYNC_HEAD
        fill_zero(row + head_bytes, peek64(head + 8 * st.SYNC_ROW_BYTES) - head_bytes)
    return key


@native
def at_barrier(head: int, slot: int, block: int, w: int, lanes: int, arrives: bool) -> None:
    """A warp arrives at the cluster's barrier, or waits at it: it has passed when it goes on."""
    warp = peek32(w + at.WARP_INDEX)
    place = slot + peek64(head + 8 * st.AT_CLUSTER) + 16 * warp
    if not arrives:
        poke64(place + 8, lanes)
        return
    phase = peek64(place)
    key = barrier_key(head, slot, block, phase)
    clocks.publish(head, slot, block, warp, key, True)
    clocks.publish(head, slot, block, warp, key, False)
    live = ~peek32(w + at.WARP_EXITED) & 0xFFFFFFFF
    if (lanes >> lowest_bit(live)) & 1:  # the parts of a divided warp arrive once
        poke64(place, phase + 1)


@native
def passed(head: int, slot: int, block: int, w: int, lanes: int) -> None:
    """Lanes do something: if they waited at the cluster's barrier, they know what it orders."""
    warp = peek32(w + at.WARP_INDEX)
    place = slot + peek64(head + 8 * st.AT_CLUSTER) + 16 * warp
    if peek64(place + 8) & lanes == 0:
        return
    poke64(place + 8, 0)
    key = barrier_key(head, slot, block, peek64(place) - 1)
    clocks.observe_strong(head, slot, block, warp, key, True)
