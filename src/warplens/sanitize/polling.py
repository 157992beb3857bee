"""Finds looks at memory that decide whether a loop goes on: flags and locks that are polled."""

from __future__ import annotations

import re

from warplens.sass.model import Instruction, SassKernel

_NAMES = re.compile(r"\bU?(?:R\d+|P\d)\b")
_LEAVES = frozenset({"BRA", "EXIT", "BREAK", "BSYNC", "RET"})
_LOADS = ("LD", "ATOM")
_LONGEST = 96  # instructions of a polling loop: in larger ones a look is one among many


def reachable(kernel: SassKernel) -> list[set[int]]:
    """For every basic block, the blocks that can be reached from its end."""
    reach: list[set[int]] = []
    for block in kernel.blocks:
        seen: set[int] = set()
        stack = list(block.successors)
        while stack:
            index = stack.pop()
            if index not in seen:
                seen.add(index)
                stack.extend(kernel.blocks[index].successors)
        reach.append(seen)
    return reach


def polling_loads(kernel: SassKernel) -> frozenset[int]:
    """Loads and atomics in a loop whose value decides whether the loop goes on.

    So does the first look of a loop, where the compiler has put it before the loop: the same
    instruction of the same line.
    """
    reach = reachable(kernel)
    found: set[int] = set()
    for block in kernel.blocks:
        if block.index not in reach[block.index]:
            continue
        loop = [b for b in kernel.blocks if b.index in reach[block.index]
                and block.index in reach[b.index]]  # fmt: skip
        inside = [i for b in loop for i in range(b.start, b.end)]
        for i in range(block.start, block.end):
            inst = kernel.instructions[i]
            is_atomic = inst.opcode.startswith("ATOM")
            looks = inst.opcode.startswith(_LOADS) and (is_atomic or len(inside) <= _LONGEST)
            if looks and _decides(kernel, i, inside):
                found.add(i)
    looks_of = {_statement(kernel.instructions[i]) for i in found}
    return frozenset(found) | {
        i for i, inst in enumerate(kernel.instructions)
        if inst.line and inst.opcode.startswith(_LOADS) and _statement(inst) in looks_of
    }  # fmt: skip


def _statement(inst: Instruction) -> tuple[object, ...]:
    return inst.opcode, inst.modifiers, inst.file, inst.line, inst.callers


def _decides(kernel: SassKernel, load: int, inside: list[int]) -> bool:
    """Whether a branch of the loop depends on what a load brings."""
    tainted = set(_operands(kernel, load)[:1]) - {"RZ", "PT"}
    order = [i for i in inside if i > load] + [i for i in inside if i <= load]
    for i in order:
        inst = kernel.instructions[i]
        names = _operands(kernel, i)
        guard = _NAMES.search(inst.text) if inst.guard is not None else None
        if inst.opcode in _LEAVES:
            if tainted & {*names, *([guard.group(0)] if guard else [])}:
                return True
            continue
        if tainted & set(names[1:]) or (guard and guard.group(0) in tainted):
            is_comparison = names[:1] and names[0].lstrip("U").startswith("P")
            tainted |= set(names[:2] if is_comparison else names[:1])
    return False


def _operands(kernel: SassKernel, index: int) -> list[str]:
    """The registers and predicates that an instruction names, the written one first."""
    inst = kernel.instructions[index]
    rest = inst.text.partition(inst.mnemonic)[2]
    names = _NAMES.findall(rest)
    if inst.opcode.startswith("ATOM") and names[:1] and names[0].startswith("P"):
        names = names[1:]  # ATOM's predicate comes first
    return names
