"""Which text operand is which: an instruction bound to its table entry, what it reads, writes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from warplens.isa.matrix_moves import matrices_of
from warplens.isa.table import Kind, Op
from warplens.isa.tensor_memory import registers_of as tensor_memory_registers
from warplens.isa.texture import Sample, query_of, sample_of, surface_of
from warplens.isa.warpgroup import product_of
from warplens.lift.decode.unread import unknown_text, unread
from warplens.sass.model import (
    PT,
    RZ,
    Const,
    Imm,
    Instruction,
    Mem,
    Operand,
    Pred,
    Reg,
    Special,
    Token,
    UPred,
    UReg,
)

# Storage keys: one small integer per architectural register, for bit sets and dictionaries.
KEY_REGISTER = 0  # 0..254
KEY_PREDICATE = 256  # 256..262
KEY_UNIFORM = 264  # 264..518
KEY_UNIFORM_PREDICATE = 520  # 520..526
N_KEYS = 528

# vectors that one lane of an atomic adds, element by element: bits of a lane
ATOMIC_VECTORS = {"F32x2": 64, "F32x4": 128, "F16x4": 64, "F16x8": 128, "BF16x4": 64,
                  "BF16x8": 128}  # fmt: skip

SAMPLING = frozenset({"texture", "texture_query", "surface_load", "surface_store",
                      "surface_reduce"})  # fmt: skip
_TENSOR_MEMORY = frozenset(
    f"tensor_memory_{what}" for what in ("load", "store", "product", "copy", "shift", "state")
)
_WIDE_ROLES = frozenset({"load", "store", "atomic", "reduction", "copy_async", "query_space"})


class BindingError(Exception):
    """The operands do not fit the signature; the lifter turns this into a gap."""


@dataclass(frozen=True, slots=True)
class Bound:
    """An instruction with its table entry and its operands sorted into places."""

    inst: Instruction
    op: Op
    destinations: tuple[tuple[Kind, Operand | None], ...]
    sources: tuple[tuple[Kind, Operand | None], ...]
    reads: frozenset[int]
    writes: frozenset[int]


def _fits(kind: Kind, operand: Operand, is_destination: bool) -> bool:
    if kind.kind == "p":
        return isinstance(operand, Pred | UPred) or (not is_destination and is_sign(operand))
    if kind.kind == "i":
        return isinstance(operand, Imm)
    if kind.kind == "s":
        return isinstance(operand, Special)
    if is_destination:
        return isinstance(operand, Reg | UReg)
    return isinstance(operand, Reg | UReg | Imm | Const)


def is_sign(operand: Operand) -> bool:
    """Whether a register stands for the predicate that is its top bit."""
    return isinstance(operand, Reg | UReg) and "SIGN" in operand.suffixes


def _take(
    kinds: tuple[Kind, ...], operands: list[Operand], is_destination: bool, other: str
) -> list[tuple[Kind, Operand | None]]:
    taken: list[tuple[Kind, Operand | None]] = []
    for i, kind in enumerate(kinds):
        required_later = sum(not k.optional for k in kinds[i + 1 :])
        if operands and _fits(kind, operands[0], is_destination) and (
            not kind.optional or is_destination or len(operands) > required_later
        ):
            taken.append((kind, operands.pop(0)))
        elif kind.optional:
            taken.append((kind, None))
        else:
            shown = repr(operands[0]) if operands else other or "nothing"
            raise BindingError(f"operand {shown} where kind {kind.kind!r} is expected")
    return taken


def registers_of(kind: Kind) -> int:
    """How many consecutive 32-bit registers an operand of this kind names."""
    return 2 * kind.count if kind.kind in "qwdvk" else kind.count


def _keys(operand: Operand | None, n: int) -> list[int]:
    match operand:
        case Reg(index=index) if index != RZ:
            return [KEY_REGISTER + index + i for i in range(n)]
        case UReg(index=index) if index != RZ:
            return [KEY_UNIFORM + index + i for i in range(n)]
        case Pred(index=index) if index != PT:
            return [KEY_PREDICATE + index]
        case UPred(index=index) if index != PT:
            return [KEY_UNIFORM_PREDICATE + index]
        case Const(base=base) if base is not None:
            return _keys(base, 2 if operand.bank < 0 else 1)
    return []


def operand_keys(operand: Operand | None) -> list[int]:
    """The register or predicate that an operand names; none for RZ and PT."""
    return _keys(operand, 1)


def memory_keys(mem: Mem, wide: bool) -> list[int]:
    """Registers that a memory operand reads."""
    keys = _keys(mem.base, 2 if wide and not mem.base_u32 else 1)
    return keys + _keys(mem.uniform, 2 if wide else 1)


def access_bytes(inst: Instruction) -> int:
    """Bytes per lane of a load, store or atomic, from its modifiers (4 when none says)."""
    for name, size in (("U8", 1), ("S8", 1), ("U16", 2), ("S16", 2), ("128", 16)):
        if name in inst.modifiers:
            return size
    for name in inst.modifiers:
        if name in ATOMIC_VECTORS:
            return ATOMIC_VECTORS[name] // 8
    wide = {"64", "F64", "U64", "S64", "SD64"}
    return 8 if wide & set(inst.modifiers) else 4


def wide_parts(inst: Instruction) -> list[tuple[Reg, int, int]]:
    """Registers, offset and number of words of the parts of an access of 256 bits.

    A load names the high words first, a store the low ones. Of a load's words only those that its
    mask names are written; the known masks name the first words of a part.
    """
    named = [o for o in inst.operands if isinstance(o, Reg)]
    numbers = [o.bits for o in inst.operands if isinstance(o, Imm)]
    if len(named) != 2 or len(numbers) > 1 or (numbers and inst.opcode[:2] != "LD"):
        raise BindingError(f"operands of {inst.mnemonic}")
    mask = numbers[0] if numbers else 0xFF
    low, high = reversed(named) if inst.opcode[:2] == "LD" else named
    counts = [(mask >> shift & 15).bit_length() for shift in (0, 4)]
    if mask != (1 << counts[0]) - 1 | (1 << counts[1]) - 1 << 4:
        raise BindingError(f"mask {mask:#x} of {inst.mnemonic}")
    return [(low, 0, counts[0]), (high, 16, counts[1])]


def is_wide_address(inst: Instruction, mem: Mem) -> bool:
    """Whether the address is 64 bits: global and generic accesses print .E or a .64 base. LDGSTS
    names the place in shared memory first."""
    if inst.opcode == "LDGSTS" and mem is next(o for o in inst.operands if isinstance(o, Mem)):
        return mem.wide
    return mem.wide or "E" in inst.modifiers


def _matrix_registers(inst: Instruction) -> int:
    """Registers of a lane's parts of matrices."""
    try:
        return matrices_of(inst).registers
    except ValueError as error:
        raise BindingError(str(error)) from error


def _role_effects(inst: Instruction, op: Op) -> tuple[list[int], list[int]]:
    reads: list[int] = []
    writes: list[int] = []
    operands = list(inst.operands)
    size = (access_bytes(inst) + 3) // 4
    role = op.role
    if role in ("load", "atomic", "s2r", "load_constant", "load_constant_uniform", "query_space",
                "b2r", "lepc", "load_matrix"):  # fmt: skip
        n = size
        if role == "s2r":
            n = 2 if inst.opcode.startswith("CS2") and "32" not in inst.modifiers else 1
        elif role == "lepc":
            n = 2
        elif role == "load_matrix":
            n = _matrix_registers(inst)
        while operands and isinstance(operands[0], Pred | UPred):
            writes += _keys(operands.pop(0), 1)
        if operands and isinstance(operands[0], Reg | UReg):
            writes += _keys(operands.pop(0), n)
        if role == "b2r":
            while operands and isinstance(operands[0], Pred | UPred):
                writes += _keys(operands.pop(0), 1)
    elif role in ("wide_load", "wide_store"):
        keys = [k for register, _, n in wide_parts(inst) for k in _keys(register, n)]
        places = [k for o in operands if isinstance(o, Mem) for k in memory_keys(o, True)]
        return (places, keys) if role == "wide_load" else (places + keys, [])
    elif role in ("mbarrier_arrive", "mbarrier_count", "mbarrier_check"):
        writes += _keys(operands.pop(0), 2)
    elif role in ("bulk_copy", "bulk_reduce", "bulk_fill"):
        named = [o.uniform if isinstance(o, Mem) else o for o in operands]
        return [k for o in named for k in _keys(o, 2)], []
    elif role in ("tensor_load", "tensor_store", "tensor_reduce"):
        return _tensor_reads(inst), []
    elif role in ("store_async", "reduce_async"):
        named = [o.base if isinstance(o, Mem) else o for o in operands]
        return [k for o in named for k in _keys(o, max(2, size))], []
    elif role == "warpgroup_product":
        return _product_effects(inst)
    elif role in SAMPLING:
        return _sample_effects(inst, role)
    elif role in _TENSOR_MEMORY:
        return _tensor_memory_effects(inst, role)
    elif role in ("bmov", "rpcmov") and operands and isinstance(operands[0], Reg):
        writes += _keys(operands.pop(0), 1)
    elif role == "r2p":
        mask = operands[-1]
        bits = mask.bits if isinstance(mask, Imm) else 0x7F
        writes += [KEY_PREDICATE + i for i in range(7) if bits >> i & 1]
        reads += [KEY_PREDICATE + i for i in range(7)]
    elif role == "p2r":
        first = KEY_UNIFORM_PREDICATE if isinstance(operands[0], UReg) else KEY_PREDICATE
        writes += _keys(operands.pop(0), 1)
        reads += [first + i for i in range(7)]
    for operand in operands:
        if isinstance(operand, Mem):
            reads += memory_keys(operand, is_wide_address(inst, operand))
        elif role in ("ret", "brx", "call", "brxu", "mbarrier_init"):
            reads += _keys(operand, 2)
        elif role == "store_matrix":
            reads += _keys(operand, _matrix_registers(inst))
        else:
            cas = role == "atomic" and "CAS" in inst.modifiers
            reads += _keys(operand, 2 * size if cas else max(size, 1))
    return reads, writes


def _tensor_reads(inst: Instruction) -> list[int]:
    """Registers of a tensor copy: place, for loads barrier, coordinates; map; mask of blocks."""
    rank = next((int(m[0]) for m in inst.modifiers if m in ("1D", "2D", "3D", "4D", "5D")), 0)
    places = [o.uniform for o in inst.operands if isinstance(o, Mem)]
    if not rank or len(places) != 2 or None in places:
        raise BindingError(f"operands of {inst.mnemonic}")
    given = 5 if {"GATHER4", "SCATTER4"} & set(inst.modifiers) else rank
    reads = _keys(places[0], given + (2 if inst.opcode == "UTMALDG" else 1)) + _keys(places[1], 2)
    return reads + [k for o in inst.operands if isinstance(o, UReg) for k in _keys(o, 1)]


def sample(inst: Instruction, role: str) -> Sample:
    """The operands of a texture or surface instruction."""
    try:
        if role == "texture":
            return sample_of(inst)
        if role == "texture_query":
            return query_of(inst)
        return surface_of(inst, (access_bytes(inst) + 3) // 4)
    except ValueError as error:
        raise BindingError(str(error)) from error


def _sample_effects(inst: Instruction, role: str) -> tuple[list[int], list[int]]:
    """Registers that a texture or surface instruction reads and writes."""
    found = sample(inst, role)
    reads = [k for register in found.registers for k in _keys(register, 1)]
    return reads, [KEY_REGISTER + index for index in found.results if index != RZ]


def _tensor_memory_effects(inst: Instruction, role: str) -> tuple[list[int], list[int]]:
    """Registers that an instruction of tensor memory reads and writes."""
    try:
        reads, writes = tensor_memory_registers(inst, role)
    except ValueError as error:
        raise BindingError(str(error)) from error
    return (
        [k for register, n in reads for k in _keys(register, n)],
        [k for register in writes for k in _keys(register, 1)],
    )


def _product_effects(inst: Instruction) -> tuple[list[int], list[int]]:
    """Registers that a product of a warpgroup reads and writes."""
    try:
        product = product_of(inst)
    except ValueError as error:
        raise BindingError(str(error)) from error
    if product.is_empty:
        return [], []
    writes = _keys(product.register(product.d_register), product.registers)
    reads = _keys(product.register(product.c_register), product.registers)
    if product.a_register is not None:
        reads += _keys(product.register(product.a_register), 4)
    else:
        reads += _keys(UReg(product.descriptors), 2)
    reads += _keys(UReg(product.descriptors + 2), 2)
    if product.metadata is not None:
        reads += _keys(product.register(product.metadata), 1)
    return reads + _keys(product.adds, 1), writes


def _refuse_marks(rule: str, sources: list[Operand | None]) -> None:
    """Raises BindingError for `-`, `~` or `|x|` where the operation's meaning is not known."""
    marked = [o for o in sources if isinstance(o, Reg | UReg | Const)]
    if rule == "none" and any(o.negate or o.absolute or o.invert for o in marked):
        raise BindingError("sign of an operand that has none")
    last = sources[-1] if sources else None
    if rule == "no merge" and not (isinstance(last, Reg) and last.index == RZ):
        raise BindingError("a third operand")
    if rule == "no ~ first" and marked and marked[0] is sources[0] and marked[0].invert:
        raise BindingError("~ of the pair that is shifted")
    if rule == "magnitudes":
        signed = [o for o in sources[:2] if isinstance(o, Imm) or (
            isinstance(o, Reg | UReg | Const) and (o.negate or not o.absolute))]  # fmt: skip
        if signed:
            raise BindingError("XORSIGN of an operand other than |x|")


def bind(inst: Instruction, op: Op) -> Bound:
    """Sorts the operands of `inst` into the places of `op`'s signature.

    Raises:
        BindingError: they do not fit.
    """
    destinations: list[tuple[Kind, Operand | None]] = []
    sources: list[tuple[Kind, Operand | None]] = []
    if op.role == "value":
        operands: list[Operand] = [o for o in inst.operands if not isinstance(o, Token)]
        other = unknown_text(inst)
        destinations = _take(op.destinations, operands, True, other)
        sources = _take(op.sources, operands, False, other)
        if operands:
            raise BindingError(f"{len(operands)} operand(s) left over: {operands[0]!r}")
        if op.attributes.get("reads_first_result"):
            sources.append(destinations[0])
        _refuse_marks(op.attributes.get("marks", ""), [o for _, o in sources])
        reads = [k for kind, o in sources for k in _keys(o, registers_of(kind))]
        writes = [k for kind, o in destinations for k in _keys(o, registers_of(kind))]
    else:
        reads, writes = _role_effects(inst, op)
    left = unread(inst, op, sources, destinations)
    if left:
        raise BindingError(f"{left} is not read by any rule of {inst.mnemonic}")
    reads += _keys(inst.guard, 1)
    return Bound(
        inst, op, tuple(destinations), tuple(sources), frozenset(reads), frozenset(writes)
    )


def bits(keys: Iterable[int]) -> int:
    """The keys as a bit set."""
    value = 0
    for key in keys:
        value |= 1 << key
    return value


def members(value: int) -> list[int]:
    """The keys of a bit set, ascending."""
    found = []
    while value:
        low = value & -value
        found.append(low.bit_length() - 1)
        value ^= low
    return found
