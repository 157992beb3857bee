"""Copies between global tensors and shared memory by the TMA unit (cp.async.bulk.tensor).

The lifter gives these roles their code (`lift/memory/tensor_ops.py`).
"""

from __future__ import annotations

from typing import Any

from warplens.isa.table import op

_RANKS = "1D 2D 3D 4D 5D"
_TMA: dict[str, Any] = {
    "sig": "<-", "pipe": "uniform", "latency": "global_load", "category": "memory",
}  # fmt: skip


@op("UTMALDG", role="tensor_load", mods=f"{_RANKS} MULTICAST IM2COL 2CTA GATHER4", **_TMA)
def utmaldg() -> None:
    """Copy a box or four rows of a tensor to shared memory of the cluster, reporting its bytes, at
    once."""


@op("UTMASTG", role="tensor_store", mods=f"{_RANKS} IM2COL SCATTER4", **_TMA)
def utmastg() -> None:
    """Copy a box, or four rows, from shared memory to a tensor, at once."""


@op("UTMAREDG", role="tensor_reduce", **_TMA,
    mods=f"{_RANKS} IM2COL ADD MIN MAX INC DEC AND OR XOR")  # fmt: skip
def utmaredg() -> None:
    """Combine a box from shared memory with a tensor, element by element, at once."""


@op("UTMAPF", role="nop", mods=f"{_RANKS} L2 IM2COL GATHER4", **_TMA)
def utmapf() -> None:
    """Prefetch a box to the L2 cache."""


@op("UTMACCTL", role="nop", mods="PF IV", **_TMA)
def utmacctl() -> None:
    """Prefetch a tensor map or forget a cached one."""
