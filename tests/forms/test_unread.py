"""What an instruction says and no rule reads is refused, by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from warplens.isa import families, table
from warplens.lift.decode.binding import BindingError, bind
from warplens.sass.model import Control, Instruction, Mem, Pred, Reg, Token, UReg

families.load_all()
CONTROL = Control(0, False, 7, 7, 0, 0)


def instruction(mnemonic: str, *operands: Any) -> Instruction:
    """An instruction with these operands."""
    opcode, *modifiers = mnemonic.split(".")
    return Instruction(0, opcode, tuple(modifiers), None, operands, CONTROL, 0, mnemonic)


def refusal(inst: Instruction) -> str:
    """Why binding refuses it."""
    entry = table.find(inst.opcode, inst.modifiers)
    assert entry is not None
    with pytest.raises(BindingError) as error:
        bind(inst, entry)
    return str(error.value)


A, B, C = Reg(1), Reg(2), Reg(3)
ADDRESS = Mem(base=Reg(4), wide=True)
CASES = (
    (instruction("FADD", A, B, replace(C, suffixes=("H1",))), "operand suffix .H1"),
    (instruction("FADD", A, B, replace(C, invert=True)), "~ before an operand"),
    (instruction("IADD3", A, B, C, replace(C, absolute=True)), "| | around an operand"),
    (instruction("DADD", A, B, replace(C, suffixes=("B1",))), "operand suffix .B1"),
    (instruction("HADD2", A, B, replace(C, invert=True)), "~ before an operand"),
    (instruction("IADD3", replace(A, negate=True), B, C, C), "- before an operand of the result"),
    (instruction("HADD2", replace(A, suffixes=("H1_H1",)), B, C),
     "operand suffix .H1_H1 of the result"),
    (instruction("MOV", A, Token("tmem[UR4]"), B), "operand tmem[UR4]"),
    (instruction("STG.E", ADDRESS, replace(A, negate=True)), "- before an operand"),
    (instruction("LDG.E", A, Pred(3), ADDRESS), "predicate operand"),
    (instruction("LDG.E", A, ADDRESS, Pred(7, negate=True)), "predicate operand"),
    (instruction("SYNCS.ARRIVE.TRANS64", A, replace(ADDRESS, scale=4), B),
     "scale .X4 of the address"),
    (instruction("BRA.DIV", Pred(2), UReg(4)), "predicate operand"),
    (instruction("R2P", Token("PR"), replace(B, suffixes=("H1",)), A), "operand suffix .H1"),
)  # fmt: skip


@pytest.mark.parametrize(("inst", "reason"), CASES, ids=lambda value: str(value)[:40])
def test_unread_tokens_are_named(inst: Instruction, reason: str) -> None:
    """The refusal says which token no rule reads, and of which operation."""
    assert refusal(inst) == f"{reason} is not read by any rule of {inst.mnemonic}"
