"""Fragments: the matrices that a warp's registers hold for a matrix instruction.

Lane 4 g + t of A holds rows g and g + 8, of B column g, of C and D rows g and g + 8 and columns 2 t
and 2 t + 1; registers go on along k, or along columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warplens.isa import matrix_kinds, warpgroup
from warplens.sass.model import RZ, Instruction, Reg

Words = npt.NDArray[np.uint32]
Matrix = npt.NDArray[np.float64]
_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "s8": 8, "u8": 8, "s32": 32}
_LANE = np.arange(32)
_G, _T = _LANE // 4, _LANE % 4
_SHOWN = 8  # numbers of a row


@dataclass(frozen=True, slots=True)
class Fragment:
    """One operand: its registers, the type of its numbers, and the matrix that they are."""

    name: str
    register: int
    count: int
    kind: str
    matrix: Matrix

    def __str__(self) -> str:
        last = f"-R{self.register + self.count - 1}" if self.count > 1 else ""
        rows, columns = self.matrix.shape
        row = " ".join(f"{value:.4g}" for value in self.matrix[0, :_SHOWN])
        more = " ..." if columns > _SHOWN else ""
        return (f"{self.name} R{self.register}{last}: {rows} x {columns} {self.kind}; "
                f"row 0: {row}{more}")  # fmt: skip


def numbers(words: Words, kind: str) -> Matrix:
    """The numbers that words hold, along a new last axis."""
    if kind in ("f32", "tf32"):
        return words.view(np.float32)[..., None].astype(np.float64)
    if kind == "s32":
        return words.view(np.int32)[..., None].astype(np.float64)
    parts = 32 // _BITS[kind]
    dtype = {"f16": np.float16, "bf16": np.uint16, "s8": np.int8, "u8": np.uint8}[kind]
    flat = np.ascontiguousarray(words).view(dtype).reshape(*words.shape, parts)
    if kind == "bf16":
        return (flat.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return flat.astype(np.float64)


def _fragment(register: Callable[[int], Words], name: str, first: int, count: int, kind: str,
              ) -> Fragment:  # fmt: skip
    """A, B or D, from `count` registers on."""
    values = numbers(np.stack([register(first + r) for r in range(count)]), kind)
    per = values.shape[2]
    i = np.arange(per)
    if name == "B":
        matrix = np.zeros((4 * per * count, 8))
        for r in range(count):
            matrix[4 * per * r + per * _T[:, None] + i, _G[:, None]] = values[r]
    elif name == "A":
        matrix = np.zeros((16, 2 * per * count))
        for r in range(count):
            columns = 4 * per * (r // 2) + per * _T[:, None] + i
            matrix[_G[:, None] + 8 * (r % 2), columns] = values[r]
    else:
        flat = values.transpose(1, 0, 2).reshape(32, -1)  # lane, element
        matrix = np.zeros((16, flat.shape[1] * 2))
        for n in range(flat.shape[1]):
            matrix[_G + 8 * (n // 2 % 2), 8 * (n // 4) + 2 * _T + n % 2] = flat[:, n]
    return Fragment(name, first, count, kind, matrix)


def _kinds(inst: Instruction) -> tuple[str, str, str] | None:
    """Types of A, B and D of a product of 16 rows that is taken apart here."""
    names = set(inst.modifiers)
    if names & {"SP", "S4", "U4"} or matrix_kinds.shape(inst)[0] != 16:
        return None
    if inst.opcode == "IMMA":
        whole = [m.lower() for m in inst.modifiers if m in ("S8", "U8")]
        return (whole[0], whole[-1], "s32") if whole else None
    if inst.opcode != "HMMA":
        return None
    kind = "tf32" if "TF32" in names else "bf16" if "BF16" in names else "f16"
    return kind, kind, "f32" if "F32" in names else "f16"


def fragments(inst: Instruction, register: Callable[[int], Words]) -> dict[str, Fragment]:
    """A, B and C as a warp's registers hold them; of wgmma what is in registers, D of 16 rows.

    Args:
        inst: mma.sync of halves, bfloat16, TF32 or bytes with 16 rows, or wgmma.
        register: gives a register of all 32 lanes as bits.
    """
    if inst.opcode in warpgroup.OPCODES:
        return _of_warpgroup(inst, register)
    if (kinds := _kinds(inst)) is None:
        return {}
    _, _, depth = matrix_kinds.shape(inst)
    places = [o.index for o in inst.operands if isinstance(o, Reg)]
    counts = {"A": 16 * depth * _BITS[kinds[0]] // 1024, "B": 8 * depth * _BITS[kinds[1]] // 1024,
              "C": 16 * 8 * _BITS[kinds[2]] // 1024}  # fmt: skip
    found = {}
    for name, kind, first in zip("ABC", kinds, places[1:4], strict=False):
        if first != RZ:
            found[name] = _fragment(register, name, first, counts[name], kind)
    return found


def _of_warpgroup(inst: Instruction, register: Callable[[int], Words]) -> dict[str, Fragment]:
    product = warpgroup.product_of(inst)
    found = {}
    if product.a_register is not None and product.a in _BITS:
        found["A"] = _fragment(register, "A", product.a_register, 4, product.a)
    if product.c_register != RZ:
        found["C"] = _fragment(register, "C", product.c_register, product.registers, product.sums)
    return found
