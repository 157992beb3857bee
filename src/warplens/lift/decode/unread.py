"""Refuses what an instruction says and no rule reads.

Marks (`-`, `|x|`, `~`), suffixes, scales of addresses, predicates and untyped operands: per kind of
operand for operations that compute values, per role for the others. What may stay unread is named
in `isa/hints.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from warplens.isa import hints
from warplens.isa.table import Kind, Op
from warplens.sass.model import (
    PT,
    Const,
    Instruction,
    Mem,
    Operand,
    Pred,
    Reg,
    Token,
    UPred,
    UReg,
)

# Marks and suffixes that a source of each kind reads (`lift/regions/operands.py`).
_MARKS = {"r": "-|~", "c": "-~", "b": "-|", "f": "-|", "d": "-|", "h": "-|", "v": "-|", "q": "-~",
          "w": "-~", "k": "-~"}  # fmt: skip
_PARTS = frozenset(("B0", "B1", "B2", "B3", "H0", "H1"))
_SUFFIXES: dict[str, frozenset[str]] = {
    "r": _PARTS, "c": _PARTS, "b": _PARTS,
    "h": frozenset(("H0_H0", "H1_H1", "H0", "H1", "H0_NH1", "F32")),
    "v": frozenset(("F32", "LO_HI", "NP")), "p": frozenset(("SIGN",)),
}  # fmt: skip
_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Reads:
    """What a role reads of its operands, beyond registers, numbers and plain addresses.

    Attributes:
        marks: of registers.
        suffixes: of registers.
        predicates: how many predicates other than PT.
        tokens: a pattern of the untyped operands.
        is_scaled: whether an address register may have a scale.
        is_anything: nothing it says changes a value, or its own rule checks everything.
    """

    marks: str = ""
    suffixes: frozenset[str] = _NOTHING
    predicates: int = 0
    tokens: str = ""
    is_scaled: bool = False
    is_anything: bool = False


_ANYTHING = Reads(is_anything=True)
_POLICY = Reads(tokens=r"desc\[UR(\d+|Z)\]")  # a cache policy: `isa/hints.py`
_ROLES: dict[str, Reads] = {
    "nop": _ANYTHING, "fence": _ANYTHING, "yield": _ANYTHING, "sleep": _ANYTHING,
    "trap": _ANYTHING, "warpgroup_product": _ANYTHING, "tensor_memory_load": _ANYTHING,
    "tensor_memory_store": _ANYTHING, "tensor_memory_product": _ANYTHING,
    "tensor_memory_copy": _ANYTHING, "tensor_memory_shift": _ANYTHING,
    "tensor_memory_state": Reads(predicates=1),
    "load": Reads(is_scaled=True), "store": Reads(is_scaled=True),
    "atomic": Reads(is_scaled=True, predicates=1), "reduction": Reads(is_scaled=True),
    "load_matrix": Reads(is_scaled=True), "store_matrix": Reads(is_scaled=True),
    "copy_async": Reads(is_scaled=True, predicates=1), "query_space": Reads(predicates=1),
    "bra": Reads(predicates=1, marks="~"), "exit": Reads(predicates=1),
    "break": Reads(predicates=1), "bar": Reads(predicates=1, marks="~"),
    "b2r": Reads(predicates=2), "warpsync": Reads(marks="~"),
    "mbarrier_check": Reads(predicates=1), "bulk_copy": _POLICY, "bulk_reduce": _POLICY,
    "tensor_load": _POLICY, "tensor_store": _POLICY, "tensor_reduce": _POLICY,
    "r2p": Reads(suffixes=frozenset(("B0", "B1", "B2", "B3")), tokens="PR"),
    "p2r": Reads(tokens="U?PR"), "warpgroup_wait": Reads(tokens=r"gsb\d"),
    "texture": Reads(tokens="(ARRAY_)?([123]D|CUBE)"), "texture_query": Reads(tokens=r"[A-Z_]+"),
    "call": Reads(tokens=r"[\w$.]+"),  # what a name means is known, or refused, when linked
}  # fmt: skip


def unread(inst: Instruction, op: Op, sources: Iterable[tuple[Kind, Operand | None]],
           destinations: Iterable[tuple[Kind, Operand | None]]) -> str:  # fmt: skip
    """What no rule reads of the instruction's operands, or nothing."""
    if op.role != "value":
        return _of_role(inst, _ROLES.get(op.role, Reads()))
    if text := unknown_text(inst):
        return f"operand {text}"
    for kind, source in sources:
        left = _of_value(source, _MARKS.get(kind.kind, "") if kind.count == 1 else "",
                         _SUFFIXES.get(kind.kind, _NOTHING) if kind.count == 1 else _NOTHING)
        if left:
            return left
    for _, destination in destinations:
        left = _of_value(destination, "", _NOTHING)
        if left:
            return f"{left} of the result"
    return ""


def unknown_text(inst: Instruction) -> str:
    """An untyped operand that no operation on values reads, or nothing."""
    texts = (o.text for o in inst.operands if isinstance(o, Token))
    return next((text for text in texts if text not in hints.OPERANDS), "")


def _of_role(inst: Instruction, reads: Reads) -> str:
    if reads.is_anything:
        return ""
    predicates = reads.predicates
    if inst.opcode == "BRA" and {"DIV", "CONV"} & set(inst.modifiers):
        predicates = 0
    for operand in inst.operands:
        left = ""
        match operand:
            case Pred() | UPred() if (operand.index, operand.negate) != (PT, False):
                predicates -= 1
                left = "predicate operand" if predicates < 0 else ""
            case Token(text=text) if not reads.tokens or not re.fullmatch(reads.tokens, text):
                left = f"operand {text}"
            case Mem(scale=scale) if scale != 1 and not reads.is_scaled:
                left = f"scale .X{scale} of the address"
            case Reg() | UReg() | Const():
                left = _of_value(operand, reads.marks, reads.suffixes)
        if left:
            return left
    return ""


def _of_value(operand: Operand | None, marks: str, suffixes: frozenset[str]) -> str:
    """What is left of a register or constant when these marks and suffixes are read."""
    if not isinstance(operand, Reg | UReg | Const):
        return ""
    if operand.negate and "-" not in marks:
        return "- before an operand"
    if operand.invert and "~" not in marks:
        return "~ before an operand"
    if operand.absolute and "|" not in marks:
        return "| | around an operand"
    for suffix in operand.suffixes:
        if suffix not in suffixes and suffix not in hints.SUFFIXES:
            return f"operand suffix .{suffix}"
    return ""
