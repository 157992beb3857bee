"""Bulk copies, those of tensors included, as the checks see them."""

from __future__ import annotations

from warplens.compiled import native
from warplens.lift import layout as at
from warplens.sanitize import clocks, clusters
from warplens.sanitize import state as st
from warplens.sanitize.accesses import beside_row, beside_shared, is_untracked
from warplens.sanitize.apart import check_written, publish_copy, reads_apart, tick
from warplens.sanitize.memcheck import row_of
from warplens.sanitize.native import lowest_bit, peek32, peek64, poke8
from warplens.sanitize.races import race_range


@native
def at_bulk(head: int, env: int, slot: int, w: int, inst: int, lanes: int, block: int) -> None:
    """A bulk copy by the lane that asks for it; its mbarrier or its group says when it is over."""
    tools = peek64(head + 8 * st.TOOLS)
    if tools & (st.TOOL_RACECHECK | st.TOOL_INITCHECK) == 0:
        return
    lane = lowest_bit(lanes)
    place = w + at.WARP_SCRATCH + 4 * lane
    far = peek32(place + 128) << 32 | peek32(place)
    near, size, barrier = peek32(place + 256), peek32(place + 384), peek32(place + 512)
    memory, host, holder = slot, peek64(env + 8 * at.ENV_SHARED), slot
    if peek64(head + 8 * st.CLUSTER) > 1:
        rank = near >> 24 & 255
        if rank >= peek64(head + 8 * st.CLUSTER):
            return
        memory = clusters.record_of(head, env, rank)
        host = peek64(peek64(env + 8 * at.ENV_CLUSTER_SHARED) + 8 * rank)
        holder = memory
        if barrier >> 24 & 255 < peek64(head + 8 * st.CLUSTER):  # of a pair: the even block's
            holder = clusters.record_of(head, env, barrier >> 24 & 255)
    near, barrier = near & 0xFFFFFF, barrier & 0xFFFFFF
    limit = peek64(head + 8 * st.SHARED_LIMIT)
    if near + size > limit:
        return  # the engine reports it
    form = peek64(peek64(head + 8 * st.INSTRUCTIONS) + 32 * inst + 8 * st.I_BARRIER)
    arrives = form == 0
    warp = peek32(w + at.WARP_INDEX)
    row = 0
    if peek64(peek64(head + 8 * st.INSTRUCTIONS) + 32 * inst) & st.F_TENSOR == 0:
        row = row_of(head, inst, far, size)
    if tools & st.TOOL_INITCHECK:
        note_written(head, memory, row, inst, arrives, near, far, size, warp << 5 | lane, block)
    if tools & st.TOOL_RACECHECK == 0 or peek64(head + 8 * st.MODE) == st.MODE_LANE:
        return
    clock = peek64(slot + peek64(head + 8 * st.AT_CLOCKS) + 8 * warp)
    cells = memory + peek64(head + 8 * st.AT_SHARED_CELLS)
    if arrives:
        race_range(head, slot, w, inst, lane, at.SPACE_SHARED, True, 0, near, size, host, cells,
                   beside_shared(head), block)  # fmt: skip
    else:
        now = clock << st.STAMP_CLOCK | warp << st.STAMP_WARP | lane << st.STAMP_LANE | inst
        reads_apart(head, slot, w, now | 15 << st.STAMP_BYTES, near, size, cells,
                    beside_shared(head), host, 0, block)  # fmt: skip
    kind = at.ACCESS_READ if arrives else at.ACCESS_WRITE
    if row != 0 and peek64(row + 8 * st.S_CELLS) != 0 and not is_untracked(row, kind):
        race_range(head, slot, w, inst, lane, at.SPACE_GLOBAL, not arrives, peek64(row),
                   far - peek64(row), size, peek64(row + 8 * st.S_HOST),
                   peek64(row + 8 * st.S_CELLS), beside_row(head, row), block)  # fmt: skip
    tick(head, slot, warp)
    if arrives:
        is_far = memory != slot or holder != slot
        far_fence = st.F_WIDE_FENCE if is_far else 0
        clocks.fence(head, slot, block, warp, st.F_FENCE | far_fence)
        key = clusters.shared_key(head, holder) + (barrier & ~7)
        clocks.publish(head, slot, block, warp, key, False)
        if is_far:
            clocks.publish(head, slot, block, warp, key, True)
        else:
            publish_copy(head, slot, block, warp, key, clock)


@native
def note_written(head: int, memory: int, row: int, inst: int, arrives: bool, near: int, far: int,
                 size: int, thread: int, block: int) -> None:  # fmt: skip
    """initcheck of both sides of a copy: what is read must be written, what is written is."""
    initial = memory + peek64(head + 8 * st.AT_SHARED_INIT)
    target, start, base = row, 0, 0
    if row != 0:
        target, base = peek64(row + 8 * st.S_INIT), peek64(row)
        start = far - base
    if arrives:
        for k in range(size):
            poke8(initial + near + k, 1)
        if target != 0:
            check_written(head, inst, at.SPACE_GLOBAL, target, base, start, size, thread, block)
        return
    check_written(head, inst, at.SPACE_SHARED, initial, 0, near, size, thread, block)
    if target != 0:
        for k in range(size):
            poke8(target + start + k, 1)
