"""Accesses to the shared memory of the other blocks of a cluster."""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import poke32
from warplens.lift import layout as at
from warplens.sanitize import clocks, clusters
from warplens.sanitize import state as st
from warplens.sanitize.accesses import beside_shared, check_races, order_strong
from warplens.sanitize.initcheck import check_initialised
from warplens.sanitize.memcheck import OFFSETS, window_good
from warplens.sanitize.native import lowest_bit, peek32, peek64


@native
def other_blocks(env: int, w: int, mask: int, immediate: int) -> int:
    """The lanes whose shared address lies in another block of the cluster."""
    if peek64(env + 8 * at.ENV_CLUSTER_BLOCKS) <= 1:
        return 0
    rank = peek64(env + 8 * at.ENV_CLUSTER_RANK) >> 24
    lanes = 0
    for lane in range(32):
        address = peek32(w + at.WARP_SCRATCH + 4 * lane) + immediate
        lanes |= (1 if (address >> 24) & 255 != rank else 0) << lane
    return lanes & mask


@native
def check_distant(head: int, env: int, w: int, inst: int, mask: int, rank: int, kind: int,
                  size: int, immediate: int) -> None:  # fmt: skip
    """Accesses to the shared memory of another block of the cluster; the engine checks bounds."""
    tools = peek64(head + 8 * st.TOOLS)
    if rank >= peek64(head + 8 * st.CLUSTER) or tools & (
        st.TOOL_RACECHECK | st.TOOL_INITCHECK
    ) == 0:
        return
    for lane in range(32):
        offset = (peek32(w + at.WARP_SCRATCH + 4 * lane) + immediate) & 0xFFFFFF
        poke32(w + OFFSETS + 4 * lane, offset)
    limit = peek64(head + 8 * st.SHARED_LIMIT)
    good = window_good(w, mask, size, peek64(head + 8 * st.SHARED_FIRST), limit)
    slot = clocks.slot_record(head, env)
    block = peek64(env + 8 * at.ENV_BLOCK)
    clusters.passed(head, slot, block, w, mask)
    memory = clusters.record_of(head, env, rank)
    if good == 0:
        return
    if tools & st.TOOL_INITCHECK:
        initial = memory + peek64(head + 8 * st.AT_SHARED_INIT)
        known = memory + peek64(head + 8 * st.AT_SHARED_WHOLE)
        check_initialised(
            head, w, inst, good, at.SPACE_SHARED, kind, size, 0, initial, known, block
        )  # fmt: skip
    if tools & st.TOOL_RACECHECK == 0:
        return
    flags = peek64(peek64(head + 8 * st.INSTRUCTIONS) + 32 * inst)
    if flags & st.F_STRONG:
        key = clusters.shared_key(head, memory)
        order_strong(head, slot, block, w, flags, good, at.SPACE_SHARED, kind, size, key, 0)
    host = peek64(peek64(env + 8 * at.ENV_CLUSTER_SHARED) + 8 * rank)
    cells = memory + peek64(head + 8 * st.AT_SHARED_CELLS)
    check_races(
        head, slot, w, inst, good, at.SPACE_SHARED, kind, size, 0, host, cells,
        beside_shared(head), block,
    )  # fmt: skip


@native
def check_ranks(head: int, env: int, w: int, inst: int, mask: int, kind: int, size: int,
                immediate: int) -> None:  # fmt: skip
    """The same, rank by rank."""
    rest = mask
    while rest != 0:
        first = lowest_bit(rest)
        rank = (peek32(w + at.WARP_SCRATCH + 4 * first) + immediate) >> 24 & 255
        lanes = 0
        for lane in range(32):
            there = (peek32(w + at.WARP_SCRATCH + 4 * lane) + immediate) >> 24 & 255
            lanes |= (1 if there == rank else 0) << lane
        check_distant(head, env, w, inst, rest & lanes, rank, kind, size, immediate)
        rest &= ~lanes
