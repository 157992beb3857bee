"""Instruction fetch: the sub-partition's L0, the SM's L1 instruction cache, a stream prefetcher."""

from __future__ import annotations

from numba import njit

from warplens.timing.state import Spec, State

IDEAL_FETCH = 64
_PREFETCHED = 8  # a stream buffer runs so many lines ahead


@njit(cache=True)
def delay(state: State, spec: Spec, sub: int, before: int, pc: int) -> int:
    """Cycles until the instruction at `pc` is in the buffer when the warp comes from `before`."""
    line = pc >> 3  # 8 instructions of 16 bytes
    if line == before >> 3 or spec.ideal & IDEAL_FETCH:
        return 0
    near = line % state.l0.shape[1]
    if state.l0[sub, near] == line + 1:
        return 0
    state.l0[sub, near] = line + 1
    sequential = line == (before >> 3) + 1
    far = line % state.l1i.size
    if state.l1i[far] == line + 1:
        return 0 if sequential else spec.l0_miss
    state.l1i[far] = line + 1
    return spec.l1i_miss // _PREFETCHED if sequential else spec.l1i_miss
