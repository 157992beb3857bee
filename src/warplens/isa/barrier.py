"""Block barriers, fences and scheduling instructions."""

from __future__ import annotations

from typing import Any

from warplens.isa.table import op

_BAR: dict[str, Any] = {
    "sig": "<-", "pipe": "adu", "latency": "barrier", "category": "misc",
}  # fmt: skip
_NONE: dict[str, Any] = {
    "sig": "<-", "pipe": "lsu", "latency": "fence", "category": "memory",
}  # fmt: skip


@op("BAR", role="bar", mods="SYNC SYNCALL ARV RED POPC AND OR DEFER_BLOCKING", **_BAR)
def bar() -> None:
    """Named block barrier: SYNC waits, ARV only arrives, RED reduces a predicate over the block."""


@op("B2R", role="b2r", mods="RESULT WARP", **_BAR)
def b2r() -> None:
    """Read the result of the last BAR.RED: the count, and whether AND/OR held."""


@op("MEMBAR", role="fence", mods="SC ALL CTA SM GPU SYS VC", **_NONE)
def membar() -> None:
    """Order earlier memory accesses before later ones at the given scope."""


@op("ERRBAR", role="nop", **_NONE)
@op("CGAERRBAR", role="nop", **{**_NONE, "category": "control"})
def errbar() -> None:
    """Wait for errors of earlier memory accesses."""


@op("CCTL", role="nop", mods="IVALL E PF1 PF2 WB IV RS RSLB C IVALLP LDCU I U WBALL DEEP",
    **{**_NONE, "category": "control"})  # fmt: skip
def cctl() -> None:
    """Cache control: invalidate or prefetch; does not change any value."""


@op("CCTLL", "CCTLT", role="nop", mods="IVALL IVTH", **{**_NONE, "category": "control"})
def cctll() -> None:
    """Cache control for local and texture memory."""


@op("FENCE", role="fence", mods="VIEW ASYNC S G T T,U", **_NONE)
def fence() -> None:
    """Order generic accesses against the asynchronous proxy."""


@op("DEPBAR", role="nop", mods="LE ALL", sig="<-", pipe="cbu", latency="branch",
    category="misc")  # fmt: skip
def depbar() -> None:
    """Wait until a scoreboard has at most n outstanding operations."""


@op("LDGDEPBAR", role="nop", **{**_NONE, "latency": "fence_block"})
def ldgdepbar() -> None:
    """Close a group of asynchronous copies (they complete at once here)."""


@op("NOP", role="nop", sig="<-", pipe="none", latency="alu", category="misc")
def nop() -> None:
    """Nothing."""


@op("PREEXIT", "ACQBULK", role="nop", **_NONE)
def preexit() -> None:
    """Programmatic dependent launch; one launch at a time here, so nothing to wait for."""


@op("PMTRIG", role="nop", **_NONE)
def pmtrig() -> None:
    """Performance-monitor trigger."""
