"""What every followed access goes through: order by strong accesses, then the race checks."""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import poke32, poke64
from warplens.lift import layout as at
from warplens.sanitize import clocks, lane_clocks, locks, shadow
from warplens.sanitize import state as st
from warplens.sanitize.apart import publish_copy
from warplens.sanitize.memcheck import ADDRESSES, OFFSETS
from warplens.sanitize.native import peek32, peek64
from warplens.sanitize.races import races_of_lanes, races_of_warp

VALUES, SWAPS = at.WARP_SCRATCH + 128 * 2, at.WARP_SCRATCH + 128 * 10  # of an exchange


@native
def is_untracked(row: int, kind: int) -> bool:
    """Whether reads of an allocation need no shadow yet: nobody has written it.

    If somebody does later, the pass is run again with this allocation tracked from the start.
    """
    seen = peek64(row + 8 * st.S_SEEN)
    if kind == at.ACCESS_READ:
        if seen & st.SEEN_WRITE or peek64(row + 8 * st.S_TRACKED):
            return False
        poke64(row + 8 * st.S_SEEN, seen | st.SEEN_READ)
        return True
    if seen & st.SEEN_WRITE == 0:
        first = st.SEEN_READ_FIRST if seen & st.SEEN_READ else 0
        poke64(row + 8 * st.S_SEEN, seen | st.SEEN_WRITE | first)
    return False


@native
def grid_round(head: int, slot: int, kind: int) -> int:
    """Whether the grid meets for an odd or an even time: who waits need not know what others do
    before they meet again, even if it looks late."""
    count = slot + peek64(head + 8 * st.AT_FLAGS) + 8
    if kind != at.ACCESS_READ:
        poke64(count, peek64(count) + 1)
    return peek64(count) & 1


@native
def order_strong(head: int, slot: int, block: int, w: int, flags: int, mask: int, space: int,
                 kind: int, size: int, base: int, memory: int) -> None:  # fmt: skip
    """Strong accesses publish what their warp fenced and learn what others published.

    Each of the words that an access of `size` bytes touches is a variable of its own: locks lie
    side by side, and a wide atomic may be read by halves. `base` tells shared memory's addresses
    from global ones; `memory` is how far the words themselves lie above their keys.
    """
    if peek64(head + 8 * st.MODE) == st.MODE_LANE:
        if peek64(head + 8 * st.HAS_FENCES) != 0:
            lane_clocks.order_lanes(head, slot, block, w, flags, mask, space, kind, size, base)
        return
    warp = peek32(w + at.WARP_INDEX)
    begun = 0
    locked = peek64(head + 8 * st.LOCKS) != 0 and peek64(head + 8 * st.LOCKS_LOST) == 0
    sets = peek64(head + 8 * st.LOCK_SETS) != 0
    if flags & st.F_RELEASE:
        if flags & st.F_COPY_COMMIT and peek64(head + 8 * st.HAS_ASYNC) != 0:
            clocks.close_copies(head, slot, warp)  # who waits at the mbarrier waits for them
            clocks.await_copies(head, slot, warp, 0)
        begun = peek64(slot + peek64(head + 8 * st.AT_CLOCKS) + 8 * warp)
        wide = st.F_WIDE_FENCE if flags & st.F_FAR_RELEASE else 0
        clocks.fence(head, slot, block, warp, st.F_FENCE | wide)
    fenced = slot + peek64(head + 8 * st.AT_FENCED) + 16 * warp
    can_publish = kind != at.ACCESS_READ and (peek64(fenced) != 0 or peek64(fenced + 8) != 0)
    may_learn = kind != at.ACCESS_WRITE and peek64(head + 8 * st.N_SYNC) != 0
    if not can_publish and not may_learn and not locked:
        return
    at_once = flags & st.F_AT_ONCE != 0
    wide = flags & st.F_BLOCK_SCOPE == 0 and shadow.names_blocks(head, space)
    words = 1 if size < 8 else size >> 2
    previous = -1
    for lane in range(32):
        if (mask >> lane) & 1 == 0:
            continue
        if space == at.SPACE_GLOBAL:
            key = peek64(w + ADDRESSES + 8 * lane)
        else:
            key = base + peek32(w + OFFSETS + 4 * lane)
        key &= ~3
        if flags & st.F_GRID:
            key |= grid_round(head, slot, kind)
        if key == previous:
            continue
        previous = key
        row = locks.known_lock(head, locks.name_of(space, block, key)) if sets else 0
        use = locks.NO_LOCK
        if row != 0:
            use = locks.use_by_lane(head, row, block, w, lane, flags, kind, size, memory + key)
        elif locked and not sets:
            locks.find_lock(
                head, block, w, lane, flags, space, kind, size, key, memory + key
            )
        if use == locks.FAILS:
            continue
        if use == locks.TAKES:
            locks.begin_section(head, slot, block, warp, peek64(row))
        for _ in range(words):
            if may_learn and use != locks.LEAVES and clocks.observe_strong(
                head, slot, block, warp, key, at_once
            ) and use == locks.NO_LOCK:
                locks.keep_learned(head, slot, warp)
            if can_publish and use != locks.TAKES:
                clocks.publish(head, slot, block, warp, key, False)
                if flags & st.F_BULK_COMMIT:  # of tensor memory: for who waits at the mbarrier
                    publish_copy(head, slot, block, warp, key, begun)
                if wide:
                    clocks.publish(head, slot, block, warp, key, True)
            key += 4
        if use == locks.LEAVES:
            locks.end_section(head, slot, block, warp, peek64(row))


@native
def seen_bytes(flags: int, size: int) -> int:
    """The bytes of an access that the program uses."""
    return size - 4 * (flags >> st.F_UNREAD & 3)


@native
def narrowed(w: int, lanes: int, space: int) -> int:
    """Puts the addresses of exchanges of a word to the half that they are for.

    That is the half in which what is compared differs from what is stored; returns the lanes
    where there is a difference.
    """
    found = 0
    for lane in range(32):
        if (lanes >> lane) & 1 == 0:
            continue
        old, new = peek32(w + VALUES + 4 * lane), peek32(w + SWAPS + 4 * lane)
        if old == new:
            continue
        found |= 1 << lane
        high = 2 if (old ^ new) & 0xFFFF == 0 else 0
        if space == at.SPACE_GLOBAL:
            poke64(w + ADDRESSES + 8 * lane, peek64(w + ADDRESSES + 8 * lane) + high)
        else:
            poke32(w + OFFSETS + 4 * lane, peek32(w + OFFSETS + 4 * lane) + high)
    return found


@native
def beside_row(head: int, row: int) -> int:
    """How far the second cell of a word lies behind its first, in an allocation's shadow."""
    size = (peek64(row + 8 * st.S_BYTES) + 3) // 4 * 4
    return (size >> peek64(head + 8 * st.CELL_SHIFT)) * st.CELL_BYTES


@native
def beside_shared(head: int) -> int:
    """The same in the shadow of a block's shared memory."""
    cells = peek64(head + 8 * st.SHARED_BYTES) >> peek64(head + 8 * st.CELL_SHIFT)
    return cells * st.CELL_BYTES


@native
def check_races(head: int, slot: int, w: int, inst: int, mask: int, space: int, kind: int,
                size: int, base: int, host: int, cells: int, beside: int,
                block: int) -> None:  # fmt: skip
    """Between warps, or between the lanes of a warp."""
    if peek64(head + 8 * st.MODE) == st.MODE_LANE:
        races_of_lanes(
            head, slot, w, inst, mask, space, kind, size, base, host, cells, beside, block
        )
    else:
        races_of_warp(
            head, slot, w, inst, mask, space, kind, size, base, host, cells, beside, block
        )
