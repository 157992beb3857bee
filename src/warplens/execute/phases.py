"""Which phase of an mbarrier an instruction waits for or adds to, found while blocks run.

A phase has a number; what adds to it (arrivals, bytes of copies) is counted, so that the timing
model can tell when it is complete without knowing counts and bytes. Of other blocks of a cluster
what they add is not counted: they do it at about the same time as the block itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warplens.compiled import carray, native
from warplens.execute.callbacks import peek64
from warplens.lift import layout as at

PLACES = 1 << 13  # mbarriers that can be told apart
MAX_PHASES = 1 << 20
_RANK_BITS, _OFFSET = 24, (1 << 24) - 1
# an mbarrier: key (resident slot and offset, + 1; 0: none), phase that is open, the one before it
# (0: none), and the phase bit of its word
BARRIER = np.dtype([(name, "i8") for name in ("key", "phase", "before", "bit")])


@native
def _target(slots: Any, place: int) -> tuple[int, int]:
    """Resident slot of the block whose shared memory an address names, and its host address."""
    if slots[at.ENV_CLUSTER_BLOCKS] <= 1:
        return slots[at.ENV_SLOT], slots[at.ENV_SHARED]
    own, rank = slots[at.ENV_CLUSTER_RANK] >> _RANK_BITS, place >> _RANK_BITS
    if rank >= slots[at.ENV_CLUSTER_BLOCKS]:
        return -1, 0
    table = carray(slots[at.ENV_CLUSTER_SHARED], (rank + 1,), np.int64)
    return slots[at.ENV_SLOT] - own + rank, table[rank]


@native
def _find(header: Any, key: int) -> Any:
    """The place of an mbarrier in the table; of those beyond its size the last one."""
    table = carray(header.barriers, (PLACES,), BARRIER)
    index = (key * 0x9E3779B1 >> 8) & PLACES - 1
    for _ in range(PLACES):
        if table[index].key == key or table[index].key == 0:
            break
        index = (index + 1) & PLACES - 1
    return int(index)


@native
def _new_phase(header: Any) -> int:
    """The number of a further phase; 0 if there is no room."""
    if header.n_phases + 1 >= MAX_PHASES:
        return 0
    header.n_phases += 1
    return int(header.n_phases)


@native
def phase_of(header: Any, slots: Any, place: int, kind: int) -> int:
    """The phase of the mbarrier at an address that an instruction waits for (a read), adds to (an
    atomic) or begins (a write); 0: none, or that of a block on another SM."""
    slot, host = _target(slots, place)
    if slot < 0 or host == 0 or (place & _OFFSET) + 8 > slots[at.ENV_SHARED_LIMIT]:
        return 0
    index = _find(header, (slot << _RANK_BITS | place & _OFFSET) + 1)
    table = carray(header.barriers, (PLACES,), BARRIER)
    one = table[index]
    bit = peek64(host + (place & _OFFSET)) >> 63 & 1
    if one.key == 0 or kind == at.ACCESS_WRITE:
        one.key = (slot << _RANK_BITS | place & _OFFSET) + 1
        one.phase, one.before = _new_phase(header), 0
        one.bit = 0 if kind == at.ACCESS_WRITE else bit
    elif bit != one.bit:
        one.before, one.phase, one.bit = one.phase, _new_phase(header), bit
    if slot != slots[at.ENV_SLOT] or kind == at.ACCESS_WRITE:
        return 0
    return int(one.before if kind == at.ACCESS_READ else one.phase)


@native
def next_place(warp: int, lanes: int, done: int) -> tuple[int, int]:
    """An mbarrier's address that lanes name, and the lanes that name it or were `done` before."""
    offsets = carray(warp + at.WARP_SCRATCH, (32,), np.uint32)
    place, found = 0, 0
    for lane in range(32):
        if lanes >> lane & 1 == 0 or done >> lane & 1:
            continue
        if found == 0 or offsets[lane] == place:
            place, found = offsets[lane], found | 1 << lane
    return int(place), int(done | found)
