"""Shared memory: passes through the banks, atomics, and shuffles, which use the same path."""

from __future__ import annotations

from warplens.timing.state import Record, stage

IDEAL_BANKS = 8


@stage
def access(sm: Record, sub: Record, spec: Record, passes: int, lanes: int, size: int,
           is_atomic: bool, is_store: bool, begin: float) -> float:  # fmt: skip
    """When an access that starts at `begin` has its data."""
    if spec.ideal & IDEAL_BANKS:
        passes = max(1, (lanes * size + 127) // 128)
    start = max(begin, sm.data_free)
    sm.data_free = start + passes * spec.shared_interval
    sm.lsu_free = max(sm.lsu_free, sm.data_free - spec.shared_interval)
    sm.shared_passes += passes
    sm.data_cycles += passes * spec.shared_interval
    if is_store:
        return float(start)
    latency = spec.shared_atomic if is_atomic else spec.shared_latency
    passes = max(passes, (lanes * size + 127) // 128)
    last = max(start, sub.shared_back) + (passes - 1) * spec.return_interval
    sub.shared_back = last + spec.return_interval
    return float(last + latency)


@stage
def shuffle(sm: Record, spec: Record, latency: float, passes: int, begin: float) -> float:
    """When a shuffle's result is there."""
    start = max(begin, sm.data_free)
    sm.data_free = start + passes
    sm.data_cycles += passes
    return float(start + latency)
