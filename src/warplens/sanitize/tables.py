"""What the native checks must know of every instruction, and names for shared addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from warplens.sanitize import state as st
from warplens.sass.model import Instruction, SassKernel
from warplens.toolchain.demangle import demangle

_ACCESSES = frozenset({"LDG", "STG", "LD", "ST", "ATOM", "ATOMG", "ATOMS", "RED", "REDG", "REDS"})
_NEAR = frozenset({"CTA", "SM"})
_SHUFFLES = {"IDX": 0, "UP": 1, "DOWN": 2, "BFLY": 3}
_COLLECTIVE = frozenset({"SHFL", "VOTE", "VOTEU", "MATCH", "REDUX", "CREDUX", "ELECT"})
_LEAVES = frozenset({"RET", "BRA", "EXIT", "ENDCOLLECTIVE", "CALL", "BSYNC", "WARPSYNC"})
_LOOK_AHEAD = 24

_ENTRY = re.compile(r"^\.?(?:visible |weak )*\.(?:entry|func)\s*(?:\([^)]*\)\s*)?([\w$]+)", re.M)
_SHARED = re.compile(r"^\s*(?:\.extern |\.visible |\.weak |\.static )*"
                     r"\.shared\s+(?:\.attribute\([^)]*\)\s*)?\.align (\d+) \.(\w+) "
                     r"([\w$]+)((?:\[\d*\])*)", re.M)  # fmt: skip
_INTRINSIC = re.compile(r"\b(?:shfl|vote|match|redux|elect|bar\.warp|activemask)\b")
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)")
_STRONG_SHARED = re.compile(r"\b(?:ld|st)\.(?:volatile|relaxed|acquire|release)[\w.]*\.shared")


def flags_of(inst: Instruction) -> int:
    """What an instruction means to the checks."""
    modifiers = set(inst.modifiers)
    if inst.opcode in _ACCESSES:
        return _access_flags(inst.opcode, modifiers)
    if inst.opcode == "MEMBAR":
        return st.F_FENCE | (0 if modifiers & _NEAR else st.F_WIDE_FENCE)
    if inst.opcode == "CCTL":
        return st.F_ACQUIRE if "IVALL" in modifiers else 0
    if inst.opcode == "BAR":
        return st.F_BARRIER | (st.F_ARRIVE if "ARV" in modifiers else 0)
    if inst.opcode == "SHFL":
        mode = next((_SHUFFLES[m] for m in inst.modifiers if m in _SHUFFLES), 0)
        return st.F_SHUFFLE | mode << st.F_SHUFFLE_MODE
    plain = {"EXIT": st.F_EXIT, "KILL": st.F_EXIT, "CALL": st.F_CALL, "WARPSYNC": st.F_WARPSYNC}
    return plain.get(inst.opcode, 0)


def _access_flags(opcode: str, modifiers: set[str]) -> int:
    flags = st.F_STRONG if "STRONG" in modifiers or "MMIO" in modifiers else 0
    if opcode.startswith(("ATOM", "RED")):
        flags |= st.F_STRONG | st.F_ATOMIC
    if flags and modifiers & _NEAR:
        flags |= st.F_BLOCK_SCOPE
    return flags


def orders_memory(instructions: tuple[Instruction, ...], index: int) -> bool:
    """Whether a WARPSYNC stands for `__syncwarp()`: shuffles and votes order no memory."""
    for inst in instructions[index + 1 : index + 1 + _LOOK_AHEAD]:
        if inst.opcode in _COLLECTIVE:
            return False
        if inst.opcode in _LEAVES or inst.opcode == "BAR":
            return True
    return True


def instruction_table(kernel: SassKernel, strong_lines: frozenset[int]) -> npt.NDArray[np.int64]:
    """The native table; `strong_lines` hold volatile accesses to shared memory."""
    table = np.zeros((len(kernel.instructions), st.INSTRUCTION_SLOTS), np.int64)
    lines: dict[tuple[str | None, int | None], int] = {}
    # Where shared memory lacks an atomic, the compiler loads and tries to exchange in a loop.
    emulated = {
        i.line for i in kernel.instructions if i.opcode == "ATOMS" and "CAST" in i.modifiers
    }
    for i, inst in enumerate(kernel.instructions):
        flags = flags_of(inst)
        if inst.opcode == "WARPSYNC" and orders_memory(kernel.instructions, i):
            flags |= st.F_ORDERS_MEMORY
        if inst.opcode in ("LDS", "STS") and (
            inst.line in strong_lines or (inst.opcode == "LDS" and inst.line in emulated)
        ):
            flags |= st.F_STRONG
        place = (inst.file, inst.line) if inst.line else (None, -i)
        table[i, st.I_FLAGS] = flags
        table[i, st.I_LINE] = lines.setdefault(place, len(lines))
        if inst.opcode == "WARPSYNC" and _goes_with_barrier(kernel.instructions, i):
            table[i, st.I_FLAGS] |= st.F_BEFORE_BARRIER
    _mark_bypasses(kernel, table)
    return table


def _goes_with_barrier(instructions: tuple[Instruction, ...], index: int) -> bool:
    """Whether a WARPSYNC only gathers the warp for the block barrier that follows."""
    for inst in instructions[index + 1 : index + 4]:
        if inst.opcode == "BAR":
            return True
        if inst.opcode in _LEAVES:
            return False
    return False


def _mark_bypasses(kernel: SassKernel, table: npt.NDArray[np.int64]) -> None:
    """Gives barriers bits, and accesses the bits of barriers that lie behind them for good.

    That is code that follows the barrier and from which the barrier cannot be reached again: a
    lane that gets there while its fellows wait has gone past the barrier.
    """
    reach = _reachable(kernel)
    block_of = {i: b.index for b in kernel.blocks for i in range(b.start, b.end)}
    bars = [
        i for i, inst in enumerate(kernel.instructions)
        if inst.opcode == "BAR" and "ARV" not in inst.modifiers and i in block_of
    ][:62]  # fmt: skip
    for bit, bar in enumerate(bars):
        table[bar, st.I_BARRIER] = 1 << bit
    for i, inst in enumerate(kernel.instructions):
        if i not in block_of or inst.opcode not in _ACCESSES | {"LDS", "STS"}:
            continue
        here = block_of[i]
        for bit, bar in enumerate(bars):
            there = block_of[bar]
            if here == there:
                behind = i > bar and here not in reach[here]
            else:
                behind = here in reach[there] and there not in reach[here]
            if behind:
                table[i, st.I_BARRIER] |= 1 << bit
                table[i, st.I_FLAGS] |= st.F_PASSED


def _reachable(kernel: SassKernel) -> list[set[int]]:
    """For every basic block, the blocks that can be reached from its end."""
    reach: list[set[int]] = []
    for block in kernel.blocks:
        seen: set[int] = set()
        stack = list(block.successors)
        while stack:
            index = stack.pop()
            if index not in seen:
                seen.add(index)
                stack.extend(kernel.blocks[index].successors)
        reach.append(seen)
    return reach


def passed_accesses(kernel: SassKernel) -> frozenset[int]:
    """Accesses that show a barrier to be bypassed, see above."""
    table = np.zeros((len(kernel.instructions), st.INSTRUCTION_SLOTS), np.int64)
    _mark_bypasses(kernel, table)
    passed = np.flatnonzero(table[:, st.I_FLAGS] & st.F_PASSED)
    return frozenset(int(index) for index in passed)


def has_warp_intrinsics(ptx: str, kernel: str) -> bool:
    """Whether a kernel, or a function that it may call, has instructions whose mask names lanes.

    Without PTX nobody knows.
    """
    starts = [*_ENTRY.finditer(ptx)]
    ends = [start.start() for start in starts[1:]] + [len(ptx)]
    for start, end in zip(starts, ends, strict=True):
        may_run = start.group(1) == kernel or ".func" in start.group(0)
        if may_run and _INTRINSIC.search(ptx, start.start(), end):
            return True
    return not starts


def reserved_shared(kernel: SassKernel) -> int:
    """Bytes of shared memory before the user's own, which belong to the system."""
    if kernel.sm < 90:
        return 0
    return kernel.shared_section - kernel.static_shared if kernel.shared_section else 0x400


@dataclass(frozen=True, slots=True)
class SharedArray:
    """A shared array: name, offset in the block's shared address space, bytes."""

    name: str
    offset: int
    size: int


def _kernel_text(ptx: str, kernel: str) -> tuple[str, str]:
    """What a PTX file declares for all kernels, and the part of one kernel."""
    starts = [(m.start(), m.group(1)) for m in _ENTRY.finditer(ptx)]
    head = ptx[: starts[0][0]] if starts else ""
    ends = [start for start, _ in starts[1:]] + [len(ptx)]
    for (start, name), end in zip(starts, ends, strict=False):
        if name == kernel:
            return head, ptx[start:end]
    return head, ""


def shared_arrays(ptx: str, kernel: SassKernel) -> tuple[SharedArray, ...]:
    """Shared arrays as the PTX declares them; none where their layout is not certain."""
    head, body = _kernel_text(ptx, kernel.name)
    reserved = kernel.shared_section - kernel.static_shared if kernel.sm >= 90 else 0
    place = 0
    arrays: list[SharedArray] = []
    dynamic: list[str] = []
    for alignment, kind, name, shape in _SHARED.findall(head + body):
        if not re.search(rf"[^.\]]\s\[?{re.escape(name)}[\];+,]", body):
            continue
        counts = [int(n) if n else 0 for n in re.findall(r"\[(\d*)\]", shape)]
        size = prod([int(kind[1:]) // 8, *counts])
        if counts and size == 0:
            dynamic.append(name)
            continue
        place = -(-place // int(alignment)) * int(alignment)
        arrays.append(SharedArray(variable_name(name), reserved + place, size))
        place += size
    if place > kernel.static_shared or kernel.static_shared - place >= 16:
        arrays = []
    first = reserved + kernel.static_shared
    return (*arrays, *(SharedArray(variable_name(n), first, 0) for n in dynamic[:1]))


def variable_name(mangled: str) -> str:
    """`s` for `_ZZ1kE1s`: a variable of a function by its own name."""
    text = demangle(mangled)
    return text.rsplit("::", 1)[-1] if text else mangled


def strong_shared_lines(ptx: str, kernel: str) -> frozenset[int]:
    """Source lines whose shared accesses are volatile or strong; SASS no longer says so."""
    found: set[int] = set()
    other: set[int] = set()
    line = 0
    for row in _kernel_text(ptx, kernel)[1].splitlines():
        location = _LOC.match(row)
        if location:
            line = int(location.group(2))
        elif _STRONG_SHARED.search(row):
            found.add(line)
        elif re.search(r"\b(?:ld|st)\.shared", row):
            other.add(line)
    return frozenset(found - other)


