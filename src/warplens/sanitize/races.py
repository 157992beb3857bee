"""racecheck of one warp's access: what is plainly ordered is settled here, the rest in shadow.py.

Most accesses meet a word whose last write lies before the barrier that this warp has passed, or
that this warp itself has used since. On the way lanes of one warp are noticed that use a word
which another of them writes, with nothing but their order in the warp between: only then can the
checks inside warps find anything.
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import poke64
from warplens.lift import layout as at
from warplens.sanitize import shadow
from warplens.sanitize import state as st
from warplens.sanitize.memcheck import ADDRESSES, OFFSETS
from warplens.sanitize.native import lowest_bit, peek32, peek64

_BYTES = 15 << st.STAMP_BYTES
_LANE = 31 << st.STAMP_LANE
_FULL = 0xFFFFFFFF


@native
def is_doubled(places: int, mask: int, space: int) -> bool:
    """Whether neighbours, or lanes eight apart, use the same place (seen in full warps only)."""
    if mask != _FULL:
        return False
    same = 0
    if space == at.SPACE_GLOBAL:
        for lane in range(31):
            here = peek64(places + 8 * lane)
            same |= 1 if peek64(places + 8 * lane + 8) == here else 0
        return same != 0
    for lane in range(31):
        same |= 1 if peek32(places + 4 * lane + 4) == peek32(places + 4 * lane) else 0
    for lane in range(24):
        same |= 1 if peek32(places + 4 * lane + 32) == peek32(places + 4 * lane) else 0
    return same != 0


@native
def is_repeated(places: int, lane: int, space: int) -> bool:
    """Whether the lane eight before, in a full warp, uses the same place of shared memory."""
    if lane < 8 or space == at.SPACE_GLOBAL:
        return False
    place = places + 4 * lane
    return peek32(place) == peek32(place - 32)


@native
def note_sharing(head: int, stamp: int, now: int, block: int) -> None:
    """Lanes of one warp use one word, one of them writing, unless both do so atomically."""
    table = peek64(head + 8 * st.INSTRUCTIONS)
    first = peek64(table + 32 * (stamp & st.INSTRUCTION_MASK))
    second = peek64(table + 32 * (now & st.INSTRUCTION_MASK))
    if first & second & st.F_ATOMIC:
        return
    poke64(head + 8 * st.SHARING, peek64(head + 8 * st.SHARING) + 1)
    n = peek64(head + 8 * st.N_SHARING)
    blocks = peek64(head + 8 * st.SHARING_BLOCKS)
    if n < st.MAX_SHARING and (n == 0 or peek64(blocks + 8 * (n - 1)) != block):
        poke64(blocks + 8 * n, block)
        poke64(head + 8 * st.N_SHARING, n + 1)


@native
def find_sharing(head: int, stamp: int, now: int, block: int) -> None:
    """Compares with an earlier access to the word: another lane of this warp, in this clock?"""
    if (stamp ^ now) >> st.STAMP_WARP == 0 and (
        (stamp ^ now) & _LANE != 0 or (stamp | now) & st.STAMP_MANY != 0
    ):
        note_sharing(head, stamp, now, block)


@native
def is_before(known: int, stamp: int, warp: int) -> bool:
    """Whether an access of this block is ordered before what the warp does now."""
    theirs = (stamp >> st.STAMP_WARP) & 31
    return theirs == warp or stamp >> st.STAMP_CLOCK <= peek64(known + 8 * theirs)


@native
def is_clear(known: int, cell: int, warp: int, space: int, block: int) -> bool:
    """Whether all plain accesses kept beside atomic ones are ordered before this warp's."""
    blocks = peek64(cell + 24)
    for k in range(3):
        stamp = peek64(cell + 8 * k)
        if stamp == 0:
            continue
        if space == at.SPACE_GLOBAL and (blocks >> (21 * k)) & st.BLOCK_MASK != block:
            return False
        if not is_before(known, stamp, warp):
            return False
    return True


@native
def is_same_read(head: int, cell: int, read: int, place: int, now: int) -> bool:
    """Whether this warp has read the word before in this clock, no more strongly than now."""
    if (read ^ now) >> st.STAMP_WARP != 0:
        return False
    if (read ^ now) & st.INSTRUCTION_MASK != 0 and shadow.is_weaker(head, now, read):
        return False
    if read & now & _BYTES != now & _BYTES:
        return False
    is_many = read & st.STAMP_MANY != 0
    if is_many or ((read | now) & st.STAMP_MANY == 0 and (read ^ now) & _LANE == 0):
        return True
    if peek64(cell) >> st.STAMP_WARP == now >> st.STAMP_WARP:
        return False
    poke64(cell + 8 * place, read | st.STAMP_MANY)
    return True


@native
def reads_quickly(head: int, known: int, cell: int, beside: int, now: int, warp: int,
                  space: int, block: int) -> bool:  # fmt: skip
    """Settles a read of a word if nothing about it is in doubt."""
    a, b = peek64(cell + 8), peek64(cell + 16)
    if is_same_read(head, cell, a, 1, now) or is_same_read(head, cell, b, 2, now):
        return True
    written = peek64(cell)
    blocks = peek64(cell + 24)
    if blocks < 0 and not is_clear(known, cell + beside, warp, space, block):
        return False
    if space == at.SPACE_GLOBAL:
        if written != 0 and (
            blocks & st.BLOCK_MASK != block or shadow.hides_others(head, written, now)
        ):
            return False
        if a != 0 and (blocks >> 21) & st.BLOCK_MASK != block:
            return False
    if written >> st.STAMP_WARP == now >> st.STAMP_WARP:
        find_sharing(head, written, now, block)
    elif written != 0 and not is_before(known, written, warp):
        return False
    own = now >> st.STAMP_WARP
    if a >> st.STAMP_WARP == own or b >> st.STAMP_WARP == own:
        return False  # two instructions of this warp: shadow.py joins them
    place = 1 if a == 0 or is_before(known, a, warp) else 2
    poke64(cell + 8 * place, now)
    if space == at.SPACE_GLOBAL:
        keep = ~(st.BLOCK_MASK << (21 * place))
        poke64(cell + 24, (blocks & keep) | block << (21 * place))
    return True


@native
def writes_quickly(head: int, known: int, cell: int, beside: int, now: int, warp: int,
                   space: int, block: int, flags: int) -> bool:  # fmt: skip
    """The same for a write of a whole word."""
    written, a, b = peek64(cell), peek64(cell + 8), peek64(cell + 16)
    own = now >> st.STAMP_WARP
    strong = flags & st.F_STRONG != 0
    is_same = written != 0 and (written ^ now) & st.INSTRUCTION_MASK == 0
    alike = strong and is_same and flags & (st.F_BLOCK_SCOPE | st.F_VOLATILE) == 0
    blocks = peek64(cell + 24)
    if strong:
        if a != 0 or (written != 0 and not is_same):
            return False  # plain accesses are to be kept
        if blocks < 0 and not is_clear(known, cell + beside, warp, space, block):
            return False
    elif blocks < 0:
        return False
    if space == at.SPACE_GLOBAL:
        if written != 0 and blocks & st.BLOCK_MASK != block and not alike:
            return False
        if written != 0 and shadow.hides_others(head, written, now):
            return False
        if a != 0 and (blocks >> 21) & st.BLOCK_MASK != block:
            return False
        if b != 0 and (blocks >> 42) & st.BLOCK_MASK != block:
            return False
    if written >> st.STAMP_WARP == own:
        find_sharing(head, written, now, block)
    elif written != 0 and not alike and not is_before(known, written, warp):
        return False
    if a != 0:
        find_sharing(head, a, now, block)
        if a >> st.STAMP_WARP != own and not is_before(known, a, warp):
            return False
    if b != 0:
        find_sharing(head, b, now, block)
        if b >> st.STAMP_WARP != own and not is_before(known, b, warp):
            return False
        poke64(cell + 16, 0)
    poke64(cell, now)
    poke64(cell + 8, 0)
    if space == at.SPACE_GLOBAL:
        poke64(cell + 24, block | (blocks & st.CELL_BESIDE))
    return True


@native
def races_of_warp(head: int, slot: int, w: int, inst: int, mask: int, space: int, kind: int,
                  size: int, base: int, host: int, cells: int, beside: int,
                  block: int) -> None:  # fmt: skip
    """Every lane's access against the shadow of its words, the warp being one thread."""
    warp = peek32(w + at.WARP_INDEX)
    clock = peek64(slot + peek64(head + 8 * st.AT_CLOCKS) + 8 * warp)
    places = w + (ADDRESSES if space == at.SPACE_GLOBAL else OFFSETS)
    races_at(
        head, slot, w, places, clock << st.STAMP_CLOCK | warp << st.STAMP_WARP, inst, mask, space,
        kind, size, base, host, cells, beside, block,
    )  # fmt: skip


@native
def races_at(head: int, slot: int, w: int, places: int, stamp: int, inst: int, mask: int,
             space: int, kind: int, size: int, base: int, host: int, cells: int, beside: int,
             block: int) -> None:  # fmt: skip
    """The same for lanes' addresses or offsets anywhere, at a clock of a warp."""
    warp = (stamp >> st.STAMP_WARP) & 31
    stamp |= inst
    others = peek64(head + 8 * st.HAS_ASYNC) | peek64(head + 8 * st.HAS_BULK)
    quick = others | peek64(head + 8 * st.LOCK_SETS) == 0 and peek64(head + 8 * st.CLUSTER) <= 1
    known = slot + peek64(head + 8 * st.AT_KNOWN) + 8 * peek64(head + 8 * st.COLUMNS) * warp
    flags = peek64(peek64(head + 8 * st.INSTRUCTIONS) + 32 * inst)
    short = block & st.BLOCK_MASK
    writes = kind != at.ACCESS_READ
    shift = peek64(head + 8 * st.CELL_SHIFT)
    unit = 1 << shift
    n_cells = 1 if size < unit else size >> shift
    if is_doubled(places, mask, space):
        stamp |= st.STAMP_MANY
        if writes and flags & st.F_ATOMIC == 0:
            note_sharing(head, stamp, stamp, block)
    covered = 15
    previous = -1
    rest = mask
    while rest != 0:
        lane = lowest_bit(rest)
        rest &= rest - 1
        if space == at.SPACE_GLOBAL:
            offset = peek64(places + 8 * lane) - base
        else:
            offset = peek32(places + 4 * lane)
        if stamp & st.STAMP_MANY != 0 and (offset == previous or is_repeated(places, lane, space)):
            continue
        previous = offset
        if size < unit:
            covered = ((1 << size) - 1) << (offset & (unit - 1))
        now = stamp | lane << st.STAMP_LANE | covered << st.STAMP_BYTES
        cell = cells + st.CELL_BYTES * (offset >> shift)
        for k in range(n_cells):
            if not quick or (writes and size < unit):
                done = False
            elif not writes:
                done = reads_quickly(head, known, cell, beside, now, warp, space, short)
            else:
                done = writes_quickly(
                    head, known, cell, beside, now, warp, space, short, flags
                )
            if not done:
                _share_word(head, cell, now, writes, short)
                shadow.check_word(
                    head, slot, w, cell, beside, now, block, space, base, offset, size, writes, k,
                    host + unit * ((offset >> shift) + k),
                )  # fmt: skip
            cell += st.CELL_BYTES


@native
def atomic_again(head: int, slot: int, w: int, cell: int, beside: int, now: int, host: int,
                 offset: int, block: int) -> None:  # fmt: skip
    """An atomic of a block on a cell of its shared memory, by the stamp that it had."""
    warp = (now >> st.STAMP_WARP) & 31
    known = slot + peek64(head + 8 * st.AT_KNOWN) + 8 * peek64(head + 8 * st.COLUMNS) * warp
    flags = peek64(peek64(head + 8 * st.INSTRUCTIONS) + 32 * (now & st.INSTRUCTION_MASK))
    short = block & st.BLOCK_MASK
    if peek64(head + 8 * st.LOCK_SETS) != 0 or not writes_quickly(
        head, known, cell, beside, now, warp, at.SPACE_SHARED, short, flags
    ):
        unit = 1 << peek64(head + 8 * st.CELL_SHIFT)
        _share_word(head, cell, now, True, short)
        shadow.check_word(
            head, slot, w, cell, beside, now, block, at.SPACE_SHARED, 0, offset, unit, True, 0,
            host + offset,
        )  # fmt: skip


@native
def race_range(head: int, slot: int, w: int, inst: int, lane: int, space: int, writes: bool,
               base: int, offset: int, size: int, host: int, cells: int, beside: int,
               block: int) -> None:  # fmt: skip
    """One lane's access to many words."""
    warp = peek32(w + at.WARP_INDEX)
    clock = peek64(slot + peek64(head + 8 * st.AT_CLOCKS) + 8 * warp)
    now = (
        clock << st.STAMP_CLOCK | warp << st.STAMP_WARP | lane << st.STAMP_LANE | _BYTES | inst
    )
    shift = peek64(head + 8 * st.CELL_SHIFT)
    unit = 1 << shift
    for number in range(offset >> shift, (offset + size) >> shift):
        shadow.check_word(
            head, slot, w, cells + st.CELL_BYTES * number, beside, now, block, space, base,
            unit * number, unit, writes, 0, host + unit * number,
        )  # fmt: skip


@native
def _share_word(head: int, cell: int, now: int, writes: bool, block: int) -> None:
    """Sharing of a word that could not be settled quickly."""
    for k in range(3 if writes else 1):
        stamp = peek64(cell + 8 * k)
        if stamp & now & _BYTES != 0:
            find_sharing(head, stamp, now, block)


@native
def races_of_lanes(head: int, slot: int, w: int, inst: int, mask: int, space: int, kind: int,
                   size: int, base: int, host: int, cells: int, beside: int,
                  block: int) -> None:  # fmt: skip
    """Every lane's access against the shadow of its words, each lane being a thread."""
    warp = peek32(w + at.WARP_INDEX)
    clocks = slot + peek64(head + 8 * st.AT_LANE_CLOCKS) + 256 * warp
    stamp = warp << st.STAMP_WARP | inst
    writes = kind != at.ACCESS_READ
    shift = peek64(head + 8 * st.CELL_SHIFT)
    unit = 1 << shift
    n_cells = 1 if size < unit else size >> shift
    covered = 15
    rest = mask
    while rest != 0:
        lane = lowest_bit(rest)
        rest &= rest - 1
        if space == at.SPACE_GLOBAL:
            offset = peek64(w + ADDRESSES + 8 * lane) - base
        else:
            offset = peek32(w + OFFSETS + 4 * lane)
        if size < unit:
            covered = ((1 << size) - 1) << (offset & (unit - 1))
        clock = peek64(clocks + 8 * lane)
        now = (
            clock << st.STAMP_CLOCK | stamp | lane << st.STAMP_LANE | covered << st.STAMP_BYTES
        )
        cell = cells + st.CELL_BYTES * (offset >> shift)
        for k in range(n_cells):
            if writes or (now != peek64(cell + 8) and now != peek64(cell + 16)):
                shadow.check_word(
                    head, slot, w, cell, beside, now, block, space, base, offset, size, writes, k,
                    host + unit * ((offset >> shift) + k),
                )  # fmt: skip
            cell += st.CELL_BYTES
