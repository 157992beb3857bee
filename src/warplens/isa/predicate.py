"""Predicates to and from registers. All predicates are operands, so the lifter moves them."""

from __future__ import annotations

from warplens.isa.table import op


@op("P2R", "UP2UR", role="p2r", sig="<-", mods="B1 B2 B3", pipe="alu", latency="alu",
    category="bit")  # fmt: skip
def p2r() -> None:
    """A byte of d (the lowest, or .B1 to .B3) = predicates where the mask is set; else d = a."""


@op("R2P", role="r2p", sig="<-", pipe="alu", latency="alu", category="bit")
def r2p() -> None:
    """P_i = bit i of a byte (the lowest, or `R.B1` to `R.B3`) of a, for every i in the mask."""
