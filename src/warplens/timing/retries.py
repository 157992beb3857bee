"""Loops that compare and exchange until it succeeds."""

from __future__ import annotations

from warplens.sass.model import Instruction, Reg, SassKernel

_COMPARES = ("ISETP", "ISETP64", "FSETP", "DSETP")


def exchanges(inst: Instruction) -> bool:
    """Whether an instruction is a compare-and-exchange on global memory."""
    return inst.opcode in ("ATOM", "ATOMG") and "CAS" in inst.modifiers


def retries(kernel: SassKernel) -> bool:
    """Whether a kernel has a loop that exchanges and looks at what it found there: the loop goes
    round until no other warp came first."""
    blocks = kernel.blocks
    for number, block in enumerate(blocks):
        for before in block.successors:
            if before > number:
                continue
            span = kernel.instructions[blocks[before].start : block.end]
            found = {o.index for one in span if exchanges(one) for o in one.operands[:2]
                     if isinstance(o, Reg)}  # fmt: skip
            if any(
                one.opcode in _COMPARES
                and any(isinstance(o, Reg) and o.index in found for o in one.operands)
                for one in span
            ):
                return True
    return False
