"""The L1 data cache: sectored, set-associative lines of what the carve-out leaves."""

from __future__ import annotations

from numba import njit

from warplens.timing.state import State


@njit(cache=True)
def look_up(state: State, line: int, sectors: int, now: int) -> tuple[int, int, int]:
    """Sectors that are there (or on their way), when they are, and the line's place.

    The place is `set << 8 | way` of the line, or of the victim that `fill` will replace.
    """
    n_sets = state.tags.shape[0]
    mixed = line ^ (line >> 7) ^ (line >> 15)
    index = mixed % n_sets
    victim = 0
    for way in range(state.tags.shape[1]):
        if state.tags[index, way] == line + 1:
            state.used[index, way] = now
            hit = state.valid[index, way] & sectors
            return hit, state.fill[index, way], index << 8 | way
        if state.used[index, way] < state.used[index, victim]:
            victim = way
    return 0, 0, index << 8 | victim


@njit(cache=True)
def fill(state: State, line: int, sectors: int, place: int, now: int, arrives: int) -> None:
    """Puts sectors of a line in place; they can be used from `arrives` on."""
    index, way = place >> 8, place & 255
    if state.tags[index, way] != line + 1:
        state.tags[index, way] = line + 1
        state.valid[index, way] = 0
        state.fill[index, way] = 0
    state.valid[index, way] |= sectors
    state.fill[index, way] = max(state.fill[index, way], arrives)
    state.used[index, way] = now
