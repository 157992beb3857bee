"""Accesses that are wider in machine code than in the source, or whose width decides a race.

The compiler loads words that nobody uses to make one load of several, and does atomics of 16 bits
by exchanging the word around them.
"""

from __future__ import annotations

from pathlib import PurePath

from warplens.lift.decode.binding import bits
from warplens.lift.decode.blocks import lay_out
from warplens.lift.decode.gaps import bind_kernel
from warplens.sanitize import state as st
from warplens.sass.model import Instruction, Mem, Reg, SassKernel

Line = tuple[str, int]
_WIDE_LOADS = {"64": 2, "128": 4}


def place_of(inst: Instruction) -> Line:
    """The file's name and the line of an instruction."""
    return PurePath(inst.file).name if inst.file else "", inst.line or 0


def width_flags(kernel: SassKernel, narrow: frozenset[Line]) -> dict[int, int]:
    """Flags by instruction; `narrow` are lines with atomics of 16 bits."""
    found: dict[int, int] = {}
    for index, words in _unread_words(kernel).items():
        found[index] = words << st.F_UNREAD
    for index, inst in enumerate(kernel.instructions):
        flags = 0
        is_wide = any(modifier in ("64", "F64", "U64", "S64") for modifier in inst.modifiers)
        if inst.opcode.startswith(("ATOM", "RED", "SURED")) and is_wide:
            flags |= st.F_WIDE_ATOMIC
        if is_of_grid_barrier(inst):
            flags |= st.F_GRID
        if flags:
            found[index] = found.get(index, 0) | flags
    if narrow:
        for index, flag in _narrow(kernel, narrow).items():
            found[index] = found.get(index, 0) | flag
    return found


def is_of_grid_barrier(inst: Instruction) -> bool:
    """Whether an access is of `grid.sync()`: its arrival, or its look at who has arrived."""
    if "GPU" not in inst.modifiers or not (inst.file or "").endswith("details/sync.h"):
        return False
    is_arrival = inst.opcode.startswith("ATOM") and "ADD" in inst.modifiers
    return is_arrival or inst.opcode in ("LD", "LDG")


def _unread_words(kernel: SassKernel) -> dict[int, int]:
    """How many words at the end of a wide load nobody reads: they are no part of the program."""
    wide = {
        i: next(_WIDE_LOADS[m] for m in inst.modifiers if m in _WIDE_LOADS)
        for i, inst in enumerate(kernel.instructions)
        if inst.opcode in ("LD", "LDG", "LDS") and set(inst.modifiers) & _WIDE_LOADS.keys()
    }
    if not wide:
        return {}
    bound, _ = bind_kernel(kernel)
    layout = lay_out(kernel, list(bound))
    found: dict[int, int] = {}
    for block in layout.blocks:
        live = -1 if block.indirect and not block.successors else 0
        for successor in block.successors:
            live |= layout.blocks[successor].live_in
        for index in range(block.end - 1, block.start - 1, -1):
            item = bound[index]
            if item is None:
                live = -1
                continue
            if index in wide:
                found[index] = _unread_at_end(item.inst, wide[index], live)
            written = bits(item.writes)
            live = (live & ~written if item.inst.is_unguarded else live) | bits(item.reads)
    return {index: words for index, words in found.items() if words}


def _unread_at_end(inst: Instruction, words: int, live: int) -> int:
    first = next((o for o in inst.operands if isinstance(o, Reg)), None)
    if first is None:
        return 0
    count = 0
    while count < words and not live >> (first.index + words - 1 - count) & 1:
        count += 1
    return 0 if count == words else count


def _narrow(kernel: SassKernel, lines: frozenset[Line]) -> dict[int, int]:
    """The exchanges that stand for atomics of 16 bits, and the loads that belong to them."""
    found: dict[int, int] = {}
    for index, inst in enumerate(kernel.instructions):
        if place_of(inst) not in lines or not inst.opcode.startswith("ATOM"):
            continue
        if not {"CAS", "CAST"} & set(inst.modifiers) or "64" in inst.modifiers:
            continue
        found[index] = st.F_NARROW
        base = _base(inst)
        for before in range(index - 1, max(-1, index - 64), -1):
            load = kernel.instructions[before]
            if load.opcode in ("LD", "LDG", "LDS") and place_of(load) == place_of(inst) and (
                base is not None and _base(load) == base
            ):
                found[before] = st.F_OF_NARROW
                break
    return found


def _base(inst: Instruction) -> tuple[int, int] | None:
    """The register and the offset that an access's address is made of."""
    memory = next((o for o in inst.operands if isinstance(o, Mem)), None)
    if memory is None or memory.base is None:
        return None
    return memory.base.index, memory.offset
