"""The native functions that see every access and synchronisation of a sanitized launch."""

from __future__ import annotations

from typing import Any

from warplens.compiled import cfunc, native, types
from warplens.execute.native import poke64
from warplens.lift import layout as at
from warplens.sanitize import clocks, clusters, lane_clocks, locks
from warplens.sanitize import state as st
from warplens.sanitize.accesses import (
    beside_row,
    check_races,
    is_untracked,
    narrowed,
    order_strong,
    seen_bytes,
)
from warplens.sanitize.apart import (
    BULK_GROUPS,
    PRODUCT_GROUPS,
    at_product,
    await_groups,
    close_group,
    fence_proxy,
    finish_stores,
)
from warplens.sanitize.bulk import at_bulk
from warplens.sanitize.distant import check_ranks, other_blocks
from warplens.sanitize.initcheck import check_initialised, is_known
from warplens.sanitize.intervals import at_arrival, at_release, check_shared
from warplens.sanitize.memcheck import (
    ADDRESSES,
    OFFSETS,
    lanes_inside,
    lanes_skewed,
    refuse_far,
    refuse_near,
    row_of,
    set_quiet,
    window_good,
)
from warplens.sanitize.native import lowest_bit, peek32, peek64
from warplens.sanitize.synccheck import (
    at_barrier,
    at_diverged_access,
    at_end,
    at_exit,
    at_mbarrier,
    at_shuffle,
    at_warpsync,
    bypass_bits,
    live_lanes,
    opened,
)
from warplens.sanitize.tensor_memory import at_cells
from warplens.sanitize.vectors import add_lanes

_BESIDE = st.F_PROXY | st.F_PRODUCT | st.F_PRODUCT_WAIT | st.F_BULK_COMMIT | st.F_STORED
_I32, _I64 = types.int32, types.int64
_WIDE: Any = types.int64  # 32-bit arguments become int64 before they are shifted
SYNC = types.void(_I64, _I64, _I32, _I32)
CHECK = types.int32(_I64, _I64, _I64, _I32, _I32, _I32, _I32, _I32, _I32)
RELEASE = types.void(_I64, _I64, _I64)


@native
def lanes_to_see(head: int, w: int, inst: int, lanes: int, slot: int, block: int) -> None:
    """synccheck of an access by a part of a warp: have these lanes gone past a barrier?"""
    if peek64(head + 8 * st.TOOLS) & st.TOOL_SYNCCHECK == 0 or lanes == live_lanes(w):
        return
    if bypass_bits(head, inst) != 0:
        at_diverged_access(head, slot, w, inst, lanes, block)


@native
def check_group(head: int, slot: int, w: int, inst: int, lanes: int, kind: int, size: int,
                row: int, block: int) -> bool:  # fmt: skip
    """Lanes that access one allocation; True if such accesses need no more looking at."""
    tools = peek64(head + 8 * st.TOOLS)
    flags = peek64(peek64(head + 8 * st.INSTRUCTIONS) + 32 * inst)
    cells, initial = peek64(row + 8 * st.S_CELLS), peek64(row + 8 * st.S_INIT)
    base = peek64(row)
    is_quiet = peek64(row + 8 * st.S_ALLOWED) & st.ALLOWED_HEAP == 0
    if flags & st.F_OF_NARROW:
        return is_quiet
    if flags & st.F_NARROW:
        lanes, size = narrowed(w, lanes, at.SPACE_GLOBAL), _WIDE(2)
    size = seen_bytes(flags, size)
    if tools & st.TOOL_SYNCCHECK and bypass_bits(head, inst) != 0:
        is_quiet = False
    if tools & st.TOOL_INITCHECK and initial != 0:
        is_quiet = False
        check_initialised(
            head, w, inst, lanes, at.SPACE_GLOBAL, kind, size, base, initial, 0, block
        )  # fmt: skip
    if tools & st.TOOL_RACECHECK:
        host = peek64(row + 8 * st.S_HOST)
        if peek64(head + 8 * st.LOCK_SETS) != 0:
            is_quiet = False
            locks.see(head, slot, w, inst, lanes, flags, base, cells)
        if flags & st.F_STRONG:
            is_quiet = False
            order_strong(
                head, slot, block, w, flags, lanes, at.SPACE_GLOBAL, kind, size, 0, host - base
            )  # fmt: skip
        if cells != 0 and not is_untracked(row, kind):
            is_quiet = False
            check_races(
                head, slot, w, inst, lanes, at.SPACE_GLOBAL, kind, size, base, host, cells,
                beside_row(head, row), block,
            )  # fmt: skip
    return is_quiet


@native
def check_far(head: int, env: int, w: int, site: int, inst: int, mask: int, kind: int, size: int,
              immediate: int) -> int:  # fmt: skip
    """Global accesses, allocation by allocation; returns the lanes that may go on."""
    for lane in range(32):
        low = peek32(w + at.WARP_SCRATCH + 4 * lane)
        high = peek32(w + at.WARP_SCRATCH + 128 + 4 * lane)
        poke64(w + ADDRESSES + 8 * lane, (high << 32 | low) + immediate)
    skewed = lanes_skewed(w, mask, size)
    if skewed != 0:
        refuse_far(head, env, w, inst, skewed, st.C_MISALIGNED, kind, size)
    slot = clocks.slot_record(head, env)
    block = peek64(env + 8 * at.ENV_BLOCK)
    if peek64(head + 8 * st.CLUSTER) > 1:
        clusters.passed(head, slot, block, w, mask)
    good = mask & ~skewed
    lanes_to_see(head, w, inst, good, slot, block)
    rest = good
    while rest != 0:
        lane = lowest_bit(rest)
        row = row_of(head, inst, peek64(w + ADDRESSES + 8 * lane), size)
        if row == 0:
            refuse_far(head, env, w, inst, 1 << lane, st.C_OUT_OF_BOUNDS, kind, size)
            good &= ~(1 << lane)
            rest &= ~(1 << lane)
            continue
        inside = lanes_inside(w, rest, peek64(row), peek64(row + 8 * st.S_BYTES), size)
        rest &= ~inside
        if kind != at.ACCESS_READ and peek64(row + 8 * st.S_ALLOWED) & at.ACCESS_WRITE == 0:
            refuse_far(head, env, w, inst, inside, st.C_READ_ONLY, kind, size)
            good &= ~inside
            continue
        is_quiet = check_group(head, slot, w, inst, inside, kind, size, row, block)
        if is_quiet and inside == mask:
            set_quiet(site, row, size)
    return good


@native
def check_near(head: int, env: int, w: int, inst: int, mask: int, space: int, kind: int,
               size: int, immediate: int) -> int:  # fmt: skip
    """Accesses to shared or local memory; returns the lanes that may go on."""
    tools = peek64(head + 8 * st.TOOLS)
    others = tools & (st.TOOL_RACECHECK | st.TOOL_SYNCCHECK)
    if tools & st.TOOL_INITCHECK and others == 0 and space == at.SPACE_SHARED:
        slot = clocks.slot_record(head, env)
        if is_known(slot + peek64(head + 8 * st.AT_SHARED_WHOLE), w, mask, immediate, size):
            return mask
    add_lanes(w + OFFSETS, w + at.WARP_SCRATCH, immediate)
    first, limit = _WIDE(0), peek64(head + 8 * st.LOCAL_BYTES)
    if space == at.SPACE_SHARED:
        first = peek64(head + 8 * st.SHARED_FIRST)
        limit = peek64(head + 8 * st.SHARED_LIMIT)
    good = window_good(w, mask, size, first, limit)
    if good != mask:
        refuse_near(head, env, w, inst, mask & ~good, space, kind, size, first, limit)
        if good == 0:
            return good
    slot = clocks.slot_record(head, env)
    block = peek64(env + 8 * at.ENV_BLOCK)
    if peek64(head + 8 * st.CLUSTER) > 1:
        clusters.passed(head, slot, block, w, mask)
    lanes_to_see(head, w, inst, good, slot, block)
    host = peek64(env + 8 * at.ENV_SHARED)
    flags = peek64(peek64(head + 8 * st.INSTRUCTIONS) + 32 * inst)
    if flags & st.F_MBARRIER:
        if peek64(head + 8 * st.MODE) == st.MODE_LANE:
            lane_clocks.meet_lanes(head, slot, peek32(w + at.WARP_INDEX), live_lanes(w))
        elif tools & st.TOOL_SYNCCHECK and flags & st.F_RELEASE:
            at_mbarrier(head, w, inst, good, host, block)
    if flags & st.F_OF_NARROW:
        return good
    seen = good
    if flags & st.F_NARROW:
        seen, size = narrowed(w, good, space), _WIDE(2)
    size = seen_bytes(flags, size)
    if tools & st.TOOL_INITCHECK:
        initial = slot + peek64(head + 8 * st.AT_SHARED_INIT)
        if space == at.SPACE_LOCAL:
            part = (peek64(head + 8 * st.LOCAL_BYTES) + 3) // 4 * 128
            initial = slot + peek64(head + 8 * st.AT_LOCAL_INIT) + part * peek32(
                w + at.WARP_INDEX
            )
        known = slot + peek64(head + 8 * st.AT_SHARED_WHOLE)
        check_initialised(head, w, inst, seen, space, kind, size, 0, initial, known, block)
    if tools & st.TOOL_RACECHECK and space == at.SPACE_SHARED:
        if peek64(head + 8 * st.LOCK_SETS) != 0:
            locks.see(head, slot, w, inst, seen, flags, 0, _WIDE(-1))
        if flags & st.F_STRONG:
            key = clusters.shared_key(head, slot)
            order_strong(
                head, slot, block, w, flags, seen, space, kind, size, key, host - key
            )  # fmt: skip
        check_shared(head, slot, w, inst, seen, kind, size, flags, host, block)
        if flags & st.F_INIT and peek64(head + 8 * st.CLUSTER) > 1:
            # fence.mbarrier_init leaves nothing in machine code: as if it were always there
            wide = st.F_FENCE | st.F_WIDE_FENCE
            clocks.fence(head, slot, block, peek32(w + at.WARP_INDEX), wide)
    return good


@native
def lanes_in_window(w: int, mask: int, window: int) -> int:
    """The lanes whose generic address lies in a window."""
    lanes = 0
    for lane in range(32):
        is_there = peek32(w + at.WARP_SCRATCH + 128 + 4 * lane) == window
        lanes |= (1 if is_there else 0) << lane
    return lanes & mask


@cfunc(CHECK)
def on_check(env: int, w: int, site: int, inst: int, mask: int, space: int, kind: int, size: int,
             immediate: int) -> int:  # fmt: skip
    """Checks one warp's access; returns the lanes that may go on."""
    head = peek64(env + 8 * at.ENV_OBSERVER)
    lanes: int = _WIDE(mask) & 0xFFFFFFFF
    wide = _WIDE(immediate)
    if lanes == 0:
        return lanes
    good: int
    if space == at.SPACE_GLOBAL:
        good = check_far(head, env, w, site, _WIDE(inst), lanes, kind, size, wide)
        return good
    if space != at.SPACE_GENERIC:
        good = check_near(head, env, w, _WIDE(inst), lanes, space, kind, size, wide)
        return good
    shared = lanes_in_window(w, lanes, at.SHARED_WINDOW_HIGH)
    distant = other_blocks(env, w, shared, wide)
    shared &= ~distant
    if distant != 0:
        check_ranks(head, env, w, _WIDE(inst), distant, kind, size, wide)
    own = wide - peek64(env + 8 * at.ENV_CLUSTER_RANK)
    local = lanes_in_window(w, lanes, at.LOCAL_WINDOW_HIGH)
    far = lanes & ~(shared | local | distant)
    if shared != 0:
        shared = check_near(
            head, env, w, _WIDE(inst), shared, at.SPACE_SHARED, kind, size, own
        )  # fmt: skip
    if local != 0:
        local = check_near(head, env, w, _WIDE(inst), local, at.SPACE_LOCAL, kind, size, wide)
    if far != 0:
        far = check_far(head, env, w, site, _WIDE(inst), far, kind, size, wide)
    good = far | shared | local | distant
    return good


@native
def beside_threads(head: int, env: int, slot: int, w: int, inst: int, lanes: int,
                   block: int) -> None:  # fmt: skip
    """Products, the groups of them and of bulk copies, and the fence between proxies."""
    entry = peek64(head + 8 * st.INSTRUCTIONS) + 32 * inst
    flags, detail = peek64(entry), peek64(entry + 8 * st.I_BARRIER)
    warp = peek32(w + at.WARP_INDEX)
    if flags & st.F_PRODUCT:
        at_product(head, env, slot, w, inst, lanes, detail, block)
        if flags & st.F_BULK_COMMIT:
            close_group(head, slot, warp, PRODUCT_GROUPS)
    elif flags & st.F_BULK_COMMIT:
        close_group(head, slot, warp, BULK_GROUPS)
    elif flags & st.F_PRODUCT_WAIT:
        await_groups(head, slot, warp, PRODUCT_GROUPS, detail)
    elif flags & st.F_STORED:
        if peek64(head + 8 * st.HAS_CELLS) != 0:
            finish_stores(head, slot, warp)
    else:
        fence_proxy(head, slot, warp)


@cfunc(SYNC)
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
    if peek64(head + 8 * st.CLUSTER) > 1:
        clusters.passed(head, slot, block, w, lanes)
    checks = peek64(head + 8 * st.TOOLS) & st.TOOL_SYNCCHECK
    races = peek64(head + 8 * st.TOOLS) & st.TOOL_RACECHECK
    by_lane = peek64(head + 8 * st.MODE) == st.MODE_LANE
    if flags & st.F_BARRIER:
        number = peek32(w + at.WARP_ARGS) & 15
        if checks:
            at_barrier(head, slot, w, inst, lanes, number, block)
        if not races:
            return
        if by_lane:
            lane_clocks.meet_lanes(head, slot, warp, lanes)
        else:
            at_arrival(head, slot, number, lanes == live_lanes(w))
            locks.keep_learned(head, slot, warp)
            clocks.arrive(head, slot, block, warp, number, flags & st.F_ARRIVE == 0)
    elif flags & st.F_WARPSYNC:
        need = peek32(w + at.WARP_ARGS)
        if checks and by_lane:
            at_warpsync(head, slot, w, inst, lanes, need, block)
        if races and by_lane:
            orders = flags & st.F_ORDERS_MEMORY != 0
            lane_clocks.meet_groups(head, slot, w, warp, lanes, orders)
    elif flags & (st.F_FENCE | st.F_ACQUIRE):
        if not by_lane:
            clocks.fence(head, slot, block, warp, flags)
        elif peek64(head + 8 * st.HAS_FENCES) != 0:
            lane_clocks.fence_lanes(head, slot, warp, lanes, flags)
    elif flags & st.F_EXIT:
        if checks and by_lane:
            at_exit(head, slot, w, lanes, block)
        elif checks and flags & st.F_SKIPS:
            at_end(head, slot, w, inst, lanes)
    elif flags & st.F_SHUFFLE:
        if checks and by_lane:
            at_shuffle(head, slot, w, inst, lanes, flags, block)
    elif flags & st.F_CALL:
        calls = slot + peek64(head + 8 * st.AT_CALLS) + 768 * warp
        clocks.touch(head, slot, 0, 1 << warp)
        rest = lanes
        while rest != 0:
            poke64(calls + 8 * lowest_bit(rest), _WIDE(inst) + 1)
            rest &= rest - 1
    elif flags & st.F_CLUSTER:
        if by_lane:
            lane_clocks.meet_lanes(head, slot, warp, lanes)
        elif peek64(head + 8 * st.CLUSTER) > 1 and peek64(head + 8 * st.SYNC_CAPACITY) != 0:
            clusters.at_barrier(head, slot, block, w, lanes, flags & st.F_ARRIVE != 0)
    elif flags & st.F_CELLS:
        if not by_lane:
            at_cells(head, env, slot, w, _WIDE(inst), lanes, block)
    elif flags & st.F_BULK:
        at_bulk(head, env, slot, w, _WIDE(inst), lanes, block)
    elif flags & _BESIDE:
        if not by_lane and peek64(head + 8 * st.HAS_BULK) != 0:
            beside_threads(head, env, slot, w, _WIDE(inst), lanes, block)
    elif flags & (st.F_COPY_COMMIT | st.F_COPY_WAIT):
        if flags & st.F_COPY_WAIT and not by_lane and peek64(head + 8 * st.HAS_BULK) != 0:
            left = peek64(entry + 8 * st.I_BARRIER)
            await_groups(head, slot, warp, BULK_GROUPS, left)
        if not by_lane and peek64(head + 8 * st.HAS_ASYNC) != 0:
            if flags & st.F_COPY_COMMIT:
                clocks.close_copies(head, slot, warp)
            else:
                clocks.await_copies(head, slot, warp, peek64(entry + 8 * st.I_BARRIER))
    elif flags & st.F_PASSED and checks:
        at_diverged_access(head, slot, w, _WIDE(inst), lanes, block)


@cfunc(RELEASE)
def on_release(env: int, number_of_slot: int, number: int) -> None:
    """A named barrier opens."""
    head = peek64(env + 8 * at.ENV_OBSERVER)
    slot = peek64(head + 8 * st.SLOTS) + number_of_slot * peek64(head + 8 * st.SLOT_BYTES)
    block = peek64(slot + peek64(head + 8 * st.AT_BLOCK)) - 1
    if block < 0:
        return
    tools = peek64(head + 8 * st.TOOLS)
    if tools & st.TOOL_SYNCCHECK:
        opened(head, slot, number, block)
    if tools & st.TOOL_RACECHECK and peek64(head + 8 * st.MODE) == st.MODE_BLOCK:
        at_release(head, slot, number, block)
        clocks.open_barrier(head, slot, block, number)
