"""Memory that an instruction reads or writes: a cell of sixteen bytes for every thread.

A cell of global memory is a row of the results themselves; cells of shared and local memory are
copied there behind the instruction. Cells hold words of the pool of inputs before. An address that
has a uniform register gets its constant part there, and what differs between lanes in the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import assembler as a
import words as w

SHARED_BASE = 0x1000  # of the cells, within the carrier's static shared memory
LOCAL_BELOW = 0x80  # local cells stand so far below the end of the stack
SPACES = ("global", "shared", "local", "constant")
_TEMPORARY, _ADDRESS = 8, 12
ONE, THREAD_BYTES, WARP_BYTES, LOCAL, ROWS, WARP_ROWS, FIRST_LANE = 16, 17, 18, 19, 20, 22, 24
ROW = 4096


@dataclass(frozen=True)
class Cell:
    """One memory operand.

    Attributes:
        space: global, shared, local or constant.
        register: the place of the address register, or -1.
        uniform: the place of the uniform register that is added, or -1.
        scale: what the register is multiplied by.
        offset: what the instruction adds.
    """

    space: int
    register: int
    uniform: int
    scale: int
    offset: int


class Writer(Protocol):
    """What is needed of the writer of a kernel."""

    code: list[int]
    row: int


def prologue() -> list[int]:
    """Sets the registers that addresses are made from; R0 is the thread's index.

    FIRST_LANE gets bit 6 in the first lane of a warp: the place of P6.
    """
    return [
        a.move(ONE, 1), a.multiply_add(THREAD_BYTES, 0, 16, w.RZ),
        a.logic(WARP_BYTES, THREAD_BYTES, 0xFFFFFE00, 0xC0),
        a.parameter(_ADDRESS, 0x28), a.add_value(LOCAL, _ADDRESS, -LOCAL_BELOW & 0xFFFFFFFF),
        a.parameter(ROWS, a.PARAMETERS + 8), a.wide(WARP_ROWS, WARP_BYTES, 1, ROWS),
        a.special(_ADDRESS, 0), a.add_value(_ADDRESS, _ADDRESS, 0xFFFFFFFF),
        a.logic(FIRST_LANE, _ADDRESS, 0x40, 0xC0),
    ]  # fmt: skip


def filled(writer: Writer, cell: Cell, register: int, out: int) -> list[int]:
    """Stores four registers into the cell of each thread."""
    if cell.space == 0:
        return [a.store(out, writer.row * ROW, register)]
    if cell.space == 1:
        return [a.store_shared(THREAD_BYTES, register, SHARED_BASE)]
    return [a.store_local(LOCAL, register)] if cell.space == 2 else []


def addressed(writer: Writer, cell: Cell, out: int, registers: dict[int, int],
              uniforms: dict[int, int]) -> list[int]:  # fmt: skip
    """Sets the address registers, so that the operand is the thread's cell.

    With a uniform register alone it is the cell of the warp's first lane.
    """
    if cell.space == 3:
        if cell.register < 0:
            return []
        register = registers[cell.register]
        start = a.CONSTANTS - cell.offset & 0xFFFFFFFF
        return [a.logic(register, THREAD_BYTES, 0x78, 0xC0), a.add_value(register, register, start)]
    if cell.uniform < 0:
        return _by_register(writer, cell, out, registers[cell.register])
    code = []
    if cell.space == 2:
        register, inside = LOCAL, -cell.offset
        if cell.register >= 0:
            code += [a.move(registers[cell.register], 16), a.move(registers[cell.register] + 1, 0)]
            inside -= 16
        code += [a.add_value(_ADDRESS, LOCAL, inside & 0xFFFFFFFF)]
    elif cell.register < 0:
        code += _warp_base(writer, cell)
    else:
        register = registers[cell.register]
        code += [a.multiply_add(register, 0, 16 // cell.scale, w.RZ), a.move(register + 1, 0)]
        if cell.space == 0:
            code += [a.wide(_ADDRESS, ONE, writer.row * ROW - cell.offset, ROWS)]
        else:
            code += [a.move(_ADDRESS, SHARED_BASE - cell.offset)]
    uniform = uniforms[cell.uniform]
    return [*code, a.to_uniform(uniform, _ADDRESS), a.to_uniform(uniform + 1, _ADDRESS + 1)]


def _by_register(writer: Writer, cell: Cell, out: int, register: int) -> list[int]:
    if cell.space == 0:
        return [a.wide(register, ONE, writer.row * ROW - cell.offset, out)]
    if cell.space == 2:
        return [a.add_value(register, LOCAL, -cell.offset & 0xFFFFFFFF)]
    start = (SHARED_BASE - cell.offset) // cell.scale
    return [a.multiply_add(register, 0, 16 // cell.scale, w.RZ),
            a.add_value(register, register, start & 0xFFFFFFFF)]  # fmt: skip


def _warp_base(writer: Writer, cell: Cell) -> list[int]:
    if cell.space == 0:
        return [a.wide(_ADDRESS, ONE, writer.row * ROW - cell.offset, WARP_ROWS)]
    return [a.add_value(_ADDRESS, WARP_BYTES, SHARED_BASE - cell.offset & 0xFFFFFFFF),
            a.move(_ADDRESS + 1, 0)]  # fmt: skip


def fetched(writer: Writer, cell: Cell, out: int) -> list[int]:
    """Copies the cell to the row of results that stands for it."""
    if cell.space == 1:
        load = a.load_shared(_TEMPORARY, THREAD_BYTES, SHARED_BASE)
    elif cell.space == 2:
        load = a.load_local(_TEMPORARY, LOCAL)
    else:
        return []
    return [load, a.store(out, writer.row * ROW, _TEMPORARY)]
