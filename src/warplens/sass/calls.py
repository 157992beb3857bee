"""Which functions of a kernel call themselves, directly or by way of others."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from warplens.sass.model import Instruction, Label

_JUMPS = frozenset(("CALL", "BRA", "JMP"))  # a call at a function's end may be a jump


def calls_itself(instructions: Sequence[Instruction], functions: Iterable[int]) -> bool:
    """Whether a function's calls lead back to it; calls by register are not followed.

    Compilers before NVRTC 13.5 do not write into a cubin that a kernel's stack has no bound.

    Args:
        functions: code offsets of device functions.
    """
    starts = sorted({0, *functions})
    if len(starts) == 1:
        return False
    edges: dict[int, set[int]] = {}
    for inst in instructions:
        if inst.opcode not in _JUMPS:
            continue
        caller = bisect_right(starts, inst.address) - 1
        for operand in inst.operands:
            if isinstance(operand, Label) and operand.address >= 0:
                callee = bisect_right(starts, operand.address) - 1
                is_entered = operand.address == starts[callee] and callee > 0
                if is_entered and (callee != caller or inst.opcode == "CALL"):
                    edges.setdefault(caller, set()).add(callee)
    return any(_reached(edges, callee, callee) for callee in edges)


def _reached(edges: dict[int, set[int]], start: int, wanted: int) -> bool:
    todo, seen = [start], set[int]()
    while todo:
        for callee in edges.get(todo.pop(), ()):
            if callee == wanted:
                return True
            if callee not in seen:
                seen.add(callee)
                todo.append(callee)
    return False
