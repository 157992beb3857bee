"""Finds stores that put back what the thread has read from the same place: `x += 1` and the like.

Two threads that do so at once lose an update, and no barrier repairs that: it takes an atomic.
"""

from __future__ import annotations

import re

from warplens.sass.model import Instruction, SassKernel

_STORES = frozenset({"ST", "STG", "STS", "STL"})
_LOADS = frozenset({"LD", "LDG", "LDS", "LDL"})
_REGISTER = re.compile(r"\bU?R\d+\b")
_ADDRESS = re.compile(r"(?:desc\[[^\]]*\])?\[[^\]]*\]")
_REACH = 96  # instructions to look back
_ATOMICS = (
    ("LOP3", "atomicAnd(), atomicOr() or atomicXor()"),
    ("MNMX", "atomicMin() or atomicMax()"),
)


def _operands(inst: Instruction) -> list[str]:
    """The operands' texts, without guard and mnemonic."""
    _, _, rest = inst.text.strip().removesuffix(";").partition(inst.mnemonic)
    return [part.strip() for part in rest.split(",")]


def _address(inst: Instruction) -> str:
    found = _ADDRESS.search(inst.text)
    return found.group(0).replace(".reuse", "") if found else ""


def read_for(kernel: SassKernel, store: int) -> tuple[int, str] | None:
    """The load whose value a store puts back changed, and the atomic that does both at once."""
    inst = kernel.instructions[store]
    where = _address(inst)
    if inst.opcode not in _STORES or not where:
        return None
    fixed = set(_REGISTER.findall(where))
    needed = set(_REGISTER.findall(_operands(inst)[-1])) - {"RZ", "URZ"}
    atomic = "atomicAdd()"
    for index in range(store - 1, max(-1, store - _REACH), -1):
        earlier = kernel.instructions[index]
        if earlier.opcode in _STORES:
            continue
        operands = _operands(earlier)
        written = set(_REGISTER.findall(operands[0])) if operands and "[" not in operands[0] else (
            set()
        )
        if earlier.opcode in _LOADS and written & needed and _address(earlier) == where:
            return index, atomic
        if written & fixed:
            return None
        if written & needed:
            needed -= written if earlier.guard is None else set()
            needed |= set(_REGISTER.findall(",".join(operands[1:])))
            atomic = next((name for part, name in _ATOMICS if part in earlier.opcode), atomic)
    return None


def lost_update(kernel: SassKernel, first: int, second: int) -> str:
    """The atomic that is missing, where a race of two instructions loses an update."""
    for store, other in ((first, second), (second, first)):
        found = read_for(kernel, store)
        if found is None:
            continue
        load, atomic = found
        is_atomic = kernel.instructions[other].opcode.startswith(("ATOM", "RED"))
        if other in (load, store) or is_atomic or _puts_back(kernel, other):
            return atomic
    return ""


def _puts_back(kernel: SassKernel, access: int) -> bool:
    """Whether a store, or the store behind a load, puts back what was read."""
    if read_for(kernel, access) is not None:
        return True
    if kernel.instructions[access].opcode not in _LOADS:
        return False
    behind = range(access + 1, min(access + _REACH, len(kernel.instructions)))
    return any((read_for(kernel, k) or (-1,))[0] == access for k in behind)
