"""The native functions that see every access and synchronisation of a sanitized launch."""

from __future__ import annotations

from typing import Any

from warplens.compiled import cfunc, native, types
from warplens.execute import layout as at
from warplens.execute.native import poke64
from warplens.sanitize import clocks, shadow
from warplens.sanitize import state as st
from warplens.sanitize.initcheck import check_initialised
from warplens.sanitize.native import lowest_bit, peek32, peek64
from warplens.sanitize.synccheck import (
    at_barrier,
    at_diverged_access,
    at_exit,
    at_shuffle,
    at_warpsync,
    bypass_bits,
    live_lanes,
    opened,
)

_OFFSETS = at.WARP_SCRATCH
_ADDRESSES = at.WARP_SCRATCH + 128 * 20

_I32, _I64 = types.int32, types.int64
_WIDE: Any = types.int64  # 32-bit arguments become int64 before they are shifted
BLOCK = types.void(_I64, _I64, _I32, _I32)
ACCESS = types.void(_I64, _I64, _I32, _I32, _I32, _I32, _I32, _I64, _I64)
RELEASE = types.void(_I64, _I64, _I64)


@native
def segment_row(head: int, inst: int, base: int) -> int:
    """The row of an allocation, or 0 if it has none."""
    cache = peek64(head + 8 * st.INSTRUCTIONS) + 8 * (st.INSTRUCTION_SLOTS * inst + st.I_CACHE)
    row = peek64(cache)
    if row != 0 and peek64(row) == base:
        return row
    table = peek64(head + 8 * st.SEGMENTS)
    for i in range(peek64(head + 8 * st.N_SEGMENTS)):
        row = table + 8 * st.SEGMENT_SLOTS * i
        if peek64(row) == base:
            poke64(cache, row)
            return row
    return 0


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
def lane_clock(head: int, slot: int, warp: int, lane: int) -> int:
    """The clock with which a lane's access is stamped."""
    if peek64(head + 8 * st.MODE) == st.MODE_LANE:
        return peek64(slot + peek64(head + 8 * st.AT_LANE_CLOCKS) + 256 * warp + 8 * lane)
    return peek64(slot + peek64(head + 8 * st.AT_CLOCKS) + 8 * warp)


@native
def is_quick(cell: int, now: int) -> bool:
    """Whether this warp has read the word before in this clock and nobody else has written it.

    Clocks of different warps differ, so the upper bits of the stamp tell the warp and the block.
    """
    own = now >> st.STAMP_WARP
    written, read = peek64(cell), peek64(cell + 8)
    whole = 15 << st.STAMP_BYTES
    if written != 0 and written >> st.STAMP_WARP != own:
        return False
    return read >> st.STAMP_WARP == own and read & now & whole == now & whole


@native
def check_races(head: int, slot: int, w: int, inst: int, mask: int, space: int, kind: int,
                size: int, base: int, host: int, cells: int, block: int) -> None:  # fmt: skip
    """Every lane's access against the shadow of its words."""
    warp = peek32(w + at.WARP_INDEX)
    writes = kind != at.ACCESS_READ
    words = 1 if size < 4 else size >> 2
    clock = peek64(slot + peek64(head + 8 * st.AT_CLOCKS) + 8 * warp)
    stamp = warp << st.STAMP_WARP | inst
    by_lane = peek64(head + 8 * st.MODE) == st.MODE_LANE
    previous = -1
    for lane in range(32):
        if (mask >> lane) & 1 == 0:
            continue
        if space == at.SPACE_GLOBAL:
            offset = peek64(w + _ADDRESSES + 8 * lane) - base
        else:
            offset = peek32(w + _OFFSETS + 4 * lane)
        if by_lane:
            clock = lane_clock(head, slot, warp, lane)
        elif offset == previous and not writes:
            continue
        previous = offset
        covered = 15
        if size < 4:
            covered = ((1 << size) - 1) << (offset & 3)
        now = clock << st.STAMP_CLOCK | stamp | lane << st.STAMP_LANE | covered << st.STAMP_BYTES
        first = offset >> 2
        for k in range(words):
            if not by_lane and not writes and is_quick(cells + st.CELL_BYTES * (first + k), now):
                continue
            shadow.check_word(
                head, slot, w, cells + st.CELL_BYTES * (first + k), now, block, space, base,
                offset, size, writes, k, host + 4 * (first + k),
            )  # fmt: skip


@native
def order_strong(head: int, slot: int, block: int, w: int, flags: int, mask: int, space: int,
                 kind: int, base: int) -> None:  # fmt: skip
    """Strong accesses publish what their warp fenced and learn what others published."""
    warp = peek32(w + at.WARP_INDEX)
    fenced = slot + peek64(head + 8 * st.AT_FENCED) + 16 * warp
    can_publish = kind != at.ACCESS_READ and (peek64(fenced) != 0 or peek64(fenced + 8) != 0)
    may_learn = kind != at.ACCESS_WRITE and peek64(head + 8 * st.N_SYNC) != 0
    if not can_publish and not may_learn:
        return
    at_once = flags & st.F_ATOMIC != 0 and peek64(fenced) != 0
    wide = flags & st.F_BLOCK_SCOPE == 0 and space == at.SPACE_GLOBAL
    previous = -1
    for lane in range(32):
        if (mask >> lane) & 1 == 0:
            continue
        if space == at.SPACE_GLOBAL:
            key = peek64(w + _ADDRESSES + 8 * lane)
        else:
            key = (1 << 42) + peek32(w + _OFFSETS + 4 * lane)
        if key == previous:
            continue
        previous = key
        if may_learn:
            clocks.observe_strong(head, slot, block, warp, key, at_once)
        if can_publish:
            clocks.publish(head, slot, block, warp, key, False)
            if wide:
                clocks.publish(head, slot, block, warp, key, True)


@native
def meet_groups(head: int, slot: int, w: int, warp: int, lanes: int) -> None:
    """`__syncwarp()`: lanes that name the same mask meet, also with those that wait for them."""
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
        clocks.meet_lanes(head, slot, warp, group & own)


@cfunc(BLOCK)
def on_block(env: int, w: int, number: int, mask: int) -> None:
    """Nothing: blocks of code are not looked at."""


@cfunc(ACCESS)
def on_access(env: int, w: int, inst: int, mask: int, space: int, kind: int, size: int, base: int,
              host: int) -> None:  # fmt: skip
    """Checks one warp's access to one allocation or space."""
    head = peek64(env + 8 * at.ENV_OBSERVER)
    tools = peek64(head + 8 * st.TOOLS)
    lanes = _WIDE(mask) & 0xFFFFFFFF
    bypassing = tools & st.TOOL_SYNCCHECK and lanes != live_lanes(w)
    if not bypassing and tools & (st.TOOL_RACECHECK | st.TOOL_INITCHECK) == 0:
        return
    slot = clocks.slot_record(head, env)
    block = peek64(env + 8 * at.ENV_BLOCK)
    cells = _WIDE(0)
    initial = _WIDE(0)
    if space == at.SPACE_GLOBAL:
        row = segment_row(head, inst, base)
        if row != 0:
            cells = peek64(row + 8 * st.S_CELLS)
            initial = peek64(row + 8 * st.S_INIT)
            if cells != 0 and is_untracked(row, kind):
                cells = _WIDE(0)
    elif space == at.SPACE_SHARED:
        cells = slot + peek64(head + 8 * st.AT_SHARED_CELLS)
        initial = slot + peek64(head + 8 * st.AT_SHARED_INIT)
    else:
        warp = peek32(w + at.WARP_INDEX)
        part = (peek64(head + 8 * st.LOCAL_BYTES) + 3) // 4 * 128
        initial = slot + peek64(head + 8 * st.AT_LOCAL_INIT) + part * warp
    if bypassing and bypass_bits(head, inst) != 0:
        at_diverged_access(head, slot, w, inst, lanes, block)
    if tools & st.TOOL_INITCHECK and initial != 0:
        check_initialised(head, w, inst, lanes, space, kind, size, base, initial, block)
    if tools & st.TOOL_RACECHECK and (cells != 0 or space == at.SPACE_GLOBAL):
        flags = peek64(peek64(head + 8 * st.INSTRUCTIONS) + 32 * inst)
        if flags & st.F_STRONG and peek64(head + 8 * st.MODE) == st.MODE_BLOCK:
            order_strong(head, slot, block, w, flags, lanes, space, kind, base)
        if cells != 0:
            check_races(head, slot, w, inst, lanes, space, kind, size, base, host, cells, block)


@cfunc(BLOCK)
def on_sync(env: int, w: int, inst: int, mask: int) -> None:
    """Orders what comes before and after barriers, fences and warp synchronisation."""
    head = peek64(env + 8 * at.ENV_OBSERVER)
    lanes = _WIDE(mask) & 0xFFFFFFFF
    entry = peek64(head + 8 * st.INSTRUCTIONS) + 32 * _WIDE(inst)
    flags = peek64(entry)
    if flags == 0 or lanes == 0:
        return
    slot = clocks.slot_record(head, env)
    block = peek64(env + 8 * at.ENV_BLOCK)
    warp = peek32(w + at.WARP_INDEX)
    checks = peek64(head + 8 * st.TOOLS) & st.TOOL_SYNCCHECK
    by_lane = peek64(head + 8 * st.MODE) == st.MODE_LANE
    if flags & st.F_BARRIER:
        number = peek32(w + at.WARP_ARGS) & 15
        if checks:
            at_barrier(head, slot, w, inst, lanes, number, block)
        if by_lane:
            clocks.meet_lanes(head, slot, warp, lanes)
        else:
            clocks.arrive(head, slot, block, warp, number, flags & st.F_ARRIVE == 0)
    elif flags & st.F_WARPSYNC:
        need = peek32(w + at.WARP_ARGS)
        if checks and by_lane:
            at_warpsync(head, slot, w, inst, lanes, need, block)
        if by_lane and flags & st.F_ORDERS_MEMORY:
            meet_groups(head, slot, w, warp, lanes)
    elif flags & (st.F_FENCE | st.F_ACQUIRE):
        if not by_lane:
            clocks.fence(head, slot, block, warp, flags)
    elif flags & st.F_EXIT:
        if checks and by_lane:
            at_exit(head, slot, w, lanes, block)
    elif flags & st.F_SHUFFLE:
        if checks and by_lane:
            at_shuffle(head, slot, w, inst, lanes, flags, block)
    elif flags & st.F_CALL:
        calls = slot + peek64(head + 8 * st.AT_CALLS) + 768 * warp
        rest = lanes
        while rest != 0:
            poke64(calls + 8 * lowest_bit(rest), _WIDE(inst) + 1)
            rest &= rest - 1


@cfunc(RELEASE)
def on_release(env: int, number_of_slot: int, number: int) -> None:
    """A named barrier opens."""
    head = peek64(env + 8 * at.ENV_OBSERVER)
    slot = peek64(head + 8 * st.SLOTS) + number_of_slot * peek64(head + 8 * st.SLOT_BYTES)
    block = peek64(slot + peek64(head + 8 * st.AT_BLOCK)) - 1
    if block < 0:
        return
    if peek64(head + 8 * st.TOOLS) & st.TOOL_SYNCCHECK:
        opened(head, slot, number, block)
    if peek64(head + 8 * st.MODE) == st.MODE_BLOCK:
        clocks.open_barrier(head, slot, block, number)
