"""DRAM: a bandwidth that all SMs share and a latency; a queue forms when it is asked for more."""

from __future__ import annotations

from numba import njit

from warplens.timing.state import DRAM, S_DRAM_READ, S_DRAM_WRITE, Counts, Spec, State

IDEAL_DRAM = 1


@njit(cache=True)
def read(state: State, counts: Counts, spec: Spec, sectors: int, begin: float) -> float:
    """When sectors asked for at `begin` are back at L1."""
    counts.sums[S_DRAM_READ] += sectors
    if spec.ideal & IDEAL_DRAM:
        return begin + spec.l2_hit
    start = max(begin, state.free[DRAM])
    state.free[DRAM] = start + sectors * 32 / spec.dram_rate
    return state.free[DRAM] + spec.dram_latency


@njit(cache=True)
def write(state: State, counts: Counts, spec: Spec, sectors: float, begin: float) -> None:
    """Takes the bandwidth of sectors that L2 writes back."""
    counts.sums[S_DRAM_WRITE] += sectors
    if not spec.ideal & IDEAL_DRAM:
        state.free[DRAM] = max(begin, state.free[DRAM]) + sectors * 32 / spec.dram_rate
