"""Which blocks are traced: waves spread over the grid, one SM's whole, its neighbours' lightly.

Block i of the first wave runs on SM i modulo the number of SMs, those of later waves anywhere (see
execute/rounds.py). Of every sampled wave the blocks of so many neighbouring SMs are run as the
budget allows; those of the first SM are recorded whole and replayed, the others say what the L2
cache sees meanwhile. Of blocks so long that those an SM holds at once do not fit, only the
beginning of every warp is kept: a window. Such blocks are sampled all over the grid first; where
they do not do the same work, each kind gets a window of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from math import prod

import numpy as np
import numpy.typing as npt

from warplens.errors import Deadlock, LimitExceeded, WarplensError
from warplens.execute import grid as engine
from warplens.execute.executable import KernelCode
from warplens.execute.execution import Execution
from warplens.execute.memory import DeviceMemory
from warplens.execute.recorder import Stretch
from warplens.execute.rounds import Rounds
from warplens.execute.tally import WARPS
from warplens.execute.trace import BlockTrace
from warplens.lift.regions.watch import Watch
from warplens.timing.fresh import fresh_reads
from warplens.timing.ground import Ground, Sample, Tallied, Window
from warplens.timing.plans import GOLDEN, LONG, MAX_WAVES, REPLAYED, WARM_UP, Plan, plan
from warplens.timing.residency import Residency, imbalance, load_the_same
from warplens.timing.touched import Touched
from warplens.timing.works import (
    LONGER,
    Works,
    all_works,
    joined,
    kinds,
    may_be_counted,
    strewn,
    works_of,
)

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
FIRST = 12  # blocks all over the grid that are run before anything else is decided
SPREAD = 16  # blocks all over the grid that tell how much work long ones are
GUARDED = 4  # of those, blocks of which lanes are counted under guards on which nothing depends
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
_RATE, _LATENCY = 1.5, 12.0  # instructions a cycle, cycles of one: to tell the busiest SM
EXACT = 16  # times the ordinary budget and tables, for an exact replay
_TO_THE_LAST = 24_000_000  # warp instructions of a grid that is run as a whole, in order
_MAX_TOGETHER = 20_000  # blocks that are run in full because they wait for each other
_WAITING = 200_000  # loop iterations after which a block alone seems to wait for others,
_SURELY_WAITING = 5_000_000  # and after which it does; of one that ends before all others may, too
_MAX_STEPS = 20_000_000  # loop iterations of a sample; blocks that wait for others never end
_MOST_ROUNDS = 4096  # of blocks that are told apart by their work
_DRAWN = 0.85  # of the longest warp's work, if a block's warps run by turns: less, if they draw it
_FIRST_OF, _MOST = 8, 0.5  # the first of so many parts of the blocks do so much of the work
_FOR_NOBODY = 50  # times that where blocks see nothing of each other: volatile accesses count, too


def record(code: KernelCode, image: engine.ModuleImage,
           memory: DeviceMemory, config: engine.LaunchConfig, places: Residency, *,
           scale: int = 1, restore: bool = True,
           raises: bool = False) -> Sample | None:  # fmt: skip
    """Runs sampled blocks under observation and, to `restore` it, puts memory back; None where that
    cannot be.

    Blocks that wait for others cannot be run alone: then the whole grid is, if it is small.

    Raises:
        WarplensError: what ended a block, with `raises`; without, it is left to the ordinary run.
    """
    total, program = prod(config.grid), code.traced()
    heap = {segment.base for segment in memory.segments if segment.on_device_heap}
    after = memory._next
    can_wait = bool(program.lifted.ordered_reason)
    steps = _MAX_STEPS * scale * (1 if can_wait else _FOR_NOBODY)
    quiet = replace(config, restore=restore, workers=1, progress=None, max_steps=steps)
    ground = Ground(code=code, program=program, image=image, memory=memory, config=quiet)
    try:
        # Only a kernel whose blocks can see each other can wait for another block.
        probe = replace(quiet, max_steps=_WAITING) if can_wait else quiet
        probed = replace(ground, config=probe)
        try:
            first = probed.run(_alone(0), max(scale, LONG))
        except LimitExceeded:
            probed = replace(ground, config=replace(quiet, max_steps=_SURELY_WAITING))
            first = probed.run(_alone(0), max(scale, LONG))
            quiet = replace(quiet, max_steps=steps * _SURELY_WAITING // _WAITING)
            ground = probed = replace(ground, config=quiet)
        if _draw(ground, first):
            ground, probed = ground.by_turns(1), probed.by_turns(1)
            first = probed.run(_alone(0), max(scale, LONG))
        if total == 1:
            return first
        if ground.has_clusters:
            return _alike(ground, first, places, scale)
        some = probed.uncounted.tallied(strewn(total, FIRST))
        works = works_of(config.grid, some.places, some.warps, some.passes)
        end = probed.uncounted.tallied(np.array([total - 1]))
        works = _with_ends(probed, works, end)
        if ground.tells_blocks_apart and total * np.median(works.whole) <= _TO_THE_LAST:
            # The block that ends last may do what is left, and tells so by what others wrote.
            every = np.arange(total)
            works = works_of(config.grid, every, *probed.counted(every))
            if _is_drawn(works):
                return _together(ground, places)
            if works.differ:
                rounds = Rounds(min(config.sm_count, total))
                chosen = _typical_sm(works, rounds, places.blocks)[0]
                return replace(_all(ground, chosen) or first, works=works)
        sample = None if works.differ else _alike(ground, first, places, scale, some)
        if total <= config.sm_count:
            unlike = _one_by_one(ground, works, sample, places, scale)
            if unlike is not None:
                return unlike
        if sample is not None:
            if sample.works is None or not sample.works.differ:
                return replace(sample, works=None, last=_end_of_its_own(ground, some, end))
            works = joined(works, sample.works)
        return _unlike(ground, works, places, scale)
    except (Deadlock, LimitExceeded):
        return _together(ground, places) if total <= _MAX_TOGETHER else None
    except WarplensError:
        if raises:
            raise
        return None
    finally:
        for segment in memory.segments:
            if segment.on_device_heap and segment.base not in heap:
                memory.free(segment.base)
        placed = range(after, memory._next)
        if not any(segment.base in placed for segment in memory.segments):  # a grid barrier stays
            memory._next = after


def _draw(ground: Ground, first: Sample) -> bool:
    """Whether a block's warps draw their work: run one after another some do what others do where
    they run side by side."""
    warps = first.trace.works()[0]
    if ground.has_clusters or not ground.draws_in_blocks or warps.max() <= LONGER * warps.mean():
        return False
    turned = ground.by_turns(1).counted(np.zeros(1, np.int64))[0]
    return bool(turned.max() < _DRAWN * warps.max())


def _with_ends(ground: Ground, works: Works, last: Tallied) -> Works:
    """With the first blocks of the grid, if the first one has much more to do (a grid much larger
    than its work), and with the last ones, if the `last` one has: what is left over."""
    first = np.array([0])
    ends = (first, *ground.counted(first)), (last.places, last.warps, last.passes)
    for (at, *counts), beside in zip(ends, (1, -1), strict=True):
        found = works_of(works.grid, at, *counts)
        if found.longest[0] > LONGER * np.median(works.longest):
            next_to = works_of(works.grid, at + beside, *ground.counted(at + beside))
            works = joined(joined(works, next_to), found)
    return works


def _end_of_its_own(ground: Ground, some: Tallied, end: Tallied) -> Sample | None:
    """The last block of the grid, `end`, recorded whole, if it is about as much work as others but
    waits for many more loads: what is left over may be loaded by single elements."""
    loads = ground.global_loads
    if ground.has_clusters or end.of_a_block(loads) <= LONGER * some.of_a_block(loads):
        return None
    found = ground.run(_alone(int(end.places[0])), LONG)
    return None if found.trace.truncated else found


def _alone(block: int) -> Plan:
    """One block, recorded whole."""
    return Plan(blocks=(block,), rounds=Rounds(1), sms=1)


def _alike(ground: Ground, first: Sample, places: Residency, scale: int,
           some: Tallied | None = None) -> Sample:  # fmt: skip
    """A sample of blocks that are as much work as the first one; `some` have been run."""
    total = prod(ground.config.grid)
    rounds = _rounds(ground, places.blocks)
    chosen = plan(total, rounds, places.blocks, _costs(first), scale, cut=ground.can_cut)
    if chosen.blocks == (0,):
        return first
    if chosen.part < 1.0:
        spread = np.unique(((np.arange(SPREAD) + 0.5) * total / SPREAD).astype(np.int64))
        return _windows(ground, first, places, scale, some or ground.uncounted.tallied(spread))
    return ground.run(chosen, scale)


def _unlike(ground: Ground, known: Works, places: Residency, scale: int) -> Sample:
    """A sample of blocks that are not the same work: first it is found out what work they are."""
    total = prod(ground.config.grid)
    works = all_works(known, ground.counted)
    rounds = _rounds(ground, places.blocks)
    rounds, first, mean = _sm_of_all_kinds(works, rounds, places.blocks)
    most = int(np.argmax(works.whole))
    long = ground.run(_alone(int(works.places[most])), max(scale, LONG))
    per_work = mean / max(1.0, float(works.whole[most]))
    costs = tuple(cost * per_work for cost in _costs(long))
    chosen = plan(
        total, rounds, places.blocks, costs, scale, MAX_WAVES, first=first, cut=ground.can_cut
    )
    if len(chosen.blocks) // chosen.sms * mean > REPLAYED * scale and not _in_turn(works):
        chosen = replace(chosen, part=0.0)  # each kind by itself
    if chosen.part < 1.0:
        some = ground.uncounted.tallied(strewn(total, SPREAD))
        sample = _windows(ground, long, places, scale, some)
    else:
        sample = ground.run(chosen, scale)
    return replace(sample, works=works)


def _one_by_one(ground: Ground, known: Works, sample: Sample | None, places: Residency,
                scale: int) -> Sample | None:  # fmt: skip
    """Samples of blocks that have an SM each, in each another kind of block recorded whole: the one
    that takes longest is the launch's end, and need not have most instructions. `sample`: one of
    them, if they are as much work. None where blocks are alike, or so long that only windows of
    them are recorded, or not all of them were counted."""
    if sample is not None and sample.works is not None and sample.works.differ:
        known = joined(known, sample.works)
    total, differ = prod(ground.config.grid), len(kinds(known)[0]) > 1
    if sample is not None and (sample.windows or (differ and not may_be_counted(known))):
        return None
    works = all_works(known, ground.counted) if differ else known
    if differ and len(works.places) < total:
        return None
    fresh = None
    if sample is not None and sample.trace.sampled >= total:
        touched = Touched.of(sample.trace.context, sample.trace.lines, sample.trace.first)
        fresh = fresh_reads(touched, total)
    chosen, shares = kinds(works, fresh)
    if len(chosen) < 2:
        return None
    costs = _costs(ground.run(_alone(int(chosen[0])), max(scale, LONG)))
    plans = [
        plan(total, Rounds(total), places.blocks, costs, scale, first=block, cut=ground.can_cut)
        for block in chosen.tolist()
    ]
    if any(one.part < 1.0 for one in plans):
        return None
    found = [replace(one, works=works) for one in ground.run_for_each(plans, scale)]
    return replace(found[0], unlike=tuple(zip(found, shares.tolist(), strict=True)))


def _rounds(ground: Ground, resident: int) -> Rounds:
    """Which SMs blocks come to, of which an SM holds so many at once; clusters come in turn."""
    total = prod(ground.config.grid)
    sms = min(ground.config.sm_count, total)
    if ground.has_clusters:
        return Rounds(sms)
    return Rounds(sms, (0,) * min(resident, -(-total // sms)), total // sms)


def _in_turn(works: Works) -> bool:
    """Whether unlike blocks follow each other all over the grid."""
    some = np.linspace(0, len(works.places) - 1, min(64, len(works.places))).astype(np.int64)
    return len(kinds_of(works.whole[some])) == 1


def _typical_sm(works: Works, rounds: Rounds, resident: int) -> tuple[int, float]:
    """The SM to replay, and the mean work of its blocks: of few waves the one that ends last, of
    many one with as much work as others, not less."""
    whole, longest = works.every
    sms, of_sm = rounds.sms, rounds.sm_of(np.arange(len(whole)))
    work = np.bincount(of_sm, whole, sms)
    blocks = np.bincount(of_sm, minlength=sms)
    if len(whole) <= IN_STEP * resident * sms:
        slowest = np.zeros(sms)
        np.maximum.at(slowest, of_sm, longest)
        chosen = int(np.argmax((work / _RATE) ** 2 + (slowest * _LATENCY) ** 2))
    else:
        chosen = _as_much(work / blocks - whole.mean())
    return chosen, float(work[chosen] / blocks[chosen])


def _as_much(more: Floats) -> int:
    """The SM that has least more work than the mean one, of how much more each has."""
    return int(np.argmin(np.where(more >= 0.0, more, np.inf)))


def _sm_of_all_kinds(works: Works, rounds: Rounds,
                     resident: int) -> tuple[Rounds, int, float]:  # fmt: skip
    """The SM to replay of a grid of more than one wave, and the mean work of its blocks: one that
    has as much as others in the first wave, and of later rounds some blocks of much work and some
    of little, in no order, as many as there are. All have about as much in the end, since who has
    long ones takes fewer. Of one wave, or of very many, the typical one."""
    sms, known, end = rounds.sms, len(rounds.turned), rounds.whole
    if not known < end < _MOST_ROUNDS:
        return rounds, *_typical_sm(works, rounds, resident)
    whole = works.every[0][: end * sms].reshape(-1, sms)
    of_first = whole[:known].sum(axis=0)
    first = _as_much(of_first - of_first.mean())
    later = whole[known:]
    order = np.lexsort((np.random.default_rng(0).random(later.shape), later), axis=1)
    number = np.arange(known, end)
    place = order[number - known, (number * GOLDEN % 1.0 * sms).astype(np.int64)]
    rounds = rounds._replace(turned=(*rounds.turned, *((place - first) % sms).tolist()))
    mine = rounds.sm_of(np.arange(works.total)) == first
    return rounds, first, float(works.every[0][mine].mean())


def _windows(ground: Ground, first: Sample, room: Residency, scale: int,
             some: Tallied) -> Sample:  # fmt: skip
    """Long blocks from all over the grid, of which `some` were run, and a window for each kind of
    them."""
    program, config = ground.program, ground.config
    total, cut = prod(config.grid), ground.can_cut
    together = any(one.opcode.startswith("BAR") for one in program.lifted.kernel.instructions)
    drifts = not together and not load_the_same(first.trace)
    places, counts, execution = some.places, some.counts, _with_guards(ground, some)
    works, longest = counts.sum(axis=2).mean(axis=1), counts.max(axis=(1, 2))
    kinds = kinds_of(works)
    shares = shares_of(places, total, works, kinds, ground.work_of)
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
        rounds = _rounds(ground, resident)
        chosen = plan(total, rounds, resident, costs, scale, cut=cut)
        place = int(places[members[len(members) // 2]])
        warp = float(longest[members].mean()) / costs[0]
        waves = total / (resident * config.sm_count)
        window = _window(costs, chosen, warp, waves)
        if window and drifts:
            window = replace(window, drift=DRIFT, uneven=UNEVEN, warps=room.warps_per_block)
        elif window and together:
            window = _between_barriers(window, first.trace, ground.waits)
        sample = ground.uncounted.run(
            chosen.around(place, total), scale, window, cut=cut and window is not None
        )
        found.append(Window(
            share=share, work=work, trace=sample.trace, sms=chosen.sms,
            rounds=chosen.rounds, resident=resident,
            is_last=len(places) - 1 in members,
            imbalance=imbalance(
                lengths[:, : room.warps_per_block].sum(axis=0), _kept(sample.trace),
                room.sub_partitions,
            ),
        ))  # fmt: skip
    return Sample(
        trace=found[0].trace, sms=found[0].sms, rounds=found[0].rounds, execution=execution,
        executed=counts.shape[0] * counts.shape[1], windows=tuple(found), extents=first.extents,
    )  # fmt: skip


def _with_guards(ground: Ground, some: Tallied) -> Execution:
    """Counts of blocks that were run `uncounted`: of the lanes that a guard lets pass, the part
    that a few of these blocks have."""
    execution, places = some.execution, some.places
    watch = ground.uncounted.program.observed
    if ground.uncounted.program is ground.program or not isinstance(watch, Watch):
        return execution
    exact = ground.tallied(places[:: max(1, len(places) // GUARDED)]).execution.columns
    at = np.array(sorted(watch.needless), np.int64)
    at = at[exact["thread_inst_executed"][at] > 0]
    part = exact["thread_inst_executed_true"][at] / exact["thread_inst_executed"][at]
    lanes = execution.columns["thread_inst_executed_true"].copy()
    lanes[at] = np.rint(part * execution.columns["thread_inst_executed"][at])
    return replace(execution, columns={**execution.columns, "thread_inst_executed_true": lanes})


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
    start = min(WARM_UP * part, (1.0 - part) / 2)
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


def _between_barriers(window: Stretch, trace: BlockTrace, waits: Ints) -> Stretch:
    """A window that begins and ends at the same barriers for all warps of a block: where they go
    different ways, as many entries are not as far. `trace`: of a block."""
    edges = trace.warp_entries[: trace.warps_per_block + 1]
    numbers = trace.entries["lifted_block"]
    ways = [numbers[begin:end] for begin, end in pairwise(edges.tolist())]
    ways = [way for way in ways if len(way)]
    if len(ways) < 2 or all(np.array_equal(way, ways[0]) for way in ways[1:]):
        return window
    longest = max(ways, key=len)
    rate = float(waits[longest].sum()) / len(longest)
    first, last = (int(count * rate) for count in (window.first, window.last))
    if last - first < 2:
        return window
    return replace(
        window, first=first, last=last, waits=waits,
        stagger=(int(window.stagger[0] * rate), window.stagger[1]),
        sooner=(int(window.sooner[0] * rate), window.sooner[1]),
    )  # fmt: skip


def _all(ground: Ground, first: int = 0) -> Sample | None:
    """The whole grid, in order; `first`: the SM that is recorded whole."""
    total = prod(ground.config.grid)
    sms = min(ground.config.sm_count, total)
    try:
        return ground.run(Plan(
            blocks=tuple(range(total)), rounds=Rounds(sms), sms=sms, first=first
        ))
    except WarplensError:
        return None


def _together(ground: Ground, places: Residency) -> Sample | None:
    """The whole grid of blocks that wait for each other or draw their work. If they are of unlike
    work, it is run again to have the SM whole that ends last: of another one's cycles those would
    not follow."""
    found = _all(ground)
    if found and found.works and _is_drawn(found.works):
        ground = ground.by_turns(places.blocks * ground.config.sm_count)
        found = _all(ground) or found
    if found is None or found.works is None or not found.works.differ:
        return found
    chosen = _typical_sm(found.works, found.rounds, places.blocks)[0]
    again = _all(ground, chosen) if chosen else found
    return found if again is None else replace(again, works=found.works)


def _is_drawn(works: Works) -> bool:
    """Whether blocks seem to draw their work: run in order, the first ones leave others little."""
    first = works.whole[: max(1, works.total // _FIRST_OF)]
    return len(works.places) == works.total > 2 and first.sum() > _MOST * works.whole.sum()


def is_disabled() -> bool:
    """Whether the environment turns sampling off (WARPLENS_TIMING=0)."""
    return os.environ.get("WARPLENS_TIMING", "1") in ("0", "no", "off")
