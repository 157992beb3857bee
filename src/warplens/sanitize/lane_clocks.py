"""Happens-before between the lanes of a warp: what warps are to a block, lanes are to a warp here.

`known[a][b]` is the clock up to which all that lane b did is ordered before what lane a does next.
`__syncwarp()` joins the rows of the lanes that meet. A fence keeps the clock that a later strong
write publishes, and takes in what strong reads have seen. Shuffles and votes order no memory by
themselves; between fences they do what a strong write and a strong read would.
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import fill_zero, poke64
from warplens.lift import layout as at
from warplens.sanitize import clocks
from warplens.sanitize import state as st
from warplens.sanitize.memcheck import ADDRESSES, OFFSETS
from warplens.sanitize.native import lowest_bit, peek32, peek64


@native
def meet_lanes(head: int, slot: int, warp: int, mask: int) -> None:
    """The lanes of `mask` synchronise: each knows what any of them did."""
    known = slot + peek64(head + 8 * st.AT_LANE_KNOWN) + 8192 * warp
    own = slot + peek64(head + 8 * st.AT_LANE_CLOCKS) + 256 * warp
    fenced = peek64(head + 8 * st.HAS_FENCES) != 0
    if fenced:
        fence_lanes(head, slot, warp, mask, st.F_FENCE)
    first = -1
    for lane in range(32):
        if (mask >> lane) & 1 == 0:
            continue
        row = known + 256 * lane
        clocks.raise_to(row + 8 * lane, peek64(own + 8 * lane))
        if first < 0:
            first = lane
        else:
            clocks.join(known + 256 * first, row, 32)
    if first < 0:
        return
    clock = clocks.next_clock(head)
    for lane in range(32):
        if (mask >> lane) & 1 == 0:
            continue
        poke64(own + 8 * lane, clock)
        if lane != first:
            for k in range(32):
                poke64(known + 256 * lane + 8 * k, peek64(known + 256 * first + 8 * k))


@native
def fence_lanes(head: int, slot: int, warp: int, mask: int, flags: int) -> None:
    """MEMBAR, or the CCTL.IVALL of an acquire: what strong reads have seen is known now."""
    known = slot + peek64(head + 8 * st.AT_LANE_KNOWN) + 8192 * warp
    pending = slot + peek64(head + 8 * st.AT_LANE_PENDING) + 8192 * warp
    own = slot + peek64(head + 8 * st.AT_LANE_CLOCKS) + 256 * warp
    fenced = slot + peek64(head + 8 * st.AT_LANE_FENCED) + 256 * warp
    clock = clocks.next_clock(head)
    rest = mask
    while rest != 0:
        lane = lowest_bit(rest)
        rest &= rest - 1
        clocks.join(known + 256 * lane, pending + 256 * lane, 32)
        if flags & st.F_FENCE == 0:
            continue
        before = peek64(own + 8 * lane)
        clocks.raise_to(known + 256 * lane + 8 * lane, before)
        poke64(fenced + 8 * lane, before)
        poke64(own + 8 * lane, clock)


@native
def lane_variable(head: int, slot: int, block: int, warp: int, key: int, create: bool) -> int:
    """The row of what a warp's lanes publish to each other; begun anew with each block."""
    number = (slot - peek64(head + 8 * st.SLOTS)) // peek64(head + 8 * st.SLOT_BYTES)
    mixed = key ^ ((number + 1) << 44) ^ (warp << 57)
    row = clocks.sync_variable(head, mixed, create)
    if row != 0 and peek64(row + 16) != block + 1:
        poke64(row + 16, block + 1)
        fill_zero(row + 8 * st.SYNC_HEAD, 256)
    return row


@native
def publish_lane(head: int, slot: int, warp: int, lane: int, row: int) -> None:
    """Raises a row to what a lane knew at its last fence, its own doings included."""
    known = slot + peek64(head + 8 * st.AT_LANE_KNOWN) + 8192 * warp + 256 * lane
    fenced = slot + peek64(head + 8 * st.AT_LANE_FENCED) + 256 * warp
    for k in range(32):
        value = peek64(fenced + 8 * lane) if k == lane else peek64(known + 8 * k)
        clocks.raise_to(row + 8 * k, value)


@native
def order_lanes(head: int, slot: int, block: int, w: int, flags: int, mask: int, space: int,
                kind: int, size: int, base: int) -> None:  # fmt: skip
    """Strong accesses publish what their lanes fenced and learn what other lanes published."""
    warp = peek32(w + at.WARP_INDEX)
    if flags & st.F_RELEASE:
        fence_lanes(head, slot, warp, mask, st.F_FENCE)
    fenced = slot + peek64(head + 8 * st.AT_LANE_FENCED) + 256 * warp
    target = slot + 8192 * warp
    if flags & st.F_AT_ONCE:
        target += peek64(head + 8 * st.AT_LANE_KNOWN)
    else:
        target += peek64(head + 8 * st.AT_LANE_PENDING)
    words = 1 if size < 8 else size >> 2
    rest = mask
    while rest != 0:
        lane = lowest_bit(rest)
        rest &= rest - 1
        if space == at.SPACE_GLOBAL:
            key = peek64(w + ADDRESSES + 8 * lane)
        else:
            key = base + peek32(w + OFFSETS + 4 * lane)
        key &= ~3
        for _ in range(words):
            if kind != at.ACCESS_WRITE and peek64(head + 8 * st.N_SYNC) != 0:
                row = lane_variable(head, slot, block, warp, key, False)
                if row != 0:
                    clocks.join(target + 256 * lane, row + 8 * st.SYNC_HEAD, 32)
            if kind != at.ACCESS_READ and peek64(fenced + 8 * lane) != 0:
                row = lane_variable(head, slot, block, warp, key, True)
                if row != 0:
                    publish_lane(head, slot, warp, lane, row + 8 * st.SYNC_HEAD)
            key += 4


@native
def exchange(head: int, slot: int, warp: int, mask: int) -> None:
    """A shuffle or vote: lanes see what the others had fenced before, once they fence."""
    if peek64(head + 8 * st.HAS_FENCES) == 0 or mask == 0:
        return
    fenced = slot + peek64(head + 8 * st.AT_LANE_FENCED) + 256 * warp
    pending = slot + peek64(head + 8 * st.AT_LANE_PENDING) + 8192 * warp
    together = pending + 256 * lowest_bit(mask)
    rest = mask
    while rest != 0:
        lane = lowest_bit(rest)
        rest &= rest - 1
        if peek64(fenced + 8 * lane) != 0:
            publish_lane(head, slot, warp, lane, together)
    rest = mask & (mask - 1)
    while rest != 0:
        lane = lowest_bit(rest)
        rest &= rest - 1
        clocks.join(pending + 256 * lane, together, 32)


@native
def meet_groups(head: int, slot: int, w: int, warp: int, lanes: int, orders: bool) -> None:
    """Lanes that name the same mask meet, also with those that wait for them already."""
    rest = lanes
    while rest != 0:
        lane = lowest_bit(rest)
        own = peek32(w + at.WARP_SCRATCH + 4 * lane)
        group = 0
        for k in range(32):
            if (rest >> k) & 1 and peek32(w + at.WARP_SCRATCH + 4 * k) == own:
                group |= 1 << k
        rest &= ~group
        for j in range(peek32(w + at.WARP_SPLITS)):
            entry = w + at.WARP_SPLIT_TABLE + at.SPLIT_SIZE * j
            if peek32(entry + 8) == at.SPLIT_AT_WARPSYNC and peek32(entry + 12) == own:
                group |= peek32(entry)
        if orders:
            meet_lanes(head, slot, warp, group & own)
        else:
            exchange(head, slot, warp, group & own)
