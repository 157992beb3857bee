"""The register file: two banks of a sub-partition, each of which reads one operand a cycle.

Registers of even numbers lie in one bank, of odd numbers in the other. An operand that is marked
for reuse stays at its place in the instruction until another one is read there, and needs no port.
Reads of an instruction that a port is too slow for hold back the next one that needs the port
(measured, validation/data/ports_sm90.json), and if that is chosen all others (schedule.py).
Operands for other units (special functions, memory) are read one after the other, and a cycle
longer (dispatched_sm90.json).
"""

from __future__ import annotations

import numpy as np

from warplens.isa import families
from warplens.sass.model import RZ, Instruction, Mem, Reg, SassKernel
from warplens.timing.state import BANKS, Ints, Record, stage

_PIPES = frozenset({"alu", "fma", "fp16", "fp64"})  # those whose operands were measured, or fit
_SENT = frozenset({"xu", "lsu"})
_WIDTHS = {"64": 2, "128": 4}  # of what is stored, in registers
_PAIRS = frozenset("dqwvk")  # kinds of operands that are two registers
_Sources = tuple[tuple[int, int, int], ...]


def reads_of(kernel: SassKernel) -> tuple[Ints, Ints]:
    """Per instruction and bank the registers that it reads from the register file, and those that
    it finds kept for reuse; what stands at two of its places is read once."""
    found = np.zeros((len(kernel.instructions), BANKS), np.int64)
    held = np.zeros_like(found)
    known: dict[tuple[object, ...], _Sources | None] = {}
    for block in kernel.blocks:
        kept: dict[int, int] = {}  # place of an operand -> register
        for index in range(block.start, block.end):
            inst = kernel.instructions[index]
            look = inst.opcode, inst.modifiers, *map(type, inst.operands)
            if look not in known:
                known[look] = None if _is_sent(inst) else _sources(inst)
            sources = known[look]
            if sources is None:
                found[index] = _sent(inst)
                kept.clear()
                continue
            read: set[int] = set()
            reused: set[int] = set()
            for number, place, count in sources:
                register = inst.operands[place]
                if not isinstance(register, Reg) or register.index == RZ:
                    continue
                is_kept = kept.pop(number, None) == register.index
                numbers = range(register.index, register.index + count)
                (reused if is_kept else read).update(numbers)
                if register.reuse:
                    kept[number] = register.index
            for one in read:
                found[index, one % BANKS] += 1
            for one in reused - read:
                held[index, one % BANKS] += 1
    return found, held


def _is_sent(inst: Instruction) -> bool:
    """Whether its operands go to a unit that several instructions wait for."""
    entry = families.find(inst)
    return entry is not None and entry.pipe in _SENT


def _sent(inst: Instruction) -> list[int]:
    """Cycles of each bank in which such an instruction reads."""
    width = next((n for text, n in _WIDTHS.items() if text in inst.modifiers), 1)
    results = 0 if inst.opcode.startswith(("ST", "RED", "FCHK")) else 1
    numbers: list[int] = []
    is_wide = False
    for one in inst.operands:
        if isinstance(one, Mem) and one.base is not None and one.base.index != RZ:
            is_wide = one.wide
            numbers += range(one.base.index, one.base.index + 1 + one.wide)
        elif isinstance(one, Reg) and results:
            results -= 1
        elif isinstance(one, Reg) and one.index != RZ:
            count = width if inst.opcode.startswith(("ST", "ATOM", "RED")) else 1
            numbers += range(one.index, one.index + count)
    banks = [sum(number % BANKS == bank for number in numbers) for bank in range(BANKS)]
    if not numbers:
        return banks
    if inst.opcode.startswith("LD"):  # a pair takes both ports for as long as it has registers
        return [2, 2] if is_wide else banks
    banks[numbers[0] % BANKS] += 1
    if all(banks):
        banks[numbers[-1] % BANKS] = len(numbers) + 1
    return banks


def _sources(inst: Instruction) -> _Sources:
    """Where registers may be read: by number among the sources, counted from the last one, the
    place among the operands, and of how many registers one consists. Which they are does not
    matter."""
    entry = families.find(inst)
    if entry is None or entry.pipe not in _PIPES:
        return ()
    writes = any(kind.kind != "p" for kind in entry.destinations)
    registers = [place for place, one in enumerate(inst.operands) if isinstance(one, Reg)]
    sources = range(registers[0] + 1 if writes and registers else 0, len(inst.operands))
    kinds = [kind.kind for kind in entry.sources]
    found = []
    for number, place in enumerate(reversed(sources)):
        if isinstance(inst.operands[place], Reg):
            kind = kinds[-1 - number] if number < len(kinds) else "r"
            found.append((-number, place, 2 if kind in _PAIRS else 1))
    return tuple(found)


@stage
def busy_until(sub: Record, inst: Record) -> float:
    """When the ports that an instruction needs are free."""
    until = 0.0
    for bank in range(BANKS):
        if inst.reads[bank]:
            until = max(until, sub.port_free[bank])
    return float(until)


@stage
def read(sub: Record, inst: Record, now: int) -> None:
    """Reads the operands of an instruction that issues."""
    for bank in range(BANKS):
        if inst.reads[bank]:
            sub.port_free[bank] = max(sub.port_free[bank], float(now)) + inst.reads[bank]
        if sub.switched and inst.again[bank]:
            sub.port_free[bank] = max(sub.port_free[bank], float(now)) + inst.again[bank]
