"""Clusters: the cluster barrier, and accesses to shared memory of other blocks with an mbarrier.

Ordinary accesses to other blocks' shared memory are generic ones. The lifter gives these roles
their code (`lift/memory/cluster_ops.py`).
"""

from __future__ import annotations

from typing import Any

from warplens.isa.table import op

_BARRIER: dict[str, Any] = {
    "sig": "<-", "pipe": "adu", "latency": "barrier", "category": "misc",
}  # fmt: skip
_ASYNC: dict[str, Any] = {
    "sig": "<-", "pipe": "lsu", "latency": "shared_store", "category": "memory",
}  # fmt: skip


@op("UCGABAR_ARV", role="cluster_arrive", **_BARRIER)
def ucgabar_arv() -> None:
    """Arrive at the cluster barrier."""


@op("UCGABAR_WAIT", role="cluster_wait", **_BARRIER)
def ucgabar_wait() -> None:
    """Wait at the cluster barrier."""


@op("STAS", role="store_async", mods="64 128", **_ASYNC)
def stas() -> None:
    """Store to shared memory of the cluster; an mbarrier receives the bytes (st.async)."""


@op("REDAS", role="reduce_async", mods="ADD MIN MAX INC DEC AND OR XOR U32 S32 64 U64", **_ASYNC)
def redas() -> None:
    """Reduction in shared memory of the cluster; an mbarrier receives the bytes (red.async)."""


@op("UGETNEXTWORKID", role="work_request", mods="SELFCAST BROADCAST", **_ASYNC)
def ugetnextworkid() -> None:
    """Ask for the work of a cluster that has not begun (cluster launch control): there is none."""
