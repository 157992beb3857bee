"""What the cycle loop works on: plain arrays in named tuples, which Numba compiles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# classes of instructions, by what their issue needs
FIXED, VARIABLE, MEMORY, SHARED, CONSTANT, BLOCK_BARRIER, ARRIVE, EXIT, BRANCH, FENCE, SLEEP = (
    range(11)
)
PIPES = ("alu", "fma", "fp16", "fp64", "xu", "lsu", "adu", "cbu", "uniform", "tensor", "none")
N_SCOREBOARDS = 6
RING = 8  # outstanding releases that DEPBAR can tell apart

# shared resources of the SM: when each is free again (`State.free`)
LSU, TAG, DATA, L2_READ, L2_WRITE, DRAM, ATOMIC, LAUNCH, N_FREE = range(9)

# what a warp slot is doing
EMPTY, RUNNING, AT_BARRIER = 0, 1, 2

# `State.control`
NOW, NEXT_BLOCK, FINISHED, N_EVENTS, RESIDENT, AGE, ISSUED, N_CONTROL = range(8)

# sums of one simulation (`Counts.sums`)
(
    S_CYCLES, S_WARP_CYCLES, S_ELIGIBLE, S_ISSUE_ACTIVE, S_ACTIVE_SUBS,
    S_L1_SECTORS, S_L1_HITS, S_L2_READ, S_L2_READ_HIT, S_L2_WRITE, S_L2_WRITE_HIT,
    S_L2_ATOMIC, S_DRAM_READ, S_DRAM_WRITE, S_SHARED_PASSES, S_TAGS, S_DATA_CYCLES,
    S_REQUESTS, S_BARRIERS, S_L2_REQUESTS, N_SUMS,
) = range(21)  # fmt: skip

NEVER = 1 << 60


class Spec(NamedTuple):
    """The numbers of one GPU and launch, in SM cycles and bytes per SM cycle."""

    sub_partitions: int
    policy: int  # 0 greedy then youngest, 1 loose round robin, 2 greedy then oldest
    slots: int  # resident blocks
    warps_per_block: int
    agu_interval: float
    lsu_interval: float
    queue_entries: int
    l1_line_slots: int  # lines of L1
    l1_bytes_per_cycle: float
    shared_bytes_per_cycle: float
    l1_hit: float
    l2_hit: float
    l2_far: float
    far_share: int  # of 256 lines, how many live in the far partition
    dram_latency: float
    l2_read_rate: float  # bytes per cycle for this SM
    l2_write_rate: float
    dram_rate: float
    dram_write_share: float  # part of newly written sectors that reach DRAM in time
    atomic_interval: float
    atomic_latency: float
    sharers: float  # SMs that compete for a shared atomic address
    shared_latency: float
    shared_atomic: float
    shuffle_latency: float
    barrier_latency: int
    fence_latency: float
    branch_latency: int
    sources_load: int
    sources_store: int
    wide_extra: float  # per further 32 bits of a lane's access
    in_flight: float  # cycles of backlog that the miss path accepts
    block_start: int  # cycles between a block's place becoming free and its first instruction
    launch_interval: float  # cycles between two blocks' starts on one SM
    l0_lines: int
    l1i_lines: int
    l0_miss: int
    l1i_miss: int
    ideal: int  # bits of what is made ideal, see ablate.py


class Code(NamedTuple):
    """Per instruction: what the scheduler and the pipes need to know."""

    kind: npt.NDArray[np.int8]
    pipe: npt.NDArray[np.int8]
    interval: npt.NDArray[np.int32]
    stall: npt.NDArray[np.int32]
    keep: npt.NDArray[np.int8]
    write: npt.NDArray[np.int8]
    read: npt.NDArray[np.int8]
    wait: npt.NDArray[np.int32]
    latency: npt.NDArray[np.int32]
    depth: npt.NDArray[np.int32]  # DEPBAR: scoreboard << 8 | allowed, else -1; BAR: id << 8 | warps


class Trace(NamedTuple):
    """The traces to replay, see execute/trace.py; `hits` is L2's answer per line."""

    starts: Ints
    ends: Ints
    entries: npt.NDArray[np.uint32]
    warp_entries: Ints
    accesses: Ints
    warp_accesses: Ints
    lines: Ints
    hits: npt.NDArray[np.uint8]
    shares: npt.NDArray[np.float32]
    order: Ints  # trace of the n-th block to run


class State(NamedTuple):
    """The SM between two cycles; the first axis is the warp slot unless said."""

    status: npt.NDArray[np.int8]
    trace: Ints
    block: Ints  # slot of the block
    entry: Ints
    last_entry: Ints
    access: Ints
    pc: Ints
    end: Ints
    ready: Ints
    issued_at: Ints
    age: Ints
    release: Ints  # (warp, scoreboard): when it is free
    cause: npt.NDArray[np.int8]  # (warp, scoreboard): stall reason of waiting for it
    ring: Ints  # (warp, scoreboard, RING): releases still counted
    stores: Ints  # when the warp's last store is on its way
    pipe_free: Floats  # (sub-partition, pipe)
    queue_free: Floats  # (sub-partition,): address unit
    last_warp: Ints  # (sub-partition,)
    free: Floats  # shared resources
    slot_free: Ints  # (block slot,): when the next block may start
    slot_live: Ints  # (block slot,): warps that run
    arrived: Ints  # (block slot, 16): arrivals at named barriers
    tags: Ints  # L1: line + 1 per way, (sets, ways)
    valid: Ints  # L1: sectors << 0, per (sets, ways)
    fill: Ints  # L1: when the line's last fill arrives
    used: Ints  # L1: time of last use
    l0: Ints  # (sub-partition, lines)
    l1i: Ints
    control: Ints


class Counts(NamedTuple):
    """What a simulation adds up."""

    stalls: Ints  # (instruction, reason)
    issues: Ints  # per instruction
    pipe_busy: Floats
    sums: Floats
    l1: Ints  # (kind of access, looked up or found): sectors; see answers.L1_KINDS
    done: Ints  # per block in order of completion: time
    work: Ints  # warp instructions issued up to then
    timeline: Floats  # (bin, TIMELINE column)
    events: Ints  # (n, 6): warp slot, begin, end, reason, pc, trace


TIMELINE = ("issued", "warps", "dram_bytes", "l2_bytes", "l1_sectors", "blocks")


def new_state(spec: Spec) -> State:
    """An empty SM."""
    n, s = spec.slots * spec.warps_per_block, spec.sub_partitions
    ways = 4 if spec.l1_line_slots >= 4 else 1
    sets = max(1, spec.l1_line_slots // ways)

    def zeros(*shape: int) -> Ints:
        return np.zeros(shape, np.int64)

    return State(
        status=np.zeros(n, np.int8), trace=zeros(n), block=zeros(n), entry=zeros(n),
        last_entry=zeros(n), access=zeros(n), pc=zeros(n), end=zeros(n), ready=zeros(n),
        issued_at=zeros(n), age=zeros(n), release=zeros(n, N_SCOREBOARDS),
        cause=np.zeros((n, N_SCOREBOARDS), np.int8), ring=zeros(n, N_SCOREBOARDS, RING),
        stores=zeros(n), pipe_free=np.zeros((s, len(PIPES))), queue_free=np.zeros(s),
        last_warp=np.full(s, -1, np.int64), free=np.zeros(N_FREE), slot_free=zeros(spec.slots),
        slot_live=zeros(spec.slots), arrived=zeros(spec.slots, 16), tags=zeros(sets, ways),
        valid=zeros(sets, ways), fill=zeros(sets, ways), used=zeros(sets, ways),
        l0=zeros(s, max(1, spec.l0_lines)), l1i=zeros(max(1, spec.l1i_lines)),
        control=zeros(N_CONTROL),
    )  # fmt: skip


def new_counts(n_instructions: int, n_reasons: int, n_blocks: int, *, bins: int,
               events: int) -> Counts:  # fmt: skip
    """Zeroed sums."""
    return Counts(
        stalls=np.zeros((max(1, n_instructions), n_reasons), np.int64),
        issues=np.zeros(max(1, n_instructions), np.int64),
        pipe_busy=np.zeros(len(PIPES)),
        sums=np.zeros(N_SUMS),
        l1=np.zeros((5, 2), np.int64),
        done=np.zeros(max(1, n_blocks), np.int64),
        work=np.zeros(max(1, n_blocks), np.int64),
        timeline=np.zeros((max(1, bins), len(TIMELINE))),
        events=np.zeros((events, 6), np.int64),
    )
