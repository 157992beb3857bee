"""Explains errors of the engine: the fault that ended a pass becomes a finding."""

from __future__ import annotations

import re
from collections.abc import Sequence

from warplens.errors import (
    Deadlock,
    EndlessWait,
    ExecutionFault,
    KernelTrap,
    LimitExceeded,
    MemoryFault,
)
from warplens.sanitize import state as st
from warplens.sanitize.finding import Access, Finding
from warplens.sanitize.ptx import Sites, callers_of
from warplens.sass.model import Instruction, SassKernel

_WHERE = re.compile(r"\+0x([0-9a-f]+)")
_LOOP = re.compile(r"in a loop at \+0x([0-9a-f]+)")
_LINE = re.compile(r"\((.*):(\d+)\)\s*$")
_WAITS = {"at barrier": "BAR", "warp synchronisation": "WARPSYNC", "at BSYNC": "BSYNC"}


def _endless(error: EndlessWait, kernel: SassKernel, sites: Sites) -> Finding:
    """The finding for threads that wait in loops."""
    by_address = {inst.address: inst for inst in kernel.instructions}
    accesses = tuple(
        Access(
            what="wait", kernel=kernel.demangled or kernel.name, offset=inst.address,
            sass=inst.text.strip(), file=inst.file, line=inst.line,
            callers=callers_of(inst, sites),
        )
        for text in dict.fromkeys(_LOOP.findall(error.message))
        for inst in (by_address[int(text, 16)],)
    )  # fmt: skip
    barriers = tuple(
        access for access in _accesses_of(error, kernel, sites)
        if access.offset not in {wait.offset for wait in accesses}
    )
    waits = tuple(f"waiting at {access.where}" for access in accesses)
    return Finding(
        tool="synccheck",
        check="endless-wait",
        severity="error",
        title="Threads wait in a loop that no other thread can end.",
        details=(*(line.strip() for line in error.message.splitlines()), *waits),
        accesses=(*accesses, *barriers),
        advice="Registers and memory repeat: what the loops wait for is never written. Every "
               "thread that is waited for must arrive, write the flag or release the lock.",
    )  # fmt: skip


def from_error(
    error: ExecutionFault, kernel: SassKernel, mode: int, tools: Sequence[str],
    sites: Sites,
) -> Finding | None:  # fmt: skip
    """The finding for an error that ended a pass; `sites`: where library code was called."""
    accesses = _accesses_of(error, kernel, sites)
    lines = tuple(error.message.splitlines())
    if isinstance(error, EndlessWait):
        return _endless(error, kernel, sites)
    if isinstance(error, LimitExceeded):
        return Finding(
            tool="synccheck", check="endless-wait", severity="error",
            title="The launch does not end.", details=lines, accesses=accesses,
            advice="A loop may wait for ever; give --max-seconds if the launch needs longer.",
        )  # fmt: skip
    if isinstance(error, Deadlock):
        if mode == st.MODE_LANE and "synccheck" not in tools:
            return None  # masks are taken more strictly there than the hardware does
        inside = mode == st.MODE_LANE and "warp synchronisation of mask" in error.message
        return Finding(
            tool="synccheck",
            check="mask-names-absent-lane" if inside else "barrier-deadlock",
            severity="error",
            title="Invalid mask of a warp intrinsic." if inside
            else "Barrier error detected. Deadlock: other threads never arrive.",
            details=tuple(line.strip() for line in lines),
            accesses=accesses,
            advice="The mask names lanes that never reach the intrinsic." if inside
            else "All threads of the block that have not exited must reach the barrier.",
        )  # fmt: skip
    if mode == st.MODE_LANE or "memcheck" not in tools:
        return None
    check = "invalid-access"
    if isinstance(error, KernelTrap):
        check = "kernel-trap"
    elif "free" in lines[0] and isinstance(error, MemoryFault):
        check = "double-free" if "was already freed" in error.message else "invalid-free"
    elif isinstance(error, MemoryFault) and "outside of its array" in lines[0]:
        check = "out-of-bounds"  # of a surface
    return Finding(
        tool="memcheck", check=check, severity="error", title=lines[0], details=lines[1:],
        accesses=accesses, advice=error.hint or "",
    )  # fmt: skip


def _accesses_of(
    error: ExecutionFault, kernel: SassKernel, sites: Sites
) -> tuple[Access, ...]:
    """The instructions that an error message names, by offset or by source line."""
    name = kernel.demangled or kernel.name
    what = "synchronisation" if isinstance(error, Deadlock) else "instruction"
    found: list[Instruction] = []
    by_address = {inst.address: inst for inst in kernel.instructions}
    for text in dict.fromkeys(_WHERE.findall(error.message)):
        inst = by_address.get(int(text, 16))
        if inst is not None:
            found.append(inst)
    for row in error.message.splitlines() if isinstance(error, Deadlock) else ():
        place = _LINE.search(row)
        opcode = next((code for words, code in _WAITS.items() if words in row), "")
        for inst in kernel.instructions if place else ():
            assert place is not None
            is_there = (inst.file, inst.line) == (place.group(1), int(place.group(2)))
            if inst.opcode == opcode and is_there and inst not in found:
                found.append(inst)
                break
    found.sort(key=lambda inst: inst.opcode == "BSYNC")  # who waits for the others comes last
    return tuple(
        Access(what=what, kernel=name, offset=inst.address, sass=inst.text.strip(),
               file=inst.file, line=inst.line,
               callers=callers_of(inst, sites))
        for inst in found
    )  # fmt: skip
