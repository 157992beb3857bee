"""Which instructions of a kernel exist only because values lie in local memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warplens.sass.model import RZ, Instruction, Mem, Reg, SassKernel

ADDRESS_MAKERS = frozenset(
    {"IADD", "IADD3", "IMAD", "LEA", "LOP3", "MOV", "PRMT", "SEL", "SHF", "VIADD"}
)


def local_instructions(kernel: SassKernel, is_local: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    """Local accesses, and the instructions of their block that only make their addresses."""
    found = set(np.flatnonzero(is_local).tolist())
    for block in kernel.blocks:
        for index in range(block.end - 1, block.start - 1, -1):
            wanted = _sources(kernel.instructions[index]) if index in found else ()
            for register in wanted:
                _add_producer(kernel, block.start, block.end, index, register, found)
    return tuple(sorted(found))


def _sources(one: Instruction) -> tuple[int, ...]:
    """Registers that a local access takes its address from, or that an instruction reads."""
    if one.opcode in ("LDL", "STL"):
        bases = [o.base for o in one.operands if isinstance(o, Mem) and o.base is not None]
        return tuple(base.index for base in bases if base.index not in (1, RZ))
    return tuple(o.index for o in one.operands[1:] if isinstance(o, Reg) and o.index not in (1, RZ))


def _add_producer(
    kernel: SassKernel, start: int, end: int, index: int, register: int, found: set[int]
) -> None:
    """Adds the instruction that makes a register, if only instructions of the set read it."""
    code = kernel.instructions
    writers = [i for i in range(start, end) if _written(code[i]) == register]
    before = [i for i in writers if i < index]
    if not before or code[before[-1]].opcode not in ADDRESS_MAKERS:
        return
    writer = before[-1]
    later = [i for i in writers if i > writer]
    readers = [i for i in range(writer + 1, (later[0] if later else end - 1) + 1)
               if _reads(code[i], register)]  # fmt: skip
    if not later:
        readers += _exposed(kernel, register)
    if all(i in found or i == writer for i in readers):
        found.add(writer)


def _exposed(kernel: SassKernel, register: int) -> list[int]:
    """Instructions that read what a register holds when their block begins."""
    found = []
    for block in kernel.blocks:
        for i in range(block.start, block.end):
            if _reads(kernel.instructions[i], register):
                found.append(i)
            if _written(kernel.instructions[i]) == register:
                break
    return found


def _written(one: Instruction) -> int:
    first = one.operands[0] if one.operands else None
    is_store = one.opcode.startswith("ST") or one.opcode.startswith("RED")
    return first.index if isinstance(first, Reg) and not is_store else -1


def _width(one: Instruction, operand: Reg) -> int:
    """Registers that an operand stands for, at most."""
    if "128" in one.modifiers:
        return 4
    is_wide = "64" in (*one.modifiers, *operand.suffixes) or "WIDE" in one.modifiers
    return 2 if is_wide or one.opcode.startswith("D") else 1


def _reads(one: Instruction, register: int) -> bool:
    rest = one.operands if _written(one) < 0 else one.operands[1:]
    for operand in rest:
        if isinstance(operand, Reg):
            first, count = operand.index, _width(one, operand)
        elif isinstance(operand, Mem) and operand.base is not None:
            first, count = operand.base.index, 1 + operand.wide
        else:
            continue
        if first <= register < first + count:
            return True
    return False
