"""memcheck: every lane's address before the access; bad lanes are recorded and left out."""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import poke32, poke64
from warplens.lift import layout as at
from warplens.sanitize import state as st
from warplens.sanitize.native import lowest_bit, peek32, peek64
from warplens.sanitize.records import claim, fill
from warplens.sanitize.vectors import lanes_between

OFFSETS = at.WARP_SCRATCH + 128 * 12  # where the checks put a lane's offset or address
ADDRESSES = at.WARP_SCRATCH + 128 * 20
_LOWEST_QUIET, _HIGHEST_QUIET = 1 << 24, (1 << 32) - (1 << 24)


@native
def row_of(head: int, inst: int, address: int, size: int) -> int:
    """The table row of the allocation that holds a whole access, or 0."""
    cache = peek64(head + 8 * st.INSTRUCTIONS) + 8 * (st.INSTRUCTION_SLOTS * inst + st.I_CACHE)
    row = peek64(cache)
    if row != 0:
        offset = address - peek64(row)
        if offset >= 0 and offset + size <= peek64(row + 8 * st.S_BYTES):
            return row
    table = peek64(head + 8 * st.SEGMENTS)
    low, high = 0, peek64(head + 8 * st.N_SEGMENTS)
    while low < high:
        middle = (low + high) >> 1
        if peek64(table + 8 * st.SEGMENT_SLOTS * middle) <= address:
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return 0
    row = table + 8 * st.SEGMENT_SLOTS * (low - 1)
    if address + size > peek64(row) + peek64(row + 8 * st.S_BYTES):
        return 0
    poke64(cache, row)
    return row


@native
def lanes_inside(w: int, lanes: int, base: int, length: int, size: int) -> int:
    """The lanes whose whole access lies in an allocation."""
    inside = 0
    for lane in range(32):
        offset = peek64(w + ADDRESSES + 8 * lane) - base
        inside |= (1 if 0 <= offset <= length - size else 0) << lane
    return inside & lanes


@native
def lanes_skewed(w: int, lanes: int, size: int) -> int:
    """The lanes whose address is no multiple of the size."""
    skewed = 0
    for lane in range(32):
        skewed |= (1 if peek64(w + ADDRESSES + 8 * lane) & (size - 1) else 0) << lane
    return skewed & lanes


@native
def window_good(w: int, lanes: int, size: int, first: int, limit: int) -> int:
    """The lanes whose offset lies whole in a window and is a multiple of the size."""
    if limit < first + size:
        return 0
    return lanes & lanes_between(w + OFFSETS, first, limit - size - first, size - 1)


@native
def set_quiet(site: int, row: int, size: int) -> None:
    """Accesses of a site to an allocation need no more checks."""
    base, length = peek64(row), peek64(row + 8 * st.S_BYTES)
    low = base & 0xFFFFFFFF
    if length >= 1 << 31 or low < _LOWEST_QUIET or low + length > _HIGHEST_QUIET:
        return
    if base & 127 != 0 or length < size:
        return
    poke32(site + at.SITE_QUIET_LOW, low)
    poke32(site + at.SITE_QUIET_HIGH, base >> 32)
    poke32(site + at.SITE_QUIET_LIMIT, length - size + 1)


@native
def refuse(head: int, env: int, w: int, inst: int, lane: int, check: int, space: int, kind: int,
           size: int, address: int) -> None:  # fmt: skip
    """Records a bad access."""
    if peek64(head + 8 * st.TOOLS) & st.TOOL_MEMCHECK == 0:
        return
    record = claim(head, check, inst, inst, space, 1)
    if record == 0:
        return
    fill(record, st.R_SPACE, space)
    fill(record, st.R_SECOND_KIND, kind)
    fill(record, st.R_SECOND_THREAD, peek32(w + at.WARP_INDEX) << 5 | lane)
    fill(record, st.R_SECOND_BLOCK, peek64(env + 8 * at.ENV_BLOCK))
    fill(record, st.R_BASE, address)
    fill(record, st.R_SIZE, size)


@native
def refuse_far(head: int, env: int, w: int, inst: int, lanes: int, check: int, kind: int,
               size: int) -> None:  # fmt: skip
    """Records bad accesses to global memory."""
    rest = lanes
    while rest != 0:
        lane = lowest_bit(rest)
        rest &= rest - 1
        address = peek64(w + ADDRESSES + 8 * lane)
        refuse(head, env, w, inst, lane, check, at.SPACE_GLOBAL, kind, size, address)


@native
def refuse_near(head: int, env: int, w: int, inst: int, lanes: int, space: int, kind: int,
                size: int, first: int, limit: int) -> None:  # fmt: skip
    """Records bad accesses to shared or local memory."""
    rest = lanes
    while rest != 0:
        lane = lowest_bit(rest)
        rest &= rest - 1
        offset = peek32(w + OFFSETS + 4 * lane)
        inside = first <= offset <= limit - size
        check = st.C_MISALIGNED if inside else st.C_OUT_OF_BOUNDS
        refuse(head, env, w, inst, lane, check, space, kind, size, offset)
