"""Forms of instructions: how each is named, and what its meaning was compared with.

A form is an opcode with its modifiers and the kinds of its operands, as nvdisasm prints them:
`LDG.E.64 R, desc[UR][R.64]`. The table is made by `validation/forms_table.py` from recordings on
sm_90; forms of other architectures that stand in it nowhere are as good as their like.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from warplens.isa import hints
from warplens.sass.model import (
    RZ,
    Barrier,
    Const,
    Imm,
    Instruction,
    Label,
    Mem,
    Operand,
    Pred,
    Reg,
    SassKernel,
    Scoreboard,
    Special,
    Token,
    UPred,
    UReg,
)

RECORDED, EXACT, INFERRED, REFUSED = "recorded", "exact", "inferred", "refused"
_UNMARKED = frozenset(("reuse", "noreuse"))
_ADDRESS = re.compile(r"(?:desc\[UR\]|(?<![\w\]]))\[[^\]]*\]")
_RENAMED = {"RED": "REDG", "LDCU": "ULDC"}  # between architectures
_BYTE = re.compile(r"\.B[1-3]\b")


@dataclass(frozen=True, slots=True)
class Form:
    """A row of the table.

    Attributes:
        name: as `form_of` gives it.
        status: recorded, exact, inferred or refused.
        inputs: how many inputs were recorded; 0 if none.
        where: the GPU; of a form that occurs in recorded kernels only, also what they are.
        in_corpus: whether compiled public code has it.
    """

    name: str
    status: str
    inputs: int
    where: str
    in_corpus: bool


def form_of(inst: Instruction) -> str:
    """The form of an instruction. Its guard and offsets of addresses are not part of it."""
    operands = ", ".join(_kind(operand) for operand in inst.operands)
    return f"{inst.mnemonic} {operands}".rstrip()


def _kind(operand: Operand) -> str:
    match operand:
        case Reg() | UReg():
            return _marked(operand, "UR" if isinstance(operand, UReg) else "R")
        case Const(bank=bank, base=base):
            inside = "imm" if base is None else f"{_plain(base)}+imm"
            return _marked(operand, f"c[imm][{inside}]" if bank >= 0 else f"cx[UR][{inside}]")
        case Pred() | UPred():
            return "!" * operand.negate + ("UP" if isinstance(operand, UPred) else "P")
        case Mem():
            return _address(operand)
        case Special(name=name):
            return name
        case Token(text=text):
            return text
    names: dict[type, str] = {Imm: "imm", Label: "label", Barrier: "B", Scoreboard: "SB"}
    return names[type(operand)]


def _plain(operand: Reg | UReg) -> str:
    return "UR" if isinstance(operand, UReg) else "R"


def _marked(operand: Reg | UReg | Const, name: str) -> str:
    suffixes = "".join(f".{s}" for s in operand.suffixes if s not in _UNMARKED)
    if operand.absolute:
        name = f"|{name}|"
    return f"{'-' * operand.negate}{'~' * operand.invert}{name}{suffixes}"


def _address(mem: Mem) -> str:
    terms = []
    # RZ beside a uniform register is not printed.
    if mem.base is not None and not (mem.base.index == RZ and mem.uniform is not None
                                     and not mem.base_u32):  # fmt: skip
        marks = ".U32" if mem.base_u32 else ".64" if mem.wide else ""
        terms.append(f"R{marks}{f'.X{mem.scale}' if mem.scale != 1 else ''}")
    if mem.uniform is not None:
        terms.append("UR")
    return f"{'desc[UR]' if mem.desc is not None else ''}[{'+'.join(terms) or 'imm'}]"


@cache
def table() -> dict[str, Form]:
    """Every form of the table by its name."""
    rows = {}
    for status, inputs, where, in_corpus, names in _document()["groups"]:
        for name in names:
            rows[name] = Form(name, status, inputs, where, bool(in_corpus))
    return dict(sorted(rows.items()))


@cache
def _document() -> dict[str, Any]:
    """The table's file: groups of forms that are alike, and where they were recorded."""
    place = resources.files("warplens.isa").joinpath("data/forms_sm90.json.xz")
    found: dict[str, Any] = json.loads(lzma.decompress(place.read_bytes()))
    return found


def origin() -> dict[str, Any]:
    """GPU, driver and date of the recordings."""
    found: dict[str, Any] = _document()["metadata"]
    return found


def inferred(kernel: SassKernel) -> tuple[str, ...]:
    """The forms in a kernel whose meaning is inferred, each once, in their order."""
    known = _KERNELS.get(id(kernel))
    if known is None or known[0] is not kernel:
        if len(_KERNELS) >= _KEPT_KERNELS:
            _KERNELS.clear()
        known = _KERNELS[id(kernel)] = kernel, _inferred(kernel.instructions)
    return known[1]


def _inferred(instructions: Iterable[Instruction]) -> tuple[str, ...]:
    names = dict.fromkeys(form_of(inst) for inst in instructions)
    return tuple(name for name in names if status_of(name) == INFERRED)


def status_of(name: str) -> str:
    """What the meaning of a form was compared with: of one that is in no table, of its like.

    Forms that differ in hints only are alike. Those of an operation that was compared with host
    arithmetic are exact.
    """
    own = table().get(name)
    if own is not None:
        return own.status
    like = _without_hints().get(core(name))
    return like or (EXACT if opcode_of(name) in _document()["exact"] else INFERRED)


@cache
def _without_hints() -> dict[str, str]:
    """The best status of the forms that are alike without their hints."""
    best: dict[str, str] = {}
    for form in table().values():
        name = core(form.name)
        if _RANKS[form.status] < _RANKS[best.get(name, REFUSED)]:
            best[name] = form.status
    return best


def opcode_of(name: str) -> str:
    """The opcode of a form."""
    return name.partition(" ")[0].partition(".")[0]


def core(name: str) -> str:
    """The form without hints: modifiers that change no result, memory descriptors, PR.

    Nor does it say which byte `.B1` to `.B3` select, or which registers make an address.
    """
    mnemonic, _, operands = name.partition(" ")
    opcode, *modifiers = mnemonic.split(".")
    opcode = _RENAMED.get(opcode, opcode)
    kept = [m for m in modifiers if hints.modifier(opcode, m) is None]
    operands = _BYTE.sub(".B", _ADDRESS.sub("[R]", operands).removeprefix("PR, "))
    return ".".join((opcode, *kept)) + " " + operands


_RANKS = {RECORDED: 0, EXACT: 1, INFERRED: 2, REFUSED: 3}
_KERNELS: dict[int, tuple[SassKernel, tuple[str, ...]]] = {}
_KEPT_KERNELS = 256
