"""Shared memory: passes through the banks, atomics, and shuffles, which use the same path."""

from __future__ import annotations

from warplens.timing.data_path import pass_shared
from warplens.timing.state import WORDS, Record, stage

IDEAL_BANKS = 8
# Of exchanges in loops: cycles from one warp's reading of a word to its exchange, more of doubles,
# and from one try to the next (floats that 4 and 16 warps of a block add, shared_atomics_sm90.json;
# doubles: aop-beta, threadfence and expdist of tuning halves)
_APART, _APART_WIDE, _ROUND = 36.0, 26.0, 110.0
_GOES_ROUND = 40.0  # cycles of a round behind its exchange
# Passes of a try, of 4 and of 8 bytes, and those of them that are the exchange's (counted on an
# H200 with the instructions executed: atomicPerf-single-shared, 3.0, and aop-sums, 4.3)
_PASSES, _PASSES_WIDE, CAST_PASSES, CAST_PASSES_WIDE = 3.0, 4.3, 2, 3
FROM_SHARED, FROM_L1 = range(2)  # ways back to a sub-partition


@stage
def access(sm: Record, warp: Record, sub: Record, spec: Record, passes: int, lanes: int, size: int,
           is_atomic: bool, is_store: bool, begin: float) -> float:  # fmt: skip
    """When an access that starts at `begin` has its data."""
    whole = (lanes * size + 127) // 128
    if spec.ideal & IDEAL_BANKS:
        passes = max(1, whole)
    start = pass_shared(sm, spec, passes * spec.shared_interval, begin)
    sm.shared_passes += passes
    if is_store:
        return float(start)
    latency = spec.shared_atomic if is_atomic else spec.shared_latency
    return float(latency + back(warp, sub, spec, FROM_SHARED, max(passes, whole), start, passes,
                                lanes * size / 2))  # fmt: skip


@stage
def exchanged(sm: Record, slot: Record, warp: Record, spec: Record, index: int, word: int,
              n_bytes: int, begin: float, done: float) -> float:  # fmt: skip
    """When a warp has exchanged a word that others of its block exchange in loops, too: what it
    compares with it has read after the last one of them, and the more of them there are, the sooner
    one of them reads. It is traced without the rounds in which another warp came first, which take
    their passes: each exchange of another one makes those fail that have read before it."""
    place = word % WORDS
    reads, passes = _APART, _PASSES
    if n_bytes > 4:
        reads, passes = _APART + _APART_WIDE, _PASSES_WIDE
    if slot.word[place] == word + 1 and slot.exchanger[place] != index:
        others = min(max(1, slot.exchanges - warp.exchanges), spec.warps_per_block)
        late = max(0.0, slot.exchanged[place] + reads + _ROUND / others - done)
        rounds = late / _ROUND
        if warp.exchanges > 0:
            between = max(0.0, warp.looked - warp.exchanged - _GOES_ROUND)
            rounds = max(rounds, others * reads / (_ROUND + between))
        if rounds > 0.0:
            pass_shared(sm, spec, rounds * passes * spec.shared_interval, begin)
        done += late
    slot.exchanges += 1
    warp.exchanges, warp.exchanged = slot.exchanges, done
    slot.word[place], slot.exchanger[place], slot.exchanged[place] = word + 1, index, done
    return float(done)


@stage
def pass_through(sm: Record, spec: Record, begin: float) -> None:
    """An access in which no lane takes part: an H200 counts a pass of it
    (l1tex__data_pipe_lsu_wavefronts_mem_shared_op_misc, validation/data/counters_sm90.npz)."""
    pass_shared(sm, spec, spec.shared_interval, begin)


@stage
def back(warp: Record, sub: Record, spec: Record, way: int, passes: int, start: float, taken: int,
         n_bytes: float) -> float:  # fmt: skip
    """When the last of so many passes, the first of them at `start`, may go back to the
    sub-partition; its way is `taken` by as many. (Wide loads of few words come as late as if all
    lanes had their own: validation/data/wide_loads_sm90.json.)"""
    begin = max(start, sub.back[way], warp.back[way])
    warp.back[way] = begin + taken * spec.return_interval
    sub.back[way] = max(start, sub.back[way]) + n_bytes / 128.0 * spec.return_interval
    return float(begin + (passes - 1) * spec.return_interval)


@stage
def shuffle(sm: Record, spec: Record, latency: float, passes: int, begin: float) -> float:
    """When a shuffle's result is there."""
    start = pass_shared(sm, spec, float(passes), begin)
    return float(start + latency)
