"""Special registers: S2R, S2UR, CS2R."""

from __future__ import annotations

from warplens.isa.table import op


@op("S2R", role="s2r", sig="<-", pipe="xu", latency="s2r", category="misc")
def s2r() -> None:
    """Rd = special register."""


@op("S2UR", role="s2r", sig="<-", pipe="xu", latency="s2r", category="misc")
def s2ur() -> None:
    """URd = special register."""


@op("CS2R", "CS2UR", role="s2r", mods="32 64", sig="<-", pipe="alu", latency="cs2r",
    category="misc")  # fmt: skip
def cs2r() -> None:
    """Rd (a pair unless .32) = special register that needs no scoreboard (clock, zero)."""
