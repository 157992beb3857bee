"""What a wgmma instruction's text says: shape, types, registers, descriptors."""

from __future__ import annotations

import re
from dataclasses import dataclass

from warplens.sass.model import RZ, Imm, Instruction, Pred, Reg, Token, UPred

OPCODES = frozenset({"HGMMA", "QGMMA", "IGMMA", "BGMMA"})
_SHAPE = re.compile(r"64x(\d+)x(\d+)")
_DESCRIPTORS = re.compile(r"gdesc\[UR(\d+|Z)\]((?:\.\w+)*)")
_MARKS = frozenset({"tnspA", "tnspB", "negA", "negB"})
_TYPES = ("E4M3", "E5M2", "S8", "U8")
# fraction bits below the largest exponent that sums keep, as recorded
_KEPT_BITS, _KEPT_BITS_FP8 = 25, 13
_NO_DESCRIPTORS = 255  # URZ


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """One product, taken apart."""

    a: str  # f16 bf16 tf32 e4m3 e5m2 s8 u8 b1
    b: str
    sums: str  # f32 f16 s32
    columns: int
    d_register: int
    c_register: int  # 255: no C
    a_register: int | None  # None: A comes from shared memory
    descriptors: int  # first uniform register: A's descriptor (if it has one), then B's
    marks: frozenset[str]  # tnspA tnspB negA negB
    adds: Pred | UPred | None
    saturates: bool
    metadata: int | None = None  # register with the places of a sparse A's numbers
    selector: int = 0

    @property
    def registers(self) -> int:
        """Registers of D per lane."""
        return self.columns // (4 if self.sums == "f16" else 2)

    @property
    def is_empty(self) -> bool:
        """Whether nothing comes of it: compilers close a group with a product into RZ."""
        return self.d_register == RZ

    @property
    def kept_bits(self) -> int:
        """Fraction bits below the largest exponent that the sums keep."""
        return _KEPT_BITS_FP8 if self.a in ("e4m3", "e5m2") else _KEPT_BITS

    @staticmethod
    def register(index: int) -> Reg:
        """A plain register operand."""
        return Reg(index)


def _types(inst: Instruction) -> tuple[str, str]:
    if inst.opcode == "HGMMA":
        kind = next((m.lower() for m in inst.modifiers if m in ("BF16", "TF32")), "f16")
        return kind, kind
    if inst.opcode == "BGMMA":
        return "b1", "b1"
    named = [m.lower() for m in inst.modifiers if m in _TYPES]
    return named[0], named[-1]


def product_of(inst: Instruction) -> Product:
    """Takes a wgmma instruction apart.

    Raises:
        ValueError: an operand is not understood.
    """
    shape = next((m for name in inst.modifiers if (m := _SHAPE.fullmatch(name))), None)
    registers = [o for o in inst.operands if isinstance(o, Reg)]
    tokens = [o.text for o in inst.operands if isinstance(o, Token)]
    found = next((m for text in tokens if (m := _DESCRIPTORS.fullmatch(text))), None)
    others = [t for t in tokens if not t.startswith("gdesc[") and not re.fullmatch(r"gsb\d", t)]
    is_sparse = "SP" in inst.modifiers
    metadata = registers.pop() if is_sparse and len(registers) > 2 else None
    if shape is None or found is None or others or len(registers) not in (2, 3):
        raise ValueError(f"operands of {inst.mnemonic}")
    if is_sparse and metadata is None:
        raise ValueError(f"metadata of {inst.mnemonic}")
    marks = {mark for mark in found[2].split(".") if mark}
    is_register = len(registers) == 3
    if is_register and registers[1].negate:
        marks.add("negA")
    plain = (o for i, o in enumerate(registers) if not (is_register and i == 1))
    if marks - _MARKS or any(o.negate or o.suffixes or o.absolute or o.invert for o in plain):
        raise ValueError(f"operand forms of {inst.mnemonic}")
    a, b = _types(inst)
    sums = "s32" if inst.opcode in ("IGMMA", "BGMMA") else "f32"
    return Product(
        a=a, b=b, sums="f16" if sums == "f32" and "F32" not in inst.modifiers else sums,
        columns=int(shape[1]), d_register=registers[0].index, c_register=registers[-1].index,
        a_register=registers[1].index if is_register else None,
        descriptors=int(found[1]) if found[1] != "Z" else _NO_DESCRIPTORS,
        marks=frozenset(marks),
        adds=next((o for o in inst.operands if isinstance(o, Pred | UPred)), None),
        saturates="SAT" in inst.modifiers,
        metadata=metadata.index if metadata else None,
        selector=next((o.bits for o in inst.operands if isinstance(o, Imm)), 0),
    )  # fmt: skip
