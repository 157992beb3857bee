"""A small kernel with hand-made counts, for tests that need no engine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warplens.execute.execution import COLUMNS, Execution
from warplens.gpus.find import find_gpu
from warplens.gpus.spec import GpuSpec
from warplens.sass.model import Control, Instruction, SassKernel
from warplens.session.launch import Launch

_CONTROL = Control(1, False, 7, 7, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One instruction with its counts; columns not named are 0."""

    opcode: str
    modifiers: tuple[str, ...] = ()
    line: int | None = None
    counts: tuple[tuple[str, int], ...] = ()


def line(text: str, source_line: int | None = None, **counts: int) -> Line:
    """`line("LDG.E.64", 4, global_sectors=8)`."""
    opcode, *modifiers = text.split(".")
    return Line(
        opcode=opcode,
        modifiers=tuple(modifiers),
        line=source_line,
        counts=tuple(counts.items()),
    )


def launch(
    *lines: Line,
    gpu: str | GpuSpec = "H200",
    grid: tuple[int, int, int] = (32, 1, 1),
    block: tuple[int, int, int] = (128, 1, 1),
    registers: int = 32,
    static_shared: int = 0,
    dynamic_shared: int = 0,
) -> Launch:
    """A launch of these instructions; warps follow from grid and block."""
    spec = find_gpu(gpu)
    instructions = tuple(
        Instruction(
            address=16 * index,
            opcode=one.opcode,
            modifiers=one.modifiers,
            guard=None,
            operands=(),
            control=_CONTROL,
            encoding=0,
            text=".".join((one.opcode, *one.modifiers)),
            file="kernel.cu" if one.line else None,
            line=one.line,
        )
        for index, one in enumerate(lines)
    )
    columns = {name: np.zeros(len(lines), np.int64) for name in COLUMNS}
    for index, one in enumerate(lines):
        for name, count in one.counts:
            columns[name][index] = count
    blocks = grid[0] * grid[1] * grid[2]
    threads = block[0] * block[1] * block[2]
    kernel = SassKernel(
        name="_Z1kPi",
        demangled="k(int*)",
        sm=spec.sm,
        instructions=instructions,
        blocks=(),
        registers=registers,
        static_shared=static_shared,
        shared_section=static_shared,
        local_bytes=0,
        n_barriers=0,
        parameter_base=0x210,
        parameter_bytes=8,
        parameters=(),
        max_threads=None,
        required_threads=None,
        cluster=None,
        uses_recursion=False,
    )
    execution = Execution(
        kernel=kernel,
        grid=grid,
        block=block,
        dynamic_shared=dynamic_shared,
        columns=columns,
        blocks=blocks,
        warps=blocks * -(-threads // 32),
    )
    return Launch(execution, spec, function_name="k")
