"""Waiting loops: loops that only look at memory until somebody else has written it.

A loop that stores nothing and whose next round starts with the registers of this one does the same
again until memory changes: a split that comes to its end is put aside until others have run. Loops
that sleep or yield between looks count as well, whatever they remember from round to round, but not
those that look at shared memory, remember something and only yield: they may end by counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from warplens.lift.decode.binding import Bound

_WORK = frozenset({
    "store", "reduction", "bar", "call", "ret", "brx", "brxu", "trap", "copy_async", "bulk_copy",
    "bulk_reduce", "bulk_fill",
    "reduce_async", "store_async", "store_matrix", "mbarrier_init", "mbarrier_arrive",
    "mbarrier_count", "mbarrier_copied", "cluster_arrive", "cluster_wait", "lepc", "b2r",
})  # fmt: skip
_LOOKS = frozenset({"load", "mbarrier_check", "atomic"})
_PAUSES = frozenset({"yield", "sleep"})
# what another round may change without a write of anybody else
_CLOCKS = ("CLOCK", "GLOBALTIMER")


class _Block(Protocol):
    index: int
    start: int
    end: int
    successors: tuple[int, ...]
    live_in: int
    writes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The waiting loops of a kernel.

    Attributes:
        bodies: for the last and the first lifted block of every such loop, the blocks of it.
        is_certain: such a loop ends only if somebody else writes.
        is_shared: they look at shared memory only.
        takes: some of them take what they wait for, as a lock is taken.
    """

    bodies: dict[tuple[int, int], frozenset[int]]
    is_certain: bool
    is_shared: bool
    takes: bool

    def leaves(self, block: int, target: int) -> bool:
        """Whether the way from one block to another leads out of all waiting loops around it."""
        around = [body for body in self.bodies.values() if block in body]
        return bool(around) and all(target not in body for body in around)


def suspends(item: Bound | None) -> bool:
    """Whether an instruction puts its warp aside until the phase of an mbarrier is over."""
    return item is not None and item.op.role == "mbarrier_check" and (
        "TRYWAIT" in item.inst.modifiers
    )


def find_waiting(blocks: Sequence[_Block], bound: Sequence[Bound | None]) -> Waiting:
    """Finds the waiting loops."""
    before: dict[int, list[int]] = {}
    for block in blocks:
        for s in block.successors:
            before.setdefault(s, []).append(block.index)
    works = frozenset(
        block.index for block in blocks if _works(bound[block.start : block.end])
    )
    bodies: dict[tuple[int, int], frozenset[int]] = {}
    certain, shared, takes = True, True, False
    for block in blocks:
        for head in block.successors:
            if head > block.index:
                continue
            body = _body(block.index, head, before, works)
            if not body:
                continue
            items = [bound[i] for b in body for i in range(blocks[b].start, blocks[b].end)]
            roles = {item.op.role for item in items if item is not None}
            if not roles & _LOOKS:
                continue
            carried = 0
            for b in body:
                carried |= blocks[b].writes
            is_same = not carried & blocks[head].live_in and not _reads_clock(items)
            if not is_same and ("atomic" in roles or not roles & _PAUSES):
                continue
            # one that counts its looks at shared memory and only yields: a GPU's just runs
            if not is_same and "sleep" not in roles and all(map(_looks_at_shared, items)):
                continue
            if roles >= {"atomic", "load"}:  # an operation made of compare-and-swap
                continue
            bodies[block.index, head] = body
            certain = certain and is_same and "atomic" not in roles
            shared = shared and all(_looks_at_shared(item) for item in items)
            takes = takes or "atomic" in roles
    return Waiting(bodies=bodies, is_certain=certain, is_shared=shared, takes=takes)


def _body(
    last: int, head: int, before: dict[int, list[int]], works: frozenset[int]
) -> frozenset[int]:
    """The blocks of a loop: those that lead to its last one without passing its first.

    None if one of them does more than look. That is asked on the way: where functions return to
    many places nearly all blocks lead to each other.
    """
    if last in works or head in works:
        return frozenset()
    body, rest = {last, head}, [last] if last != head else []
    while rest:
        for b in before.get(rest.pop(), ()):
            if b in works:
                return frozenset()
            if b not in body:
                body.add(b)
                rest.append(b)
    return frozenset(body)


def _works(items: Sequence[Bound | None]) -> bool:
    """Whether one of the instructions does more than look."""
    return any(item is None or item.op.role in _WORK for item in items)


def _reads_clock(items: list[Bound | None]) -> bool:
    return any(
        item is not None and item.op.role == "s2r"
        and any(name in item.inst.text for name in _CLOCKS)
        for item in items
    )  # fmt: skip


def _looks_at_shared(item: Bound | None) -> bool:
    if item is None or item.op.role not in ("load", "atomic"):
        return True
    return item.op.attributes.get("space") == "shared"
