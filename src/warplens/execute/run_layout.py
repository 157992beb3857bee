"""What stands where in the arrays that the runner's compiled functions and Python share."""

from __future__ import annotations

# The control array: one per worker.
NEXT_BLOCK, LAST_BLOCK, STOP, SLOT, WARP, HOOK, MASK, N_SLOTS, MAX_SLOTS, STEPS = range(10)
SPINNING, CURRENT, ROUNDS, GRID_X, GRID_Y, WARPS, THREADS, ENV_ADDRESS, STEP_LIMIT, N_SM = range(
    10, 20
)
SHARED_BYTES, OBSERVE_RELEASE, FINISHED = range(20, 23)
CLUSTER_BLOCKS, CLUSTER_X, CLUSTER_Y, CLUSTER_Z, SHARED_TABLE = range(23, 28)
# looks without success since anybody made progress; what was tried then; facts of the kernel
FRUITLESS, TRIED, IS_CERTAIN, TAKES, IS_SHARED = range(28, 33)
FIRST_TURN = 33  # the warp of a block that runs first
STRICT_MASKS = 34  # lanes that a WARPSYNC names are waited for even where they never come
SPINS = 35  # waits are not put aside but spin, for what looks for endless ones
TURN_STEP = 36  # from one warp to the next that runs; no divisor of their number
TURN = 37  # regions that a warp runs before the next warp does; 0: until it waits
GRID_WAITS = 38  # lanes that wait at the grid's barrier
PARTS = 39  # the kernel's warps part and meet as in parts.py
# which parts go on where that is not known is drawn from here (0: the most frequent; below 0: any
# that is ready, wherever there are several)
PART_ORDER = 40
TENSOR_MEMORY = 41  # where it begins behind a block's shared memory; 0: the kernel has none
PAIR_BARRIER = 42  # place of the mbarrier by which a pair's allocations alternate
FUEL = 43  # back edges that a warp takes before others run
TURNS = 44  # blocks run by turns: 1: those of all slots are to begin, 2: they have begun
N_CONTROL = 45

# What a run returns.
ALL_DONE, FAULTED, HOOK_CALL, STOPPED, DEADLOCKED, TRAPPED, BAD_PC, NEED_SLOT, STEPS_SPENT = range(
    9
)
WAITS, STALLED = 9, 10  # only inside: a block that waits for its cluster; one that waits for writes

# Per resident block. BLOCK_WAITING: all its warps wait for other blocks. CLUSTER_ARRIVED and
# CLUSTER_ALIVE are the cluster's and stand with its first block: lanes that have arrived at the
# cluster barrier, lanes that have not ended.
BLOCK_INDEX, BLOCK_ALIVE, BLOCK_RUNNING, BLOCK_YIELDS, BLOCK_WAITING = range(5)
CLUSTER_ARRIVED, CLUSTER_ALIVE = 5, 6
BLOCK_CUT = 7  # an observer has seen enough of one of its warps
BLOCK_BARRIERS = 8  # named barriers below this number have been used
N_BLOCK = 9

# Per named barrier of a resident block. BARRIER_TABLED: splits that wait in split tables (whole
# warps do not).
BARRIER_LANES, BARRIER_ROUNDED, BARRIER_NEED, BARRIER_TALLY, BARRIER_MODE = range(5)
BARRIER_TABLED, N_BARRIER = 5, 6

# Per warp of a resident block; WARP_PARKED + n: the whole warp waits at named barrier n.
WARP_READY, WARP_BLOCKED, WARP_FINISHED, WARP_PARKED = 0, 1, 2, 16

QUANTUM = 20000  # back edges before a split must let others run, if blocks take no turns
ENOUGH = -(1 << 62)  # an observer's fuel for a warp that need not run on: its block is cut short
