"""racecheck of shared memory between two barriers at which a whole block has waited.

What a block's warps did before such a barrier is ordered before all that they do behind it, so that
only accesses of one interval can race, and most intervals are plain: they only read, or every word
belongs to one lane, or to atomics. That is what is looked at here: an entry for each cell says who
has used it in this interval, and a log says how. Where it is not plain, the log is played into the
shadow cells, and until the next such barrier every access is compared there (races.py).

Atomics are not logged: on each cell the last one counts.

Not in kernels with fences, asynchronous copies or clusters, in which other things order accesses.
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import poke32, poke64
from warplens.lift import layout as at
from warplens.sanitize import clocks
from warplens.sanitize import state as st
from warplens.sanitize.accesses import beside_shared, check_races
from warplens.sanitize.memcheck import OFFSETS
from warplens.sanitize.native import lowest_bit, peek32, peek64
from warplens.sanitize.races import atomic_again, is_repeated, races_at
from warplens.sanitize.vectors import add_lanes, read_row, repeats, rises_by, write_row

_FULL = 0xFFFFFFFF
_BYTES = 15 << st.STAMP_BYTES
# An entry: the interval's number above, below who has used the cell: a lane that wrote it, a lane
# that read it, lanes of a warp that did, several warps' lanes, atomics (of 64 bits: + 1).
_CODES = 12
_READ, _READ_BY_WARP, _READ_BY_ALL, _ATOMIC = 1 << 10, 2 << 10, 3 << 10, (3 << 10) + 1


@native
def at_arrival(head: int, slot: int, number: int, is_whole: bool) -> None:
    """Part of a warp arrives at a barrier: what the rest does is not ordered by it."""
    if peek64(head + 8 * st.INTERVALS) != 0 and not is_whole:
        parts = slot + peek64(head + 8 * st.AT_INTERVAL) + 8 * st.B_PARTS
        poke64(parts, peek64(parts) | 1 << number)


@native
def at_release(head: int, slot: int, number: int, block: int) -> None:
    """A barrier opens: a new interval begins, if all of the block waited at it."""
    if peek64(head + 8 * st.INTERVALS) == 0:
        return
    parts = slot + peek64(head + 8 * st.AT_INTERVAL) + 8 * st.B_PARTS
    is_whole = (peek64(parts) >> number) & 1 == 0
    poke64(parts, peek64(parts) & ~(1 << number))
    waiting = peek64(slot + peek64(head + 8 * st.AT_WAITING) + 8 * number)
    if is_whole and waiting == (1 << peek64(head + 8 * st.N_WARPS)) - 1:
        clocks.next_interval(head, slot)
    else:
        replay(head, slot, block)


@native
def replay(head: int, slot: int, block: int) -> None:
    """Plays the log into the shadow cells, where all is compared until the interval ends."""
    book = slot + peek64(head + 8 * st.AT_INTERVAL)
    if peek64(book + 8 * st.B_PHASE) == st.PHASE_CELLS:
        return
    poke64(book + 8 * st.B_PHASE, st.PHASE_CELLS)
    poke64(book + 8 * st.B_STRIKES, peek64(book + 8 * st.B_STRIKES) + 2)
    w, host = peek64(book + 8 * st.B_WARP), peek64(book + 8 * st.B_HOST)
    cells = slot + peek64(head + 8 * st.AT_SHARED_CELLS)
    entry = book + 8 * st.BOOK_SLOTS
    for _ in range(peek64(book + 8 * st.B_COUNT)):
        stamp, form = peek64(entry + 8), peek64(entry + 16)
        races_at(
            head, slot, w, entry + 8 * st.LOG_SLOTS, stamp & ~st.INSTRUCTION_MASK,
            stamp & st.INSTRUCTION_MASK, peek64(entry), at.SPACE_SHARED, form & 255, form >> 8, 0,
            host, cells, beside_shared(head), block,
        )  # fmt: skip
        entry += st.LOG_BYTES
    if peek64(book + 8 * st.B_ATOMICS) != 0:
        replay_atomics(head, slot, book, block)


@native
def replay_atomics(head: int, slot: int, book: int, block: int) -> None:
    """Plays the last atomic on each cell: it takes the place of those before it, and of nothing
    else, for a cell that was used in another way has stopped all this."""
    number, shift = peek64(book + 8 * st.B_NUMBER), peek64(head + 8 * st.CELL_SHIFT)
    w, host = peek64(book + 8 * st.B_WARP), peek64(book + 8 * st.B_HOST)
    cells = slot + peek64(head + 8 * st.AT_SHARED_CELLS)
    owners = slot + peek64(head + 8 * st.AT_OWNERS)
    lasts = slot + peek64(head + 8 * st.AT_LASTS)
    for i in range(peek64(head + 8 * st.SHARED_BYTES) >> shift):
        if peek32(owners + 4 * i) > number << _CODES | _READ_BY_ALL and (
            peek32(owners + 4 * i) >> _CODES == number
        ):
            atomic_again(
                head, slot, w, cells + st.CELL_BYTES * i, beside_shared(head),
                peek64(lasts + 8 * i), host, i << shift, block,
            )  # fmt: skip


@native
def note(book: int, w: int, stamp: int, mask: int, kind: int, size: int) -> None:
    """Writes an access down."""
    count = peek64(book + 8 * st.B_COUNT)
    entry = book + 8 * st.BOOK_SLOTS + st.LOG_BYTES * count
    poke64(book + 8 * st.B_COUNT, count + 1)
    poke64(entry, mask)
    poke64(entry + 8, stamp)
    poke64(entry + 16, kind | size << 8)
    add_lanes(entry + 8 * st.LOG_SLOTS, w + OFFSETS, 0)


@native
def read_entry(place: int, number: int, own: int) -> bool:
    """Notes that a lane reads a cell; False if another one has changed it."""
    entry = peek32(place)
    if entry >> _CODES != number:
        poke32(place, own | _READ)
        return True
    if entry & ~_READ == own:
        return True
    code = entry & ((1 << _CODES) - 1)
    if code < _READ or code > _READ_BY_ALL:
        return False
    if code != _READ_BY_ALL:
        own_warp = (entry ^ own) & (31 << 5) == 0
        found = _READ_BY_WARP | (own & (31 << 5)) if own_warp else _READ_BY_ALL
        poke32(place, number << _CODES | found)
    return True


@native
def write_entry(place: int, number: int, own: int) -> bool:
    """Notes that a lane writes a cell; False if another one has used it."""
    entry = peek32(place)
    if entry >> _CODES == number and entry & ~_READ != own:
        return False
    poke32(place, own)
    return True


@native
def change_entry(owners: int, lasts: int, cell: int, own: int, now: int) -> bool:
    """Notes an atomic and its stamp; False if the cell was used in another way."""
    entry = peek32(owners + 4 * cell)
    if entry != own:
        if entry >> _CODES == own >> _CODES:
            return False
        poke32(owners + 4 * cell, own)
    poke64(lasts + 8 * cell, now)
    return True


@native
def change_lanes(head: int, slot: int, places: int, mask: int, size: int, own: int,
                 now: int) -> bool:  # fmt: skip
    """The same for a warp's lanes; as in races.py, of neighbours on one place the first counts."""
    owners = slot + peek64(head + 8 * st.AT_OWNERS)
    lasts = slot + peek64(head + 8 * st.AT_LASTS)
    shift = peek64(head + 8 * st.CELL_SHIFT)
    if mask == _FULL and repeats(places) != 0:
        now |= st.STAMP_MANY
    previous = -1
    rest = mask
    while rest != 0:
        lane = lowest_bit(rest)
        rest &= rest - 1
        offset = peek32(places + 4 * lane)
        if now & st.STAMP_MANY != 0 and (
            offset == previous or is_repeated(places, lane, at.SPACE_SHARED)
        ):
            continue
        previous = offset
        cell, stamp = offset >> shift, now | lane << st.STAMP_LANE
        if not change_entry(owners, lasts, cell, own, stamp):
            return False
        for k in range(1, size >> shift):
            if not change_entry(owners, lasts, cell + k, own, stamp):
                return False
    return True


@native
def read_lanes(owners: int, places: int, mask: int, shift: int, size: int, number: int,
               own: int) -> bool:  # fmt: skip
    """Notes the reads of a warp's lanes; False where one has to be compared with others."""
    n_cells = 1 if size >> shift == 0 else size >> shift
    if n_cells == 1 and mask == _FULL and rises_by(places, 1 << shift) == _FULL:
        first = owners + 4 * (peek32(places) >> shift)
        if read_row(first, own) == _FULL:
            return True
    rest = mask
    while rest != 0:
        lane = lowest_bit(rest)
        rest &= rest - 1
        place = owners + 4 * (peek32(places + 4 * lane) >> shift)
        for _ in range(n_cells):
            if not read_entry(place, number, own + lane):
                return False
            place += 4
    return True


@native
def write_lanes(owners: int, places: int, mask: int, shift: int, size: int, number: int,
                own: int) -> bool:  # fmt: skip
    """The same for writes."""
    n_cells = size >> shift
    if n_cells == 1 and mask == _FULL and rises_by(places, size) == _FULL:
        return write_row(owners + 4 * (peek32(places) >> shift), own) == _FULL
    rest = mask
    while rest != 0:
        lane = lowest_bit(rest)
        rest &= rest - 1
        place = owners + 4 * (peek32(places + 4 * lane) >> shift)
        for _ in range(n_cells):
            if not write_entry(place, number, own + lane):
                return False
            place += 4
    return True


@native
def enter_reads(head: int, slot: int, book: int) -> None:
    """The first write after reads: the cells that they used get their entries."""
    number = peek64(book + 8 * st.B_NUMBER)
    owners, shift = slot + peek64(head + 8 * st.AT_OWNERS), peek64(head + 8 * st.CELL_SHIFT)
    entry = book + 8 * st.BOOK_SLOTS
    for _ in range(peek64(book + 8 * st.B_COUNT)):
        warp = (peek64(entry + 8) >> st.STAMP_WARP) & 31
        read_lanes(owners, entry + 8 * st.LOG_SLOTS, peek64(entry), shift,
                   peek64(entry + 16) >> 8, number, number << _CODES | warp << 5)  # fmt: skip
        entry += st.LOG_BYTES
    poke64(book + 8 * st.B_PHASE, st.PHASE_OWNERS)


@native
def is_plain(head: int, slot: int, book: int, w: int, mask: int, kind: int, size: int,
             flags: int, stamp: int) -> bool:  # fmt: skip
    """Whether an access goes with all that was done in this interval."""
    strong = flags & st.F_STRONG != 0
    if strong and flags & st.F_ATOMIC == 0:
        return False
    if not strong and peek64(book + 8 * st.B_COUNT) >= st.MOST_LOGGED:
        return False
    reads = kind == at.ACCESS_READ
    phase = peek64(book + 8 * st.B_PHASE)
    if reads and phase == st.PHASE_READS:
        return True
    shift = peek64(head + 8 * st.CELL_SHIFT)
    if not reads and size >> shift == 0:
        return False
    if phase == st.PHASE_READS:
        enter_reads(head, slot, book)
    number = peek64(book + 8 * st.B_NUMBER)
    own = number << _CODES | peek32(w + at.WARP_INDEX) << 5
    owners = slot + peek64(head + 8 * st.AT_OWNERS)
    if reads:
        return read_lanes(owners, w + OFFSETS, mask, shift, size, number, own)
    if strong:
        poke64(book + 8 * st.B_ATOMICS, 1)
        own = number << _CODES | (_ATOMIC + (1 if flags & st.F_WIDE_ATOMIC else 0))
        return change_lanes(head, slot, w + OFFSETS, mask, size, own, stamp | _BYTES)
    return write_lanes(owners, w + OFFSETS, mask, shift, size, number, own)


@native
def check_shared(head: int, slot: int, w: int, inst: int, mask: int, kind: int, size: int,
                 flags: int, host: int, block: int) -> None:  # fmt: skip
    """racecheck of one warp's access to the shared memory of its own block."""
    if peek64(head + 8 * st.INTERVALS) != 0:
        book = slot + peek64(head + 8 * st.AT_INTERVAL)
        if peek64(book + 8 * st.B_PHASE) != st.PHASE_CELLS:
            warp = peek32(w + at.WARP_INDEX)
            clock = peek64(slot + peek64(head + 8 * st.AT_CLOCKS) + 8 * warp)
            stamp = clock << st.STAMP_CLOCK | warp << st.STAMP_WARP | inst
            if is_plain(head, slot, book, w, mask, kind, size, flags, stamp):
                poke64(book + 8 * st.B_WARP, w)
                poke64(book + 8 * st.B_HOST, host)
                if flags & st.F_STRONG == 0:
                    note(book, w, stamp, mask, kind, size)
                return
            replay(head, slot, block)
    cells = slot + peek64(head + 8 * st.AT_SHARED_CELLS)
    check_races(
        head, slot, w, inst, mask, at.SPACE_SHARED, kind, size, 0, host, cells,
        beside_shared(head), block,
    )  # fmt: skip
