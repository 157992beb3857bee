"""Finds loads on whose values a branch, a guard or an address depends: they tell a thread to go on.

Values are followed through registers and predicates, along all paths. What is stored elsewhere than
it was read from, or in shared memory, may decide something there; what is put back does not.
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
_DEPTH = 4  # how far back the making of an address is followed
_LARGEST = 4000  # instructions: in larger kernels every load counts as one that decides


@dataclass(frozen=True, slots=True)
class _Use:
    """What an instruction does with registers: names that it writes and reads."""

    written: frozenset[str]
    read: frozenset[str]
    text: str  # of the operands that it reads
    deciding: frozenset[str]
    guard: str
    place: str  # how the address of an access is made, "" of none
    is_store: bool


def deciding_loads(kernel: SassKernel) -> frozenset[int]:
    """Loads and atomics on whose values a branch, a guard or an address depends later on."""
    loads = [
        i for i, inst in enumerate(kernel.instructions)
        if inst.opcode.startswith(_READS) and inst.opcode not in ("LDC", "LDGDEPBAR")
    ]  # fmt: skip
    if len(kernel.instructions) > _LARGEST:
        return frozenset(loads)
    uses: list[_Use] = []
    for inst in kernel.instructions:
        uses.append(_use(inst, uses))
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
        left = _through(uses[start : block.end], tainted, uses[load].place)
        if left is None:
            return True
        for successor in block.successors if left else ():
            known = seen.get(successor, frozenset())
            if not left <= known:
                seen[successor] = known | left
                work.append((successor, kernel.blocks[successor].start, seen[successor]))
    return False


def _through(uses: list[_Use], tainted: frozenset[str], place: str) -> frozenset[str] | None:
    """The names that hold something of the value behind a stretch of code; None: it decides."""
    replaced: set[tuple[str, str]] = set()  # name and guard: by another value, where it holds
    for use in uses:
        here = frozenset(name for name in tainted if (name, use.guard) not in replaced)
        if here & use.deciding or (use.is_store and here & use.read and use.place != place):
            return None
        replaced = {(name, guard) for name, guard in replaced if not _NAMES.findall(guard)
                    or not use.written & set(_NAMES.findall(guard))}  # fmt: skip
        if here & use.read:
            tainted |= use.written
            replaced -= {one for one in replaced if one[0] in use.written}
        elif not use.guard:
            tainted -= use.written
        else:
            replaced |= {(name, use.guard) for name in use.written}
    return tainted


def _use(inst: Instruction, before: list[_Use]) -> _Use:
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
    place = _ADDRESS.search(",".join(parts))
    return _Use(
        written=frozenset(written), read=frozenset(names),
        text=f"{inst.mnemonic} {','.join(parts)}", deciding=frozenset(deciding),
        guard=guard.strip(), is_store=inst.opcode.startswith("ST"),
        place=_made(place.group(0), before, len(before), _DEPTH) if place else "",
    )  # fmt: skip


def _made(text: str, uses: list[_Use], end: int, depth: int) -> str:
    """A text whose registers are told by how they were made last, in the order of the code."""

    def how(match: re.Match[str]) -> str:
        name = match.group(0)
        place = next((i for i in range(end - 1, -1, -1) if name in uses[i].written), None)
        if place is None or depth == 0:
            return f"{name} of {place}"
        return f"({_made(uses[place].text, uses, place, depth - 1)})"

    return _NAMES.sub(how, text.replace(".reuse", ""))


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
