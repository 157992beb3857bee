"""Textures and surfaces: samples, texels, gathers, sizes; reads, writes and reductions.

The lifter gives these roles their code (`lift/memory/texture_ops.py`); what a texture unit does
with coordinates and texels stands in `execute/textures/`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from warplens.isa.table import op
from warplens.sass.model import Const, Imm, Instruction, Mem, Operand, Reg, Token, UReg

_TEX: dict[str, Any] = {
    "sig": "<-", "pipe": "tex", "latency": "texture", "category": "memory", "space": "texture",
}  # fmt: skip
_TEXEL: dict[str, Any] = {**_TEX, "latency": "texel"}
_SURFACE: dict[str, Any] = {**_TEXEL, "space": "surface"}
_SHAPES = {
    "1D": (1, False, False), "2D": (2, False, False), "3D": (3, False, False),
    "CUBE": (3, False, True), "ARRAY_1D": (1, True, False), "ARRAY_2D": (2, True, False),
    "ARRAY_CUBE": (3, True, True), "1D_ARRAY": (1, True, False), "2D_ARRAY": (2, True, False),
}  # fmt: skip
_SURFACE_SHAPES = "1D 2D 3D 1D_ARRAY 2D_ARRAY"
_ORDER = "STRONG WEAK CTA SM GPU SYS"
COMPONENTS = ("R", "G", "B", "A")


@op("TEX", role="texture", mods="SCR B LL LZ NODEP", **_TEX)
def tex() -> None:
    """Sample a texture at coordinates, filtered as the texture object says."""


@op("TLD", role="texture", mods="SCR B LZ NODEP", **_TEXEL)
def tld() -> None:
    """Read the texel at integer coordinates."""


@op("TLD4", role="texture", mods="SCR R G B A NODEP", **_TEX)
def tld4() -> None:
    """One component of the four texels that a linear filter would take."""


@op("TXD", role="texture", mods="NODEP", **_TEX)
def txd() -> None:
    """Sample a texture at the level of detail that gradients ask for."""


@op("TXQ", role="texture_query", mods="NODEP", **_TEX)
def txq() -> None:
    """Width, height, depth and levels of a texture or surface."""


@op("SULD", role="surface_load", mods=f"{_SURFACE_SHAPES} U8 U16 64 128 {_ORDER} TRAP IGN",
    requires="D BA", **_SURFACE)  # fmt: skip
def suld() -> None:
    """Read bytes of a surface; the first coordinate counts bytes."""


@op("SUST", role="surface_store", mods=f"{_SURFACE_SHAPES} U8 U16 64 128 {_ORDER} TRAP IGN",
    requires="D BA", **_SURFACE)  # fmt: skip
def sust() -> None:
    """Write bytes of a surface; the first coordinate counts bytes."""


@op("SUST", role="surface_store", mods=f"P {_SURFACE_SHAPES} R RG {_ORDER} TRAP IGN",
    requires="P", **_SURFACE)  # fmt: skip
def sust_formatted() -> None:
    """Write a texel of a surface from 32-bit components, held within the range of its type."""


@op("SURED", role="surface_reduce", mods=f"D BA {_SURFACE_SHAPES} ADD MIN MAX AND OR XOR S32 U64 "
    f"S64 SD32 SD64 {_ORDER} TRAP IGN", requires="D", **_SURFACE)  # fmt: skip
def sured() -> None:
    """Combine a word of a surface with a value; without BA the first coordinate counts texels."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The operands of a texture or surface instruction.

    Attributes:
        rank: coordinates without a layer; cubes have three.
        coordinates: the layer if there is one, then the coordinates.
        level: of detail, where the instruction has one; gradients: by coordinate, for x and y.
        results: a register for each component of the mask, in its order.
        handle: what holds the object's number.
        values: what a surface's write stores.
    """

    rank: int
    is_layered: bool
    is_cube: bool
    coordinates: tuple[Reg, ...]
    handle: Operand
    mask: int = 15
    results: tuple[int, ...] = ()
    level: Reg | None = None
    gradients: tuple[Reg, ...] = ()
    values: tuple[Reg, ...] = ()
    query: int = 0

    @property
    def registers(self) -> tuple[Reg | UReg, ...]:
        """Everything that is read."""
        level = () if self.level is None else (self.level,)
        handle = (self.handle,) if isinstance(self.handle, Reg | UReg) else ()
        return (*self.coordinates, *level, *self.gradients, *self.values, *handle)


def _run(register: Reg, count: int) -> list[Reg]:
    return [Reg(register.index + k if register.index != 255 else 255) for k in range(count)]


def _shape(inst: Instruction) -> tuple[int, bool, bool]:
    named = [o.text for o in inst.operands if isinstance(o, Token)] + list(inst.modifiers)
    found = [_SHAPES[name] for name in named if name in _SHAPES]
    if len(found) != 1:
        raise ValueError(f"shape of {inst.mnemonic}")
    return found[0]


def _handle(inst: Instruction, numbers: list[Imm]) -> tuple[Operand | None, int]:
    """The object's number, and how many immediates belong to it."""
    uniform = [o for o in inst.operands if isinstance(o, UReg)]
    if uniform:
        # 0x0 after the register on sm_80 to sm_90; masks are never 0
        return uniform[0], 1 if numbers and numbers[0].bits == 0 else 0
    if len(numbers) >= 2 and not {"B"} & set(inst.modifiers):
        return Const(bank=numbers[0].bits, base=None, offset=4 * numbers[1].bits), 2
    return None, 0


def _packed(first: Reg, second: Reg, mask: int) -> tuple[int, ...]:
    """The first two components that are asked for stand in the second register, others in the
    first one."""
    wanted, found = mask.bit_count(), []
    for k in range(wanted):
        register = second if k < 2 else first
        found.append(255 if register.index == 255 else register.index + k % 2)
    return tuple(found)


def sample_of(inst: Instruction) -> Sample:
    """What TEX, TLD, TLD4 or TXD samples.

    Raises:
        ValueError: the operands are not understood.
    """
    registers = [o for o in inst.operands if isinstance(o, Reg)]
    numbers = [o for o in inst.operands if isinstance(o, Imm)]
    handle, used = _handle(inst, numbers)
    mask = numbers[used].bits if len(numbers) > used else 15
    rank, is_layered, is_cube = _shape(inst)
    if len(numbers) > used + 1 or not 1 <= mask <= 15 or len(registers) < 3:
        raise ValueError(f"operands of {inst.mnemonic}")
    by_register = handle is None
    count = rank + is_layered
    named: list[Reg] = []
    extra = registers[3:]
    # after the coordinates: the object's number, and the level of detail
    n_more = by_register + ("LL" in inst.modifiers)
    gradients: tuple[Reg, ...] = ()
    if inst.opcode == "TXD":
        if by_register or rank > 2 or len(extra) != 1:
            raise ValueError(f"operands of {inst.mnemonic}")
        named, gradients = _run(registers[2], count), tuple(_run(extra[0], 2 * rank))
    elif "SCR" in inst.modifiers:
        total = count + n_more
        near = (total + 1) // 2
        named = _run(registers[2], near)
        if total - near != 0:
            if len(extra) != 1:
                raise ValueError(f"operands of {inst.mnemonic}")
            named += _run(extra[0], total - near)
    else:
        if len(extra) != (n_more > 0):
            raise ValueError(f"operands of {inst.mnemonic}")
        named = _run(registers[2], count) + (_run(extra[0], n_more) if n_more else [])
    if handle is None:
        handle = named[count]
    level = named[-1] if "LL" in inst.modifiers else None
    return Sample(
        rank=rank, is_layered=is_layered, is_cube=is_cube, coordinates=tuple(named[:count]),
        handle=handle, mask=mask, results=_packed(registers[0], registers[1], mask), level=level,
        gradients=gradients,
    )  # fmt: skip


def query_of(inst: Instruction) -> Sample:
    """What TXQ asks for.

    Raises:
        ValueError: it is not a dimension, or not of a uniform object.
    """
    registers = [o for o in inst.operands if isinstance(o, Reg)]
    numbers = [o for o in inst.operands if isinstance(o, Imm)]
    named = [o.text for o in inst.operands if isinstance(o, Token)]
    handle, used = _handle(inst, numbers)
    if handle is None or named != ["TEX_HEADER_DIMENSION"] or len(registers) != 3:
        raise ValueError(f"operands of {inst.mnemonic}")
    mask = numbers[used].bits if len(numbers) > used else 15
    return Sample(
        rank=0, is_layered=False, is_cube=False, coordinates=(registers[2],), handle=handle,
        mask=mask, results=_packed(registers[0], registers[1], mask),
    )  # fmt: skip


def registers_given(inst: Instruction) -> int:
    """How many registers of a lane an instruction gives texels in; at least 1."""
    if inst.opcode in ("SULD", "SUST", "SURED"):
        return 4 if "128" in inst.modifiers else 2 if "64" in inst.modifiers else 1
    try:
        return max(1, len(sample_of(inst).results))
    except ValueError:  # lifting says why, if it is executed
        return 1


def is_by_number(inst: Instruction) -> bool:
    """Whether one register of a lane says where it reads."""
    if inst.opcode != "TLD":
        return False
    try:
        return len(sample_of(inst).coordinates) == 1
    except ValueError:
        return False


def components_of(inst: Instruction) -> int:
    """Components that a formatted write gives; 0 for an access by bytes."""
    if "P" not in inst.modifiers:
        return 0
    return 1 if "R" in inst.modifiers else 2 if "RG" in inst.modifiers else 4


def surface_of(inst: Instruction, words: int) -> Sample:
    """What SULD, SUST or SURED accesses; `words` a lane.

    Raises:
        ValueError: the operands are not understood.
    """
    rank, is_layered, is_cube = _shape(inst)
    place = next((o for o in inst.operands if isinstance(o, Mem)), None)
    registers = [o for o in inst.operands if isinstance(o, Reg)]
    numbers = [o for o in inst.operands if isinstance(o, Imm)]
    handle, used = _handle(inst, numbers)
    if handle is None:
        handle, registers = registers[-1], registers[:-1]
    plain = place is not None and isinstance(place.base, Reg) and place.offset == 0
    if not plain or len(registers) != 1 or len(numbers) > used:
        raise ValueError(f"operands of {inst.mnemonic}")
    assert place is not None and isinstance(place.base, Reg)
    given = _run(place.base, rank + is_layered)
    if is_layered:  # here the layer comes last
        given = [given[-1], *given[:-1]]
    is_load = inst.opcode == "SULD"
    words = components_of(inst) or words
    data = _run(registers[0], words)
    return Sample(
        rank=rank, is_layered=is_layered, is_cube=is_cube, coordinates=tuple(given), handle=handle,
        results=tuple(r.index for r in data) if is_load else (),
        values=() if is_load else tuple(data),
    )  # fmt: skip
