"""The unit of tensor memory: serves instructions of generated code, a warp at a time.

Operands stand in the warp's scratch area (`lift/layout.py`, TM_...), registers in its record.
"""

from __future__ import annotations

import numpy as np

from warplens.compiled import carray, cfunc, types
from warplens.execute.native import poke32
from warplens.execute.tensor_memory.cells import commit, memory_of, shared_of
from warplens.execute.tensor_memory.moves import allocate, copy, give_back, move, shift
from warplens.execute.tensor_memory.products import multiply
from warplens.lift import layout as at


@cfunc(types.int32(types.pointer, types.int64, types.int32, types.int64, types.int32))
def serve(env: int, warp: int, mask: int, form: int, inst: int) -> int:
    """What generated code calls: 0, or 1 after a fault."""
    slots = carray(env, (at.ENV_SLOTS,), np.int64)
    action = form & 15
    mask = mask & 0xFFFFFFFF
    if mask == 0:
        return 0
    if action == at.TM_LOAD or action == at.TM_STORE:
        return int(move(slots, warp, mask, form, inst))
    if action == at.TM_PRODUCT:
        return int(multiply(slots, warp, form, inst))
    if action == at.TM_COPY:
        return int(copy(slots, warp, form, inst))
    if action == at.TM_MOVE:
        return int(shift(slots, warp, form, inst))
    if action == at.TM_FIND:
        return int(allocate(slots, warp, form, inst))
    if action == at.TM_GIVE:
        return int(give_back(slots, warp, inst))
    fellow = shared_of(slots, 1)
    if action == at.TM_LOOK:
        poke32(memory_of(slots) + at.TM_COMMITTED, 0)
        if fellow != 0:
            poke32(fellow + slots[at.ENV_TENSOR_MEMORY] + at.TM_COMMITTED, 0)
        return 0
    commit(memory_of(slots))
    if form >> at.TM_PAIR & 1 and fellow != 0:
        commit(fellow + slots[at.ENV_TENSOR_MEMORY])
    return 0
