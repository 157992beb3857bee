"""Shadow memory: who wrote and who read every word last, and whether two accesses conflict.

A cell holds the last write and two reads since, each as a stamp of clock, warp, lane, bytes and
instruction; a write forgets the reads before it: what conflicts with them was found by then.
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import fill_zero, poke64
from warplens.lift import layout as at
from warplens.sanitize import clocks, locks
from warplens.sanitize import state as st
from warplens.sanitize.memcheck import ADDRESSES, OFFSETS
from warplens.sanitize.native import lowest_bit, peek8, peek32, peek64
from warplens.sanitize.records import claim, fill

FIRST_WRITE, READ_THEN_WRITE, WRITE_THEN_READ = 0, 1, 2
_BYTES = 15 << st.STAMP_BYTES
_LANE = 31 << st.STAMP_LANE
_VALUES = at.WARP_SCRATCH + 128 * 2


@native
def names_blocks(head: int, space: int) -> bool:
    """Whether cells hold whose accesses they keep: several blocks may reach that memory."""
    return space == at.SPACE_GLOBAL or peek64(head + 8 * st.CLUSTER) > 1


@native
def is_ordered(head: int, slot: int, stamp: int, now: int, block: int, other: int) -> bool:
    """Whether the access of `stamp` (of block `other`) happens before the access of `now`."""
    warp = (now >> st.STAMP_WARP) & 31
    theirs = (stamp >> st.STAMP_WARP) & 31
    clock = stamp >> st.STAMP_CLOCK
    if peek64(head + 8 * st.MODE) == st.MODE_LANE:
        if other != block or theirs != warp:
            return True
        lane, before = (now >> st.STAMP_LANE) & 31, (stamp >> st.STAMP_LANE) & 31
        row = slot + peek64(head + 8 * st.AT_LANE_KNOWN) + 8192 * warp + 256 * lane
        return lane == before or clock <= peek64(row + 8 * before)
    if peek64(head + 8 * st.LOCK_SETS) != 0 and locks.is_outside(head, slot, stamp, warp):
        return locks.is_before_lock(head, slot, stamp, warp, block, other)
    if other == block:
        if is_open_copy(head, slot, stamp):
            # Of copies over copies of the same warp their missing wait is what is reported.
            table = peek64(head + 8 * st.INSTRUCTIONS)
            flags = peek64(table + 32 * (now & st.INSTRUCTION_MASK))
            return theirs == warp and flags & st.F_ASYNC != 0
        row = slot + peek64(head + 8 * st.AT_KNOWN) + 8 * peek64(head + 8 * st.COLUMNS) * warp
        way = way_of(head, stamp)
        if way & (st.F_APART | st.F_LATE) != 0:
            return is_over(head, row, stamp, now, way)
        return warp == theirs or clock <= peek64(row + 8 * theirs)
    if peek64(slot + peek64(head + 8 * st.AT_FLAGS)) == 0:
        return False
    if peek64(head + 8 * st.CROSS) == 0:
        return clock <= peek64(slot + peek64(head + 8 * st.AT_FLOORS) + 8 * warp)
    n = peek64(head + 8 * st.N_WARPS)
    row = clocks.cross_row(head, block & st.BLOCK_MASK, warp)
    return clock <= peek32(row + 4 * (other * n + theirs))


@native
def way_of(head: int, stamp: int) -> int:
    """The flags of an access, in kernels where some go on beside the threads."""
    if peek64(head + 8 * st.HAS_BULK) == 0:
        return 0
    return peek64(peek64(head + 8 * st.INSTRUCTIONS) + 32 * (stamp & st.INSTRUCTION_MASK))


@native
def is_apart(head: int, stamp: int) -> bool:
    """Whether an access is a bulk copy's or a product's, which end when waited for."""
    return way_of(head, stamp) & st.F_APART != 0


@native
def is_over(head: int, row: int, stamp: int, now: int, way: int) -> bool:
    """Whether the warp that knows `row` knows the end of what goes on beside the threads.

    Products and copies of tensor memory do not overtake those that were begun before them; no more
    does a warp's store into it overtake that warp's earlier one. A store without a wait that is
    overtaken by nothing but the end of its columns' allocation hurts nobody.
    """
    n, clock = peek64(head + 8 * st.N_WARPS), stamp >> st.STAMP_CLOCK
    theirs = (stamp >> st.STAMP_WARP) & 31
    is_own = (now >> st.STAMP_WARP) & 31 == theirs
    later = way_of(head, now)
    is_begun = is_own or clock <= peek64(row + 8 * theirs)
    if way & st.F_LATE != 0:
        if (is_own and later & st.F_LATE != 0) or (is_begun and later & st.F_FREES != 0):
            return True
        return clock <= peek64(row + 8 * (3 * n + theirs))
    if clock <= peek64(row + 8 * (n + theirs)):
        return True
    return is_begun and way & later & st.F_CORE != 0


@native
def is_open_copy(head: int, slot: int, stamp: int) -> bool:
    """Whether an access belongs to an asynchronous copy that nobody has waited for."""
    if peek64(head + 8 * st.HAS_ASYNC) == 0 or peek64(head + 8 * st.MODE) == st.MODE_LANE:
        return False
    flags = peek64(peek64(head + 8 * st.INSTRUCTIONS) + 32 * (stamp & st.INSTRUCTION_MASK))
    return flags & st.F_ASYNC != 0 and not clocks.has_arrived(head, slot, stamp)


@native
def conflicts(head: int, slot: int, stamp: int, now: int, block: int, other: int) -> bool:
    """Whether two accesses to the same word, at least one a write, race."""
    if stamp & now & _BYTES == 0:
        return False
    if is_ordered(head, slot, stamp, now, block, other):
        return False
    table = peek64(head + 8 * st.INSTRUCTIONS)
    before = peek64(table + 32 * (stamp & st.INSTRUCTION_MASK))
    flags = peek64(table + 32 * (now & st.INSTRUCTION_MASK))
    if before & flags & st.F_STRONG == 0:
        return True
    if other != block and (before | flags) & st.F_BLOCK_SCOPE != 0:
        return True
    if before & flags & st.F_ATOMIC != 0 and (before ^ flags) & st.F_WIDE_ATOMIC != 0:
        return (before | flags) & st.F_MBARRIER == 0
    # Volatile is no atomic; but looking at a flag until it is set is what flags are for.
    return (before | flags) & st.F_VOLATILE != 0 and (before | flags) & st.F_POLLS == 0


@native
def stores_same(
    w: int, stamp: int, now: int, part: int, unit: int, host: int, same_step: bool
) -> bool:
    """Whether a store puts down what is there already (or what the other lane stores)."""
    lane = (now >> st.STAMP_LANE) & 31
    row = w + _VALUES + 128 * (part * unit >> 2)
    value = peek32(row + 4 * lane)
    bytes_ = (now & stamp & _BYTES) >> st.STAMP_BYTES
    own = (now & _BYTES) >> st.STAMP_BYTES
    # A narrow value stands in the low bits of its word, a narrow cell's part where it does there.
    shift = lowest_bit(own) - (part * unit & 3)
    for k in range(unit):
        if (bytes_ >> k) & 1 == 0:
            continue
        mine = (value >> (8 * (k - shift))) & 255
        theirs = peek8(host + k)
        if same_step:
            lane_before = (stamp >> st.STAMP_LANE) & 31
            theirs = (peek32(row + 4 * lane_before) >> (8 * (k - shift))) & 255
        if mine != theirs:
            return False
    return True


@native
def report(head: int, slot: int, w: int, stamp: int, now: int, block: int, other: int, space: int,
           base: int, offset: int, size: int, kind: int, word: int, host: int,
           same_step: bool) -> None:  # fmt: skip
    """Records a race between the access of `stamp` and the present one."""
    table = peek64(head + 8 * st.INSTRUCTIONS)
    first, second = stamp & st.INSTRUCTION_MASK, now & st.INSTRUCTION_MASK
    flags = peek64(table + 32 * first) & peek64(table + 32 * second)
    either = peek64(table + 32 * first) | peek64(table + 32 * second)
    mixed = peek64(table + 32 * first) ^ peek64(table + 32 * second)
    check = st.C_RACE
    if flags & st.F_STRONG and not (
        flags & st.F_ATOMIC and mixed & st.F_WIDE_ATOMIC
    ):
        is_narrow = other != block and either & st.F_BLOCK_SCOPE != 0
        check = st.C_SCOPE if is_narrow else st.C_VOLATILE
    plain = (peek64(table + 32 * second) & (st.F_ATOMIC | st.F_APART | st.F_CELLS)) == 0
    if kind == FIRST_WRITE and plain and stores_same(
        w, stamp, now, word, 1 << peek64(head + 8 * st.CELL_SHIFT), host, same_step
    ):
        check = st.C_SAME_VALUE
    reach = 0 if other != block else 1
    if other == block and (stamp ^ now) >> st.STAMP_WARP & 31 == 0:
        reach = 2
    record = claim(head, check, first, second, kind + 4 * reach, 1)
    if record == 0:
        return
    fill(record, st.R_SPACE, space)
    fill(record, st.R_FIRST_KIND, 0 if kind == READ_THEN_WRITE else 1)
    fill(record, st.R_SECOND_KIND, 0 if kind == WRITE_THEN_READ else 1)
    fill(record, st.R_FIRST_THREAD, (stamp >> st.STAMP_LANE) & 1023)
    fill(record, st.R_SECOND_THREAD, (now >> st.STAMP_LANE) & 1023)
    fill(record, st.R_FIRST_BLOCK, other)
    fill(record, st.R_SECOND_BLOCK, block)
    fill(record, st.R_BASE, base)
    fill(record, st.R_OFFSET, offset)
    fill(record, st.R_SIZE, size)
    fill(record, st.R_EXTRA2, 1 if same_step else 0)
    if peek64(head + 8 * st.LOCK_SETS) != 0:
        locks.name_locks(head, slot, record, stamp, now)


@native
def compare(head: int, slot: int, w: int, cell: int, now: int, block: int, space: int,
            base: int, offset: int, size: int, writes: bool, word: int, host: int,
            polled: bool) -> None:  # fmt: skip
    """Reports the accesses kept in a cell that race with the present one.

    Args:
        polled: the warp has looked at the word until it was as it should be.
    """
    written = peek64(cell)
    own = now >> st.STAMP_WARP
    lanes = peek64(head + 8 * st.MODE) == st.MODE_LANE
    blocks = peek64(cell + 24)
    if (
        space == at.SPACE_GLOBAL and written != 0 and blocks & st.BLOCK_MASK == block
        and hides_others(head, written, now)
    ):  # fmt: skip
        poke64(head + 8 * st.MIXED, 1)
    is_open = written != 0 and not writes and is_open_copy(head, slot, written)
    if written != 0 and (written >> st.STAMP_WARP != own or lanes or is_open):
        other = blocks & st.BLOCK_MASK if names_blocks(head, space) else block
        if conflicts(head, slot, written, now, block, other) and not (
            polled and is_strong(head, written)
        ):
            same_step = (written ^ now) & ~(31 << st.STAMP_LANE) == 0 and is_same_step(
                w, written, now, space
            )
            report(head, slot, w, written, now, block, other, space, base, offset, size,
                   FIRST_WRITE if writes else WRITE_THEN_READ, word, host, same_step)  # fmt: skip
    for k in range(2):
        read = peek64(cell + 8 + 8 * k)
        if read == 0:
            break
        if writes and (read >> st.STAMP_WARP != own or lanes):
            other = block
            if names_blocks(head, space):
                other = (blocks >> (21 + 21 * k)) & st.BLOCK_MASK
            if conflicts(head, slot, read, now, block, other):
                report(head, slot, w, read, now, block, other, space, base, offset, size,
                       READ_THEN_WRITE, word, host, False)  # fmt: skip


@native
def check_word(head: int, slot: int, w: int, cell: int, beside: int, now: int, block: int,
               space: int, base: int, offset: int, size: int, writes: bool, word: int,
               host: int) -> None:  # fmt: skip
    """One lane's access to one word: compares with the cell, then updates it."""
    lanes = peek64(head + 8 * st.MODE) == st.MODE_LANE
    short = block & st.BLOCK_MASK
    polled = has_polled(head, cell, now, short, space)
    compare(
        head, slot, w, cell, now, short, space, base, offset, size, writes, word, host, polled
    )
    blocks = peek64(cell + 24)
    if blocks < 0:
        compare(
            head, slot, w, cell + beside, now, short, space, base, offset, size, writes, word,
            host, polled,
        )  # fmt: skip
    if not writes:
        note_read(head, slot, cell, now, short, blocks, space, lanes)
        return
    mark = 0
    if is_strong(head, now):
        mark = keep_plain(head, cell, beside)
    written = peek64(cell)
    if (written ^ now) >> st.STAMP_WARP == 0 and (
        (written ^ now) & st.INSTRUCTION_MASK == 0 and not lanes
    ):
        now |= written & _BYTES
        if (written ^ now) & _LANE != 0:
            now |= st.STAMP_MANY
    poke64(cell, now)
    poke64(cell + 8, 0)
    poke64(cell + 16, 0)
    poke64(cell + 24, (short if names_blocks(head, space) else 0) | mark)


@native
def is_strong(head: int, stamp: int) -> bool:
    """Whether an access was atomic or volatile."""
    table = peek64(head + 8 * st.INSTRUCTIONS)
    return peek64(table + 32 * (stamp & st.INSTRUCTION_MASK)) & st.F_STRONG != 0


@native
def hides_others(head: int, written: int, now: int) -> bool:
    """Whether a plain access meets its own block's atomic, which took the place of others'.

    Theirs is not compared with any more: the blocks have to run in another order, once.
    """
    return (
        peek64(head + 8 * st.MIXED) == 0
        and is_strong(head, written)
        and not is_strong(head, now)
    )


@native
def has_polled(head: int, cell: int, now: int, block: int, space: int) -> bool:
    """Whether this warp has looked at the word until it was as it should be: a token handed on."""
    table = peek64(head + 8 * st.INSTRUCTIONS)
    if peek64(table + 32 * (now & st.INSTRUCTION_MASK)) & st.F_VOLATILE == 0:
        return False
    blocks = peek64(cell + 24)
    for k in range(1, 3):
        stamp = peek64(cell + 8 * k)
        polls = peek64(table + 32 * (stamp & st.INSTRUCTION_MASK)) & st.F_POLLS
        if stamp == 0 or polls == 0 or (stamp ^ now) >> st.STAMP_WARP & 31 != 0:
            continue
        if not names_blocks(head, space) or (blocks >> (21 * k)) & st.BLOCK_MASK == block:
            return True
    return False


@native
def is_kept(head: int, stamp: int) -> bool:
    """Whether an access may race with atomic ones."""
    table = peek64(head + 8 * st.INSTRUCTIONS)
    flags = peek64(table + 32 * (stamp & st.INSTRUCTION_MASK))
    return flags & st.F_STRONG == 0 or flags & (st.F_VOLATILE | st.F_POLLS) == st.F_VOLATILE


@native
def keep_plain(head: int, cell: int, beside: int) -> int:
    """Puts the plain accesses of a cell beside it, before an atomic one takes their place.

    Returns the mark of a cell that has another beside it.
    """
    blocks = peek64(cell + 24)
    mark = blocks & st.CELL_BESIDE
    for k in range(3):
        stamp = peek64(cell + 8 * k)
        if stamp == 0 or not is_kept(head, stamp):
            continue
        if mark == 0:
            mark = st.CELL_BESIDE
            fill_zero(cell + beside, st.CELL_BYTES)
        place = k
        if k != 0 and peek64(cell + beside + 8) != 0:
            place = 2
            if peek64(cell + beside + 8) >> st.STAMP_WARP == stamp >> st.STAMP_WARP:
                place = 1
        poke64(cell + beside + 8 * place, stamp)
        keep = ~(st.BLOCK_MASK << (21 * place))
        number = (blocks >> (21 * k)) & st.BLOCK_MASK
        kept = peek64(cell + beside + 24) & keep
        poke64(cell + beside + 24, kept | number << (21 * place))
    return mark


@native
def is_weaker(head: int, stamp: int, now: int) -> bool:
    """Whether the earlier access was plain and the present one is strong."""
    table = peek64(head + 8 * st.INSTRUCTIONS)
    before = peek64(table + 32 * (stamp & st.INSTRUCTION_MASK))
    flags = peek64(table + 32 * (now & st.INSTRUCTION_MASK))
    return flags & ~before & st.F_STRONG != 0


@native
def is_same_step(w: int, written: int, now: int, space: int) -> bool:
    """Whether the earlier stamp comes from another lane of this very execution."""
    before, lane = (written >> st.STAMP_LANE) & 31, (now >> st.STAMP_LANE) & 31
    if before >= lane:
        return False
    if space == at.SPACE_GLOBAL:
        difference = peek64(w + ADDRESSES + 8 * before) - peek64(w + ADDRESSES + 8 * lane)
    else:
        difference = peek32(w + OFFSETS + 4 * before) - peek32(w + OFFSETS + 4 * lane)
    return -4 < difference < 4


@native
def many_lanes(stamp: int, now: int, lanes: bool) -> int:
    """The bit that says that several lanes of the warp did it."""
    return 0 if lanes or (stamp ^ now) & _LANE == 0 else st.STAMP_MANY


@native
def note_read(head: int, slot: int, cell: int, now: int, block: int, blocks: int, space: int,
              lanes: bool) -> None:  # fmt: skip
    """Remembers a read: one place for the newest reader, one for another that is not ordered."""
    shift = st.STAMP_LANE if lanes else st.STAMP_WARP
    a = peek64(cell + 8)
    b = peek64(cell + 16)
    place = 1
    if a != 0 and (a ^ now) >> shift == 0:
        bytes_ = a & _BYTES
        if bytes_ | (now & _BYTES) == bytes_ and (
            not names_blocks(head, space) or (blocks >> 21) & st.BLOCK_MASK == block
        ) and not is_weaker(head, now, a):
            return
        now |= bytes_ | many_lanes(a, now, lanes)
    elif b != 0 and (b ^ now) >> shift == 0:
        bytes_ = b & _BYTES
        if bytes_ | (now & _BYTES) == bytes_:
            return
        now |= bytes_ | many_lanes(b, now, lanes)
        place = 2
    elif a != 0:
        other = block
        if names_blocks(head, space):
            other = (blocks >> 21) & st.BLOCK_MASK
        if not is_ordered(head, slot, a, now, block, other) or peek64(
            head + 8 * st.MODE
        ) == st.MODE_LANE:
            place = 2
    poke64(cell + 8 * place, now)
    if names_blocks(head, space):
        keep = ~(st.BLOCK_MASK << (21 * place))
        poke64(cell + 24, (blocks & keep) | block << (21 * place))
