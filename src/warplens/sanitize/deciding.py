"""Finds loads on whose values a branch, a guard or an address depends: they tell a thread to go on.

Values are followed through registers and predicates, along all paths, not through memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from warplens.sass.model import Instruction, SassKernel

_NAMES = re.compile(r"\bU?(?:R\d+|P\d)\b")
_ADDRESS = re.compile(r"\[[^\]]*\]")
_DESCRIPTOR = re.compile(r"desc\[[^\]]*\]")
_READS = ("LD", "ATOM")
_LEAVES = frozenset({"BRA", "BRX", "JMX", "EXIT", "BREAK", "BSYNC", "RET", "CALL", "WARPSYNC"})
_NO_RESULT = ("ST", "RED", "BAR", "MEMBAR", *_LEAVES)
_LARGEST = 4000  # instructions: in larger kernels every load counts as one that decides


@dataclass(frozen=True, slots=True)
class _Use:
    """What an instruction does with registers: names that it writes and reads."""

    written: frozenset[str]
    read: frozenset[str]
    deciding: frozenset[str]
    is_guarded: bool


def deciding_loads(kernel: SassKernel) -> frozenset[int]:
    """Loads and atomics on whose values a branch, a guard or an address depends later on."""
    loads = [
        i for i, inst in enumerate(kernel.instructions)
        if inst.opcode.startswith(_READS) and inst.opcode not in ("LDC", "LDGDEPBAR")
    ]  # fmt: skip
    if len(kernel.instructions) > _LARGEST:
        return frozenset(loads)
    uses = [_use(inst) for inst in kernel.instructions]
    return frozenset(i for i in loads if _leads_on(kernel, uses, i))


def _leads_on(kernel: SassKernel, uses: list[_Use], load: int) -> bool:
    """Whether what a load brings decides something on some path behind it."""
    here = next((b for b in kernel.blocks if b.start <= load < b.end), None)
    if here is None:
        return True
    seen: dict[int, frozenset[str]] = {}
    work = [(here.index, load + 1, uses[load].written)]
    while work:
        index, start, tainted = work.pop()
        block = kernel.blocks[index]
        for use in uses[start : block.end]:
            if tainted & use.deciding:
                return True
            if tainted & use.read:
                tainted |= use.written
            elif not use.is_guarded:
                tainted -= use.written
        for successor in block.successors if tainted else ():
            known = seen.get(successor, frozenset())
            if not tainted <= known:
                seen[successor] = known | tainted
                work.append((successor, kernel.blocks[successor].start, seen[successor]))
    return False


def _use(inst: Instruction) -> _Use:
    guard, _, rest = inst.text.strip().removesuffix(";").partition(inst.mnemonic)
    parts = [part.strip() for part in _DESCRIPTOR.sub("", rest).split(",")]
    written: set[str] = set()
    if not inst.opcode.startswith(_NO_RESULT):
        _pop_predicates(parts, written)
        is_test = "SETP" in inst.opcode or "PLOP" in inst.opcode
        if parts and not is_test and re.match(r"U?R", parts[0]):
            written |= _registers(inst, parts.pop(0))
            _pop_predicates(parts, written)  # carries
    names = set(_NAMES.findall(",".join(parts)))
    deciding = {name for part in _ADDRESS.findall(",".join(parts)) for name in _NAMES.findall(part)}
    deciding |= set(_NAMES.findall(guard))
    if inst.opcode in _LEAVES:
        deciding |= names
    return _Use(frozenset(written), frozenset(names), frozenset(deciding), bool(guard.strip()))


def _pop_predicates(parts: list[str], written: set[str]) -> None:
    """Takes the predicates that an instruction writes from the front of its operands."""
    while len(parts) > 1 and re.fullmatch(r"U?P[T\d]", parts[0]):
        written |= set(_NAMES.findall(parts.pop(0)))


def _registers(inst: Instruction, text: str) -> set[str]:
    """The registers of a result."""
    name = _NAMES.search(text)
    if name is None:
        return set()
    wide = 4 if "128" in inst.modifiers else 2 if {"64", "WIDE"} & set(inst.modifiers) else 1
    found = name.group(0)
    stem, number = found.rstrip("0123456789"), int(found.lstrip("UR"))
    return {f"{stem}{number + k}" for k in range(wide)}
