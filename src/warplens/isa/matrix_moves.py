"""What the text of LDSM and STSM says: matrices of how many rows, elements of how many bits."""

from __future__ import annotations

from dataclasses import dataclass

from warplens.sass.model import Instruction

# elements that become bytes: 4 or 6 bits each, 16 of them at the beginning of 16 bytes
_NARROW = {"U4x16P64TO8": 4, "U6x16P32TO8": 6}
_SHAPES = {  # name -> rows in memory, whether the fragment is transposed
    "M88": (8, False), "MT88": (8, True), "T": (8, True), "M816": (8, False), "MT1616": (16, True),
    "MT168": (8, True),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrices:
    """Matrices between shared memory and fragments, each row 16 bytes of memory."""

    count: int
    bits: int  # of an element in memory
    rows: int  # of a matrix in memory: lanes that hold addresses
    is_transposed: bool

    @property
    def addresses(self) -> int:
        """Lanes that hold addresses."""
        return self.rows * self.count

    @property
    def registers(self) -> int:
        """Registers of a lane."""
        return self.rows // 8 * self.count


def matrices_of(inst: Instruction) -> Matrices:
    """Takes LDSM or STSM apart.

    Raises:
        ValueError: the form is not known.
    """
    modifiers = set(inst.modifiers)
    count = next((int(m) for m in inst.modifiers if m in ("2", "4")), 1)
    bits = next((_NARROW[m] for m in inst.modifiers if m in _NARROW), 8 if "8" in modifiers else 16)
    shape = next((m for m in inst.modifiers if m in _SHAPES), "M88")
    allowed = {16: {"M88", "MT88", "T"}, 8: {"MT1616" if inst.opcode == "LDSM" else "MT168"}}
    if shape not in allowed.get(bits, {"M816", "MT1616"} if inst.opcode == "LDSM" else set()):
        raise ValueError(f"matrix form of {inst.mnemonic}")
    rows, is_transposed = _SHAPES[shape]
    if rows * count > 32 or "M832" in modifiers:
        raise ValueError(f"matrix form of {inst.mnemonic}")
    return Matrices(count=count, bits=bits, rows=rows, is_transposed=is_transposed)
