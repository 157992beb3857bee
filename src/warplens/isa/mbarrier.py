"""Barriers in shared memory (mbarrier) and the copies that report to them.

The lifter gives these roles their code (`lift/memory/mbarrier_ops.py`).
"""

from __future__ import annotations

from typing import Any

from warplens.isa.table import op

_SYNCS: dict[str, Any] = {
    "sig": "<-", "pipe": "lsu", "latency": "shared_atomic", "category": "memory",
}  # fmt: skip
_COUNTS = "A0T0 A0T1 A0TR A0TX A1T0 A1T1 A1TR ART0 ART1 ARTR"


@op("SYNCS", role="mbarrier_init", requires="EXCH", mods="64", **_SYNCS)
def syncs_exch() -> None:
    """Initialise an mbarrier."""


@op("SYNCS", role="mbarrier_arrive", requires="ARRIVE", mods=f"TRANS64 RED OPTOUT TMASK {_COUNTS}",
    **_SYNCS)  # fmt: skip
def syncs_arrive() -> None:
    """Arrive at an mbarrier, expect bytes, or report received bytes."""


@op("SYNCS", role="mbarrier_check", requires="PHASECHK", mods="TRANS64 TRYWAIT", **_SYNCS)
def syncs_phasechk() -> None:
    """Whether a phase of an mbarrier has completed; never waits."""


@op("SYNCS", role="nop", requires="CCTL", mods="IV IVALL", **_SYNCS)
def syncs_cctl() -> None:
    """Invalidate mbarriers."""


@op("ARRIVES", role="mbarrier_copied", mods="LDGSTSBAR 64 ARVCNT TRANSCNT", **_SYNCS)
def arrives() -> None:
    """Arrive at an mbarrier when the lane's asynchronous copies are done."""


@op("ATOMS", role="mbarrier_count", requires="ARRIVE", mods="64", space="shared", **_SYNCS)
def atoms_arrive() -> None:
    """Arrive at an mbarrier (sm_80 to sm_89); returns its old value."""


@op("UBLKCP", role="bulk_copy", mods="S G MULTICAST", sig="<-", pipe="uniform",
    latency="global_load", category="memory")  # fmt: skip
def ublkcp() -> None:
    """Bulk copy between global memory and shared memory of the cluster (cp.async.bulk), at once."""


@op("UBLKRED", role="bulk_reduce", sig="<-", pipe="uniform", latency="global_load",
    mods="S G ADD MIN MAX INC DEC AND OR XOR S32 U64 S64 F32 F64 F16 BF16 RN",
    category="memory")  # fmt: skip
def ublkred() -> None:
    """Bulk reduction in global memory or shared memory of the cluster, at once."""


@op("UMEMSETS", role="bulk_fill", requires="64", sig="<-", pipe="uniform", latency="shared_load",
    category="memory")  # fmt: skip
def umemsets() -> None:
    """Zeros in a stretch of the block's shared memory (st.bulk)."""


@op("UBLKPF", role="nop", mods="L2", sig="<-", pipe="uniform", latency="global_load",
    category="memory")  # fmt: skip
def ublkpf() -> None:
    """Prefetch a block to the L2 cache."""


@op("UTMACMDFLUSH", role="nop", sig="<-", pipe="none", latency="fence", category="memory")
def utmacmdflush() -> None:
    """Close a group of bulk copies (they complete at once here)."""
