"""synccheck: divergent barriers, barrier counts, and masks of warp intrinsics.

Masks are checked on the unoptimised cubin, where they survive.
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import fill_zero, poke64
from warplens.lift import layout as at
from warplens.sanitize import state as st
from warplens.sanitize.clocks import touch
from warplens.sanitize.memcheck import OFFSETS
from warplens.sanitize.native import lowest_bit, peek32, peek64
from warplens.sanitize.records import claim, fill


@native
def note(head: int, check: int, first: int, second: int, extra: int, warp: int, lanes: int,
         block: int, value: int, other: int) -> None:  # fmt: skip
    """Records a wrong synchronisation."""
    record = claim(head, check, first, second, extra, 1)
    if record == 0:
        return
    fill(record, st.R_SECOND_THREAD, warp << 5 | lowest_bit(lanes))
    fill(record, st.R_SECOND_BLOCK, block)
    fill(record, st.R_MASK, lanes)
    fill(record, st.R_OFFSET, value)
    fill(record, st.R_EXTRA2, other)


@native
def statement_of(head: int, inst: int) -> int:
    """Number of a barrier; the same for all copies of a statement."""
    return peek64(
        peek64(head + 8 * st.INSTRUCTIONS) + 8 * (st.INSTRUCTION_SLOTS * inst + st.I_STATEMENT)
    )


@native
def at_mbarrier(head: int, w: int, inst: int, lanes: int, host: int, block: int) -> None:
    """Arrivals at a barrier in shared memory: an initialised one is no zero."""
    rest = lanes
    while rest != 0:
        lane = lowest_bit(rest)
        rest &= rest - 1
        offset = peek32(w + OFFSETS + 4 * lane)
        if peek64(host + offset) == 0:
            warp = peek32(w + at.WARP_INDEX)
            note(head, st.C_MBARRIER, inst, inst, 0, warp, 1 << lane, block, offset, 0)
            return


@native
def function_of(head: int, inst: int) -> int:
    """The number of the function that a barrier stands in, or that a call goes to."""
    return peek64(
        peek64(head + 8 * st.INSTRUCTIONS) + 8 * (st.INSTRUCTION_SLOTS * inst + st.I_CACHE)
    )


@native
def place_of(head: int, slot: int, warp: int, inst: int, lane: int) -> int:
    """What tells a barrier from others: its instruction, or the call of the function it is in."""
    if function_of(head, inst) == 0:
        return inst
    call = peek64(slot + peek64(head + 8 * st.AT_CALLS) + 768 * warp + 8 * lane) - 1
    if call < 0:
        return inst
    return call if function_of(head, call) == function_of(head, inst) else inst


@native
def compare_calls(head: int, slot: int, warp: int, inst: int, lanes: int, number: int,
                  block: int) -> int:  # fmt: skip
    """The place of lanes that arrive together; notes those that came by another call."""
    place = place_of(head, slot, warp, inst, lowest_bit(lanes))
    rest = lanes if place != inst else 0
    while rest != 0:
        lane = lowest_bit(rest)
        rest &= rest - 1
        other = place_of(head, slot, warp, inst, lane)
        if statement_of(head, other) != statement_of(head, place):
            note(head, st.C_DIVERGENT_BARRIER, place, other, number, warp, rest | 1 << lane, block,
                 0, 0)  # fmt: skip
            return place
    return place


@native
def at_barrier(head: int, slot: int, w: int, inst: int, lanes: int, number: int,
               block: int) -> None:  # fmt: skip
    """A split arrives at a named barrier."""
    n = peek64(head + 8 * st.N_WARPS)
    warp = peek32(w + at.WARP_INDEX)
    need = peek32(w + at.WARP_ARGS + 4)
    arrivals = slot + peek64(head + 8 * st.AT_ARRIVALS) + 8 * (n + 3) * number
    before = peek64(arrivals + 8 * warp)
    place = compare_calls(head, slot, warp, inst, lanes, number, block)
    if before != 0 and statement_of(head, before - 1) != statement_of(head, place):
        note(head, st.C_DIVERGENT_BARRIER, before - 1, place, number, warp, lanes, block, 0, 0)
    if before == 0 and lanes != live_lanes(w):
        find_bypassing(head, slot, w, inst, lanes, block)
    poke64(arrivals + 8 * warp, place + 1)
    touch(head, slot, 1 << number, 0)
    first = peek64(arrivals + 8 * (n + 1))
    if first == 0:
        poke64(arrivals + 8 * n, need)
        poke64(arrivals + 8 * (n + 1), place + 1)
        if need % 32 != 0:
            note(head, st.C_BARRIER_COUNT, inst, inst, number, warp, lanes, block, need, need)
        return
    expected = peek64(arrivals + 8 * n)
    if expected != need:
        note(head, st.C_BARRIER_COUNT, first - 1, inst, number, warp, lanes, block, need, expected)
    elif need == 0 and number == 0 and before == 0 and (
        statement_of(head, first - 1) != statement_of(head, place)
    ):
        note(head, st.C_BARRIER_LINES, first - 1, place, number, warp, lanes, block, 0, 0)


@native
def opened(head: int, slot: int, number: int, block: int) -> None:
    """A barrier opens: its arrivals start anew."""
    n = peek64(head + 8 * st.N_WARPS)
    arrivals = slot + peek64(head + 8 * st.AT_ARRIVALS)
    find_ended(head, slot, arrivals + 8 * (n + 3) * number, n, block)
    fill_zero(arrivals + 8 * (n + 3) * number, 8 * (n + 3))
    if peek64(arrivals + 8 * (n + 2)) != 0:  # diverged accesses were noted
        poke64(arrivals + 8 * (n + 2), 0)
        for i in range(n):
            fill_zero(slot + peek64(head + 8 * st.AT_CALLS) + 768 * i + 512, 256)


@native
def find_ended(head: int, slot: int, arrivals: int, n: int, block: int) -> None:
    """The block's barrier opens: have threads ended that should have reached it?"""
    ended = slot + peek64(head + 8 * st.AT_BLOCK)
    if peek64(ended + 8) == 0 or peek64(arrivals + 8 * n) != 0:
        return
    for warp in range(n):
        inst = peek64(arrivals + 8 * warp)
        if inst != 0:
            note(head, st.C_BARRIER_ENDED, peek64(ended + 8) - 1, inst - 1, 0, warp, 1, block,
                 peek64(ended + 16), peek64(ended + 24))  # fmt: skip
            return


@native
def at_end(head: int, slot: int, w: int, inst: int, lanes: int) -> None:
    """Lanes end where the code does, without having returned early."""
    ended = slot + peek64(head + 8 * st.AT_BLOCK)
    poke64(ended + 8, inst + 1)
    poke64(ended + 16, peek32(w + at.WARP_INDEX))
    poke64(ended + 24, lanes)


@native
def live_lanes(w: int) -> int:
    """The lanes of a warp that have not ended."""
    return ~peek32(w + at.WARP_EXITED) & 0xFFFFFFFF


@native
def bypass_bits(head: int, inst: int) -> int:
    """Of a barrier its bit; of an access the barriers that lie behind whoever gets there."""
    return peek64(
        peek64(head + 8 * st.INSTRUCTIONS) + 8 * (st.INSTRUCTION_SLOTS * inst + st.I_BARRIER)
    )


@native
def find_bypassing(head: int, slot: int, w: int, inst: int, lanes: int, block: int) -> None:
    """A part of a warp arrives: did others already go past the barrier, in code that follows it?"""
    warp = peek32(w + at.WARP_INDEX)
    accesses = slot + peek64(head + 8 * st.AT_CALLS) + 768 * warp + 512
    for lane in range(32):
        last = peek64(accesses + 8 * lane)
        if (lanes >> lane) & 1 or last == 0:
            continue
        if bypass_bits(head, last - 1) & bypass_bits(head, inst) != 0:
            note(head, st.C_DIVERGENT_BARRIER, last - 1, inst, 16, warp, lanes, block, 0, 0)
            return


@native
def at_diverged_access(head: int, slot: int, w: int, inst: int, lanes: int, block: int) -> None:
    """A part of a warp reaches code that follows barriers: do its fellows wait at one of them?"""
    n = peek64(head + 8 * st.N_WARPS)
    warp = peek32(w + at.WARP_INDEX)
    accesses = slot + peek64(head + 8 * st.AT_CALLS) + 768 * warp + 512
    arrivals = slot + peek64(head + 8 * st.AT_ARRIVALS)
    poke64(arrivals + 8 * (n + 2), 1)
    touch(head, slot, 1, 1 << warp)
    rest = lanes
    while rest != 0:
        poke64(accesses + 8 * lowest_bit(rest), inst + 1)
        rest &= rest - 1
    waiting = peek64(arrivals + 8 * warp)
    if waiting != 0 and bypass_bits(head, inst) & bypass_bits(head, waiting - 1) != 0:
        note(head, st.C_DIVERGENT_BARRIER, inst, waiting - 1, 16, warp, live_lanes(w) & ~lanes,
             block, 0, 0)  # fmt: skip

@native
def at_warpsync(head: int, slot: int, w: int, inst: int, lanes: int, need: int,
                block: int) -> None:  # fmt: skip
    """Lanes execute a warp intrinsic with a mask."""
    warp = peek32(w + at.WARP_INDEX)
    calls = slot + peek64(head + 8 * st.AT_CALLS) + 768 * warp
    caller = peek64(calls + 8 * lowest_bit(lanes))
    left_out, differing = 0, 0
    for lane in range(32):
        if (lanes >> lane) & 1 == 0:
            continue
        own = peek32(w + at.WARP_SCRATCH + 4 * lane)
        if (own >> lane) & 1 == 0:
            left_out |= 1 << lane
        partners = own & lanes
        while partners != 0:
            if peek32(w + at.WARP_SCRATCH + 4 * lowest_bit(partners)) != own:
                differing |= 1 << lane
            partners &= partners - 1
    if left_out != 0:
        own = peek32(w + at.WARP_SCRATCH + 4 * lowest_bit(left_out))
        note(head, st.C_MASK_WITHOUT_CALLER, inst, inst, caller, warp, left_out, block, own, caller)
    elif differing != 0:
        note(head, st.C_MASK_DIFFERS, inst, inst, caller, warp, differing, block, need, caller)
    flags = peek64(peek64(head + 8 * st.INSTRUCTIONS) + 8 * st.INSTRUCTION_SLOTS * inst)
    if flags & st.F_OF_GROUP:
        born = min(32, peek64(head + 8 * st.N_THREADS) - 32 * warp)
        gone = peek32(w + at.WARP_EXITED) & ((1 << born) - 1)
        named = 0
        for lane in range(32):  # tiles of one warp come together, each with a mask of its own
            if (lanes >> lane) & 1 != 0:
                named |= peek32(w + at.WARP_SCRATCH + 4 * lane)
        if named & gone != 0:
            note(
                head, st.C_GROUP_ENDED, inst, inst, caller, warp, lanes, block, named & gone,
                caller,
            )  # fmt: skip
    touch(head, slot, 0, 1 << warp)
    rest = lanes
    while rest != 0:
        poke64(calls + 256 + 8 * lowest_bit(rest), inst + 1)
        rest &= rest - 1


@native
def at_exit(head: int, slot: int, w: int, lanes: int, block: int) -> None:
    """Lanes end while others wait for them at a warp intrinsic that names them."""
    warp = peek32(w + at.WARP_INDEX)
    calls = slot + peek64(head + 8 * st.AT_CALLS) + 768 * warp
    for j in range(peek32(w + at.WARP_SPLITS)):
        entry = w + at.WARP_SPLIT_TABLE + at.SPLIT_SIZE * j
        if peek32(entry + 8) != at.SPLIT_AT_WARPSYNC:
            continue
        named = peek32(entry + 12) & lanes
        if named == 0:
            continue
        waiting = peek32(entry)
        lane = lowest_bit(waiting)
        inst = peek64(calls + 256 + 8 * lane) - 1
        entry_flags = peek64(peek64(head + 8 * st.INSTRUCTIONS) + 32 * inst)
        if entry_flags & st.F_BEFORE_BARRIER:
            continue  # lanes that have ended need not reach a block barrier
        caller = peek64(calls + 8 * lane)
        note(head, st.C_MASK_NAMES_ENDED, inst, inst, caller, warp, waiting, block,
             peek32(entry + 12), caller)  # fmt: skip


@native
def at_shuffle(head: int, slot: int, w: int, inst: int, lanes: int, flags: int,
               block: int) -> None:  # fmt: skip
    """A shuffle reads from a lane that does not take part (index and butterfly forms).

    The results that shuffles up and down give at the border are commonly thrown away.
    """
    mode = (flags >> st.F_SHUFFLE_MODE) & 3
    if mode != 0 and mode != 3:
        return
    warp = peek32(w + at.WARP_INDEX)
    for lane in range(32):
        if (lanes >> lane) & 1 == 0:
            continue
        amount = peek32(w + at.WARP_SCRATCH + 4 * lane) & 31
        clamp = peek32(w + at.WARP_SCRATCH + 128 + 4 * lane)
        segment = (clamp >> 8) & 31
        first = lane & segment
        last = first | (clamp & 31 & ~segment)
        source = lane ^ amount
        if mode == 0:
            source = first | (amount & ~segment)
        if source <= last and (lanes >> source) & 1 == 0:
            caller = peek64(slot + peek64(head + 8 * st.AT_CALLS) + 768 * warp + 8 * lane)
            note(head, st.C_INACTIVE_SOURCE, inst, inst, caller, warp, 1 << lane, block, source,
                 caller)  # fmt: skip
