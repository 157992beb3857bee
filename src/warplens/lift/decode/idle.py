"""Registers of a loop that decide nothing in it: a counter of rounds that nobody looks at.

What branches, addresses, stores and synchronisation of the loop are made of is followed back
through its arithmetic. All else may change from round to round without the rounds becoming others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from warplens.lift.decode.binding import Bound, bits

_PURE = frozenset({"value", "p2r", "r2p", "nop"})


class _Block(Protocol):
    index: int
    start: int
    end: int
    successors: tuple[int, ...]
    indirect: bool


def idle_keys(blocks: Sequence[_Block], bind: Callable[[int], Bound | None], inside: int) -> int:
    """The keys (a bit set) written in the loops around a block that from its start on decide
    nothing in them."""
    loop = _loop(blocks, inside)
    items = {b: [bind(i) for i in range(blocks[b].start, blocks[b].end)] for b in loop}
    written = 0
    for b in loop:
        if blocks[b].indirect or None in items[b]:
            return 0
        for item in items[b]:
            written |= bits(item.writes) if item is not None else 0
    deciding = dict.fromkeys(loop, 0)  # at the start of each block
    changed = True
    while changed:
        changed = False
        for b in reversed(loop):
            keys = 0
            for successor in blocks[b].successors:
                keys |= deciding.get(successor, 0)
            for item in reversed(items[b]):
                keys = _before(item, keys) if item is not None else keys
            changed = changed or keys != deciding[b]
            deciding[b] = keys
    return written & ~deciding.get(inside, 0)


def _before(item: Bound, keys: int) -> int:
    """The keys that decide something before an instruction, from those that do behind it."""
    writes = bits(item.writes)
    if item.op.role in _PURE and not writes & keys:
        return keys
    guard = item.inst.guard
    is_certain = guard is None or (guard.index == 7 and not guard.negate)
    return (keys & ~writes if is_certain else keys) | bits(item.reads)


def _loop(blocks: Sequence[_Block], inside: int) -> list[int]:
    """The blocks that can be reached from one and lead back to it; none if it is in no loop."""
    ahead = _reach(inside, lambda b: blocks[b].successors)
    before: dict[int, list[int]] = {}
    for block in blocks:
        for successor in block.successors:
            before.setdefault(successor, []).append(block.index)
    return sorted(ahead & _reach(inside, lambda b: before.get(b, ())))


def _reach(start: int, steps: Callable[[int], Sequence[int]]) -> set[int]:
    found: set[int] = set()
    rest = list(steps(start))
    while rest:
        block = rest.pop()
        if block not in found:
            found.add(block)
            rest.extend(steps(block))
    return found
