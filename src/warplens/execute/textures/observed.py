"""What an observer is asked of texels, and the fault of one that lies outside of its allocation."""

from __future__ import annotations

from typing import Any

import numpy as np

from warplens.compiled import native
from warplens.execute.native import peek32, poke32, poke64
from warplens.execute.textures.memory import host_of
from warplens.execute.textures.requests import (
    OUTSIDE,
    ROOM,
    SECTOR_BYTES,
    TEXELS,
    address_of,
    place_of,
    width_of,
)
from warplens.execute.textures.words import check, show_access
from warplens.lift import layout as at

_KEPT = 6  # scratch slots that hold an access for the observer: addresses, what is to be stored
_ADDRESSES = 20  # the first slot of addresses that an observer is told of
_STORED = 2  # the first slot of what is to be stored
_SITE = at.WARP_SCRATCH + 128 * at.UNIT_GRADIENTS  # a record that no access comes back to


@native
def is_inside(slots: Any, env: int, inst: int, lane: int, size: int, marks: Any,
              counts: Any) -> int:  # fmt: skip
    """Whether a lane's texels lie in their allocation; 0 after the launch has noted the fault."""
    if counts[OUTSIDE] == 0:
        return 1
    row = TEXELS + lane
    for k in range(counts[row]):
        if host_of(slots, env, inst, lane, marks[row * ROOM + k], at.ACCESS_READ, size) == 0:
            return 0
    return 1


@native
def show(slots: Any, env: int, warp: int, inst: int, made: Any, marks: Any,
         counts: Any) -> None:  # fmt: skip
    """Tells the observer of every sector that a warp looks at, as reads of global memory."""
    seen, found, told = np.empty(32 * ROOM, np.int64), 0, 0
    addresses = warp + at.WARP_SCRATCH + 128 * _ADDRESSES
    for lane in range(32):
        for k in range(counts[lane]):
            sector, known = marks[lane * ROOM + k], 0
            while known < found and seen[known] != sector:
                known += 1
            if known == found:
                seen[found] = sector
                found += 1
    while told < found:
        here = min(found - told, 32)
        for i in range(here):
            poke64(addresses + 8 * i, address_of(made, seen[told + i]))
        lanes = (1 << here) - 1
        show_access(slots[at.ENV_OBSERVE_ACCESS], env, warp, inst, lanes, at.ACCESS_READ,
                    SECTOR_BYTES)  # fmt: skip
        told += here


@native
def show_surface(slots: Any, env: int, warp: int, inst: int, made: Any, form: int, size: int,
                 marks: Any, counts: Any) -> None:  # fmt: skip
    """The same of what lanes read, write or combine of a surface, each by its place. Reductions go
    request by request, `width` lanes."""
    addresses, lanes = warp + at.WARP_SCRATCH + 128 * _ADDRESSES, 0
    action, width = form & 15, width_of(made, form)
    for lane in range(32):
        if counts[lane]:
            lanes |= 1 << lane
            place = place_of(made, marks[lane * ROOM], marks[lane * ROOM + 1])
            poke64(addresses + 8 * lane, place)
        is_last = lane == 31 or (action == at.UNIT_REDUCE and (lane + 1) % width == 0)
        if lanes and is_last:
            show_access(slots[at.ENV_OBSERVE_ACCESS], env, warp, inst, lanes, _kind(action), size)
            lanes = 0


@native
def _kind(action: int) -> int:
    if action == at.UNIT_WRITE:
        return at.ACCESS_WRITE
    return at.ACCESS_ATOMIC if action == at.UNIT_REDUCE else at.ACCESS_READ


@native
def tell(slots: Any, env: int, warp: int, inst: int, action: int, size: int, marks: Any,
         counts: Any) -> None:  # fmt: skip
    """Shows a warp's texels to the observer as accesses to global memory, each lane's k-th ones
    together. Operands stand in the scratch area as before when it returns."""
    scratch = warp + at.WARP_SCRATCH
    kept = np.empty(32 * _KEPT, np.int64)
    for word in range(32 * _KEPT):
        kept[word] = peek32(scratch + 4 * word)
    for word in range(128):  # values: row by row, where a store of global memory has them
        poke32(scratch + 128 * _STORED + 4 * word,
               peek32(scratch + 128 * at.UNIT_VALUES + 4 * word))  # fmt: skip
    for k in range(ROOM):
        lanes = 0
        for lane in range(32):
            row = TEXELS + lane
            if k < counts[row]:
                lanes |= 1 << lane
                address = marks[row * ROOM + k]
                poke32(scratch + 4 * lane, address)
                poke32(scratch + 128 + 4 * lane, address >> 32)
        if lanes == 0:
            break
        check(slots[at.ENV_CHECK], env, warp, warp + _SITE, inst, lanes, _kind(action), size)
    for word in range(32 * _KEPT):
        poke32(scratch + 4 * word, kept[word])
