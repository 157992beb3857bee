"""Runs of instructions under one guard, skipped when it holds for none of a warp's lanes.

Reductions guard their accesses to shared memory (`if (t < s)`) and most warps have no part in them.
What stands under a guard changes nothing and counts nothing without lanes.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from warplens.lift.decode.binding import KEY_PREDICATE, KEY_UNIFORM, Bound
from warplens.lift.engines.llvm_lanes import Value
from warplens.sass.model import PT, Pred


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The run being written: its guard, the lanes for which it holds, their number."""

    guard: Value
    mask: str
    lanes: str


def _guard_of(item: Bound) -> tuple[int, bool] | None:
    guard = item.inst.guard
    if not isinstance(guard, Pred) or item.inst.is_unguarded or guard.index == PT:
        return None
    return guard.index, guard.negate


def _is_access(item: Bound) -> bool:
    return item.op.role in ("load", "store") and item.op.attributes.get("space") == "shared" and (
        "STRONG" not in item.inst.modifiers
    )


def _is_value(item: Bound) -> bool:
    return item.op.role == "value" and not item.op.uniform


def run_end(bound: list[Bound], first: int, last: int, counted: Container[str]) -> int:
    """Where the run that begins at `first` ends; `first` if none does. Opcodes that are `counted`
    apart are in none."""
    guard, end, has_access = _guard_of(bound[first]), first, False
    if guard is None:
        return first
    for i in range(first, last):
        item = bound[i]
        if _guard_of(item) != guard or not (_is_access(item) or _is_value(item)) or (
            item.inst.opcode in counted or any(key >= KEY_UNIFORM for key in item.writes)
        ):
            break
        has_access |= _is_access(item)
        end = i + 1
        if KEY_PREDICATE + guard[0] in item.writes:
            break
    return end if has_access else first
