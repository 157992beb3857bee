"""Fifth-generation tensor cores (tcgen05): tensor memory, copies to it and products in it.

A block has 128 lanes of 512 columns of 32 bits; an address is lane << 16 | column. Products and
copies are asked for by one thread and done at once here. What the operands mean follows the PTX
manual; no such chip was at hand. The lifter gives these roles their code
(`lift/memory/tensor_memory_ops.py`), a compiled unit serves them (`execute/tensor_memory/`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from warplens.isa.table import op
from warplens.sass.model import RZ, Imm, Instruction, Pred, Reg, SassKernel, Token, UPred, UReg

# how lanes of a warp hold cells: words of a lane for each repetition
SHAPES = {"": 1, "16dp64bit": 1, "16dp128bit": 2, "16dp256bit": 4, "16dp32bit_t0_t15": 1,
          "16dp32bit_t16_t31": 1}  # fmt: skip
COPIES = ("", "4dp256bit", "128dp128bit", "2x64dp128bit_lw02_lw13", "2x64dp128bit_lw01_lw23",
          "4x32dp128bit")  # fmt: skip
PRODUCTS = ("UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA")
_OPCODES = frozenset({"LDTM", "STTM", "UTCCP", "UTCATOMSWS", "UTCBAR", "UTCSHIFT", *PRODUCTS})
_REPEATS = tuple(f"x{1 << n}" for n in range(8))
_PLACE = re.compile(r"tmem\[UR(\d+|Z)(?:\+(-?0x[0-9a-f]+))?\]")
_GROUP = re.compile(r"([gi])desc\[UR(\d+|Z)\]((?:\.\w+)*)")
# which operands stay in the tensor core for the next product
_KEPT = frozenset({"A_KEEP", "A_REUSE", "B_KEEP", "B_REUSE", *(f"BUFFER{n}" for n in range(4))})
_NONE = 255  # URZ


def _index(text: str) -> int:
    return _NONE if text == "Z" else int(text)


@dataclass(frozen=True, slots=True)
class Move:
    """LDTM or STTM: registers of a warp and cells of its lanes."""

    shape: str
    repeats: int
    is_packed: bool  # a register holds the low halves of two cells
    register: int
    address: int  # uniform register
    offset: int

    @property
    def registers(self) -> int:
        """Registers of a lane."""
        return SHAPES[self.shape] * self.repeats

    @property
    def is_half(self) -> bool:
        """Whether sixteen lanes keep what their registers held."""
        return self.shape.startswith("16dp32bit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """UTC.MMA: uniform registers of the operands."""

    a: int  # descriptor (two registers) or address
    is_a_in_tensor_memory: bool
    b: int
    d: int
    metadata: int
    descriptor: int
    scales: int | None  # addresses of A's and B's
    lanes: int | None  # masks of lanes that are not written
    columns: int | None  # a descriptor of columns of zeros
    shift: int | None  # D's old value counts 2^-shift times
    adds: Pred | UPred | None
    is_pair: bool
    is_stationary: bool

    def reads(self) -> list[tuple[int, int]]:
        """First uniform registers and how many."""
        found = [(self.a, 1 if self.is_a_in_tensor_memory else 2), (self.b, 2), (self.d, 1),
                 (self.metadata, 1), (self.descriptor, 1)]  # fmt: skip
        if self.scales is not None:
            found.append((self.scales, 2))
        if self.lanes is not None:
            found.append((self.lanes, 8 if self.is_pair else 4))
        return found


@dataclass(slots=True)
class _Words:
    """The operands of an instruction by kind, in order."""

    groups: list[int] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)
    order: str = ""  # g, t or i for each of them


def _words(inst: Instruction) -> _Words:
    found = _Words()
    for operand in inst.operands:
        if not isinstance(operand, Token):
            continue
        if place := _PLACE.fullmatch(operand.text):
            found.places.append((_index(place[1]), int(place[2] or "0", 16)))
            found.order += "t"
        elif group := _GROUP.fullmatch(operand.text):
            if set(filter(None, group[3].split("."))) - _KEPT:
                raise ValueError(f"operand {operand.text}")
            (found.groups if group[1] == "g" else found.descriptors).append(_index(group[2]))
            found.order += group[1]
        else:
            raise ValueError(f"operand {operand.text}")
    return found


def has_tensor_memory(kernel: SassKernel) -> bool:
    """Whether a kernel has instructions of tensor memory."""
    return any(inst.opcode in _OPCODES for inst in kernel.instructions)


def move_of(inst: Instruction) -> Move:
    """Takes LDTM or STTM apart.

    Raises:
        ValueError: an operand is not understood.
    """
    words = _words(inst)
    registers = [o for o in inst.operands if isinstance(o, Reg)]
    if words.order != "t" or len(registers) != 1 or len(inst.operands) != 2:
        raise ValueError(f"operands of {inst.mnemonic}")
    shape = next((m for m in inst.modifiers if m in SHAPES), "")
    repeats = next((int(m[1:]) for m in inst.modifiers if m in _REPEATS), 1)
    packs = "PACK16BIT" in inst.modifiers or "EXPAND16BIT" in inst.modifiers
    return Move(shape, repeats, packs, registers[0].index, *words.places[0])


def product_of(inst: Instruction) -> Product:
    """Takes a product apart.

    Raises:
        ValueError: an operand is not understood.
    """
    words = _words(inst)
    if words.order not in ("ggtti", "tgtti", "ggttit", "tgttit"):
        raise ValueError(f"operands of {inst.mnemonic}")
    if any(offset for _, offset in words.places):
        raise ValueError(f"an offset in {inst.mnemonic}")
    is_stationary = "WS" in inst.modifiers
    plain = [o for o in inst.operands if isinstance(o, UReg)]
    numbers = [o.bits for o in inst.operands if isinstance(o, Imm)]
    predicates = [o for o in inst.operands if isinstance(o, Pred | UPred)]
    if len(plain) > 1 or len(numbers) > 1 or len(predicates) > 1:
        raise ValueError(f"operands of {inst.mnemonic}")
    places = [index for index, _ in words.places]
    from_memory = words.order[0] == "t"
    a = places.pop(0) if from_memory else words.groups[0]
    mask = plain[0].index if plain else None
    return Product(
        a=a, is_a_in_tensor_memory=from_memory, b=words.groups[-1], d=places[0],
        metadata=places[1], descriptor=words.descriptors[0],
        scales=places[2] if len(places) > 2 else None,
        lanes=None if is_stationary else mask, columns=mask if is_stationary else None,
        shift=numbers[0] if numbers else None, adds=predicates[0] if predicates else None,
        is_pair="2CTA" in inst.modifiers, is_stationary=is_stationary,
    )  # fmt: skip


def copy_of(inst: Instruction) -> tuple[int, int, int, int]:
    """UTCCP: number of the shape, uniform registers of address and descriptor, the offset.

    Raises:
        ValueError: an operand is not understood.
    """
    words = _words(inst)
    if words.order != "tg" or len(inst.operands) != 2:
        raise ValueError(f"operands of {inst.mnemonic}")
    shape = next((COPIES.index(m) for m in inst.modifiers if m in COPIES), 0)
    return shape, words.places[0][0], words.groups[0], words.places[0][1]


def shift_of(inst: Instruction) -> tuple[int, int]:
    """UTCSHIFT: uniform register of the address, the offset.

    Raises:
        ValueError: an operand is not understood.
    """
    words = _words(inst)
    if words.order != "t" or len(inst.operands) != 1:
        raise ValueError(f"operands of {inst.mnemonic}")
    return words.places[0]


def registers_of(inst: Instruction, role: str) -> tuple[list[tuple[Any, int]], list[Any]]:
    """Registers that are read, each with how many, and those that are written.

    Raises:
        ValueError: an operand is not understood.
    """
    if role == "tensor_memory_product":
        product = product_of(inst)
        reads: list[tuple[Any, int]] = [(UReg(first), n) for first, n in product.reads()]
        return [*reads, *(((product.adds, 1),) if product.adds is not None else ())], []
    if role == "tensor_memory_copy":
        _, place, group, _ = copy_of(inst)
        return [(UReg(place), 1), (UReg(group), 2)], []
    if role == "tensor_memory_shift":
        return [(UReg(shift_of(inst)[0]), 1)], []
    if role in ("tensor_memory_load", "tensor_memory_store"):
        move = move_of(inst)
        count = 0 if move.register == RZ else move.registers  # RZ: zeros, or nothing
        registers = [Reg(move.register + k) for k in range(count)]
        is_read = move.is_half or role == "tensor_memory_store"
        reads = [(UReg(move.address), 1), *((r, 1) for r in registers if is_read)]
        return reads, registers if role == "tensor_memory_load" else []
    results: list[Any] = []
    operands = list(inst.operands)
    while operands and isinstance(operands[0], UPred):
        results.append(operands.pop(0))
    results.append(operands.pop(0))
    return [(operands[0], 1)], results


_MOVE: dict[str, Any] = {
    "sig": "<-", "pipe": "lsu", "latency": "shared_load", "category": "memory",
}  # fmt: skip
_CORE: dict[str, Any] = {
    "sig": "<-", "pipe": "tensor", "latency": "hmma_16816", "category": "misc",
}  # fmt: skip
_WIDTHS = " ".join((*SHAPES, *_REPEATS))


@op("LDTM", role="tensor_memory_load", mods=f"{_WIDTHS} PACK16BIT", **_MOVE)
def ldtm() -> None:
    """Cells of tensor memory to registers (tcgen05.ld)."""


@op("STTM", role="tensor_memory_store", mods=f"{_WIDTHS} EXPAND16BIT", **_MOVE)
def sttm() -> None:
    """Registers to cells of tensor memory (tcgen05.st)."""


@op("UTCHMMA", role="tensor_memory_product", mods="2CTA WS", **_CORE)
def utchmma() -> None:
    """D = A * B + D in tensor memory, of halves, bfloat16 or TF32 (tcgen05.mma)."""


@op("UTCQMMA", role="tensor_memory_product", mods="2CTA WS", **_CORE)
def utcqmma() -> None:
    """D = A * B + D of 8-, 6- and 4-bit floats; with scales for blocks of 32."""


@op("UTCIMMA", role="tensor_memory_product", mods="2CTA WS", **_CORE)
def utcimma() -> None:
    """D = A * B + D of bytes in 32-bit integers."""


@op("UTCOMMA", role="tensor_memory_product", mods="2CTA 4X", **_CORE)
def utcomma() -> None:
    """D = A * B + D of 4-bit floats with scales for blocks of 32 or 16."""


@op("UTCCP", role="tensor_memory_copy", mods=f"T S 2CTA {' '.join(COPIES)}", **_CORE)
def utccp() -> None:
    """Shared memory to tensor memory (tcgen05.cp)."""


@op("UTCSHIFT", role="tensor_memory_shift", mods="2CTA DOWN", **_CORE)
def utcshift() -> None:
    """In eight columns each lane gets the next one's cells; the last of 32 keeps its own."""


@op("UTCBAR", role="tensor_memory_commit", mods="2CTA MULTICAST", **_CORE)
def utcbar() -> None:
    """An arrival at an mbarrier when the thread's products and copies are done (tcgen05.commit)."""


@op("UTCATOMSWS", role="tensor_memory_state", mods="2CTA FIND_AND_SET ALIGN AND", **_CORE)
def utcatomsws() -> None:
    """Which 32 columns are taken: find and take a stretch, or give some back."""


@op("UVIRTCOUNT", role="nop", mods="DEALLOC SMPOOL", **_CORE)
def uvirtcount() -> None:
    """This block allocates no more (tcgen05.relinquish_alloc_permit)."""
