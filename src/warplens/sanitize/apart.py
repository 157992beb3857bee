"""What goes on beside the threads: bulk copies and products of warpgroups, until waited for.

Their accesses are stamped with the warp that began them, but ordered by columns of their own: of
what a warp knows, the second n columns say which of a warp's copies and products are complete. A
copy to shared memory is complete for whoever has seen its mbarrier, other groups for the warp that
waits for them. Both reach shared memory by another proxy than threads do: the third n columns say
which stores of a warp a `fence.proxy.async` has made visible to it. Stores into tensor memory are
the fourth n columns' matter: they are complete behind `tcgen05.wait::st`. All columns pass through
barriers and flags.
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import poke64
from warplens.lift import layout as at
from warplens.sanitize import clocks, shadow
from warplens.sanitize import state as st
from warplens.sanitize.native import peek8, peek32, peek64
from warplens.sanitize.records import claim, fill

BULK_GROUPS, PRODUCT_GROUPS = 0, 1


@native
def tick(head: int, slot: int, warp: int) -> int:
    """The clock of what a warp has just begun; what it does next has a later one."""
    place = slot + peek64(head + 8 * st.AT_CLOCKS) + 8 * warp
    clock: int = peek64(place)
    poke64(place, clocks.next_clock(head))
    return clock


@native
def known_row(head: int, slot: int, warp: int) -> int:
    """Address of what a warp knows."""
    return slot + peek64(head + 8 * st.AT_KNOWN) + 8 * peek64(head + 8 * st.COLUMNS) * warp


@native
def ring_of(head: int, slot: int, warp: int, which: int) -> int:
    """Address of a warp's groups of one kind: their number, then the clocks of the last ones."""
    return slot + peek64(head + 8 * st.AT_GROUPS) + 8 * st.COPY_SLOTS * (2 * warp + which)


@native
def close_group(head: int, slot: int, warp: int, which: int) -> None:
    """A group of bulk copies or products is closed."""
    ring = ring_of(head, slot, warp, which)
    groups = peek64(ring)
    poke64(ring + 8 * (1 + groups % st.COPY_GROUPS), tick(head, slot, warp))
    poke64(ring, groups + 1)


@native
def await_groups(head: int, slot: int, warp: int, which: int, left: int) -> None:
    """All groups but the last `left` are complete."""
    ring = ring_of(head, slot, warp, which)
    groups = peek64(ring)
    if groups > left and left < st.COPY_GROUPS:
        place = known_row(head, slot, warp) + 8 * (peek64(head + 8 * st.N_WARPS) + warp)
        clocks.raise_to(place, peek64(ring + 8 * (1 + (groups - left - 1) % st.COPY_GROUPS)))


@native
def publish_copy(head: int, slot: int, block: int, warp: int, key: int, clock: int) -> None:
    """Whoever sees the mbarrier knows that a warp's copies up to a clock are complete."""
    n, columns = peek64(head + 8 * st.N_WARPS), peek64(head + 8 * st.COLUMNS)
    row = clocks.near_variable(head, slot, block, key, columns, True)
    if row != 0:
        clocks.raise_to(row + 8 * (st.SYNC_HEAD + n + warp), clock)


@native
def fence_proxy(head: int, slot: int, warp: int) -> None:
    """All stores that a warp knows of become visible to copies and products."""
    n = peek64(head + 8 * st.N_WARPS)
    row = known_row(head, slot, warp)
    clocks.raise_to(row + 8 * warp, tick(head, slot, warp))
    for u in range(n):
        clocks.raise_to(row + 8 * (2 * n + u), peek64(row + 8 * u))


@native
def finish_stores(head: int, slot: int, warp: int) -> None:
    """What a warp has stored into tensor memory is there: tcgen05.wait::st."""
    place = known_row(head, slot, warp) + 8 * (3 * peek64(head + 8 * st.N_WARPS) + warp)
    clocks.raise_to(place, tick(head, slot, warp))


@native
def reads_apart(head: int, slot: int, w: int, now: int, place: int, size: int, cells: int,
                beside: int, host: int, initial: int, block: int) -> None:  # fmt: skip
    """A copy or a product reads shared memory: against writes, fences and, unless `initial` is 0,
    whether it was written."""
    tools = peek64(head + 8 * st.TOOLS)
    inst = now & st.INSTRUCTION_MASK
    thread = (now >> st.STAMP_LANE) & 1023
    if tools & st.TOOL_INITCHECK and initial != 0:
        check_written(head, inst, at.SPACE_SHARED, initial, 0, place, size, thread, block)
    if tools & st.TOOL_RACECHECK == 0 or peek64(head + 8 * st.MODE) == st.MODE_LANE:
        return
    shift = peek64(head + 8 * st.CELL_SHIFT)
    for number in range(place >> shift, (place + size) >> shift):
        cell = cells + st.CELL_BYTES * number
        if peek64(cell + 8) == now or peek64(cell + 16) == now:
            continue
        offset = number << shift
        check_fenced(head, slot, now, cell, offset, block)
        shadow.check_word(
            head, slot, w, cell, beside, now, block, at.SPACE_SHARED, 0, offset, 1 << shift,
            False, 0, host + offset,
        )  # fmt: skip


@native
def check_written(head: int, inst: int, space: int, initial: int, base: int, offset: int,
                  size: int, thread: int, block: int) -> None:  # fmt: skip
    """initcheck of a range of bytes, whose flags begin at `initial`."""
    for k in range(size):
        if peek8(initial + offset + k) != 0:
            continue
        record = claim(head, st.C_UNINITIALISED, inst, inst, space, 1)
        if record != 0:
            fill(record, st.R_SPACE, space)
            fill(record, st.R_SECOND_THREAD, thread)
            fill(record, st.R_SECOND_BLOCK, block)
            fill(record, st.R_BASE, base)
            fill(record, st.R_OFFSET, offset + k)
            fill(record, st.R_SIZE, 1)
        return


@native
def check_fenced(head: int, slot: int, now: int, cell: int, offset: int, block: int) -> None:
    """Whether the last store to a word is one that its warp has not fenced for the other proxy."""
    written = peek64(cell)
    if written == 0 or shadow.is_apart(head, written):
        return
    if shadow.names_blocks(head, at.SPACE_SHARED) and (
        peek64(cell + 24) & st.BLOCK_MASK != block & st.BLOCK_MASK
    ):
        return
    n = peek64(head + 8 * st.N_WARPS)
    row = known_row(head, slot, (now >> st.STAMP_WARP) & 31)
    theirs = (written >> st.STAMP_WARP) & 31
    if written >> st.STAMP_CLOCK <= peek64(row + 8 * (2 * n + theirs)):
        return
    if not shadow.is_ordered(head, slot, written, now, block, block):
        return  # a race, which is reported as one
    first, second = written & st.INSTRUCTION_MASK, now & st.INSTRUCTION_MASK
    record = claim(head, st.C_PROXY, first, second, 0, 1)
    if record != 0:
        fill(record, st.R_SPACE, at.SPACE_SHARED)
        fill(record, st.R_FIRST_KIND, 1)
        fill(record, st.R_FIRST_THREAD, (written >> st.STAMP_LANE) & 1023)
        fill(record, st.R_SECOND_THREAD, (now >> st.STAMP_LANE) & 1023)
        fill(record, st.R_FIRST_BLOCK, block)
        fill(record, st.R_SECOND_BLOCK, block)
        fill(record, st.R_OFFSET, offset)
        fill(record, st.R_SIZE, 4)


# --- products of warpgroups -----------------------------------------------------------------------


@native
def lane_word(w: int, number: int, lane: int) -> int:
    """A lane's word of a scratch slot."""
    return peek32(w + at.WARP_SCRATCH + 128 * number + 4 * lane) & 0xFFFFFFFF


@native
def at_rows(head: int, env: int, slot: int, w: int, now: int, block: int, matrix: int,
            transposed: bool, first: int, last: int) -> None:  # fmt: skip
    """A product reads groups [first, last) of eight rows of 32 bytes (wgmma_operands_ir.py)."""
    start, mode = (matrix & 16383) << 4, (matrix >> 62) & 3
    leading, stride = ((matrix >> 16) & 16383) << 4, ((matrix >> 32) & 16383) << 4
    turn = (matrix >> 49) & 7
    width = 16 if mode == 0 else 256 >> mode
    swizzle = (width >> 4) - 1
    far, outer = (leading if mode == 0 else 16), stride
    if transposed:
        far, outer = (leading, stride) if mode == 0 else (stride, leading)
    host = peek64(env + 8 * at.ENV_SHARED)
    cells = slot + peek64(head + 8 * st.AT_SHARED_CELLS)
    cell_bytes = peek64(head + 8 * st.SHARED_BYTES) >> peek64(head + 8 * st.CELL_SHIFT)
    initial = slot + peek64(head + 8 * st.AT_SHARED_INIT)
    for group in range(first, last):
        base = start + group * outer
        if transposed:
            base = start + group // (swizzle + 1) * outer + ((group & swizzle) << 4)
        for n in range(16):
            place = (base + width * (n // 2) + far * (n % 2)) & 262143
            place ^= (((place >> 7) - turn) & swizzle) << 4
            if place + 16 <= peek64(head + 8 * st.SHARED_LIMIT):  # else the engine reports it
                reads_apart(head, slot, w, now, place, 16, cells, cell_bytes * st.CELL_BYTES,
                            host, initial, block)  # fmt: skip


@native
def check_pattern(head: int, inst: int, warp: int, block: int, matrix: int) -> None:
    """memcheck of a swizzled matrix: its pattern repeats after eight rows, and begins at a multiple
    of as many bytes or where the descriptor's base offset says."""
    mode = (matrix >> 62) & 3
    if mode == 0:
        return
    start, turn = (matrix & 16383) << 4, (matrix >> 49) & 7
    size = 2048 >> mode
    if ((start >> 7) - turn) & ((size >> 7) - 1) == 0:
        return
    record = claim(head, st.C_MISALIGNED, inst, inst, at.SPACE_SHARED, 1)
    if record != 0:
        fill(record, st.R_SPACE, at.SPACE_SHARED)
        fill(record, st.R_SECOND_THREAD, 32 * warp)
        fill(record, st.R_SECOND_BLOCK, block)
        fill(record, st.R_BASE, start & ~127)
        fill(record, st.R_SIZE, size)


@native
def at_product(head: int, env: int, slot: int, w: int, inst: int, lanes: int, form: int,
               block: int) -> None:  # fmt: skip
    """A warp's part of a product: its 16 rows of A, all of B; it goes on until waited for."""
    tools, warp = peek64(head + 8 * st.TOOLS), peek32(w + at.WARP_INDEX)
    if tools & st.TOOL_MEMCHECK:
        check_pattern(head, inst, warp, block, lane_word(w, 3, 0) << 32 | lane_word(w, 2, 0))
        if form & 256 == 0:
            check_pattern(head, inst, warp, block, lane_word(w, 1, 0) << 32 | lane_word(w, 0, 0))
    if tools & (st.TOOL_RACECHECK | st.TOOL_INITCHECK) == 0:
        return
    clock = tick(head, slot, warp)
    now = clock << st.STAMP_CLOCK | warp << st.STAMP_WARP | 15 << st.STAMP_BYTES | inst
    lane = 0
    b = lane_word(w, 3, lane) << 32 | lane_word(w, 2, lane)
    if form & 256 == 0:
        a = lane_word(w, 1, lane) << 32 | lane_word(w, 0, lane)
        rows = 2 * (warp & 3)
        at_rows(head, env, slot, w, now, block, a, form & 512 != 0, rows, rows + 2)
    at_rows(head, env, slot, w, now, block, b, form & 1024 != 0, 0, form & 255)
