"""Shared memory: passes through the banks, atomics, and shuffles, which use the same path."""

from __future__ import annotations

from warplens.timing.state import Record, stage

IDEAL_BANKS = 8
FROM_SHARED, FROM_L1 = range(2)  # ways back to a sub-partition


@stage
def access(sm: Record, sub: Record, spec: Record, passes: int, lanes: int, size: int,
           is_atomic: bool, is_store: bool, begin: float) -> float:  # fmt: skip
    """When an access that starts at `begin` has its data."""
    whole = (lanes * size + 127) // 128
    if spec.ideal & IDEAL_BANKS:
        passes = max(1, whole)
    start = max(begin, sm.data_free)
    sm.data_free = start + passes * spec.shared_interval
    sm.lsu_free = max(sm.lsu_free, sm.data_free - spec.shared_interval)
    sm.shared_passes += passes
    sm.data_cycles += passes * spec.shared_interval
    if is_store:
        return float(start)
    latency = spec.shared_atomic if is_atomic else spec.shared_latency
    return float(latency + back(sub, spec, FROM_SHARED, max(passes, whole), start, passes))


@stage
def pass_through(sm: Record, spec: Record, begin: float) -> None:
    """An access in which no lane takes part: an H200 counts a pass of it
    (l1tex__data_pipe_lsu_wavefronts_mem_shared_op_misc, validation/data/counters_sm90.npz)."""
    sm.data_free = max(begin, sm.data_free) + spec.shared_interval
    sm.data_cycles += spec.shared_interval


@stage
def back(sub: Record, spec: Record, way: int, passes: int, start: float, taken: int) -> float:
    """When the last of so many passes, the first of them at `start`, may go back to the
    sub-partition; its way is `taken` by as many. (Wide loads of few words come as late as if all
    lanes had their own: validation/data/wide_loads_sm90.json.)"""
    begin = max(start, sub.back[way])
    sub.back[way] = begin + taken * spec.return_interval
    return float(begin + (passes - 1) * spec.return_interval)


@stage
def shuffle(sm: Record, spec: Record, latency: float, passes: int, begin: float) -> float:
    """When a shuffle's result is there."""
    start = max(begin, sm.data_free)
    sm.data_free = start + passes
    sm.data_cycles += passes
    return float(start + latency)
