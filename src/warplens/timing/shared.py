"""Shared memory: passes through the banks, atomics, and shuffles, which use the same path."""

from __future__ import annotations

from warplens.timing.data_path import pass_shared
from warplens.timing.state import WORDS, Record, stage

IDEAL_BANKS = 8
# Of exchanges in loops: cycles from one warp's reading of a word to its exchange, more of doubles,
# from one try to the next, and passes of a try (floats that 4 and 16 warps of a block add,
# shared_atomics_sm90.json; doubles and passes: aop-beta, threadfence and
# expdist of tuning halves)
_APART, _APART_WIDE, _ROUND, _PASSES = 36.0, 26.0, 110.0, 4.0
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
              n_bytes: int, done: float) -> float:  # fmt: skip
    """When a warp has exchanged a word that others of its block exchange in loops, too: what it
    compares with it has read after the last one of them, and the more of them there are, the sooner
    one of them reads. It is traced without the rounds in which another warp came first, which take
    their passes."""
    place = word % WORDS
    if slot.word[place] == word + 1 and slot.exchanger[place] != index:
        others = max(1, slot.exchanges - warp.exchanges)
        apart = _APART + _ROUND / min(others, spec.warps_per_block)
        if n_bytes > 4:
            apart += _APART_WIDE
        late = slot.exchanged[place] + apart - done
        if late > 0.0:
            rounds = late / _ROUND
            pass_shared(sm, spec, rounds * _PASSES * spec.shared_interval, done - late)
            done += late
    slot.exchanges += 1
    warp.exchanges = slot.exchanges
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
