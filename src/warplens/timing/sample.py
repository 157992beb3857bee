"""Which blocks are traced: waves spread over the grid, one SM's whole, its neighbours' lightly.

Block i of a wave runs on SM i modulo the number of SMs. Of every sampled wave the blocks of so many
neighbouring SMs are run as the budget allows; those of the first SM are recorded whole and
replayed, the others say what the L2 cache sees meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from warplens.errors import Deadlock, LimitExceeded, WarplensError
from warplens.execute import grid as engine
from warplens.execute import trace as tracing
from warplens.execute.execution import Execution
from warplens.execute.memory import DeviceMemory
from warplens.execute.trace import BlockTrace, Recorder, collect

BUDGET = 4_000_000  # warp instructions run for a sample
WAVES = 4  # of an SM's resident blocks, more where blocks are short
MAX_WAVES = 48
_STEADY = 40_000  # warp instructions of one SM that give a steady rate
_FILLED = 0.85  # of a table's capacity
LONG = 4  # times the ordinary tables, where one block fills them
EXACT = 16  # times the ordinary budget and tables, for an exact replay
_MAX_TOGETHER = 20_000  # blocks that are run in full because they wait for each other
_WAITING = 200_000  # loop iterations after which a block alone seems to wait for others
_MAX_STEPS = 20_000_000  # loop iterations of a sample; blocks that wait for others never end


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Blocks to run, ascending; every `stride`-th block index is recorded whole."""

    blocks: tuple[int, ...]
    stride: int
    sms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A trace and how it was taken."""

    trace: BlockTrace
    sms: int  # SMs of a wave that were sampled
    execution: Execution


def plan(total: int, sm_count: int, resident: int, costs: tuple[float, ...],
         scale: int = 1) -> Plan:  # fmt: skip
    """Chooses blocks. `costs`: instructions, entries, accesses and lines of one block.

    `scale` multiplies what may be run and kept; above 1, all waves are taken as far as they fit.
    """
    filled, budget = _FILLED * scale, BUDGET * scale
    instructions, entries, accesses, lines = (max(1.0, cost) for cost in costs)
    sms = min(sm_count, total)
    whole = min(
        budget / instructions, filled * tracing.MAX_ENTRIES / entries,
        filled * tracing.MAX_ACCESSES / accesses, filled * tracing.MAX_LINES / lines,
    )  # fmt: skip
    per_sm = -(-total // sms)
    waves_in_grid = -(-per_sm // resident)
    wanted = min(MAX_WAVES, max(WAVES, int(_STEADY / (resident * instructions))))
    if scale > 1:
        wanted = waves_in_grid
    waves = int(max(1, min(wanted, waves_in_grid, whole // min(resident, per_sm))))
    mine = max(1, int(min(whole, waves * resident, per_sm)))
    light = filled * min(tracing.MAX_ACCESSES / accesses, tracing.MAX_LINES / lines)
    everywhere = min(budget / instructions, light)
    neighbours = int(max(1, min(sms, everywhere // mine)))
    chosen: list[int] = []
    picked = np.unique(np.linspace(0, waves_in_grid - 1, waves).round().astype(int))
    each = max(1, mine // len(picked))
    for wave in picked.tolist():
        # Waves of all SMs; the sampled part begins at a multiple of the stride.
        begin = -(-wave * sms * resident // neighbours) * neighbours
        size = min(each, resident) * neighbours
        chosen.extend(range(begin, min(total, begin + size)))
    return Plan(blocks=tuple(dict.fromkeys(chosen)), stride=neighbours, sms=neighbours)


def record(prepare: Callable[[], engine.Program], image: engine.ModuleImage,
           memory: DeviceMemory, config: engine.LaunchConfig, resident: int, *,
           scale: int = 1) -> Sample | None:  # fmt: skip
    """Runs sampled blocks under observation and puts memory back; None where that cannot be.

    Blocks that wait for others cannot be run alone: then the whole grid is, if it is small.
    """
    total = prod(config.grid)
    program = prepare()
    heap = {segment.base for segment in memory.segments if segment.on_device_heap}
    after = memory._next
    quiet = replace(config, restore=True, workers=1, progress=None, max_steps=_MAX_STEPS * scale)
    try:
        # Only a kernel whose blocks can see each other can wait for another block.
        probe = replace(quiet, max_steps=_WAITING) if program.lifted.ordered_reason else quiet
        first = _run(program, image, memory, probe, Plan(blocks=(0,), stride=1, sms=1))
        if first.trace.truncated and scale < LONG:
            return record(prepare, image, memory, config, resident, scale=LONG)
        if total == 1:
            return first
        chosen = plan(total, config.sm_count, resident, _costs(first.trace), scale)
        if chosen.blocks == (0,):
            return first
        return _run(program, image, memory, quiet, chosen, scale)
    except (Deadlock, LimitExceeded):
        return _all(program, image, memory, quiet, total) if total <= _MAX_TOGETHER else None
    except WarplensError:
        return None  # the ordinary run will say what is wrong
    finally:
        for segment in memory.segments:
            if segment.on_device_heap and segment.base not in heap:
                memory.free(segment.base)
        memory._next = after


def _costs(trace: BlockTrace) -> tuple[float, ...]:
    return (
        float(trace.instructions()), float(len(trace.entries)), float(len(trace.accesses)),
        float(len(trace.lines)),
    )  # fmt: skip


def _all(program: engine.Program, image: engine.ModuleImage, memory: DeviceMemory,
         config: engine.LaunchConfig, total: int) -> Sample | None:  # fmt: skip
    sms = min(config.sm_count, total)
    chosen = Plan(blocks=tuple(range(total)), stride=sms, sms=sms)
    try:
        return _run(program, image, memory, config, chosen)
    except WarplensError:
        return None


def _run(program: engine.Program, image: engine.ModuleImage, memory: DeviceMemory,
         config: engine.LaunchConfig, chosen: Plan, scale: int = 1) -> Sample:  # fmt: skip
    recorder = Recorder(chosen.stride, scale)
    every = len(chosen.blocks) == prod(config.grid)
    order = None if every else chosen.blocks
    execution = engine.execute(
        program, image, memory,
        replace(config, observer=recorder.observer, block_order=order),
    )  # fmt: skip
    warps = -(-prod(config.block) // 32)
    trace = collect(recorder, program.lifted.layout.blocks, warps, len(chosen.blocks))
    return Sample(trace=trace, sms=chosen.sms, execution=execution)


def is_disabled() -> bool:
    """Whether the environment turns sampling off (WARPLENS_TIMING=0)."""
    return os.environ.get("WARPLENS_TIMING", "1") in ("0", "no", "off")
