"""The block runner: warps of a block and resident blocks, with fair rotation.

Functions over the arrays of run_layout.py and raw warp records (lift/layout.py), compiled by
`warplens.compiled`. A run returns to Python only when blocks are finished or something needs
attention.
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.clusters import count_joining
from warplens.execute.native import peek32, poke64
from warplens.execute.parts import part
from warplens.execute.resident_blocks import (
    enter_block,
    fill_slots,
    free_slot,
    is_free,
    start_cluster,
)
from warplens.execute.run_layout import (
    ALL_DONE,
    BAD_PC,
    BLOCK_ALIVE,
    BLOCK_CUT,
    BLOCK_RUNNING,
    BLOCK_WAITING,
    BLOCK_YIELDS,
    CLUSTER_BLOCKS,
    CURRENT,
    DEADLOCKED,
    ENV_ADDRESS,
    FAULTED,
    FINISHED,
    FIRST_TURN,
    FRUITLESS,
    GRID_WAITS,
    HOOK_CALL,
    IS_CERTAIN,
    IS_SHARED,
    LAST_BLOCK,
    MAX_SLOTS,
    N_SLOTS,
    NEED_SLOT,
    NEXT_BLOCK,
    PARTS,
    SHARED_TABLE,
    SLOT,
    SPINNING,
    STALLED,
    STEP_LIMIT,
    STEPS,
    STEPS_SPENT,
    STOP,
    STOPPED,
    STRICT_MASKS,
    TAKES,
    TENSOR_MEMORY,
    TRAPPED,
    TRIED,
    TURN_STEP,
    TURNS,
    WAITS,
    WARP,
    WARP_BLOCKED,
    WARP_FINISHED,
    WARP_READY,
    WARPS,
)
from warplens.execute.splits import Ints, can_go_on, give_up_warpsync, meet_any, unstick
from warplens.execute.tensor_memory.state import keeps_columns
from warplens.execute.warp_runner import (
    RAN_BLOCKED,
    RAN_CUT,
    RAN_FAULT,
    RAN_HOOK,
    RAN_LOOKED,
    RAN_PARKED,
    RAN_TRAP,
    RAN_TURN,
    RAN_YIELDED,
    run_warp,
)
from warplens.execute.whole_warps import has_whole_warps, is_whole, run_whole
from warplens.lift import layout as at

MANY_ROUNDS = 1000  # of a block whose warps wait for each other, before others run
PATIENCE = 4  # rounds of a block without end before another block joins

_FULL = 0xFFFFFFFF


@native
def part_lanes(slot: int, control: Ints, warps: Ints) -> bool:
    """Frees lanes from convergence barriers at which they wait for lanes that wait for a write, as
    `meet` does for lanes that spin. False: there are none."""
    parted = False
    for i in range(control[WARPS]):
        w = warps[slot, i]
        if peek32(w + at.WARP_SPLITS) == 0:
            continue
        is_lenient = control[STRICT_MASKS] == 0
        freed = part(w) if control[PARTS] != 0 else meet_any(w, True) or unstick(w)
        if freed or (is_lenient and give_up_warpsync(w)):
            parted = True
    return parted


@native
def try_harder(control: Ints, env: Ints, blocks: Ints, warps: Ints) -> bool:
    """No resident block makes progress. False: none ever will."""
    control[FRUITLESS] = 1
    control[TRIED] += 1
    if control[TRIED] == 1:
        for slot in range(control[N_SLOTS]):
            if blocks[slot, BLOCK_RUNNING] != 0 and part_lanes(slot, control, warps):
                control[TRIED] = 0
        return True
    if control[TRIED] == 2:
        env[at.ENV_OUT_OF_TIME] = 1
        return True
    control[TRIED] = 0
    control[FRUITLESS] = 0
    env[at.ENV_OUT_OF_TIME] = 0
    return bool(control[IS_CERTAIN] == 0)


@native
def run_block(slot: int, control: Ints, blocks: Ints, barriers: Ints, arrived: Ints, seen: Ints,
              warps: Ints, states: Ints, regions: Ints, region_of: Ints,
              code_map: Ints) -> int:  # fmt: skip
    """One round over a block's ready warps, repeated while barriers free some. Returns a status."""
    rounds = 0
    env = control[ENV_ADDRESS]
    has_whole = has_whole_warps(control)
    while True:
        rounds += 1
        ran = False
        yielded = False
        got_on = False
        n, step, following = control[WARPS], control[TURN_STEP], control[FIRST_TURN]
        for _ in range(n):
            i = following
            following += step
            if following >= n:
                following -= n
            if states[slot, i] != WARP_READY:
                continue
            ran = True
            control[WARP] = i
            come = 0
            if has_whole and is_whole(warps[slot, i]):
                come = run_whole(slot, i, warps[slot, i], control, env, blocks, barriers, seen,
                                 states, regions, region_of)  # fmt: skip
                if come == 0:
                    got_on = True
                    continue
            outcome = run_warp(slot, i, control, blocks, barriers, arrived, seen, warps, states,
                               regions, region_of, code_map, come)  # fmt: skip
            if outcome == RAN_LOOKED:
                continue
            got_on = True
            if outcome == RAN_PARKED:
                continue
            if outcome == RAN_TURN:
                continue
            if outcome == RAN_BLOCKED:
                if peek32(warps[slot, i] + at.WARP_EXITED) == _FULL:
                    states[slot, i] = WARP_FINISHED
                else:
                    ready = can_go_on(warps[slot, i])
                    states[slot, i] = WARP_READY if ready else WARP_BLOCKED
                    if not ready and control[CLUSTER_BLOCKS] > 1:
                        count_joining(
                            slot, warps[slot, i], control[WARPS], control, blocks, warps, states
                        )
            elif outcome == RAN_YIELDED:
                yielded = True
            elif outcome == RAN_CUT:
                states[slot, i] = WARP_FINISHED
                blocks[slot, BLOCK_CUT] = 1
            else:
                control[SLOT], control[WARP] = slot, i
                if outcome == RAN_FAULT:
                    return FAULTED
                if outcome == RAN_HOOK:
                    return HOOK_CALL
                return TRAPPED if outcome == RAN_TRAP else BAD_PC
        if blocks[slot, BLOCK_ALIVE] <= 0 or (not got_on and blocks[slot, BLOCK_CUT] != 0):
            blocks[slot, BLOCK_RUNNING] = 0
            return ALL_DONE
        if not ran:
            control[SLOT] = slot
            if control[CLUSTER_BLOCKS] == 1 and control[GRID_WAITS] == 0:
                return DEADLOCKED
            blocks[slot, BLOCK_WAITING] = 1
            return WAITS
        if yielded or rounds == MANY_ROUNDS:
            control[STEPS] += rounds - 1
            blocks[slot, BLOCK_YIELDS] += 1
            return NEED_SLOT
        if got_on:
            control[FRUITLESS] = -1
        else:
            if control[TAKES] == 0 or not part_lanes(slot, control, warps):
                return STALLED


@native
def run(control: Ints, env: Ints, blocks: Ints, barriers: Ints, arrived: Ints, seen: Ints,
        warps: Ints, states: Ints, shared: Ints, zero_keys: Ints, regions: Ints,
        region_of: Ints, code_map: Ints) -> int:  # fmt: skip
    """Runs blocks NEXT_BLOCK to LAST_BLOCK. Re-entered after hooks with the same arrays."""
    while True:
        if control[STOP] != 0:
            return STOPPED
        if control[STEP_LIMIT] > 0 and control[STEPS] > control[STEP_LIMIT]:
            return STEPS_SPENT
        if control[TURNS] == 1:
            control[TURNS] = 2
            fill_slots(control, blocks, barriers, seen, warps, states, shared, zero_keys)
        n = control[N_SLOTS]
        slot = stuck = -1
        for k in range(n):
            candidate = control[CURRENT] + k
            if candidate >= n:
                candidate -= n
            if blocks[candidate, BLOCK_RUNNING] != 0:
                stuck = candidate
                if blocks[candidate, BLOCK_WAITING] == 0:
                    slot = candidate
                    break
        if slot < 0:
            is_left = control[NEXT_BLOCK] < control[LAST_BLOCK]
            slot = 0
            if stuck >= 0:
                control[SLOT] = stuck
                if control[GRID_WAITS] == 0 or not is_left:
                    return DEADLOCKED
                slot = free_slot(control, blocks)
                if slot < 0:
                    return NEED_SLOT if n < control[MAX_SLOTS] else DEADLOCKED
            elif not is_left:
                return ALL_DONE
            start_cluster(slot, control, blocks, barriers, seen, warps, states, shared, zero_keys)
        enter_block(slot, control, env, blocks, shared)
        status = run_block(slot, control, blocks, barriers, arrived, seen, warps, states, regions,
                           region_of, code_map)  # fmt: skip
        control[CURRENT] = slot
        if status == ALL_DONE:
            behind = control[TENSOR_MEMORY]
            if behind != 0 and keeps_columns(env, shared[slot] + behind):
                return FAULTED
            control[FINISHED] += 1
            poke64(control[SHARED_TABLE] + 8 * slot, 0)
            first = slot - slot % control[CLUSTER_BLOCKS]
            if n > 1 and control[NEXT_BLOCK] < control[LAST_BLOCK] and is_free(
                first, control, blocks
            ):
                start_cluster(first, control, blocks, barriers, seen, warps, states, shared,
                              zero_keys)  # fmt: skip
        is_stalled = status == STALLED
        if is_stalled:
            control[STEPS] += 1
            control[FRUITLESS] += 1
        elif status != WAITS:
            control[FRUITLESS] = 0
        if control[FRUITLESS] == 0:
            control[TRIED] = 0
            env[at.ENV_OUT_OF_TIME] = 0
        if is_stalled or status == NEED_SLOT:
            control[CURRENT] = slot + 1
            wants = is_stalled and control[IS_SHARED] == 0
            if status == NEED_SLOT and blocks[slot, BLOCK_YIELDS] >= PATIENCE:
                wants = True
            if wants and control[TURNS] == 0 and control[NEXT_BLOCK] < control[LAST_BLOCK]:
                free = free_slot(control, blocks)
                if free >= 0:
                    start_cluster(free, control, blocks, barriers, seen, warps, states, shared,
                                  zero_keys)  # fmt: skip
                    control[SPINNING] = 1
                    control[FRUITLESS] = 1
                elif n < control[MAX_SLOTS]:
                    control[FRUITLESS] = 1
                    return NEED_SLOT
            if control[FRUITLESS] > 2 * n and not try_harder(control, env, blocks, warps):
                control[SLOT] = slot
                return DEADLOCKED
        elif status != WAITS and status != ALL_DONE:
            return status
