"""memcheck: every lane's address before the access; bad lanes are recorded and left out."""

from __future__ import annotations

from typing import Any

from warplens.compiled import cfunc, native, types
from warplens.execute import layout as at
from warplens.sanitize import state as st
from warplens.sanitize.native import peek32, peek64
from warplens.sanitize.records import claim, fill

_I32, _I64 = types.int32, types.int64
_WIDE: Any = types.int64  # 32-bit arguments become int64 before they are shifted
SCREEN = types.int32(_I64, _I64, _I32, _I32, _I32, _I32, _I32, _I32)


@native
def allocation_of(env: int, address: int, size: int) -> int:
    """Address of the engine's table row that holds the whole access, or 0."""
    table = peek64(env + 8 * at.ENV_SEGMENTS)
    low, high = 0, peek64(env + 8 * at.ENV_N_SEGMENTS)
    while low < high:
        middle = (low + high) >> 1
        if peek64(table + 8 * at.SEGMENT_SLOTS * middle) <= address:
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return 0
    row = table + 8 * at.SEGMENT_SLOTS * (low - 1)
    if address + size > peek64(row) + peek64(row + 8 * at.SEGMENT_LENGTH):
        return 0
    return row


@native
def is_read_only(head: int, base: int) -> bool:
    """Whether an allocation may only be read."""
    table = peek64(head + 8 * st.SEGMENTS)
    for i in range(peek64(head + 8 * st.N_SEGMENTS)):
        row = table + 8 * st.SEGMENT_SLOTS * i
        if peek64(row) == base:
            return peek64(row + 8 * st.S_ALLOWED) & at.ACCESS_WRITE == 0
    return False


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
def screen_global(head: int, env: int, w: int, inst: int, mask: int, kind: int, size: int,
                  immediate: int) -> int:  # fmt: skip
    """The lanes whose global access is whole, aligned and allowed."""
    good = mask
    base, limit = 0, 0
    for lane in range(32):
        if (mask >> lane) & 1 == 0:
            continue
        low = peek32(w + at.WARP_SCRATCH + 4 * lane)
        high = peek32(w + at.WARP_SCRATCH + 128 + 4 * lane)
        address = (high << 32 | low) + immediate
        check = 0
        if address & (size - 1) != 0:
            check = st.C_MISALIGNED
        elif address < base or address + size > limit:
            row = allocation_of(env, address, size)
            if row == 0:
                check = st.C_OUT_OF_BOUNDS
            else:
                base = peek64(row)
                limit = base + peek64(row + 8 * at.SEGMENT_LENGTH)
                if kind != at.ACCESS_READ and is_read_only(head, base):
                    check = st.C_READ_ONLY
                    base = limit = 0
        if check != 0:
            refuse(head, env, w, inst, lane, check, at.SPACE_GLOBAL, kind, size, address)
            good &= ~(1 << lane)
    return good


@native
def screen_window(head: int, env: int, w: int, inst: int, mask: int, space: int, kind: int,
                  size: int, first: int, limit: int) -> int:  # fmt: skip
    """The same for shared and local memory."""
    good = mask
    for lane in range(32):
        if (mask >> lane) & 1 == 0:
            continue
        offset = peek32(w + at.WARP_SCRATCH + 4 * lane)
        check = 0
        if offset < first or offset + size > limit:
            check = st.C_OUT_OF_BOUNDS
        elif offset & (size - 1) != 0:
            check = st.C_MISALIGNED
        if check != 0:
            refuse(head, env, w, inst, lane, check, space, kind, size, offset)
            good &= ~(1 << lane)
    return good


@cfunc(SCREEN)
def on_screen(env: int, w: int, inst: int, mask: int, space: int, kind: int, size: int,
              immediate: int) -> int:  # fmt: skip
    """Drops the lanes whose access is not allowed."""
    head = peek64(env + 8 * at.ENV_OBSERVER)
    lanes = _WIDE(mask) & 0xFFFFFFFF
    if space == at.SPACE_GLOBAL:
        return screen_global(head, env, w, inst, lanes, kind, size, immediate)
    first = _WIDE(0)
    limit = peek64(head + 8 * st.LOCAL_BYTES)
    if space == at.SPACE_SHARED:
        first = peek64(head + 8 * st.SHARED_FIRST)
        limit = peek64(head + 8 * st.SHARED_LIMIT)
    return screen_window(head, env, w, inst, lanes, space, kind, size, first, limit)
