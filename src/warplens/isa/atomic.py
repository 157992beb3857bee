"""Atomic read-modify-write operations and reductions without result."""

from __future__ import annotations

from warplens.isa.table import op

_OPS = "ADD MIN MAX INC DEC AND OR XOR EXCH CAS SAFEADD POPC CAST SPIN ARRIVE"
_TYPES = (
    "U32 S32 64 U64 S64 F32 F64 F16x2 BF16x2 BF16_V2 F16 BF16 FTZ RN RZ 32 128 FMIN FMAX "
    "F32x2 F32x4 F16x4 F16x8 BF16x4 BF16x8"
)
_WHERE = "E SYS STRONG WEAK MMIO CTA SM GPU VC EF EL LU EU NA PRIVATE"
_ALL = f"{_OPS} {_TYPES} {_WHERE}"


@op("ATOMG", role="atomic", mods=_ALL, sig="<-", pipe="lsu", latency="global_atomic",
    category="memory", space="global")  # fmt: skip
def atomg() -> None:
    """Atomic on global memory that returns the old value."""


@op("ATOM", role="atomic", mods=_ALL, sig="<-", pipe="lsu", latency="global_atomic",
    category="memory", space="generic")  # fmt: skip
def atom() -> None:
    """Atomic through a generic address that returns the old value."""


@op("ATOMS", role="atomic", mods=_ALL, sig="<-", pipe="lsu", latency="shared_atomic",
    category="memory", space="shared")  # fmt: skip
def atoms() -> None:
    """Atomic on shared memory."""


@op("RED", "REDG", role="reduction", mods=_ALL, sig="<-", pipe="lsu", latency="global_store",
    category="memory", space="global")  # fmt: skip
def red() -> None:
    """Atomic on global memory without a result."""
