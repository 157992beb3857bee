"""The load/store path: the sub-partition's queue, the SM's units, L1, then L2 and DRAM."""

from __future__ import annotations

from numba import njit

from warplens.execute.trace import KIND_SHIFT, LANES_SHIFT, SIZE_SHIFT, SPACE_SHIFT
from warplens.timing import l1, l2, shared
from warplens.timing.state import (
    DATA,
    L2_READ,
    LSU,
    S_DATA_CYCLES,
    S_L1_HITS,
    S_L1_SECTORS,
    S_REQUESTS,
    S_TAGS,
    SHARED,
    TAG,
    Code,
    Counts,
    Spec,
    State,
    Trace,
)

GLOBAL, SHARED_SPACE, LOCAL = 0, 1, 2
READ, WRITE, ATOMIC = 1, 2, 4
IDEAL_L1, IDEAL_COALESCING = 4, 16
_LOCAL_BIT = 1 << 50


@njit(cache=True)
def has_room(state: State, spec: Spec, sub: int, now: int) -> bool:
    """Whether the sub-partition's memory queue takes another instruction."""
    return state.queue_free[sub] - now < spec.queue_entries * spec.agu_interval


@njit(cache=True)
def enter(state: State, spec: Spec, sub: int, now: int) -> float:
    """When an instruction issued now reaches the SM's shared units."""
    begin = max(float(now), state.queue_free[sub])
    start = max(begin, state.free[LSU])
    state.free[LSU] = start + spec.lsu_interval
    state.queue_free[sub] = max(begin + spec.agu_interval, start)
    return start


@njit(cache=True)
def perform(state: State, counts: Counts, spec: Spec, code: Code, trace: Trace, warp: int,
            pc: int, now: int) -> tuple[float, float]:  # fmt: skip
    """Carries out a memory instruction: when its result is there, when its sources are read."""
    start = enter(state, spec, warp % spec.sub_partitions, now)
    done = start + (spec.shuffle_latency if code.kind[pc] == SHARED else float(code.latency[pc]))
    read = start + spec.sources_load
    if code.kind[pc] == SHARED and code.depth[pc] == -2:  # a shuffle
        state.free[DATA] = max(start, state.free[DATA]) + 1.0
        counts.sums[S_DATA_CYCLES] += 1.0
        return state.free[DATA] - 1.0 + spec.shuffle_latency, read
    last = trace.warp_accesses[state.trace[warp] + 1]
    found = False
    while state.access[warp] < last:
        row = trace.accesses[state.access[warp]]
        if row[0] != state.entry[warp] or row[1] & 0xFFFFFF != pc:
            break
        state.access[warp] += 1
        done, read = _record(state, counts, spec, trace, warp, row[1], row[2], start, now)
        found = True
    if not found:
        done = start + 8.0
    return done, read


@njit(cache=True)
def _record(state: State, counts: Counts, spec: Spec, trace: Trace, warp: int, where: int,
            place: int, start: float, now: int) -> tuple[float, float]:  # fmt: skip
    kind, space = where >> KIND_SHIFT & 7, where >> SPACE_SHIFT & 3
    lanes, size = where >> LANES_SHIFT & 63, where >> SIZE_SHIFT & 31
    first, count = place >> 16, place & 0xFFFF
    read = start + (spec.sources_load if kind == READ else spec.sources_store)
    read += spec.wide_extra * (max(4, size) // 4 - 1) if kind == WRITE else 0.0
    if space == SHARED_SPACE:
        done = shared.access(
            state, counts, spec, count, lanes, size, kind == ATOMIC, start
        )
        return done, read
    counts.sums[S_REQUESTS] += 1
    if kind == ATOMIC:
        done = l2.atomics(state, counts, spec, trace, first, count, lanes, start)
        return done, read
    if spec.ideal & IDEAL_COALESCING:
        count = min(count, max(1, (lanes * size + 127) // 128))
    begin = max(start, state.free[TAG])
    state.free[TAG] = begin + count
    counts.sums[S_TAGS] += count
    if kind == WRITE:
        done = _store(state, counts, spec, trace, warp, space, first, count, begin, now)
    else:
        done = _load(state, counts, spec, trace, warp, space, first, count, begin, now)
        done += spec.wide_extra * (max(4, size) // 4 - 1)
    return done, max(read, begin)


@njit(cache=True)
def _line(state: State, trace: Trace, warp: int, space: int, index: int) -> int:
    """The line number; local lines are told apart by the warp's place."""
    key = trace.lines[index] >> 4
    return key | _LOCAL_BIT | warp << 36 if space == LOCAL else key


@njit(cache=True)
def _data_cycles(state: State, counts: Counts, spec: Spec, sectors: int, begin: float) -> float:
    start = max(begin, state.free[DATA])
    cycles = max(1.0, sectors * 32 / spec.l1_bytes_per_cycle)
    state.free[DATA] = start + cycles
    counts.sums[S_DATA_CYCLES] += cycles
    return start + cycles - 1.0


@njit(cache=True)
def _load(state: State, counts: Counts, spec: Spec, trace: Trace, warp: int, space: int,
          first: int, count: int, begin: float, now: int) -> float:  # fmt: skip
    done, total = 0.0, 0
    for i in range(count):
        line, sectors = _line(state, trace, warp, space, first + i), trace.lines[first + i] & 15
        total += _bits(sectors)
        hit, filled, place = l1.look_up(state, line, sectors, now)
        if spec.ideal & IDEAL_L1:
            hit, filled = sectors, 0
        counts.sums[S_L1_HITS] += _bits(hit)
        counts.l1[3 if space == LOCAL else 0, 1] += _bits(hit)
        if hit:
            done = max(done, filled, begin + i + spec.l1_hit)
        missing = sectors & ~hit
        if missing:
            arrives = l2.load(
                state, counts, spec, trace.hits[first + i], line, missing, begin + i,
                space == LOCAL,
            )  # fmt: skip
            l1.fill(state, line, missing, place, now, int(arrives))
            done = max(done, arrives)
    counts.sums[S_L1_SECTORS] += total
    counts.l1[3 if space == LOCAL else 0, 0] += total
    busy = _data_cycles(state, counts, spec, total, begin)
    _push_back(state, spec, begin)
    return max(done, busy + spec.l1_hit)


@njit(cache=True)
def _store(state: State, counts: Counts, spec: Spec, trace: Trace, warp: int, space: int,
           first: int, count: int, begin: float, now: int) -> float:  # fmt: skip
    done, total = begin, 0
    for i in range(count):
        line, sectors = _line(state, trace, warp, space, first + i), trace.lines[first + i] & 15
        n = _bits(sectors)
        total += n
        hit, _, place = l1.look_up(state, line, sectors, now)
        counts.sums[S_L1_HITS] += _bits(hit)
        counts.l1[4 if space == LOCAL else 1, 1] += _bits(hit)
        if space == LOCAL:
            l1.fill(state, line, sectors, place, now, now)
            continue
        done = max(done, l2.store(state, counts, spec, trace.hits[first + i], n, begin + i))
    counts.sums[S_L1_SECTORS] += total
    counts.l1[4 if space == LOCAL else 1, 0] += total
    _data_cycles(state, counts, spec, total, begin)
    _push_back(state, spec, begin)
    return done


@njit(cache=True)
def _push_back(state: State, spec: Spec, begin: float) -> None:
    """The miss path holds so much; beyond, the units in front of it wait."""
    latest = state.free[L2_READ] - spec.in_flight
    if latest > state.free[LSU]:
        state.free[LSU] = latest


@njit(cache=True)
def _bits(mask: int) -> int:
    return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3 & 1)
