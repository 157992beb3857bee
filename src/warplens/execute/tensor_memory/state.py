"""Tensor memory when a block begins and ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warplens.compiled import native
from warplens.execute.native import peek32
from warplens.execute.tensor_memory import faults
from warplens.lift import layout as at

_ONE = 0xFFFFF  # one arrival, as mbarriers count
# an mbarrier in reserved shared memory by which a pair's allocations alternate: symbols of
# compilers, and its offset
_BARRIERS = (("__nv_reservedSMEM_tmem_allocation_pipeline_mbarrier", 0),
             ("__nv_reservedSMEM_tcgen05_partition", 8))  # fmt: skip
_USUAL = 0x48


def pair_barrier_place(places: Mapping[str, int]) -> int:
    """Where the mbarrier lies, from a cubin's symbols of shared memory."""
    found = (places[name] + offset for name, offset in _BARRIERS if name in places)
    return next(found, _USUAL)


@native
def pair_barrier(rank: int) -> int:
    """What it holds at the start: the even block begins, as if the odd one had arrived."""
    word = _ONE << 43 | _ONE << 1
    return word if rank & 1 else word | 1 << 63


@native
def keeps_columns(env: Any, memory: int) -> bool:
    """Whether a block ends with columns allocated; notes the fault."""
    taken = peek32(memory + at.TM_TAKEN)
    if taken == 0:
        return False
    env[at.ENV_FAULT] = at.FAULT_TENSOR_MEMORY
    env[at.ENV_FAULT + 1] = peek32(memory + at.TM_TAKER)
    env[at.ENV_FAULT + 2] = 0
    env[at.ENV_FAULT + 3] = taken
    env[at.ENV_FAULT + 4] = faults.NOT_FREED
    return True
