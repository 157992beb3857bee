"""Moves and selections."""

from __future__ import annotations

from warplens.isa.lanes import Lanes, Value
from warplens.isa.table import Modifiers, op


@op("MOV", "UMOV", sig="r <- r", mods="SPILL", pipe="alu", latency="alu", category="misc")
def mov(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = a."""
    return a


@op("MOV", "UMOV", sig="q <- q", requires="64", pipe="alu", latency="alu", category="misc")
def mov_64(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = a, a register pair."""
    return a


@op("SEL", "USEL", sig="r <- r r p", pipe="alu", latency="select", category="bit")
def sel(x: Lanes, m: Modifiers, a: Value, b: Value, p: Value) -> Value:
    """d = p ? a : b."""
    return x.select(p, a, b)


@op(
    "SEL",
    "USEL",
    sig="q <- q q p",
    requires="64",
    pipe="alu",
    latency="select",
    category="bit",
)
def sel_64(x: Lanes, m: Modifiers, a: Value, b: Value, p: Value) -> Value:
    """d = p ? a : b, register pairs."""
    return x.select(p, a, b)
