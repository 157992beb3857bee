"""Predicates to and from registers. All predicates are operands, so the lifter moves them."""

from __future__ import annotations

from warplens.isa.table import op


@op("P2R", role="p2r", sig="<-", mods="B0 B1 B2 B3", pipe="alu", latency="alu", category="misc")
def p2r() -> None:
    """Byte (.B0 to .B3) of d = predicates P0 to P6 where the mask is set; the rest comes from a."""


@op("R2P", role="r2p", sig="<-", mods="B0 B1 B2 B3", pipe="alu", latency="alu", category="misc")
def r2p() -> None:
    """P_i = bit i of the byte (.B0 to .B3) of a, for every i in the mask."""
