"""Code images: what the loader would make of a kernel's sections and relocations.

Usual compiles put everything a kernel needs into its one section. Debug builds (`-G`) give every
function its own; they are laid out behind the kernel, at the same offsets for all kernels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from warplens.sass.control import CONTROL_SHIFT, decode_control
from warplens.sass.model import Instruction
from warplens.toolchain.cubin import Cubin, CubinKernel, Relocation
from warplens.toolchain.lines import LineRow
from warplens.toolchain.nvdisasm import ListedInstruction

INSTRUCTION_BYTES = 16
_NOP = 0x000FC00000000000_0000000000007918
_CONTROL_MASK = (1 << 21) - 1
_LOW_KIND = "R_CUDA_ABS32_LO_32"
# Half of an address that the loader fills in: 32@lo((symbol + 0x5b0)).
ADDRESS_HALF = re.compile(r"32@(lo|hi)\(.*\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One code section in a kernel's image, at byte offset `base`."""

    base: int
    code: bytes
    listed: Sequence[ListedInstruction]
    lines: Sequence[LineRow]
    relocations: Mapping[int, Relocation]


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbols:
    """What names in a kernel's code mean.

    Attributes:
        code: functions -> offset in the image.
        data: variables -> address; device memory addresses are the caller's to choose.
        externs: functions of the runtime.
        unplaced: variables whose address the caller did not give.
    """

    code: Mapping[str, int]
    data: Mapping[str, int]
    externs: frozenset[str]
    unplaced: frozenset[str]

    def address(self, name: str) -> int:
        """The address of a function or variable.

        Raises:
            ValueError: saying why there is none.
        """
        if name in self.code:
            return self.code[name]
        if name in self.data:
            return self.data[name]
        if name in self.unplaced:
            raise ValueError(f"the address of the variable {name!r} is needed, but was not given,")
        raise ValueError(f"the name {name!r} is not known")

    def relocated(self, relocation: Relocation) -> int:
        """The 32 bits that a relocation of an address half stands for."""
        value = self.address(relocation.symbol) + relocation.addend
        return (value if relocation.kind == _LOW_KIND else value >> 32) & 0xFFFFFFFF


def pieces_of(
    cubin: Cubin,
    kernel: CubinKernel,
    listing: Mapping[str, Sequence[ListedInstruction]],
) -> tuple[Piece, ...]:
    """The sections of a kernel's image: its own, and the device functions if it may call them."""
    by_section: dict[str, dict[int, Relocation]] = {}
    for relocation in cubin.relocations:
        by_section.setdefault(relocation.section, {})[relocation.offset] = relocation

    def piece(name: str, base: int, code: bytes, lines: Sequence[LineRow]) -> Piece:
        return Piece(
            base=base,
            code=code,
            listed=listing.get(name, ()),
            lines=lines,
            relocations=by_section.get(f".text.{name}", {}),
        )

    own = piece(kernel.name, 0, kernel.code, kernel.lines)
    if not any(entry.opcode.startswith("CALL") for entry in own.listed):
        return (own,)
    others = (
        piece(name, function.base, function.code, function.lines)
        for name, function in cubin.device_functions.items()
    )
    return (own, *others)


def symbols_of(cubin: Cubin, kernel: CubinKernel, addresses: Mapping[str, int]) -> Symbols:
    """The names that a kernel's code may use."""
    shared = {
        symbol.name: symbol.offset
        for symbol in cubin.shared_symbols
        if symbol.section == f".nv.shared.{kernel.name}"
    }
    return Symbols(
        code={
            name: offset
            for name, (owner, offset) in cubin.functions.items()
            if owner in ("", kernel.name)
        },
        data=shared | dict(addresses),
        externs=frozenset(cubin.externs),
        unplaced=frozenset(cubin.symbols) - frozenset(addresses),
    )


def padding(start: int, end: int) -> list[Instruction]:
    """The NOPs that fill the gap between two sections."""
    control = decode_control(_NOP >> CONTROL_SHIFT & _CONTROL_MASK)
    return [
        Instruction(address, "NOP", (), None, (), control, _NOP, "NOP")
        for address in range(start, end, INSTRUCTION_BYTES)
    ]
