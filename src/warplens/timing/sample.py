"""Which blocks are traced: waves spread over the grid, one SM's whole, its neighbours' lightly.

Block i of a wave runs on SM i modulo the number of SMs. Of every sampled wave the blocks of so many
neighbouring SMs are run as the budget allows; those of the first SM are recorded whole and
replayed, the others say what the L2 cache sees meanwhile. Of blocks so long that those an SM holds
at once do not fit, only the beginning of every warp is kept: a window. Such blocks are sampled all
over the grid first; where they do not do the same work, each kind gets a window of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

import numpy as np
import numpy.typing as npt

from warplens.errors import Deadlock, LimitExceeded, WarplensError
from warplens.execute import grid as engine
from warplens.execute import recorder as tracing
from warplens.execute.execution import Execution
from warplens.execute.launch import turns_of
from warplens.execute.memory import DeviceMemory
from warplens.execute.recorder import Recorder, Stretch
from warplens.execute.tally import WARPS, Tally
from warplens.execute.trace import BlockTrace
from warplens.timing.residency import Residency, imbalance

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
BUDGET = 4_000_000  # warp instructions run for a sample
LONG_BUDGET = 56_000_000  # the same for long blocks: what is not kept is quick
SPREAD = 16  # blocks all over the grid that tell how much work a long one is
NEIGHBOURS = 80  # long blocks of other SMs that are worth a larger budget
_ONE_KIND = 0.9  # of the work of a kind's longest block
_KINDS = 3  # of long blocks that get windows
_HALVINGS = 4  # of the way between two blocks of unlike kinds
_NOTHING = 0.003  # of the grid's work: a kind that is not worth a window
IN_STEP = 3.0  # waves of blocks after which those of an SM are at different points
# Share by which warps of a block that no barrier holds together come apart: those of one block
# that compete for a pipe (measured, validation/data/residency_sm90.json).
DRIFT = 0.05
UNEVEN = 0.2  # for each warp more than others have: fits L1 hits of dedispersion kernels on an H200
_STAGGER_BUDGET = 150_000_000  # warp instructions run to come to windows at different points
_WARM_UP = 2.0  # windows' worth of a block that pass before its window: caches are filled then
_OVERRUN = 1.5  # a block that is cut runs on to the next back edges, and its barriers
REPLAYED = 1_200_000  # of one SM's blocks, less than the limit of a replay
_IN_WINDOWS = 700_000  # of one SM's blocks, where they are longer
WAVES = 4  # of an SM's resident blocks, more where blocks are short
MAX_WAVES = 48
_ALIKE = 0.1  # standard deviation of the blocks' instructions over their mean
_STEADY = 40_000  # warp instructions of one SM that give a steady rate
_BESIDE = 4  # SMs beside each other that are sampled, at most; others are spread over the chip
_GOLDEN = (5**0.5 - 1.0) / 2.0  # multiples of it lie far apart, however many there are
_FILLED = 0.85  # of a table's capacity
LONG = 4  # times the ordinary tables, where one block fills them
EXACT = 16  # times the ordinary budget and tables, for an exact replay
_MAX_TOGETHER = 20_000  # blocks that are run in full because they wait for each other
_WAITING = 200_000  # loop iterations after which a block alone seems to wait for others
_MAX_STEPS = 20_000_000  # loop iterations of a sample; blocks that wait for others never end


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Blocks to run, ascending; every `stride`-th block index is recorded whole, those of `sms - 1`
    other SMs lightly.

    `part`: how much of every block is kept, from its beginning.
    """

    blocks: tuple[int, ...]
    stride: int
    sms: int
    part: float = 1.0


    def around(self, place: int, total: int) -> Plan:
        """As many blocks in the same places elsewhere in the grid."""
        rounds = -(-len(self.blocks) // self.sms)
        last = max(0, -(-total // self.stride) - rounds)
        first = min(max(0, place // self.stride - rounds // 2), last)
        blocks = _of_neighbours(first * self.stride, rounds, self.stride, self.sms, total)
        return replace(self, blocks=tuple(blocks))


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The beginning of some long blocks: part of the grid's blocks are of this kind."""

    share: float
    work: float  # warp instructions of one, to its end
    trace: BlockTrace
    sms: int
    stride: int
    resident: int  # blocks of an SM
    is_last: bool  # the grid ends with blocks of this kind
    imbalance: float  # the busiest sub-partition's work over the mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A trace and how it was taken.

    Attributes:
        sms: SMs of a wave that were sampled; `stride`: from a block to the next of the same SM.
        execution: the counts of `executed` whole blocks.
        windows: of long blocks, the kinds of which the grid consists; `trace` is the first one's.
    """

    trace: BlockTrace
    sms: int
    stride: int
    execution: Execution
    executed: int
    windows: tuple[Window, ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes of its traces."""
        traces = {id(t): t for t in (self.trace, *(window.trace for window in self.windows))}
        return sum(trace.nbytes for trace in traces.values())

    @property
    def mean_work(self) -> float:
        """Warp instructions of a block over the whole grid."""
        if self.windows:
            return sum(window.share * window.work for window in self.windows)
        return float(self.execution.columns["inst_executed"].sum()) / self.executed


def plan(total: int, sm_count: int, resident: int, costs: tuple[float, ...],
         scale: int = 1, least_waves: int = WAVES, *, cut: bool = False) -> Plan:  # fmt: skip
    """Chooses blocks. `costs`: instructions, entries, accesses, lines and global accesses of one.

    `scale` multiplies what may be run and kept; above 1, all waves are taken as far as they fit.
    `cut`: of long blocks, only what is kept is run.
    """
    filled, budget = _FILLED * scale, float(BUDGET * scale)
    instructions, entries, accesses, lines, shared_by_all = (max(1.0, cost) for cost in costs)
    run, kept = instructions, 1.0
    sms = min(sm_count, total)
    per_sm = -(-total // sms)
    room = min(
        REPLAYED * scale / instructions, filled * tracing.MAX_ENTRIES / entries,
        filled * tracing.MAX_ACCESSES / accesses, filled * tracing.MAX_LINES / lines,
    )  # fmt: skip
    part = min(1.0, room / min(resident, per_sm))
    if part < 1.0:
        part *= _IN_WINDOWS / REPLAYED
        # All that is kept shrinks; what is run does so only if blocks can be cut.
        budget = LONG_BUDGET * scale
        run *= min(1.0, (_WARM_UP + _OVERRUN) * part) if cut else 1.0
        entries, accesses, lines = (part * cost for cost in (entries, accesses, lines))
        kept = 1.0 + _WARM_UP  # of global accesses, those before the window, too
        shared_by_all *= kept * part
    whole = min(
        budget / instructions, filled * tracing.MAX_ENTRIES / entries,
        filled * tracing.MAX_ACCESSES / accesses, filled * tracing.MAX_LINES / lines,
    )  # fmt: skip
    if part < 1.0:
        whole = max(whole, float(min(resident, per_sm)))
    waves_in_grid = -(-per_sm // resident)
    wanted = min(MAX_WAVES, max(least_waves, int(_STEADY / (resident * instructions))))
    if part < 1.0:
        wanted = 1  # wherever the kinds of blocks are
    elif scale > 1:
        wanted = waves_in_grid
    waves = int(max(1, min(wanted, waves_in_grid, whole // min(resident, per_sm))))
    mine = max(1, int(min(whole, waves * resident, per_sm)))
    tables = _FILLED * max(scale, LONG)
    light = min(
        1.0 + (tables * tracing.MAX_ACCESSES / mine - accesses) / shared_by_all,
        tables * tracing.MAX_LINES / (mine * lines * kept),
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
    left = mine
    for done, wave in enumerate(picked.tolist()[::-1]):  # the last one may be small
        rounds = min(resident, per_sm - wave * resident, -(-left // (len(picked) - done)))
        chosen = _of_neighbours(wave * sms * resident, rounds, sms, neighbours, total) + chosen
        left -= rounds
    return Plan(blocks=tuple(dict.fromkeys(chosen)), stride=sms, sms=neighbours, part=part)


def _of_neighbours(begin: int, rounds: int, stride: int, sms: int, total: int) -> list[int]:
    """The blocks of `sms` SMs, where each of `stride` SMs takes one after another."""
    places = _spread(stride, sms)
    blocks = [begin + stride * k + place for k in range(rounds) for place in places]
    return [block for block in blocks if block < total]


def _spread(stride: int, sms: int) -> list[int]:
    """SMs to sample: some beside each other, whose blocks share what neighbours share, and others
    all over the chip, who tell how much is shared at all."""
    beside = sms if sms < 4 else min(_BESIDE, sms - 2)
    places = list(range(stride if sms >= stride else beside))
    turn = 0
    while len(places) < sms:
        turn += 1
        place = int(turn * _GOLDEN % 1.0 * stride)
        if place not in places:
            places.append(place)
    return sorted(places)


def record(prepare: Callable[[], engine.Program], image: engine.ModuleImage,
           memory: DeviceMemory, config: engine.LaunchConfig, places: Residency, *,
           scale: int = 1, restore: bool = True) -> Sample | None:  # fmt: skip
    """Runs sampled blocks under observation and, to `restore` it, puts memory back; None where that
    cannot be.

    Blocks that wait for others cannot be run alone: then the whole grid is, if it is small.
    """
    total, resident = prod(config.grid), places.blocks
    program = prepare()
    heap = {segment.base for segment in memory.segments if segment.on_device_heap}
    after = memory._next
    quiet = replace(
        config, restore=restore, workers=1, progress=None, max_steps=_MAX_STEPS * scale
    )
    try:
        # Only a kernel whose blocks can see each other can wait for another block.
        probe = replace(quiet, max_steps=_WAITING) if program.lifted.ordered_reason else quiet
        alone = Plan(blocks=(0,), stride=1, sms=1)
        first = _run(program, image, memory, probe, alone, max(scale, LONG))
        if total == 1:
            return first
        cut = _can_cut(program)
        chosen = plan(total, config.sm_count, resident, _costs(first), scale, cut=cut)
        if chosen.blocks == (0,):
            return first
        if chosen.part < 1.0:
            return _windows(program, image, memory, quiet, first, places, scale)
        sample = _run(program, image, memory, quiet, chosen, scale)
        if not blocks_differ(sample.trace):
            return sample
        costs = _costs(sample, len(sample.trace.blocks))
        more = plan(total, config.sm_count, resident, costs, scale, MAX_WAVES)
        if len(more.blocks) // more.sms * costs[0] > REPLAYED * scale:
            return _windows(program, image, memory, quiet, first, places, scale)
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
        if not any(segment.base >= after for segment in memory.segments):  # a grid barrier stays
            memory._next = after


def _can_cut(program: engine.Program) -> bool:
    """Whether a block may end early: no other one waits for what it does."""
    x, y, z = program.lifted.kernel.cluster_shape
    return not program.lifted.ordered_reason and x * y * z == 1


def _windows(program: engine.Program, image: engine.ModuleImage, memory: DeviceMemory,
             config: engine.LaunchConfig, first: Sample, room: Residency,
             scale: int) -> Sample:  # fmt: skip
    """Long blocks from all over the grid, and a window for each kind of them."""
    total, cut = prod(config.grid), _can_cut(program)
    together = any(one.opcode.startswith("BAR") for one in program.lifted.kernel.instructions)

    def counted(places: Ints) -> tuple[Execution, Ints]:
        """Blocks (with clusters, all of them) and the instructions of their warps."""
        turns = turns_of(tuple(places.tolist()), config.grid, program.lifted.kernel.cluster_shape)
        lifted = program.lifted.layout.blocks
        tally = Tally(np.array([one.end - one.start for one in lifted], np.int64), len(turns))
        execution = engine.execute(
            program, image, memory, replace(config, observer=tally.observer, block_order=turns),
        )  # fmt: skip
        return execution, tally.counts.reshape(len(places), -1, WARPS)

    places = np.unique(((np.arange(SPREAD) + 0.5) * total / SPREAD).astype(np.int64))
    execution, counts = counted(places)
    works, longest = counts.sum(axis=2).mean(axis=1), counts.max(axis=(1, 2))
    kinds = kinds_of(works)
    shares = shares_of(
        places, total, works, kinds, lambda asked: counted(asked)[1].sum(axis=2).mean(axis=1)
    )
    found: list[Window] = []
    for members, share in zip(kinds, shares, strict=True):
        if len(found) and works[members].sum() < _NOTHING * works.sum():
            continue
        work = float(works[members].mean())
        costs = tuple(cost * max(1.0, work) / first.mean_work for cost in _costs(first))
        lengths = counts[members].reshape(-1, WARPS)
        lengths = lengths[lengths.any(axis=1)]
        resident = room.with_living(float((lengths.sum(axis=1) / lengths.max(axis=1)).mean()))
        resident = max(room.blocks, min(resident, int(share * total / config.sm_count)))
        chosen = plan(total, config.sm_count, resident, costs, scale, cut=cut)
        place = int(places[members[len(members) // 2]])
        warp = float(longest[members].mean()) / costs[0]
        waves = total / (resident * config.sm_count)
        window = _window(costs, chosen, warp, waves)
        if window and not together:
            window = replace(window, drift=DRIFT, uneven=UNEVEN, warps=room.warps_per_block)
        sample = _run(program, image, memory, config, chosen.around(place, total), scale, window,
                      cut=cut and window is not None)  # fmt: skip
        found.append(Window(
            share=share, work=work, trace=sample.trace, sms=chosen.sms,
            stride=chosen.stride, resident=resident,
            is_last=len(places) - 1 in members,
            imbalance=imbalance(
                lengths[:, : room.warps_per_block].sum(axis=0), _kept(sample.trace),
                room.sub_partitions,
            ),
        ))  # fmt: skip
    return Sample(
        trace=found[0].trace, sms=found[0].sms, stride=found[0].stride, execution=execution,
        executed=counts.shape[0] * counts.shape[1], windows=tuple(found),
    )  # fmt: skip


def _kept(trace: BlockTrace) -> Ints:
    """Entries in a trace by warp of a block."""
    kept: Ints = np.diff(trace.warp_entries).reshape(-1, trace.warps_per_block).sum(axis=0)
    return kept


def kinds_of(works: Floats) -> list[Ints]:
    """Groups of blocks of about the same work, ascending inside; the one of the most work first.

    Blocks that differ but follow each other in turn run side by side: they are one kind.
    """
    order = np.argsort(-works, kind="stable")
    groups: list[list[int]] = []
    longest = 0.0
    for index in order.tolist():
        if not groups or (works[index] < _ONE_KIND * longest and len(groups) < _KINDS):
            groups.append([])
            longest = float(works[index])
        groups[-1].append(index)
    kind_of = np.empty(len(works), np.int64)
    for number, group in enumerate(groups):
        kind_of[group] = number
    if np.count_nonzero(np.diff(kind_of)) > 2 * (len(groups) - 1):
        return [np.arange(len(works))]
    kinds = [np.sort(np.array(group, np.int64)) for group in groups]
    return sorted(kinds, key=lambda members: -float(works[members].sum()))


def shares_of(places: Ints, total: int, works: Floats, kinds: list[Ints],
              work_at: Callable[[Ints], Floats]) -> list[float]:  # fmt: skip
    """The part of the grid that is of each kind: where neighbouring places are of unlike kinds, the
    border between them is looked for by halves, with the work of the blocks asked for."""
    kind_of = np.empty(len(places), np.int64)
    for number, members in enumerate(kinds):
        kind_of[members] = number
    means = np.array([works[members].mean() for members in kinds])
    edges = np.concatenate(([0], (places[1:] + places[:-1] + 1) // 2, [total]))
    left = np.flatnonzero(np.diff(kind_of))
    low, high = places[left].copy(), places[left + 1].copy()
    for _ in range(_HALVINGS if len(left) else 0):
        middle = (low + high) // 2
        # Where borders meet, blocks come in the order of the grid all the same.
        work = work_at(middle) if len(set(middle.tolist())) == len(middle) else works[left]
        near = np.abs(work - means[kind_of[left]]) <= np.abs(work - means[kind_of[left + 1]])
        low, high = np.where(near, middle, low), np.where(near, high, middle)
    edges[left + 1] = high
    sizes = np.diff(edges)
    return [float(sizes[members].sum()) / total for members in kinds]


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
    sizes = (trace.ends - trace.starts)[trace.entries["lifted_block"]]
    before = np.concatenate(([0], np.cumsum(sizes)))[trace.warp_entries]
    blocks = np.diff(before[:: trace.warps_per_block])
    return len(blocks) > 1 and float(blocks.std()) > _ALIKE * float(blocks.mean())


def _window(costs: tuple[float, ...], chosen: Plan, warp: float,
            waves: float) -> Stretch | None:  # fmt: skip
    """What is kept of a warp: not its beginning, but what comes when caches are filled.

    Blocks of a long grid are not in step: their windows begin at different points, as far apart as
    there is time to come to them. `warp`: the share of a block's work that its longest warp does.
    """
    part = chosen.part
    if part >= 1.0:
        return None
    instructions, entries, _, _, shared_by_all = costs
    start = min(_WARM_UP * part, (1.0 - part) / 2)
    stagger = sooner = 0.0
    if waves > IN_STEP:
        affordable = _STAGGER_BUDGET / (len(chosen.blocks) * instructions)
        sooner = start if affordable > 0.5 else 0.0
        stagger = min(1.0 - part - start + sooner, 2 * affordable)
    each, touched = entries * warp, shared_by_all * warp
    return Stretch(
        first=int(start * each), last=max(1, int(start * each) + int(part * each)),
        accesses=(int(start * touched), int((start + part) * touched)),
        stagger=(int(stagger * each), int(stagger * touched)),
        sooner=(int(sooner * each), int(sooner * touched)),
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
         config: engine.LaunchConfig, chosen: Plan, scale: int = 1,
         window: Stretch | None = None, *, cut: bool = False) -> Sample:  # fmt: skip
    recorder = Recorder(chosen.stride, max(scale, LONG), window, cut=cut)
    every = len(chosen.blocks) == prod(config.grid)
    order = None if every else chosen.blocks
    execution = engine.execute(
        program, image, memory,
        replace(config, observer=recorder.observer, block_order=order),
    )  # fmt: skip
    warps = -(-prod(config.block) // 32)
    run = turns_of(chosen.blocks, config.grid, program.lifted.kernel.cluster_shape)
    trace = recorder.trace(program.lifted.layout.blocks, warps, len(run))
    return Sample(
        trace=trace, sms=chosen.sms, stride=chosen.stride, execution=execution, executed=len(run)
    )  # fmt: skip


def is_disabled() -> bool:
    """Whether the environment turns sampling off (WARPLENS_TIMING=0)."""
    return os.environ.get("WARPLENS_TIMING", "1") in ("0", "no", "off")
