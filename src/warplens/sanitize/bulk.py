"""Bulk copies, those of tensors included, as the checks see them."""

from __future__ import annotations

from warplens.compiled import native
from warplens.lift import layout as at
from warplens.sanitize import clocks, clusters
from warplens.sanitize import state as st
from warplens.sanitize.accesses import beside_row, beside_shared, is_untracked
from warplens.sanitize.memcheck import row_of
from warplens.sanitize.native import lowest_bit, peek32, peek64, poke8
from warplens.sanitize.races import race_range


@native
def at_bulk(head: int, env: int, slot: int, w: int, inst: int, lanes: int, block: int) -> None:
    """A bulk copy, taken as done at once by the lane that asks for it; its mbarrier releases it."""
    tools = peek64(head + 8 * st.TOOLS)
    if tools & (st.TOOL_RACECHECK | st.TOOL_INITCHECK) == 0:
        return
    lane = lowest_bit(lanes)
    place = w + at.WARP_SCRATCH + 4 * lane
    far = peek32(place + 128) << 32 | peek32(place)
    near, size, barrier = peek32(place + 256), peek32(place + 384), peek32(place + 512)
    memory, host = slot, peek64(env + 8 * at.ENV_SHARED)
    if peek64(head + 8 * st.CLUSTER) > 1:
        rank = near >> 24 & 255
        if rank >= peek64(head + 8 * st.CLUSTER):
            return
        memory = clusters.record_of(head, env, rank)
        host = peek64(peek64(env + 8 * at.ENV_CLUSTER_SHARED) + 8 * rank)
    near, barrier = near & 0xFFFFFF, barrier & 0xFFFFFF
    limit = peek64(head + 8 * st.SHARED_LIMIT)
    if near + size > limit:
        return  # the engine reports it
    arrives = peek64(
        peek64(head + 8 * st.INSTRUCTIONS) + 32 * inst + 8 * st.I_BARRIER
    ) == 0
    if tools & st.TOOL_INITCHECK and arrives:
        initial = memory + peek64(head + 8 * st.AT_SHARED_INIT) + near
        for k in range(size):
            poke8(initial + k, 1)
    if tools & st.TOOL_RACECHECK == 0 or peek64(head + 8 * st.MODE) == st.MODE_LANE:
        return
    cells = memory + peek64(head + 8 * st.AT_SHARED_CELLS)
    race_range(head, slot, w, inst, lane, at.SPACE_SHARED, arrives, 0, near, size, host, cells,
               beside_shared(head), block)  # fmt: skip
    row = 0
    if peek64(peek64(head + 8 * st.INSTRUCTIONS) + 32 * inst) & st.F_TENSOR == 0:
        row = row_of(head, inst, far, size)
    kind = at.ACCESS_READ if arrives else at.ACCESS_WRITE
    if row != 0 and peek64(row + 8 * st.S_CELLS) != 0 and not is_untracked(row, kind):
        race_range(head, slot, w, inst, lane, at.SPACE_GLOBAL, not arrives, peek64(row),
                   far - peek64(row), size, peek64(row + 8 * st.S_HOST),
                   peek64(row + 8 * st.S_CELLS), beside_row(head, row), block)  # fmt: skip
    if arrives:
        warp = peek32(w + at.WARP_INDEX)
        clocks.fence(head, slot, block, warp, st.F_FENCE)
        key = clusters.shared_key(head, memory) + (barrier & ~7)
        clocks.publish(head, slot, block, warp, key, False)
        if memory != slot:
            clocks.publish(head, slot, block, warp, key, True)
