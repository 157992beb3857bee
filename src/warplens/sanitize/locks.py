"""Lock sets: which words are locks, and what is ordered by nothing but the order of taking them.

A lock is a word that warps change from its free value by an exchange and that only its holder
changes back. The first pass finds them. A pass of its own then keeps what a warp
has learned from a lock for as long as it holds it: at the release the warp's clocks become those
of before. Two accesses that race now, and did not before, are ordered only by who came first.

A warp keeps what it has learned where that may tell it that it may go on: where under the lock it
has read what decides a branch or an address, synchronised in another way, or holds two locks. So
data that is handed over under a lock is no finding.
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import fill_zero, poke32, poke64
from warplens.lift import layout as at
from warplens.sanitize import clocks
from warplens.sanitize import state as st
from warplens.sanitize.memcheck import ADDRESSES
from warplens.sanitize.native import lowest_bit, peek32, peek64
from warplens.sanitize.records import fill

_VALUES, _SWAPS = at.WARP_SCRATCH + 128 * 2, at.WARP_SCRATCH + 128 * 10
NO_LOCK, TAKES, LEAVES, FAILS = range(4)


@native
def lock_of(head: int, key: int, create: bool) -> int:
    """The row of a word that may be a lock, or 0."""
    place = ((key * 0x9E3779B1) >> 8) & (st.LOCK_ROWS - 1)
    for _ in range(64):
        row = peek64(head + 8 * st.LOCKS) + 8 * st.LOCK_SLOTS * place
        if peek64(row) == key:
            return row
        if peek64(row) == 0:
            if create:
                poke64(row, key)
                return row
            return 0
        place = (place + 1) & (st.LOCK_ROWS - 1)
    if create:
        poke64(head + 8 * st.LOCKS_LOST, 1)
    return 0


@native
def use_of(row: int, flags: int, kind: int, old: int, value: int, swap: int, who: int) -> int:
    """What an access does to a lock, which is noted; NO_LOCK if it is none that a lock allows."""
    holder, free = peek64(row + 8 * st.L_HOLDER), peek64(row + 8 * st.L_FREE)
    new = value
    if flags & st.F_CAS:
        new = swap
        if old != value:
            return FAILS
    elif kind == at.ACCESS_READ:
        return FAILS
    elif flags & st.F_ATOMIC and flags & st.F_EXCHANGE == 0:
        return NO_LOCK
    if holder == who and new + 1 == free:
        poke64(row + 8 * st.L_HOLDER, 0)
        poke64(row + 8 * st.L_RELEASES, peek64(row + 8 * st.L_RELEASES) + 1)
        return LEAVES
    if flags & (st.F_CAS | st.F_EXCHANGE) == 0:
        return NO_LOCK
    if new == old:
        return FAILS
    if holder != 0 or (free != 0 and free != old + 1):
        return NO_LOCK
    poke64(row + 8 * st.L_HOLDER, who)
    poke64(row + 8 * st.L_FREE, old + 1)
    return TAKES


@native
def use_by_lane(head: int, row: int, block: int, w: int, lane: int, flags: int, kind: int,
                size: int, place: int) -> int:  # fmt: skip
    """The same for a lane's access to the word at a host address."""
    if size != 4:
        return NO_LOCK
    who = block * peek64(head + 8 * st.N_WARPS) + peek32(w + at.WARP_INDEX) + 1
    value, swap = peek32(w + _VALUES + 4 * lane), peek32(w + _SWAPS + 4 * lane)
    return use_of(row, flags, kind, peek32(place), value, swap, who)


@native
def name_of(space: int, block: int, key: int) -> int:
    """What a word is called among the locks: blocks have a shared memory each."""
    if space == at.SPACE_GLOBAL:
        return key
    return st.SHARED_LOCK | (block + 1) << 24 | key & st.SHARED_LOCK_OFFSET


@native
def find_lock(head: int, block: int, w: int, lane: int, flags: int, space: int, kind: int,
              size: int, key: int, place: int) -> None:  # fmt: skip
    """Notes how a strong access uses its word: like a lock, or not."""
    if kind == at.ACCESS_READ:
        return
    row = lock_of(head, name_of(space, block, key), True)
    if row != 0 and use_by_lane(head, row, block, w, lane, flags, kind, size, place) == NO_LOCK:
        poke64(row + 8 * st.L_OTHERS, 1)


@native
def known_lock(head: int, key: int) -> int:
    """The row of a word that the first pass has found to be a lock, or 0."""
    row = lock_of(head, key, False)
    if row != 0 and peek64(row + 8 * st.L_OTHERS) != 0:
        row = 0
    return row


@native
def keep_learned(head: int, slot: int, warp: int) -> None:
    """What this warp has learned from the lock that it holds counts behind it as well."""
    if peek64(head + 8 * st.LOCK_SETS) != 0:
        poke64(slot + peek64(head + 8 * st.AT_HOLDS) + 16 * warp + 8, 1)


@native
def begin_section(head: int, slot: int, block: int, warp: int, key: int) -> None:
    """A warp takes a lock: its clocks are kept, with what it has seen but not fenced yet."""
    hold = slot + peek64(head + 8 * st.AT_HOLDS) + 16 * warp
    if peek64(hold) != 0:
        poke64(hold + 8, 1)
        return
    poke64(hold, key)
    poke64(hold + 8, 0)
    n = peek64(head + 8 * st.COLUMNS)
    row = slot + peek64(head + 8 * st.AT_KEPT) + 8 * (n + 1) * warp
    fill_zero(row, 8 * n + 8)
    clocks.join(row, slot + peek64(head + 8 * st.AT_KNOWN) + 8 * n * warp, n)
    clocks.join(row, slot + peek64(head + 8 * st.AT_PENDING) + 8 * n * warp, n)
    floor = row + 8 * n
    poke64(floor, peek64(slot + peek64(head + 8 * st.AT_FLOORS) + 8 * warp))
    clocks.raise_to(floor, peek64(slot + peek64(head + 8 * st.AT_PENDING_FLOORS) + 8 * warp))
    if peek64(head + 8 * st.CROSS) != 0:
        total = peek64(head + 8 * st.TOTAL_WARPS)
        kept = slot + peek64(head + 8 * st.AT_KEPT_CROSS) + 4 * total * warp
        _copy_cross(kept, clocks.cross_row(head, block, warp), total)
        pending = slot + peek64(head + 8 * st.AT_PENDING_CROSS) + 4 * total * warp
        clocks.join_cross(kept, pending, total)


@native
def _copy_cross(target: int, source: int, n: int) -> None:
    for i in range(n):
        poke32(target + 4 * i, peek32(source + 4 * i))


@native
def end_section(head: int, slot: int, block: int, warp: int, key: int) -> None:
    """A warp has left a lock: it knows what it knew before it took it."""
    hold = slot + peek64(head + 8 * st.AT_HOLDS) + 16 * warp
    if peek64(hold) != key:
        return
    poke64(hold, 0)
    if peek64(hold + 8) != 0:
        return
    n = peek64(head + 8 * st.COLUMNS)
    kept = slot + peek64(head + 8 * st.AT_KEPT) + 8 * (n + 1) * warp
    known = slot + peek64(head + 8 * st.AT_KNOWN) + 8 * n * warp
    for i in range(n):
        poke64(known + 8 * i, peek64(kept + 8 * i))
    fill_zero(slot + peek64(head + 8 * st.AT_PENDING) + 8 * n * warp, 8 * n)
    poke64(slot + peek64(head + 8 * st.AT_FLOORS) + 8 * warp, peek64(kept + 8 * n))
    poke64(slot + peek64(head + 8 * st.AT_PENDING_FLOORS) + 8 * warp, 0)
    if peek64(head + 8 * st.CROSS) != 0:
        total = peek64(head + 8 * st.TOTAL_WARPS)
        row = slot + peek64(head + 8 * st.AT_KEPT_CROSS) + 4 * total * warp
        _copy_cross(clocks.cross_row(head, block, warp), row, total)
        fill_zero(slot + peek64(head + 8 * st.AT_PENDING_CROSS) + 4 * total * warp, 4 * total)


@native
def see(head: int, slot: int, w: int, inst: int, mask: int, flags: int, base: int,
        cells: int) -> None:  # fmt: skip
    """Notes the lock under which an instruction is executed, and reads that decide something.

    `cells` are none (0) of memory that nobody writes, and below 0 of a block's shared memory, of
    which it is not asked who has written it.
    """
    warp = peek32(w + at.WARP_INDEX)
    hold = slot + peek64(head + 8 * st.AT_HOLDS) + 16 * warp
    key = peek64(hold)
    held = peek64(head + 8 * st.HELD) + 8 * st.HELD_SLOTS * inst
    if key == 0:
        poke64(held, 1)
    elif peek64(held + 8) != key:
        poke64(held + 16, peek64(held + 8))
        poke64(held + 8, key)
    if key == 0 or flags & st.F_DECIDES == 0:
        return
    if cells < 0:
        poke64(hold + 8, 1)
    if cells <= 0:
        return
    rest = mask
    while rest != 0:
        lane = lowest_bit(rest)
        rest &= rest - 1
        offset = peek64(w + ADDRESSES + 8 * lane) - base
        if peek64(cells + st.CELL_BYTES * (offset >> peek64(head + 8 * st.CELL_SHIFT))) != 0:
            poke64(hold + 8, 1)


# --- what races ----------------------------------------------------------------------------------


@native
def held_row(head: int, stamp: int) -> int:
    """Under which locks the instruction of an access has been executed."""
    return peek64(head + 8 * st.HELD) + 8 * st.HELD_SLOTS * (stamp & st.INSTRUCTION_MASK)


@native
def name_locks(head: int, slot: int, record: int, stamp: int, now: int) -> None:
    """Writes down which locks were held at the two accesses, as far as known."""
    own = peek64(slot + peek64(head + 8 * st.AT_HOLDS) + 16 * ((now >> st.STAMP_WARP) & 31))
    row = held_row(head, stamp)
    first = peek64(row + 8)
    if first == own:  # else they would be ordered
        first = peek64(row + 16)
    fill(record, st.R_MASK, first)
    fill(record, st.R_HOST, own)


@native
def is_outside(head: int, slot: int, stamp: int, warp: int) -> bool:
    """Whether the earlier access was made under no lock, and this warp holds one from which it
    has learned nothing that would let it go on."""
    hold = slot + peek64(head + 8 * st.AT_HOLDS) + 16 * warp
    held = held_row(head, stamp)
    return peek64(hold) != 0 and peek64(hold + 8) == 0 and peek64(held + 8) == 0


@native
def is_before_lock(
    head: int, slot: int, stamp: int, warp: int, block: int, other: int
) -> bool:
    """Whether an access was ordered before what this warp did when it took its lock."""
    theirs, clock = (stamp >> st.STAMP_WARP) & 31, stamp >> st.STAMP_CLOCK
    columns = peek64(head + 8 * st.COLUMNS)
    kept = slot + peek64(head + 8 * st.AT_KEPT) + 8 * (columns + 1) * warp
    if other == block:
        return warp == theirs or clock <= peek64(kept + 8 * theirs)
    if peek64(head + 8 * st.CROSS) == 0:
        return clock <= peek64(kept + 8 * columns)
    total = peek64(head + 8 * st.TOTAL_WARPS)
    row = slot + peek64(head + 8 * st.AT_KEPT_CROSS) + 4 * total * warp
    return clock <= peek32(row + 4 * (other * peek64(head + 8 * st.N_WARPS) + theirs))
