"""Where the unit's images lie on the host, and whether they may be touched."""

from __future__ import annotations

from typing import Any

import numpy as np

from warplens.compiled import carray, native
from warplens.execute.textures.words import ask
from warplens.lift import layout as at


@native
def host_of(slots: Any, env: int, inst: int, lane: int, address: int, kind: int, size: int) -> int:
    """The host address of a device address; 0 after the launch has noted why there is none."""
    n = slots[at.ENV_N_SEGMENTS]
    table = carray(slots[at.ENV_SEGMENTS], (n, at.SEGMENT_SLOTS), np.int64)
    low, high = 0, n
    while low < high:
        middle = (low + high) >> 1
        if table[middle, at.SEGMENT_BASE] <= address:
            low = middle + 1
        else:
            high = middle
    index = low - 1
    if index >= 0:
        offset = address - table[index, at.SEGMENT_BASE]
        is_inside = offset + size <= table[index, at.SEGMENT_LENGTH]
        if is_inside and (table[index, at.SEGMENT_ALLOWED] & kind) == kind:
            return int(table[index, at.SEGMENT_HOST] + offset)
    index = ask(slots[at.ENV_CALLBACK], env, inst, lane, address, kind, size)
    if index < 0:
        return 0
    return int(table[index, at.SEGMENT_HOST] + address - table[index, at.SEGMENT_BASE])
