"""Which blocks are traced: waves spread over the grid, one SM's whole, its neighbours' lightly.

Block i of a wave runs on SM i modulo the number of SMs. Of every sampled wave the blocks of so many
neighbouring SMs are run as the budget allows; those of the first SM are recorded whole and
replayed, the others say what the L2 cache sees meanwhile. Of blocks so long that those an SM holds
at once do not fit, only the beginning of every warp is kept: a window.
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
from warplens.execute.launch import turns_of
from warplens.execute.memory import DeviceMemory
from warplens.execute.trace import BlockTrace, Recorder, collect

BUDGET = 4_000_000  # warp instructions run for a sample
LONG_BUDGET = 8_000_000  # the same for long blocks: what is not kept is quick
SPREAD = 12  # blocks all over the grid that tell how much work a long one is
NEIGHBOURS = 20  # long blocks of other SMs that are worth a larger budget
REPLAYED = 1_200_000  # of one SM's blocks, less than the limit of a replay
WAVES = 4  # of an SM's resident blocks, more where blocks are short
MAX_WAVES = 48
_ALIKE = 0.1  # standard deviation of the blocks' instructions over their mean
_STEADY = 40_000  # warp instructions of one SM that give a steady rate
_FILLED = 0.85  # of a table's capacity
LONG = 4  # times the ordinary tables, where one block fills them
EXACT = 16  # times the ordinary budget and tables, for an exact replay
_MAX_TOGETHER = 20_000  # blocks that are run in full because they wait for each other
_WAITING = 200_000  # loop iterations after which a block alone seems to wait for others
_MAX_STEPS = 20_000_000  # loop iterations of a sample; blocks that wait for others never end


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Blocks to run, ascending; every `stride`-th block index is recorded whole.

    `part`: how much of every block is kept, from its beginning.
    """

    blocks: tuple[int, ...]
    stride: int
    sms: int
    part: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A trace and how it was taken."""

    trace: BlockTrace
    sms: int  # SMs of a wave that were sampled
    execution: Execution
    mean_work: float = 0.0  # warp instructions of a block over the whole grid, where asked for


def plan(total: int, sm_count: int, resident: int, costs: tuple[float, ...],
         scale: int = 1, least_waves: int = WAVES) -> Plan:  # fmt: skip
    """Chooses blocks. `costs`: instructions, entries, accesses, lines and global accesses of one.

    `scale` multiplies what may be run and kept; above 1, all waves are taken as far as they fit.
    """
    filled, budget = _FILLED * scale, float(BUDGET * scale)
    instructions, entries, accesses, lines, shared_by_all = (max(1.0, cost) for cost in costs)
    run = instructions
    sms = min(sm_count, total)
    per_sm = -(-total // sms)
    room = min(
        REPLAYED * scale / instructions, filled * tracing.MAX_ENTRIES / entries,
        filled * tracing.MAX_ACCESSES / accesses, filled * tracing.MAX_LINES / lines,
    )  # fmt: skip
    part = min(1.0, room / min(resident, per_sm))
    if part < 1.0:
        # All that is kept shrinks; what is run does not.
        budget = LONG_BUDGET * scale
        entries, accesses, lines, shared_by_all = (
            part * cost for cost in (entries, accesses, lines, shared_by_all)
        )  # fmt: skip
    whole = min(
        budget / instructions, filled * tracing.MAX_ENTRIES / entries,
        filled * tracing.MAX_ACCESSES / accesses, filled * tracing.MAX_LINES / lines,
    )  # fmt: skip
    if part < 1.0:
        whole = max(whole, float(min(resident, per_sm)))
    waves_in_grid = -(-per_sm // resident)
    wanted = min(MAX_WAVES, max(least_waves, int(_STEADY / (resident * instructions))))
    if part < 1.0:
        wanted = 1
    elif scale > 1:
        wanted = waves_in_grid
    waves = int(max(1, min(wanted, waves_in_grid, whole // min(resident, per_sm))))
    mine = max(1, int(min(whole, waves * resident, per_sm)))
    tables = _FILLED * max(scale, LONG)
    light = 1.0 + min(
        (tables * tracing.MAX_ACCESSES - mine * accesses) / (mine * shared_by_all),
        (tables * tracing.MAX_LINES - mine * lines) / (mine * lines),
    )  # fmt: skip
    budget = max(budget, min(LONG_BUDGET * scale, NEIGHBOURS * run))
    neighbours = int(max(1, min(sms, budget / run // mine, light)))
    chosen: list[int] = []
    # The middles of equal parts of the grid, so that blocks that differ are met in proportion, and
    # the last wave, which may be a small one.
    parts = max(1, waves - 1)
    picked = (2 * np.arange(parts) + 1) * waves_in_grid // (2 * parts)
    if waves > 1:
        picked = np.unique(np.append(picked, waves_in_grid - 1))
    if waves == waves_in_grid:
        picked = np.arange(waves)
    each = -(-mine // waves)
    for wave in picked.tolist():
        # Waves of all SMs; the sampled part begins at a multiple of the stride.
        begin = -(-wave * sms * resident // neighbours) * neighbours
        size = min(each, resident) * neighbours
        chosen.extend(range(begin, min(total, begin + size)))
    blocks = tuple(dict.fromkeys(chosen))
    return Plan(blocks=blocks, stride=neighbours, sms=neighbours, part=part)


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
        alone = Plan(blocks=(0,), stride=1, sms=1)
        first = _run(program, image, memory, probe, alone, max(scale, LONG))
        if total == 1:
            return first
        chosen = plan(total, config.sm_count, resident, _costs(first), scale)
        if chosen.blocks == (0,):
            return first
        window = _window(first, chosen.part, prod(config.block))
        sample = _run(program, image, memory, quiet, chosen, scale, window)
        if chosen.part < 1.0:
            # A window comes from one wave; blocks elsewhere in the grid may do less.
            places = (np.arange(SPREAD) + 0.5) * total / SPREAD
            spread = tuple(np.unique(places.astype(int)).tolist())
            far = Plan(blocks=spread, stride=1, sms=1)
            work = _run(program, image, memory, quiet, far, 1, (1, 1)).execution
            executed = float(work.columns["inst_executed"].sum())
            return replace(sample, mean_work=executed / len(spread))
        if not blocks_differ(sample.trace):
            return sample
        costs = _costs(sample, len(sample.trace.blocks))
        more = plan(total, config.sm_count, resident, costs, scale, MAX_WAVES)
        if more.part < 1.0 or more.blocks == chosen.blocks:
            return sample
        return _run(program, image, memory, quiet, more, scale)
    except (Deadlock, LimitExceeded):
        return _all(program, image, memory, quiet, total) if total <= _MAX_TOGETHER else None
    except WarplensError:
        return None  # the ordinary run will say what is wrong
    finally:
        for segment in memory.segments:
            if segment.on_device_heap and segment.base not in heap:
                memory.free(segment.base)
        memory._next = after


def _costs(sample: Sample, blocks: int = 1) -> tuple[float, ...]:
    """What a block took, of which the tables may have lost a part."""
    trace = sample.trace
    known = max(1, trace.instructions())
    executed = int(sample.execution.columns["inst_executed"].sum()) / trace.sampled * blocks
    lost = max(1.0, executed / known) if trace.truncated else 1.0
    sizes = known, len(trace.entries), len(trace.accesses), len(trace.lines), len(trace.context)
    shares = (blocks, blocks, blocks, trace.sampled, trace.sampled)
    return tuple(lost * size / share for size, share in zip(sizes, shares, strict=True))


def blocks_differ(trace: BlockTrace) -> bool:
    """Whether blocks execute so different numbers of instructions that more of them must be met."""
    sizes = (trace.ends - trace.starts)[trace.entries[:, 0].astype(np.int64)]
    before = np.concatenate(([0], np.cumsum(sizes)))[trace.warp_entries]
    blocks = np.diff(before[:: trace.warps_per_block])
    return len(blocks) > 1 and float(blocks.std()) > _ALIKE * float(blocks.mean())


def _window(first: Sample, part: float, threads: int) -> tuple[int, int]:
    """Entries and global accesses that are kept of a warp; zeros: all."""
    if part >= 1.0:
        return 0, 0
    _, entries, _, _, shared_by_all = _costs(first)
    warps = -(-threads // 32)
    return max(1, int(part * entries / warps)), max(1, int(part * shared_by_all / warps))


def _all(program: engine.Program, image: engine.ModuleImage, memory: DeviceMemory,
         config: engine.LaunchConfig, total: int) -> Sample | None:  # fmt: skip
    sms = min(config.sm_count, total)
    chosen = Plan(blocks=tuple(range(total)), stride=sms, sms=sms)
    try:
        return _run(program, image, memory, config, chosen)
    except WarplensError:
        return None


def _run(program: engine.Program, image: engine.ModuleImage, memory: DeviceMemory,
         config: engine.LaunchConfig, chosen: Plan, scale: int = 1,
         window: tuple[int, int] = (0, 0)) -> Sample:  # fmt: skip
    recorder = Recorder(chosen.stride, max(scale, LONG), window)
    every = len(chosen.blocks) == prod(config.grid)
    order = None if every else chosen.blocks
    execution = engine.execute(
        program, image, memory,
        replace(config, observer=recorder.observer, block_order=order),
    )  # fmt: skip
    warps = -(-prod(config.block) // 32)
    run = turns_of(chosen.blocks, config.grid, program.lifted.kernel.cluster_shape)
    trace = collect(recorder, program.lifted.layout.blocks, warps, len(run))
    return Sample(trace=trace, sms=chosen.sms, execution=execution)


def is_disabled() -> bool:
    """Whether the environment turns sampling off (WARPLENS_TIMING=0)."""
    return os.environ.get("WARPLENS_TIMING", "1") in ("0", "no", "off")
