"""Loads and stores. The lifter gives these roles their code (`lift/memory/load_store_ops.py`)."""

from __future__ import annotations

from warplens.isa.table import op

_SIZES = "U8 S8 U16 S16 32 64 128 U"
_GLOBAL = (
    f"E SYS {_SIZES} CONSTANT STRONG WEAK MMIO PRIVATE CTA SM GPU VC EF EL LU EU NA "
    "LTC64B LTC128B LTC256B ENL2 U.ENL2 PREFETCH EXCLUSIVE ADDR U32"
)


@op("LDG", role="load", mods=_GLOBAL, sig="<-", pipe="lsu", latency="global_load",
    category="memory", space="global")  # fmt: skip
def ldg() -> None:
    """Load from global memory."""


@op("STG", role="store", mods=_GLOBAL, sig="<-", pipe="lsu", latency="global_store",
    category="memory", space="global")  # fmt: skip
def stg() -> None:
    """Store to global memory."""


@op("LDG", role="wide_load", mods=_GLOBAL, requires="256", sig="<-", pipe="lsu",
    latency="global_load", category="memory", space="global")  # fmt: skip
def ldg_256() -> None:
    """Load eight words from global memory (sm_100)."""


@op("STG", role="wide_store", mods=_GLOBAL, requires="256", sig="<-", pipe="lsu",
    latency="global_store", category="memory", space="global")  # fmt: skip
def stg_256() -> None:
    """Store eight words to global memory (sm_100)."""


@op("LD", role="load", mods=_GLOBAL, sig="<-", pipe="lsu", latency="global_load",
    category="memory", space="generic")  # fmt: skip
def ld() -> None:
    """Load through a generic address: shared or local window, else global."""


@op("ST", role="store", mods=_GLOBAL, sig="<-", pipe="lsu", latency="global_store",
    category="memory", space="generic")  # fmt: skip
def st() -> None:
    """Store through a generic address."""


@op("LDS", role="load", mods=_SIZES, sig="<-", pipe="lsu", latency="shared_load",
    category="memory", space="shared")  # fmt: skip
def lds() -> None:
    """Load from shared memory."""


@op("STS", role="store", mods=_SIZES, sig="<-", pipe="lsu", latency="shared_store",
    category="memory", space="shared")  # fmt: skip
def sts() -> None:
    """Store to shared memory."""


@op("LDL", role="load", mods=_SIZES + " LU EF EL EU NA", sig="<-", pipe="lsu",
    latency="local_load", category="memory", space="local")  # fmt: skip
def ldl() -> None:
    """Load from local memory."""


@op("STL", role="store", mods=_SIZES + " LU EF EL EU NA", sig="<-", pipe="lsu",
    latency="local_store", category="memory", space="local")  # fmt: skip
def stl() -> None:
    """Store to local memory."""


@op("LDC", role="load_constant", mods=_SIZES + " IL IS ISL", sig="<-", pipe="adu",
    latency="constant_load", category="memory")  # fmt: skip
def ldc() -> None:
    """Load from a constant bank with an index that may differ between lanes."""


@op("ULDC", "LDCU", role="load_constant_uniform", mods=_SIZES, sig="<-", pipe="uniform",
    latency="uniform_constant", category="uniform")  # fmt: skip
def uldc() -> None:
    """Load from a constant bank into uniform registers."""


@op("QSPC", role="query_space", mods="E S L G D", sig="<-", pipe="lsu", latency="shared_load",
    category="memory")  # fmt: skip
def qspc() -> None:
    """Whether a generic address lies in the given space."""


@op("LDGSTS", role="copy_async", mods=_GLOBAL + " BYPASS ACCESS ZFILL", sig="<-", pipe="lsu",
    latency="global_load", category="memory")  # fmt: skip
def ldgsts() -> None:
    """Copy 4, 8 or 16 bytes a lane from global to shared memory (cp.async)."""


@op("LDSM", role="load_matrix", sig="<-", pipe="lsu", latency="shared_load", category="memory",
    mods="16 8 M88 MT88 M832 M816 2 4 1 T U4x16P64TO8 U6x16P32TO8 MT1616")  # fmt: skip
def ldsm() -> None:
    """Load matrices of elements of 16, 8, 6 or 4 bits from shared memory (ldmatrix)."""


@op("STSM", role="store_matrix", mods="16 8 M88 MT88 2 4 1 T MT168", sig="<-", pipe="lsu",
    latency="shared_store", category="memory")  # fmt: skip
def stsm() -> None:
    """Store matrices of elements of 16 or 8 bits to shared memory (stmatrix)."""
