"""Loops that compare and exchange until it succeeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from warplens.sass.model import RZ, Instruction, Mem, Reg, SassKernel
from warplens.timing.state import CAS, CAST, KEEPS, LOCKS, SEEKS, TRIES

Exchanges = Callable[[Instruction], bool]
_COMPARES = ("ISETP", "ISETP64", "FSETP", "DSETP")
_ORDERED = {"LT", "LE", "GT", "GE", "LTU", "LEU", "GTU", "GEU"}
_CHOOSES = {"FMNMX", "IMNMX", "VIMNMX", "VIMNMX3", "HMNMX2", "SEL", "FSEL"}


def exchanges(inst: Instruction) -> bool:
    """Whether an instruction is a compare-and-exchange on global memory."""
    return inst.opcode in ("ATOM", "ATOMG") and "CAS" in inst.modifiers


def _registers(inst: Instruction) -> list[int]:
    return [o.index for o in inst.operands if isinstance(o, Reg)]


def _moves(inst: Instruction, values: set[int]) -> bool:
    """Whether an instruction only copies one of some registers."""
    is_move = inst.opcode == "MOV" or (inst.opcode == "IMAD" and "MOV" in inst.modifiers)
    return is_move and not values.isdisjoint(_registers(inst)[1:])


def _goes_on(span: Sequence[Instruction], exchanges: Exchanges) -> bool:
    """Whether all exchanges of a loop are at places that it computes anew."""
    written = {index for one in span if not exchanges(one) for index in _registers(one)[:1]}
    places = [
        {o.base.index for o in one.operands if isinstance(o, Mem) and isinstance(o.base, Reg)}
        for one in span if exchanges(one)
    ]  # fmt: skip
    return bool(places) and all(place & written for place in places)


def _locks(span: Sequence[Instruction], exchanges: Exchanges, found: set[int]) -> bool:
    """Whether what a loop's exchanges expect does not follow from what they found."""
    follows, before = set(found), -1
    while len(follows) > before:
        before = len(follows)
        for one in span:
            registers = _registers(one)
            if not exchanges(one) and not follows.isdisjoint(registers[1:]):
                follows |= {*registers[:1]} - {RZ}
    expected = set()
    for one in span:
        if exchanges(one):
            place = next(n for n, o in enumerate(one.operands) if isinstance(o, Mem))
            expected |= {o.index for o in one.operands[place + 1 : place + 2] if isinstance(o, Reg)}
    return follows.isdisjoint(expected)


def _keeps(span: Sequence[Instruction], exchanges: Exchanges, found: set[int]) -> bool:
    """Whether a loop only ever exchanges what it found or a number of its own, the more or the less
    of them: from then on the word mostly stays as it is, and nobody fails."""
    wanted = {registers[-1] for one in span if exchanges(one) if (registers := _registers(one))}
    chosen, before = False, -1
    while len(wanted) > before:
        before = len(wanted)
        for one in span:
            registers = _registers(one)
            if exchanges(one) or one.opcode in _COMPARES or not registers:
                continue
            if registers[0] not in wanted:
                continue
            chosen |= one.opcode in _CHOOSES
            # Of doubles a number that is none is made one that says so
            masked = one.opcode == "LOP3" and len(registers) <= 3
            if not (one.opcode in _CHOOSES or masked or _moves(one, set(registers[1:]))):
                return False
            wanted |= {*registers[1:]} - {RZ}
    return chosen and not wanted.isdisjoint(found)


def contends(inst: Instruction, tries_again: int) -> int:
    """CAST or CAS if an instruction exchanges a word of shared memory until it succeeds: the former
    always, the latter in a kernel of which `retries` says so."""
    if not exchanges_shared(inst):
        return 0
    return CAST if "CAST" in inst.modifiers else CAS * int(tries_again > 0)


def exchanges_shared(inst: Instruction) -> bool:
    """Whether an instruction is a compare-and-exchange on shared memory."""
    return inst.opcode == "ATOMS" and not {"CAS", "CAST"}.isdisjoint(inst.modifiers)


def retries(kernel: SassKernel, exchanges: Exchanges = exchanges) -> int:
    """TRIES if a kernel has a loop that exchanges and looks at what it found there: the loop goes
    round until no other warp came first. SEEKS if it also ends where what it found is less or more
    than its own, as loops for the least or the most number, KEEPS if it leaves the word as it is
    then, LOCKS if each round expects the same; else 0, also where each round looks at another
    place, as hash tables do."""
    if not any(exchanges(one) for one in kernel.instructions):
        return 0
    blocks = kernel.blocks
    for number, block in enumerate(blocks):
        for before in block.successors:
            if before > number:
                continue
            span = kernel.instructions[blocks[before].start : block.end]
            if _goes_on(span, exchanges):
                continue
            found = {o.index for one in span if exchanges(one) for o in one.operands[:2]
                     if isinstance(o, Reg)}  # fmt: skip
            found -= {RZ}  # nobody looks at it
            found |= {_registers(one)[0] for one in span if _moves(one, found)}
            compared = [
                one for one in span if one.opcode in _COMPARES
                and not found.isdisjoint(_registers(one))
            ]  # fmt: skip
            if compared and any(_ORDERED & set(one.modifiers) for one in compared):
                return SEEKS
            if compared and _keeps(span, exchanges, found):
                return KEEPS
            if compared:
                return LOCKS if _locks(span, exchanges, found) else TRIES
    return 0
