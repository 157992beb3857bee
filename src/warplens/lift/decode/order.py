"""Whether a kernel's result can depend on the order in which its blocks run."""

from __future__ import annotations

from warplens.lift.decode.binding import ATOMIC_VECTORS, Bound

_FLOATS_ADDED = {"F32", "F64", "F16x2", "BF16x2", "BF16_V2", *ATOMIC_VECTORS}


def order_reason(bound: list[Bound]) -> str:
    """Why blocks must run in index order; empty if nothing in the code depends on their order."""
    for item in bound:
        modifiers = set(item.inst.modifiers)
        where = f"{item.inst.text.strip()} at {item.inst.address:#06x}"
        if item.op.role == "atomic" and "128" in modifiers:
            return f"strong 128-bit atomic: {where}"
        if item.op.role == "atomic" and item.op.attributes.get("space") != "shared":
            return f"an atomic's result is used: {where}"
        if item.op.role == "reduction" and modifiers & _FLOATS_ADDED:
            return f"floating-point atomic: {where}"
        if item.op.role == "tensor_reduce" and "ADD" in modifiers:
            return f"sum of a tensor copy, perhaps of floats: {where}"
        if item.op.role == "bulk_reduce" and modifiers & {"F16", "BF16", "F32", "F64"}:
            return f"floating-point bulk reduction: {where}"
        if item.op.role in ("load", "store") and "STRONG" in modifiers:
            return f"strong or volatile access: {where}"
    return ""
