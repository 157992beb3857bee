"""Happens-before: clocks of warps and lanes, joined at barriers, fences and strong accesses.

Every warp has a clock, taken from one counter, renewed at every arrival at a barrier and at every
fence. `known[w][u]` is the clock up to which everything that warp u did is ordered before what
warp w does next. Clocks of other blocks are kept in rows over all warps of the grid where that
fits; in larger grids a floor stands for them: everything before it is taken as known, which can
hide a race between blocks but never invent one.
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import fill_zero, poke32, poke64
from warplens.lift import layout as at
from warplens.sanitize import state as st
from warplens.sanitize.native import lowest_bit, peek32, peek64

_LAST_NUMBER = (1 << 20) - 1  # of an interval


@native
def next_clock(head: int) -> int:
    """A clock above all given out so far."""
    clock = peek64(head + 8 * st.CLOCK) + 1
    poke64(head + 8 * st.CLOCK, clock)
    return clock


@native
def touch(head: int, slot: int, barriers: int, warps: int) -> None:
    """Notes which rows of arrivals and of calls a block has written to."""
    touched = slot + peek64(head + 8 * st.AT_BLOCK) + 32
    poke64(touched, peek64(touched) | barriers)
    poke64(touched + 8, peek64(touched + 8) | warps)


@native
def forget_synchronisation(head: int, slot: int, n: int) -> None:
    """Clears what the slot's last block has written of arrivals and calls."""
    touched = slot + peek64(head + 8 * st.AT_BLOCK) + 32
    barriers, warps = peek64(touched), peek64(touched + 8)
    arrivals = slot + peek64(head + 8 * st.AT_ARRIVALS)
    while barriers != 0:
        fill_zero(arrivals + 8 * (n + 3) * lowest_bit(barriers), 8 * (n + 3))
        barriers &= barriers - 1
    while warps != 0:
        fill_zero(slot + peek64(head + 8 * st.AT_CALLS) + 768 * lowest_bit(warps), 768)
        warps &= warps - 1
    poke64(touched, 0)
    poke64(touched + 8, 0)


@native
def next_interval(head: int, slot: int) -> None:
    """All that was done before is ordered before what comes: nothing of it is needed any more."""
    book = slot + peek64(head + 8 * st.AT_INTERVAL)
    number = peek64(book + 8 * st.B_NUMBER) + 1
    if number > _LAST_NUMBER:
        number = 1
        cells = peek64(head + 8 * st.SHARED_BYTES) >> peek64(head + 8 * st.CELL_SHIFT)
        fill_zero(slot + peek64(head + 8 * st.AT_OWNERS), 4 * cells)
    poke64(book + 8 * st.B_NUMBER, number)
    poke64(book + 8 * st.B_COUNT, 0)
    poke64(book + 8 * st.B_ATOMICS, 0)
    strikes = peek64(book + 8 * st.B_STRIKES)
    poke64(book + 8 * st.B_PHASE, st.PHASE_READS if strikes < st.MOST_STRIKES else st.PHASE_CELLS)
    if 0 < strikes < st.MOST_STRIKES:
        poke64(book + 8 * st.B_STRIKES, strikes - 1)


@native
def begin_block(head: int, slot: int, block: int) -> None:
    """A new block has come into a slot: its warps know all that the slot held before."""
    n, wide = peek64(head + 8 * st.N_WARPS), peek64(head + 8 * st.COLUMNS)
    floor = peek64(head + 8 * st.CLOCK)
    poke64(slot + peek64(head + 8 * st.AT_BLOCK), block + 1)
    poke64(slot + peek64(head + 8 * st.AT_BLOCK) + 8, 0)
    forget_synchronisation(head, slot, n)
    if peek64(head + 8 * st.CLUSTER) > 1:
        fill_zero(slot + peek64(head + 8 * st.AT_CLUSTER), 16 * n)
    if peek64(head + 8 * st.TOOLS) & (st.TOOL_RACECHECK | st.TOOL_INITCHECK) == 0:
        return
    clocks = slot + peek64(head + 8 * st.AT_CLOCKS)
    known = slot + peek64(head + 8 * st.AT_KNOWN)
    for i in range(n * wide):
        poke64(known + 8 * i, floor)
    for i in range(n):
        poke64(clocks + 8 * i, next_clock(head))
    fill_zero(slot + peek64(head + 8 * st.AT_BARRIERS), 128 * wide)
    fill_zero(slot + peek64(head + 8 * st.AT_WAITING), 128)
    fill_zero(slot + peek64(head + 8 * st.AT_FENCED), 16 * n)
    fill_zero(slot + peek64(head + 8 * st.AT_PENDING), 8 * n * wide)
    fill_zero(slot + peek64(head + 8 * st.AT_FLOORS), 8 * n)
    fill_zero(slot + peek64(head + 8 * st.AT_BARRIER_FLOORS), 128)
    fill_zero(slot + peek64(head + 8 * st.AT_PENDING_FLOORS), 8 * n)
    if peek64(head + 8 * st.HAS_ASYNC) != 0:
        fill_zero(slot + peek64(head + 8 * st.AT_COPIES), 8 * st.COPY_SLOTS * n)
    if peek64(head + 8 * st.LOCK_SETS) != 0:
        fill_zero(slot + peek64(head + 8 * st.AT_HOLDS), 16 * n)
    if peek64(head + 8 * st.HAS_BULK) != 0:
        fill_zero(slot + peek64(head + 8 * st.AT_GROUPS), 16 * st.COPY_SLOTS * n)
    if peek64(head + 8 * st.INTERVALS) != 0:
        poke64(slot + peek64(head + 8 * st.AT_INTERVAL) + 8 * st.B_PARTS, 0)
        next_interval(head, slot)
    flags = slot + peek64(head + 8 * st.AT_FLAGS)
    total = peek64(head + 8 * st.TOTAL_WARPS)
    if peek64(flags) != 0 and peek64(head + 8 * st.CROSS) != 0:
        fill_zero(slot + peek64(head + 8 * st.AT_BARRIER_CROSS), 128 * total)
        fill_zero(slot + peek64(head + 8 * st.AT_PENDING_CROSS), 8 * n * total)
    poke64(flags, 0)
    poke64(flags + 8, 0)
    # cells of shared memory name blocks in clusters: none of the last
    if peek64(head + 8 * st.CLUSTER) > 1 and peek64(head + 8 * st.TOOLS) & st.TOOL_RACECHECK:
        cells = peek64(head + 8 * st.SHARED_BYTES) >> peek64(head + 8 * st.CELL_SHIFT)
        fill_zero(slot + peek64(head + 8 * st.AT_SHARED_CELLS), 2 * cells * st.CELL_BYTES)
        if peek64(head + 8 * st.HAS_CELLS) != 0:
            cells = at.TM_LANES_OF_BLOCK * at.TM_COLUMNS // 16
            fill_zero(slot + peek64(head + 8 * st.AT_CELLS), cells * st.CELL_BYTES)
    if peek64(head + 8 * st.MODE) == st.MODE_LANE:
        _begin_lanes(head, slot, n)
    if peek64(head + 8 * st.TOOLS) & st.TOOL_INITCHECK:
        size = (peek64(head + 8 * st.SHARED_BYTES) + 7) // 8 * 8
        fill_zero(slot + peek64(head + 8 * st.AT_SHARED_INIT), size)
        for place in range(0, peek64(head + 8 * st.LENT_SHARED), 8):
            poke64(slot + peek64(head + 8 * st.AT_SHARED_INIT) + place, 0x0101010101010101)
        fill_zero(slot + peek64(head + 8 * st.AT_SHARED_WHOLE), 24)
        if peek64(head + 8 * st.HAS_CELLS) != 0:
            cells = at.TM_LANES_OF_BLOCK * at.TM_COLUMNS
            fill_zero(slot + peek64(head + 8 * st.AT_CELLS_INIT), cells)
        size = (peek64(head + 8 * st.LOCAL_BYTES) + 3) // 4 * 128 * n
        fill_zero(slot + peek64(head + 8 * st.AT_LOCAL_INIT), size)


@native
def _begin_lanes(head: int, slot: int, n: int) -> None:
    floor = peek64(head + 8 * st.CLOCK)
    known = slot + peek64(head + 8 * st.AT_LANE_KNOWN)
    clocks = slot + peek64(head + 8 * st.AT_LANE_CLOCKS)
    for i in range(1024 * n):
        poke64(known + 8 * i, floor)
    clock = next_clock(head)
    for i in range(32 * n):
        poke64(clocks + 8 * i, clock)
    if peek64(head + 8 * st.HAS_FENCES) != 0:
        fill_zero(slot + peek64(head + 8 * st.AT_LANE_PENDING), 8192 * n)
        fill_zero(slot + peek64(head + 8 * st.AT_LANE_FENCED), 256 * n)


@native
def slot_record(head: int, env: int) -> int:
    """The record of the running block's slot, begun anew if another block was there."""
    slot = peek64(head + 8 * st.SLOTS) + peek64(env + 8 * at.ENV_SLOT) * peek64(
        head + 8 * st.SLOT_BYTES
    )
    block = peek64(env + 8 * at.ENV_BLOCK)
    if peek64(slot + peek64(head + 8 * st.AT_BLOCK)) != block + 1:
        begin_block(head, slot, block)
    return slot


@native
def join(target: int, source: int, n: int) -> None:
    """Raises n clocks to those of another row."""
    for i in range(n):
        value = peek64(source + 8 * i)
        if value > peek64(target + 8 * i):
            poke64(target + 8 * i, value)


@native
def join_cross(target: int, source: int, n: int) -> None:
    """The same for 32-bit clocks."""
    for i in range(n):
        value = peek32(source + 4 * i)
        if value > peek32(target + 4 * i):
            poke32(target + 4 * i, value)


@native
def raise_to(place: int, value: int) -> None:
    """Raises one clock."""
    if value > peek64(place):
        poke64(place, value)


@native
def cross_row(head: int, block: int, warp: int) -> int:
    """Address of what a warp knows of other blocks' warps."""
    n = peek64(head + 8 * st.N_WARPS)
    row = block * n + warp
    return peek64(head + 8 * st.CROSS) + 4 * row * peek64(head + 8 * st.TOTAL_WARPS)


@native
def arrive(head: int, slot: int, block: int, warp: int, number: int, waits: bool) -> None:
    """A warp arrives at a named barrier, perhaps without waiting for the others."""
    n = peek64(head + 8 * st.COLUMNS)
    clocks = slot + peek64(head + 8 * st.AT_CLOCKS)
    row = slot + peek64(head + 8 * st.AT_KNOWN) + 8 * n * warp
    clock = peek64(clocks + 8 * warp)
    learn(head, slot, block, warp, n, True)  # a thread polls a flag, then all go through a barrier
    raise_to(row + 8 * warp, clock)
    floor = peek64(slot + peek64(head + 8 * st.AT_FLOORS) + 8 * warp)
    crossing = peek64(slot + peek64(head + 8 * st.AT_FLAGS)) != 0
    total = peek64(head + 8 * st.TOTAL_WARPS)
    join(slot + peek64(head + 8 * st.AT_BARRIERS) + 8 * n * number, row, n)
    if crossing:
        raise_to(slot + peek64(head + 8 * st.AT_BARRIER_FLOORS) + 8 * number, floor)
        if peek64(head + 8 * st.CROSS) != 0:
            place = slot + peek64(head + 8 * st.AT_BARRIER_CROSS) + 4 * total * number
            join_cross(place, cross_row(head, block, warp), total)
    if waits:
        place = slot + peek64(head + 8 * st.AT_WAITING) + 8 * number
        poke64(place, peek64(place) | 1 << warp)
    fenced = slot + peek64(head + 8 * st.AT_FENCED) + 16 * warp
    if peek64(head + 8 * st.HAS_FENCES) != 0:
        poke64(fenced, clock)  # a barrier is also a fence of block scope
    poke64(clocks + 8 * warp, next_clock(head))


@native
def open_barrier(head: int, slot: int, block: int, number: int) -> None:
    """A barrier opens: every warp that waits at it knows what all who arrived knew."""
    n, wide = peek64(head + 8 * st.N_WARPS), peek64(head + 8 * st.COLUMNS)
    joined = slot + peek64(head + 8 * st.AT_BARRIERS) + 8 * wide * number
    crossing = peek64(slot + peek64(head + 8 * st.AT_FLAGS)) != 0
    total = peek64(head + 8 * st.TOTAL_WARPS)
    floor = peek64(slot + peek64(head + 8 * st.AT_BARRIER_FLOORS) + 8 * number)
    place = slot + peek64(head + 8 * st.AT_WAITING) + 8 * number
    waiting = peek64(place)
    poke64(place, 0)
    for i in range(n):
        if (waiting >> i) & 1 == 0:
            continue
        join(slot + peek64(head + 8 * st.AT_KNOWN) + 8 * wide * i, joined, wide)
        if crossing:
            raise_to(slot + peek64(head + 8 * st.AT_FLOORS) + 8 * i, floor)
            if peek64(head + 8 * st.CROSS) != 0:
                row = slot + peek64(head + 8 * st.AT_BARRIER_CROSS) + 4 * total * number
                join_cross(cross_row(head, block, i), row, total)
    fill_zero(joined, 8 * wide)


# --- fences and strong accesses -------------------------------------------------------------------


@native
def learn(head: int, slot: int, block: int, warp: int, n: int, wide: bool) -> None:
    """What a warp's strong loads have seen becomes known to it, of other blocks only if `wide`."""
    if peek64(slot + peek64(head + 8 * st.AT_FLAGS)) == 0:
        return
    pending = slot + peek64(head + 8 * st.AT_PENDING) + 8 * n * warp
    join(slot + peek64(head + 8 * st.AT_KNOWN) + 8 * n * warp, pending, n)
    if not wide:
        return
    floors = slot + peek64(head + 8 * st.AT_FLOORS) + 8 * warp
    raise_to(floors, peek64(slot + peek64(head + 8 * st.AT_PENDING_FLOORS) + 8 * warp))
    if peek64(head + 8 * st.CROSS) != 0:
        total = peek64(head + 8 * st.TOTAL_WARPS)
        row = slot + peek64(head + 8 * st.AT_PENDING_CROSS) + 4 * total * warp
        join_cross(cross_row(head, block, warp), row, total)


@native
def fence(head: int, slot: int, block: int, warp: int, flags: int) -> None:
    """MEMBAR, or the CCTL.IVALL of an acquire: what strong loads saw is now known."""
    n = peek64(head + 8 * st.COLUMNS)
    learn(head, slot, block, warp, n, flags & (st.F_WIDE_FENCE | st.F_ACQUIRE) != 0)
    if flags & st.F_FENCE == 0:
        return
    clocks = slot + peek64(head + 8 * st.AT_CLOCKS) + 8 * warp
    clock = peek64(clocks)
    row = slot + peek64(head + 8 * st.AT_KNOWN) + 8 * n * warp
    raise_to(row + 8 * warp, clock)
    fenced = slot + peek64(head + 8 * st.AT_FENCED) + 16 * warp
    poke64(fenced, clock)
    if flags & st.F_WIDE_FENCE:
        poke64(fenced + 8, clock)
    poke64(clocks, next_clock(head))


@native
def sync_variable(head: int, key: int, create: bool) -> int:
    """The row of a synchronisation variable, or 0."""
    mask = peek64(head + 8 * st.SYNC_MASK)
    keys = peek64(head + 8 * st.SYNC_KEYS)
    place = ((key * 0x9E3779B1) >> 8) & mask
    while True:
        number = peek64(keys + 8 * place)
        if number == 0:
            break
        row = peek64(head + 8 * st.SYNC_ROWS) + (number - 1) * peek64(head + 8 * st.SYNC_ROW_BYTES)
        if peek64(row) == key:
            return row
        place = (place + 1) & mask
    if not create:
        return 0
    n = peek64(head + 8 * st.N_SYNC)
    if n >= peek64(head + 8 * st.SYNC_CAPACITY):
        poke64(head + 8 * st.OVERFLOWS, peek64(head + 8 * st.OVERFLOWS) + 1)
        return 0
    poke64(head + 8 * st.N_SYNC, n + 1)
    poke64(keys + 8 * place, n + 1)
    row = peek64(head + 8 * st.SYNC_ROWS) + n * peek64(head + 8 * st.SYNC_ROW_BYTES)
    poke64(row, key)
    return row


@native
def near_variable(head: int, slot: int, block: int, key: int, n: int, create: bool) -> int:
    """The row of what a block's warps publish to each other; begun anew with each block."""
    number = (slot - peek64(head + 8 * st.SLOTS)) // peek64(head + 8 * st.SLOT_BYTES)
    row = sync_variable(head, key ^ ((number + 1) << 44), create)
    if row != 0 and peek64(row + 16) != block + 1:
        poke64(row + 16, block + 1)
        fill_zero(row + 8 * st.SYNC_HEAD, 8 * n)
    return row


@native
def publish(head: int, slot: int, block: int, warp: int, key: int, wide: bool) -> None:
    """A strong write after a fence: who reads it, and fences, knows what was before the fence."""
    fenced = slot + peek64(head + 8 * st.AT_FENCED) + 16 * warp
    clock = peek64(fenced + 8) if wide else peek64(fenced)
    if clock == 0:
        return
    n, columns = peek64(head + 8 * st.N_WARPS), peek64(head + 8 * st.COLUMNS)
    variable = 0
    if wide:
        variable = sync_variable(head, key, True)
    else:
        variable = near_variable(head, slot, block, key, columns, True)
    if variable == 0:
        return
    known = slot + peek64(head + 8 * st.AT_KNOWN) + 8 * columns * warp
    if not wide:  # within the block: a row over its warps
        row = variable + 8 * st.SYNC_HEAD
        for u in range(columns):
            value = clock if u == warp else peek64(known + 8 * u)
            if value > peek64(row + 8 * u):
                poke64(row + 8 * u, value)
        return
    raise_to(variable + 8, clock)
    raise_to(variable + 8, peek64(slot + peek64(head + 8 * st.AT_FLOORS) + 8 * warp))
    if peek64(head + 8 * st.CROSS) == 0:
        return
    row = variable + 8 * st.SYNC_HEAD + 8 * columns
    for u in range(n):
        value = clock if u == warp else peek64(known + 8 * u)
        place = row + 4 * (block * n + u)
        if value > peek32(place):
            poke32(place, value)
    if peek64(slot + peek64(head + 8 * st.AT_FLAGS)) != 0:
        join_cross(row, cross_row(head, block, warp), peek64(head + 8 * st.TOTAL_WARPS))


@native
def observe_strong(head: int, slot: int, block: int, warp: int, key: int, at_once: bool) -> bool:
    """A strong read: what was published there becomes known at the next fence, or at once; False
    if nothing was."""
    n, columns = peek64(head + 8 * st.N_WARPS), peek64(head + 8 * st.COLUMNS)
    flags = slot + peek64(head + 8 * st.AT_FLAGS)
    near = near_variable(head, slot, block, key, columns, False)
    far = sync_variable(head, key, False)
    if near == 0 and far == 0:
        return False
    poke64(flags, 1)
    place = peek64(head + 8 * (st.AT_KNOWN if at_once else st.AT_PENDING))
    target = slot + place + 8 * columns * warp
    if near != 0:
        join(target, near + 8 * st.SYNC_HEAD, columns)
    if far == 0:
        return True
    total = peek64(head + 8 * st.TOTAL_WARPS)
    if peek64(head + 8 * st.CROSS) == 0:
        floors = st.AT_FLOORS if at_once else st.AT_PENDING_FLOORS
        raise_to(slot + peek64(head + 8 * floors) + 8 * warp, peek64(far + 8))
        for u in range(n):
            raise_to(target + 8 * u, peek64(far + 8))
        return True
    row = far + 8 * st.SYNC_HEAD + 8 * columns
    for u in range(n):
        raise_to(target + 8 * u, peek32(row + 4 * (block * n + u)))
    cross = cross_row(head, block, warp)
    if not at_once:
        cross = slot + peek64(head + 8 * st.AT_PENDING_CROSS) + 4 * total * warp
    join_cross(cross, row, total)
    return True


# --- asynchronous copies --------------------------------------------------------------------------


@native
def close_copies(head: int, slot: int, warp: int) -> None:
    """A group of copies is closed: what comes later has another clock."""
    copies = slot + peek64(head + 8 * st.AT_COPIES) + 8 * st.COPY_SLOTS * warp
    clocks = slot + peek64(head + 8 * st.AT_CLOCKS) + 8 * warp
    groups = peek64(copies + 8)
    poke64(copies + 8 * (2 + groups % st.COPY_GROUPS), peek64(clocks))
    poke64(copies + 8, groups + 1)
    poke64(clocks, next_clock(head))


@native
def await_copies(head: int, slot: int, warp: int, left: int) -> None:
    """All groups but the last `left` have arrived."""
    copies = slot + peek64(head + 8 * st.AT_COPIES) + 8 * st.COPY_SLOTS * warp
    groups = peek64(copies + 8)
    if groups > left and left < st.COPY_GROUPS:
        raise_to(copies, peek64(copies + 8 * (2 + (groups - left - 1) % st.COPY_GROUPS)))


@native
def has_arrived(head: int, slot: int, stamp: int) -> bool:
    """Whether an asynchronous copy's write has been waited for."""
    warp = (stamp >> st.STAMP_WARP) & 31
    copies = slot + peek64(head + 8 * st.AT_COPIES) + 8 * st.COPY_SLOTS * warp
    return stamp >> st.STAMP_CLOCK <= peek64(copies)
