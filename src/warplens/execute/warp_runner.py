"""One warp: regions run one after another until it waits, ends or needs attention.

Functions over the arrays of run_layout.py and raw warp records (lift/layout.py).
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.clusters import arrive_at_cluster, waits_for_cluster
from warplens.execute.named_barriers import arrive, note_exits
from warplens.execute.native import call_region, peek32, poke32, poke64
from warplens.execute.part_barriers import come_to_barrier, leave_barrier, release_ended
from warplens.execute.part_jumps import part_by_target
from warplens.execute.part_table import STOPPED
from warplens.execute.parts import give_way, look_anew, next_part, rest
from warplens.execute.run_layout import (
    ENV_ADDRESS,
    FUEL,
    PARTS,
    QUANTUM,
    SPINS,
    STEPS,
    STRICT_MASKS,
    TURN,
    WARP_READY,
    WARPS,
)
from warplens.execute.splits import (
    Ints,
    add_split,
    bsync,
    can_go_on,
    look_again,
    pick_split,
    put_aside,
    resolve_targets,
    rotate,
    take_ready,
)
from warplens.lift import layout as at

# how running one warp ended
RAN_BLOCKED, RAN_YIELDED, RAN_FAULT, RAN_HOOK, RAN_TRAP, RAN_BAD_PC, RAN_PARKED, RAN_CUT = range(8)
RAN_LOOKED, RAN_TURN = 8, 9  # all of it waits, and none of its splits got on; its turn is over

_FULL = 0xFFFFFFFF


@native
def pick(w: int, control: Ints) -> bool:
    """Makes a part of the warp that can go on the running one; False if there is none."""
    if control[PARTS] != 0:
        return next_part(w, control)
    return pick_split(w, control[STRICT_MASKS])


@native
def has_enough(w: int) -> bool:
    """Whether an observer has seen enough of a warp: its fuel is ENOUGH, less a little."""
    return bool(0x80000000 <= peek32(w + at.WARP_FUEL + 4) < 0xF0000000)


@native
def run_warp(slot: int, i: int, control: Ints, blocks: Ints, barriers: Ints, arrived: Ints,
             seen: Ints, warps: Ints, states: Ints, regions: Ints, region_of: Ints,
             code_map: Ints, come: int) -> int:  # fmt: skip
    """Runs a warp until it waits, ends, has used its quantum, or needs attention.

    `come`: the event to which a region that has just run came, or 0.
    """
    w = warps[slot, i]
    env = control[ENV_ADDRESS]
    got_on = True
    if come == 0:
        got_on = look_again(w)
        poke32(w + at.WARP_PASSED, 0)
        if control[PARTS] != 0:
            look_anew(w)
        if peek32(w + at.WARP_MASK) == 0 and (
            peek32(w + at.WARP_SPLITS) == 0 or not pick(w, control)
        ):
            return RAN_BLOCKED
    left, hops = control[TURN], 0
    event = come
    while True:
        if come == 0:
            event = call_region(regions[region_of[peek32(w + at.WARP_PC)]], w, env)
        come = 0
        if event == at.EVENT_JUMP:
            if has_enough(w):
                return RAN_CUT
            left -= 1
            if left == 0:
                note_exits(slot, i, w, control, blocks, barriers, arrived, seen, warps, states)
                return RAN_TURN
            continue
        if event == at.EVENT_YIELD or event == at.EVENT_REST or event == at.EVENT_SLEEP:
            if has_enough(w):
                return RAN_CUT
            exhausted = peek32(w + at.WARP_FUEL + 4) & 0x80000000 != 0
            if control[PARTS] != 0 and not exhausted and event == at.EVENT_REST:
                rest(w, control)
                continue
            if control[PARTS] != 0:
                give_way(w)
            else:
                rotate(w, event == at.EVENT_REST or (exhausted and event == at.EVENT_SLEEP))
            if exhausted:
                poke64(w + at.WARP_FUEL, control[FUEL])
                control[STEPS] += control[FUEL]
                note_exits(slot, i, w, control, blocks, barriers, arrived, seen, warps, states)
                return RAN_YIELDED
            pick(w, control)
            if event == at.EVENT_REST:
                take_ready(w)
            continue
        if event == at.EVENT_WAIT:
            if has_enough(w):
                return RAN_CUT
            if control[SPINS] != 0:
                if control[PARTS] != 0:
                    give_way(w)
                else:
                    rotate(w, True)
                poke64(w + at.WARP_FUEL, control[FUEL])
                control[STEPS] += control[FUEL]
                note_exits(slot, i, w, control, blocks, barriers, arrived, seen, warps, states)
                return RAN_YIELDED
            put_aside(w)
            if pick(w, control):
                continue
            note_exits(slot, i, w, control, blocks, barriers, arrived, seen, warps, states)
            return RAN_BLOCKED if got_on or peek32(w + at.WARP_PASSED) != 0 else RAN_LOOKED
        if event == at.EVENT_BSYNC:
            if come_to_barrier(w) if control[PARTS] != 0 else bsync(w):
                continue
        elif event == at.EVENT_BREAK:
            leave_barrier(w)
            continue
        elif event != at.EVENT_WARPSYNC:
            got_on = True
        if event == at.EVENT_INDIRECT:
            if control[PARTS] != 0:
                outcome = part_by_target(w, control, code_map)
            else:
                outcome = resolve_targets(w, control, code_map)
            if outcome == 1:
                return RAN_HOOK
            if outcome == 2:
                return RAN_BAD_PC
            hops += 1
            if hops == QUANTUM:  # a function that calls itself for ever spends no fuel
                control[STEPS] += QUANTUM
                note_exits(slot, i, w, control, blocks, barriers, arrived, seen, warps, states)
                return RAN_YIELDED
            continue
        if event == at.EVENT_FAULT:
            return RAN_FAULT
        if event == at.EVENT_TRAP:
            return RAN_TRAP
        if event == at.EVENT_BARRIER:
            if peek32(w + at.WARP_EXITED) != seen[slot, i]:
                note_exits(slot, i, w, control, blocks, barriers, arrived, seen, warps, states)
            if arrive(slot, i, w, control, blocks, barriers, arrived, warps, states):
                if states[slot, i] == WARP_READY:
                    continue
                return RAN_PARKED
        elif event == at.EVENT_CLUSTER_ARRIVE:
            arrive_at_cluster(slot, w, control[WARPS], control, blocks, warps, states)
            continue
        elif event == at.EVENT_CLUSTER_WAIT:
            if not waits_for_cluster(w):
                continue
        elif event == at.EVENT_WARPSYNC:
            add_split(
                w, peek32(w + at.WARP_MASK), peek32(w + at.WARP_PC), at.SPLIT_AT_WARPSYNC,
                peek32(w + at.WARP_ARGS), False,
            )  # fmt: skip
            if control[PARTS] != 0:
                poke32(w + STOPPED, peek32(w + at.WARP_MASK))
        poke32(w + at.WARP_MASK, 0)
        if control[PARTS] != 0 and event == at.EVENT_DONE and (
            release_ended(w, peek32(w + at.WARP_ARGS))
        ):
            continue
        if peek32(w + at.WARP_EXITED) != seen[slot, i]:
            note_exits(slot, i, w, control, blocks, barriers, arrived, seen, warps, states)
        if peek32(w + at.WARP_SPLITS) == 0 or not pick(w, control):
            if got_on or peek32(w + at.WARP_PASSED) != 0 or not can_go_on(w):
                return RAN_BLOCKED
            return RAN_LOOKED
