"""Which barrier a machine instruction is, and which ends of threads leave out barriers.

One `__syncthreads()` may be several BAR instructions: there is a copy for divided warps, where a
BRA.DIV leads to and behind a BRA.CONV, and the assembler unrolls loops. Two statements may share a
line: both branches of an `if`, a library's function or one of the program's own. So instructions
are told apart where the PTX has at least as many barriers on the line as the machine code, and
lines elsewhere. A barrier in a function that was not inlined is another one for every statement
that calls it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePath

from warplens.sanitize.ptx import barrier_lines, call_lines
from warplens.sass.model import Instruction, Label, SassKernel

_RETURN = re.compile(r"\breturn\s*;|\bexit\b|\bgoto\b|__trap|\bassert\b")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def _copies(kernel: SassKernel) -> dict[int, int]:
    """Barriers of divided warps and the barrier that each stands for, by index."""
    index = {inst.address: i for i, inst in enumerate(kernel.instructions)}
    found: dict[int, int] = {}
    for i, inst in enumerate(kernel.instructions):
        if inst.opcode != "BRA" or not {"DIV", "CONV"} & set(inst.modifiers):
            continue
        target = next((o.address for o in inst.operands if isinstance(o, Label)), None)
        place = index.get(target) if target is not None else None
        if place is None:
            continue
        together, divided = (i + 1, place) if "DIV" in inst.modifiers else (place, i + 1)
        own = _next_barrier(kernel, together, 3)
        copy = _next_barrier(kernel, divided, len(kernel.instructions))
        if own is not None and copy is not None:
            found[copy] = own
    return found


def _next_barrier(kernel: SassKernel, start: int, most: int) -> int | None:
    """The first barrier from an instruction on, before the code goes elsewhere."""
    for k in range(start, min(start + most, len(kernel.instructions))):
        opcode = kernel.instructions[k].opcode
        if opcode == "BAR":
            return k
        if opcode in ("ENDCOLLECTIVE", "EXIT", "RET"):
            return None
    return None


def statements(kernel: SassKernel, ptx: str) -> dict[int, int]:
    """For every barrier instruction a number that those of one statement share."""
    copies = _copies(kernel)
    bars = [i for i, inst in enumerate(kernel.instructions) if inst.opcode == "BAR"]
    written = barrier_lines(ptx, kernel.name)
    # A library's barrier may stand at the line that called it; its copy has kept its own.
    lines = {i: _line(kernel.instructions[i]) for i in bars}
    lines |= {own: lines[i] for i, own in copies.items() if written[lines[i]]}
    compiled = Counter(lines[i] for i in bars if i not in copies)
    first: dict[tuple[str, int], int] = {}
    found: dict[int, int] = {}
    for i in bars:
        own = copies.get(i, i)
        line = lines[own]
        first.setdefault(line, own)
        is_exact = compiled[line] <= written[line]
        found[i] = own if is_exact or not line[1] else first[line]
    return found


def shared_functions(kernel: SassKernel) -> dict[int, int]:
    """For barriers in functions, and for calls of these, the number of the function."""
    starts = sorted(kernel.functions)
    bars = {
        i: bisect_right(starts, inst.address)
        for i, inst in enumerate(kernel.instructions) if inst.opcode == "BAR"
    }  # fmt: skip
    found = {i: number for i, number in bars.items() if number}
    for i, inst in enumerate(kernel.instructions if found else ()):
        target = next((o.address for o in inst.operands if isinstance(o, Label)), None)
        if inst.opcode == "CALL" and target in starts:
            number = starts.index(target) + 1
            if number in bars.values():
                found[i] = number
    return found


def calls(kernel: SassKernel, ptx: str, indices: Iterable[int]) -> dict[int, int]:
    """For every call a number that those of one statement share."""
    found: dict[int, int] = {}
    written = call_lines(ptx, kernel.name)
    lines = {i: _line(kernel.instructions[i]) for i in indices}
    compiled = Counter(lines.values())
    first: dict[tuple[str, int], int] = {}
    for i, line in lines.items():
        first.setdefault(line, i)
        found[i] = i if compiled[line] <= written[line] or not line[1] else first[line]
    return found


def _line(inst: Instruction) -> tuple[str, int]:
    return (PurePath(inst.file).name if inst.file else "", inst.line or 0)


def skipping_exits(kernel: SassKernel, name: str, source: str) -> frozenset[int]:
    """The EXITs of threads that end because the code is over, not because they return early.

    A thread that returns early need not reach the barriers behind; one that went past a barrier in
    a branch that it did not take, or left a loop with barriers, should have. Without the source
    nobody can tell; a kernel without `return;` has only ends of the second kind.
    """
    exits = [i for i, inst in enumerate(kernel.instructions) if inst.opcode == "EXIT"]
    mine = PurePath(name).name
    lines = [inst.line for inst in kernel.instructions if inst.line and _line(inst)[0] == mine]
    if not source or not lines:
        return frozenset()
    text = _COMMENT.sub(lambda m: "\n" * m.group(0).count("\n"), source).splitlines()
    returns = {
        number for number in range(max(1, min(lines) - 1), min(len(text), max(lines)) + 1)
        if _RETURN.search(text[number - 1])
    }  # fmt: skip
    early = {i for i in exits if _returns(kernel.instructions[i], returns)}
    accounted = len(returns) <= len({kernel.instructions[i].line for i in early})
    return frozenset(
        i for i in exits
        if i not in early and (accounted or kernel.instructions[i].guard is not None)
    )  # fmt: skip


def _returns(inst: Instruction, returns: set[int]) -> bool:
    """Whether an EXIT stands for a `return;` at its line or close behind."""
    return inst.line is None or any(line in returns for line in range(inst.line, inst.line + 3))
