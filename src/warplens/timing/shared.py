"""Shared memory: passes through the banks, atomics, and shuffles, which use the same path."""

from __future__ import annotations

from numba import njit

from warplens.timing.state import DATA, S_DATA_CYCLES, S_SHARED_PASSES, Counts, Spec, State

IDEAL_BANKS = 8


@njit(cache=True)
def access(state: State, counts: Counts, spec: Spec, passes: int, lanes: int, size: int,
           is_atomic: bool, begin: float) -> float:  # fmt: skip
    """When an access that starts at `begin` has its data."""
    if spec.ideal & IDEAL_BANKS:
        passes = max(1, (lanes * size + 127) // 128)
    start = max(begin, state.free[DATA])
    state.free[DATA] = start + passes
    counts.sums[S_SHARED_PASSES] += passes
    counts.sums[S_DATA_CYCLES] += passes
    latency = spec.shared_atomic if is_atomic else spec.shared_latency
    extra = spec.wide_extra * (max(4, size) // 4 - 1)
    return start + passes - 1 + latency + extra
