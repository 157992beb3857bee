"""Shared memory: passes through the banks, atomics, and shuffles, which use the same path."""

from __future__ import annotations

from warplens.timing.data_path import pass_shared
from warplens.timing.state import Record, stage

IDEAL_BANKS = 8
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
