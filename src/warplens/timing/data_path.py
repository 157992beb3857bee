"""The way through L1's data, a pass a cycle: of accesses to shared memory, shuffles, loads and
stores, and of what comes from L2.

Accesses to shared memory wait for no load but one in service, loads whose lines are there for all
shared accesses in front of the banks. Loads of lines that have to come pass when these have come,
and keep nobody in front of the banks waiting (beside_loads_sm90.json).
"""

from __future__ import annotations

from warplens.timing.state import BOOKED, Record, stage

# Cycles for which an access that passes the banks keeps its place in front of them: of the SM's 60
# accesses 56.5, 58.8, 59.9 and 60.4 are seen to wait where each takes 4, 8, 16 and 32 cycles
# (queues_sm90.json)
_KEPT = 16.0
_WIDTH = 32  # cycles of which passes are counted together


@stage
def pass_shared(sm: Record, spec: Record, cycles: float, begin: float) -> float:
    """When an access to shared memory or a shuffle, there at `begin`, starts its cycles."""
    turn = _turn(sm, cycles, begin)
    start = max(begin, sm.shared_free - sm.gain)
    start += max(0.0, min(sm.data_free - start, sm.load_cycles))
    sm.shared_free = max(start, sm.shared_free) + cycles + turn
    if sm.data_free > start:
        sm.data_free += cycles
    sm.shared_left[sm.next_shared] = start + _KEPT
    sm.next_shared = (sm.next_shared + 1) % spec.shared_held
    _book(sm, cycles, start)
    sm.data_cycles += cycles
    return float(start)


@stage
def pass_loaded(sm: Record, cycles: float, begin: float) -> float:
    """The same for a load that finds all its lines, and for a store."""
    turn = _turn(sm, cycles, begin)
    start = max(begin, sm.data_free - sm.gain, sm.shared_free - sm.gain)
    sm.data_free = max(start, sm.data_free) + cycles + turn
    sm.load_cycles = cycles
    _book(sm, cycles, start)
    sm.data_cycles += cycles
    return float(start)


@stage
def pass_arrived(sm: Record, cycles: float, arrives: float) -> float:
    """The same for a load whose last line arrives then."""
    sm.data_cycles += cycles
    sm.owed += cycles
    return _book(sm, cycles, arrives)


@stage
def _turn(sm: Record, cycles: float, begin: float) -> float:
    """Cycles for which what has come from L2 passes behind an access: as many as that takes, if so
    many wait; they pass, too, while nothing else does."""
    idle = begin - max(sm.data_free, sm.shared_free)
    if idle > 0.0:
        sm.owed = max(0.0, sm.owed - idle)
    turn = min(float(sm.owed), cycles)
    sm.owed -= turn
    return turn


@stage
def hold(sm: Record, cycles: float, begin: float) -> None:
    """Keeps loads from passing for some more cycles."""
    _book(sm, cycles, max(begin, sm.data_free))
    sm.data_free += cycles


@stage
def _book(sm: Record, cycles: float, begin: float) -> float:
    """Takes cycles of the first ones from `begin` on that nothing has taken; the first of them."""
    number = int(begin) // _WIDTH
    start, left = -1.0, cycles
    for _ in range(BOOKED):
        place = number % BOOKED
        if sm.booked_at[place] > number:  # too far back to be known
            break
        if sm.booked_at[place] < number:
            sm.booked_at[place] = number
            sm.booked[place] = 0.0
        taken = float(sm.booked[place])
        if taken < _WIDTH:
            if start < 0.0:
                start = max(begin, number * _WIDTH + taken)
            sm.booked[place] = min(float(_WIDTH), taken + left)
            left -= _WIDTH - taken
            if left <= 0.0:
                break
        number += 1
    return start if start >= 0.0 else begin
