"""The block runner: warps of a block and resident blocks, with fair rotation.

Functions over int64 arrays and raw warp records (lift/layout.py), compiled by `warplens.compiled`.
A run returns to Python only when blocks are finished or something needs attention.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warplens.compiled import native
from warplens.execute.clusters import (
    BLOCK_WAITING,
    CLUSTER_ALIVE,
    CLUSTER_ARRIVED,
    CLUSTER_BLOCKS,
    SHARED_TABLE,
    arrive_at_cluster,
    block_of,
    count_joining,
    leave_cluster,
    waits_for_cluster,
)
from warplens.execute.native import (
    call_region,
    call_release,
    clear_lines,
    fill_zero,
    peek32,
    poke32,
    poke64,
    population,
)
from warplens.execute.parts import (
    ENDED,
    STRICT_MASKS,
    come_to_barrier,
    give_way,
    leave_barrier,
    next_part,
    part,
    release_ended,
    rest,
)
from warplens.execute.splits import (
    add_split,
    bsync,
    can_go_on,
    give_up_warpsync,
    look_again,
    lowest_lane,
    meet_any,
    pick_split,
    put_aside,
    resolve_targets,
    rotate,
    split_field,
    take_ready,
    unstick,
)
from warplens.execute.tensor_memory.state import keeps_columns, pair_barrier
from warplens.lift import layout as at

Ints = npt.NDArray[np.int64]

# control array (HOOK and MASK also in splits.py)
NEXT_BLOCK, LAST_BLOCK, STOP, SLOT, WARP, HOOK, MASK, N_SLOTS, MAX_SLOTS, STEPS = range(10)
SPINNING, CURRENT, ROUNDS, GRID_X, GRID_Y, WARPS, THREADS, ENV_ADDRESS, STEP_LIMIT, N_SM = range(
    10, 20
)
SHARED_BYTES, OBSERVE_RELEASE, FINISHED, N_CONTROL = 20, 21, 22, 44  # 23 to 27: clusters.py
# looks without success since anybody made progress; what was tried then; facts of the kernel
FRUITLESS, TRIED, IS_CERTAIN, TAKES, IS_SHARED = range(28, 33)
FIRST_TURN = 33  # the warp of a block that runs first
PARTS = 39  # the kernel's warps part and meet as in parts.py
TENSOR_MEMORY = 42  # where it begins behind a block's shared memory; 0: the kernel has none
PAIR_BARRIER = 43  # place of the mbarrier by which a pair's allocations alternate
GRID_WAITS = 38  # lanes that wait at the grid's barrier
SPINS = 35  # waits are not put aside but spin, for what looks for endless ones
TURN_STEP = 36  # from one warp to the next that runs; no divisor of their number
TURN = 37  # regions that a warp runs before the next warp does; 0: until it waits

# what a run returns
ALL_DONE, FAULTED, HOOK_CALL, STOPPED, DEADLOCKED, TRAPPED, BAD_PC, NEED_SLOT, STEPS_SPENT = range(
    9
)
WAITS, STALLED = 9, 10  # only inside: a block that waits for its cluster; one that waits for writes

# per resident block
BLOCK_INDEX, BLOCK_ALIVE, BLOCK_RUNNING, BLOCK_YIELDS, N_BLOCK = 0, 1, 2, 3, 9
BLOCK_BARRIERS = 8  # named barriers below this number have been used; 4 to 6: clusters.py
BLOCK_CUT = 7  # an observer has seen enough of one of its warps
# per named barrier of a resident block
BARRIER_LANES, BARRIER_ROUNDED, BARRIER_NEED, BARRIER_TALLY, BARRIER_MODE = range(5)
BARRIER_TABLED, N_BARRIER = 5, 6  # splits that wait in split tables (whole warps do not)

# per warp of a resident block; WARP_PARKED + n: the whole warp waits at named barrier n
WARP_READY, WARP_BLOCKED, WARP_FINISHED, WARP_PARKED = 0, 1, 2, 16

QUANTUM = 20000  # back edges before a split must let others run
ENOUGH = -(1 << 62)  # an observer's fuel for a warp that need not run on: its block is cut short
MANY_ROUNDS = 1000  # of a block whose warps wait for each other, before others run
PATIENCE = 4  # rounds of a block without end before another block joins

_FULL = 0xFFFFFFFF


@native
def start_block(slot: int, block: int, control: Ints, blocks: Ints, barriers: Ints, seen: Ints,
                warps: Ints, states: Ints, shared: Ints, zero_keys: Ints) -> None:  # fmt: skip
    """Puts a block into a slot: every warp at lifted block 0 with all its lanes."""
    n_warps, n_threads = control[WARPS], control[THREADS]
    blocks[slot, BLOCK_INDEX] = block
    blocks[slot, BLOCK_ALIVE] = n_threads
    blocks[slot, BLOCK_RUNNING] = 1
    blocks[slot, BLOCK_YIELDS] = 0
    blocks[slot, BLOCK_WAITING] = 0
    blocks[slot, BLOCK_CUT] = 0
    barriers[slot] = 0
    clear_lines(shared[slot], control[SHARED_BYTES])  # has bytes to spare behind its end
    if control[TENSOR_MEMORY] != 0:
        word = pair_barrier(slot % control[CLUSTER_BLOCKS])
        poke64(shared[slot] + control[PAIR_BARRIER], word)
    for i in range(n_warps):
        w = warps[slot, i]
        lanes = min(32, n_threads - 32 * i)
        mask = (1 << lanes) - 1
        poke32(w + at.WARP_MASK, mask)
        poke32(w + at.WARP_PC, 0)
        poke32(w + at.WARP_EXITED, _FULL & ~mask)
        poke32(w + at.WARP_CLUSTER, 0)
        poke32(w + at.WARP_SPLITS, 0)
        poke64(w + at.WARP_FUEL, QUANTUM)
        poke32(w + at.WARP_YIELDED, 0)
        fill_zero(w + at.WARP_PREDICATES, 64)
        for k in range(zero_keys.size):
            fill_zero(w + at.WARP_REGISTERS + 128 * zero_keys[k], 128)
        if control[PARTS] != 0:
            for number in range(16):
                poke32(w + at.WARP_BARRIERS + 128 * number, 0)
        seen[slot, i] = _FULL & ~mask
        states[slot, i] = WARP_READY


@native
def start_cluster(first: int, control: Ints, blocks: Ints, barriers: Ints, seen: Ints, warps: Ints,
                  states: Ints, shared: Ints, zero_keys: Ints) -> None:  # fmt: skip
    """Puts the next cluster, often one block, into the slots from `first` on."""
    size = control[CLUSTER_BLOCKS]
    for rank in range(size):
        slot = first + rank
        turn = control[NEXT_BLOCK] + rank
        block = block_of(turn, control[GRID_X], control[GRID_Y], control)
        start_block(slot, block, control, blocks, barriers, seen, warps, states, shared, zero_keys)
        poke64(control[SHARED_TABLE] + 8 * slot, shared[slot])
    blocks[first, CLUSTER_ARRIVED] = 0
    blocks[first, CLUSTER_ALIVE] = size * control[THREADS]
    control[NEXT_BLOCK] += size


@native
def is_free(first: int, control: Ints, blocks: Ints) -> bool:
    """Whether no block runs in the slots of a cluster."""
    for slot in range(first, first + control[CLUSTER_BLOCKS]):
        if blocks[slot, BLOCK_RUNNING] != 0:
            return False
    return True


@native
def free_slot(control: Ints, blocks: Ints) -> int:
    """The first slot of a cluster in which no block runs, or -1."""
    for first in range(0, control[N_SLOTS], control[CLUSTER_BLOCKS]):
        if is_free(first, control, blocks):
            return first
    return -1


@native
def enter_block(slot: int, control: Ints, env: Ints, blocks: Ints, shared: Ints) -> None:
    """Sets the environment for the block in a slot."""
    block = blocks[slot, BLOCK_INDEX]
    gx, gy = control[GRID_X], control[GRID_Y]
    env[at.ENV_BLOCK] = block
    env[at.ENV_CTAID] = block % gx
    env[at.ENV_CTAID + 1] = block // gx % gy
    env[at.ENV_CTAID + 2] = block // (gx * gy)
    env[at.ENV_SHARED] = shared[slot]
    env[at.ENV_SLOT] = slot
    env[at.ENV_SMID] = block % control[N_SM]
    rank = slot % control[CLUSTER_BLOCKS]
    env[at.ENV_CLUSTER_RANK] = rank << 24
    env[at.ENV_CLUSTER_SHARED] = control[SHARED_TABLE] + 8 * (slot - rank)


@native
def release_splits(slot: int, i: int, number: int, result: int, arrived: Ints, warps: Ints,
                   states: Ints) -> None:  # fmt: skip
    """Frees the splits of a divided warp that wait at a named barrier."""
    arrived[slot, number, i] = 0
    w = warps[slot, i]
    for j in range(peek32(w + at.WARP_SPLITS)):
        if (
            peek32(split_field(w, j, 2)) == at.SPLIT_AT_BARRIER
            and peek32(split_field(w, j, 3)) == number
        ):
            poke32(split_field(w, j, 2), at.SPLIT_READY)
            poke32(split_field(w, j, 3), at.IN_POOL)
            poke32(w + at.WARP_BAR_RESULT, result)
            states[slot, i] = WARP_READY


@native
def release_barrier(slot: int, number: int, control: Ints, barriers: Ints, arrived: Ints,
                    warps: Ints, states: Ints) -> None:  # fmt: skip
    """Lets everyone who waits at a named barrier go on, with the reduction's result."""
    if control[OBSERVE_RELEASE] != 0 and number < at.FIRST_WARPGROUP_BARRIER:
        call_release(control[OBSERVE_RELEASE], control[ENV_ADDRESS], slot, number)
    tally = barriers[slot, number, BARRIER_TALLY]
    mode = barriers[slot, number, BARRIER_MODE]
    lanes = barriers[slot, number, BARRIER_LANES]
    result = tally
    if mode == at.BARRIER_AND:
        result = 1 if tally == lanes else 0
    elif mode == at.BARRIER_OR:
        result = 1 if tally > 0 else 0
    tabled = barriers[slot, number, BARRIER_TABLED] != 0
    for i in range(control[WARPS]):
        if states[slot, i] == WARP_PARKED + number:
            states[slot, i] = WARP_READY
            if mode != 0:
                poke32(warps[slot, i] + at.WARP_BAR_RESULT, result)
        if tabled:
            release_splits(slot, i, number, result, arrived, warps, states)
    for k in range(N_BARRIER):
        barriers[slot, number, k] = 0


@native
def is_complete(slot: int, number: int, blocks: Ints, barriers: Ints) -> bool:
    """Whether all that a named barrier waits for have come."""
    lanes = barriers[slot, number, BARRIER_LANES]
    need = barriers[slot, number, BARRIER_NEED]
    if need == 0:
        return bool(lanes != 0 and lanes >= blocks[slot, BLOCK_ALIVE])
    return bool(lanes != 0 and barriers[slot, number, BARRIER_ROUNDED] >= need)


@native
def check_barrier(slot: int, number: int, control: Ints, blocks: Ints, barriers: Ints,
                  arrived: Ints, warps: Ints, states: Ints) -> None:  # fmt: skip
    """Releases a named barrier if it is complete."""
    if is_complete(slot, number, blocks, barriers):
        release_barrier(slot, number, control, barriers, arrived, warps, states)


@native
def arrive(slot: int, i: int, w: int, control: Ints, blocks: Ints, barriers: Ints, arrived: Ints,
           warps: Ints, states: Ints) -> bool:  # fmt: skip
    """A split arrives at the named barrier of its event. True: a whole warp that may go on or is
    parked; its record keeps mask and pc."""
    mask = peek32(w + at.WARP_MASK)
    number = peek32(w + at.WARP_ARGS)
    need = peek32(w + at.WARP_ARGS + 4)
    mode = peek32(w + at.WARP_ARGS + 8)
    ballot = peek32(w + at.WARP_ARGS + 12)
    lanes = population(mask)
    blocks[slot, BLOCK_BARRIERS] = max(blocks[slot, BLOCK_BARRIERS], number + 1)
    if peek32(w + at.WARP_SPLITS) == 0 and mode != at.BARRIER_ARRIVE:
        barriers[slot, number, BARRIER_LANES] += lanes
        barriers[slot, number, BARRIER_ROUNDED] += 32
        if need > 0:
            barriers[slot, number, BARRIER_NEED] = (need + 31) // 32 * 32
        if mode >= at.BARRIER_POPC:
            barriers[slot, number, BARRIER_MODE] = mode
            barriers[slot, number, BARRIER_TALLY] += population(ballot)
        states[slot, i] = WARP_PARKED + number
        if is_complete(slot, number, blocks, barriers):  # few arrivals are worth the call
            release_barrier(slot, number, control, barriers, arrived, warps, states)
        return True
    before = arrived[slot, number, i]
    alive = _FULL & ~peek32(w + at.WARP_EXITED)
    arrived[slot, number, i] = before | mask
    barriers[slot, number, BARRIER_LANES] += lanes
    rounded = lanes
    if before | mask == alive:
        rounded += 32 - population(alive)
    barriers[slot, number, BARRIER_ROUNDED] += rounded
    if need > 0:
        barriers[slot, number, BARRIER_NEED] = (need + 31) // 32 * 32
    if mode >= at.BARRIER_POPC:
        barriers[slot, number, BARRIER_MODE] = mode
        barriers[slot, number, BARRIER_TALLY] += population(ballot)
    if mode == at.BARRIER_ARRIVE:
        add_split(w, mask, peek32(w + at.WARP_PC), at.SPLIT_READY, 0, False)
    else:
        add_split(w, mask, peek32(w + at.WARP_PC), at.SPLIT_AT_BARRIER, number, False)
        barriers[slot, number, BARRIER_TABLED] += 1
    check_barrier(slot, number, control, blocks, barriers, arrived, warps, states)
    return False


@native
def note_exits(slot: int, i: int, w: int, control: Ints, blocks: Ints, barriers: Ints,
               arrived: Ints, seen: Ints, warps: Ints, states: Ints) -> None:  # fmt: skip
    """Counts lanes that ended since the last look; barriers may be complete without them."""
    exited = peek32(w + at.WARP_EXITED)
    new = exited & ~seen[slot, i]
    seen[slot, i] = exited
    blocks[slot, BLOCK_ALIVE] -= population(new)
    leave_cluster(slot, w, new, control[WARPS], control, blocks, warps, states)
    for number in range(blocks[slot, BLOCK_BARRIERS]):
        if barriers[slot, number, BARRIER_LANES] > 0:
            check_barrier(slot, number, control, blocks, barriers, arrived, warps, states)


# how running one warp ended
RAN_BLOCKED, RAN_YIELDED, RAN_FAULT, RAN_HOOK, RAN_TRAP, RAN_BAD_PC, RAN_PARKED, RAN_CUT = range(8)
RAN_LOOKED, RAN_TURN = 8, 9  # all of it waits, and none of its splits got on; its turn is over


@native
def pick(w: int, control: Ints) -> bool:
    """Makes a part of the warp that can go on the running one; False if there is none."""
    if control[PARTS] != 0:
        return next_part(w, control)
    return pick_split(w, control[STRICT_MASKS])


@native
def run_warp(slot: int, i: int, control: Ints, blocks: Ints, barriers: Ints, arrived: Ints,
             seen: Ints, warps: Ints, states: Ints, regions: Ints, region_of: Ints,
             code_map: Ints) -> int:  # fmt: skip
    """Runs a warp until it waits, ends, has used its quantum, or needs attention."""
    w = warps[slot, i]
    env = control[ENV_ADDRESS]
    got_on = look_again(w)
    poke32(w + at.WARP_PASSED, 0)
    if peek32(w + at.WARP_MASK) == 0 and (
        peek32(w + at.WARP_SPLITS) == 0 or not pick(w, control)
    ):
        return RAN_BLOCKED
    left, hops = control[TURN], 0
    while True:
        event = call_region(regions[region_of[peek32(w + at.WARP_PC)]], w, env)
        if event == at.EVENT_JUMP:
            left -= 1
            if left == 0:
                note_exits(slot, i, w, control, blocks, barriers, arrived, seen, warps, states)
                return RAN_TURN
            continue
        if event == at.EVENT_YIELD or event == at.EVENT_REST or event == at.EVENT_SLEEP:
            fuel = peek32(w + at.WARP_FUEL + 4)
            if 0x80000000 <= fuel < 0xF0000000:  # ENOUGH, less a little
                return RAN_CUT
            exhausted = fuel & 0x80000000 != 0
            if control[PARTS] != 0 and not exhausted and event == at.EVENT_REST:
                rest(w, control)
                continue
            if control[PARTS] != 0:
                give_way(w)
            else:
                rotate(w, event == at.EVENT_REST or (exhausted and event == at.EVENT_SLEEP))
            if exhausted:
                poke64(w + at.WARP_FUEL, QUANTUM)
                control[STEPS] += QUANTUM
                note_exits(slot, i, w, control, blocks, barriers, arrived, seen, warps, states)
                return RAN_YIELDED
            pick(w, control)
            if event == at.EVENT_REST:
                take_ready(w)
            continue
        if event == at.EVENT_WAIT:
            if 0x80000000 <= peek32(w + at.WARP_FUEL + 4) < 0xF0000000:
                return RAN_CUT
            if control[SPINS] != 0:
                if control[PARTS] != 0:
                    give_way(w)
                else:
                    rotate(w, True)
                poke64(w + at.WARP_FUEL, QUANTUM)
                control[STEPS] += QUANTUM
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
            leave_barrier(w, control)
            continue
        elif event != at.EVENT_WARPSYNC:
            got_on = True
        if event == at.EVENT_INDIRECT:
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
        poke32(w + at.WARP_MASK, 0)
        if control[PARTS] != 0:
            ended = peek32(w + at.WARP_EXITED) & ~seen[slot, i] & _FULL
            is_end = event == at.EVENT_DONE and ended != 0
            control[ENDED] = lowest_lane(ended) if is_end else -1
            if is_end and release_ended(w, ended):
                continue
        if peek32(w + at.WARP_EXITED) != seen[slot, i]:
            note_exits(slot, i, w, control, blocks, barriers, arrived, seen, warps, states)
        if peek32(w + at.WARP_SPLITS) == 0 or not pick(w, control):
            if got_on or peek32(w + at.WARP_PASSED) != 0 or not can_go_on(w):
                return RAN_BLOCKED
            return RAN_LOOKED


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
    while True:
        rounds += 1
        ran = False
        yielded = False
        got_on = False
        n, step = control[WARPS], control[TURN_STEP] % control[WARPS]
        following = control[FIRST_TURN] % n
        for _ in range(n):
            i = following
            following += step
            if following >= n:
                following -= n
            if states[slot, i] != WARP_READY:
                continue
            ran = True
            control[WARP] = i
            outcome = run_warp(slot, i, control, blocks, barriers, arrived, seen, warps, states,
                               regions, region_of, code_map)  # fmt: skip
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
        n = control[N_SLOTS]
        slot = stuck = -1
        for k in range(n):
            candidate = (control[CURRENT] + k) % n
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
            if wants and control[NEXT_BLOCK] < control[LAST_BLOCK]:
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
