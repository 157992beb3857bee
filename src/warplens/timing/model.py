"""From a sample to a whole launch: replay on one SM, steady rate, waves, tail, and all sums."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from warplens.execute.trace import BlockTrace
from warplens.gpus.spec import GpuSpec
from warplens.sass.model import SassKernel
from warplens.timing import l2
from warplens.timing.ranges import Range
from warplens.timing.sample import IN_STEP, Sample
from warplens.timing.schedule import POLICIES
from warplens.timing.sharing import Sharing, sharing
from warplens.timing.sm import simulate
from warplens.timing.spec import Machine
from warplens.timing.stall import REASONS
from warplens.timing.state import (
    PROGRESS,
    Counts,
    Record,
    Records,
    Trace,
    new_counts,
    new_state,
)
from warplens.timing.table import code_of
from warplens.timing.touched import Touched
from warplens.timing.uneven import MOST_PLACED, Grid, Replayed, busiest, grid_of
from warplens.timing.warmth import shares

REPLAY_LIMIT = 3_000_000  # warp instructions of one replay
_FOR_OTHERS = ("not_selected", "math_pipe_throttle", "lg_throttle", "mio_throttle")
_MOST = 0.4  # of a replay: a share in which no warp or block has ended, to be worth while
_ALL = 0.97  # of the warps
_LAST_FREE = (
    "atomic_free", "l2_free", "l2_write_free", "partial_free", "fill_free", "dram_free",
    "port_free", "port_write_free",
)  # fmt: skip
# How surely those meet in L2 that share its lines in long blocks: between never (0) and always (1),
# as the hit rates of six multiplications on an H200 (validation/timing/h200_gemm_guarded.json).
_MEETING = 0.5
# Of a block's time that it waits for memory: from the end of the mean SM to that of the last. A
# dozen launches of one to three waves on an H200 lie between 0.04 and 0.2; a dozen of no more
# blocks than SMs between 0.02 and 0.06.
SM_APART, FEW_APART = 0.08, 0.04
_FEW = 1.0  # waves of blocks, in which it matters how long a block takes alone
_STEPS_TO_HITS = 60
_NOTES = 1024  # kept of a replay's progress
_NOTE_COST = 20_000_000  # entries of the stall table that notes may read


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One launch on one GPU.

    Attributes:
        blocks: blocks of the grid; resident: how many an SM holds at once.
        most_blocks: how many it holds if only few of their warps live; 0: no more.
        carveout_bytes: shared memory that L1 gives away.
        instructions: warp instructions of the whole launch (0: not known, take the sample's mean).
    """

    kernel: SassKernel
    gpu: GpuSpec
    clock_mhz: float
    blocks: int
    warps_per_block: int
    resident: int
    carveout_bytes: int
    most_blocks: int = 0
    instructions: float = 0.0
    scheduler: str = POLICIES[0]
    ideal: int = 0
    exact: bool = False  # replay everything that was sampled, however long
    held: tuple[Range, ...] = ()  # by L2 when the launch begins


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What the cycle loop gave for the sampled blocks."""

    spec: Record
    sm: Record
    counts: Counts

    @property
    def blocks(self) -> int:
        """Blocks that ended."""
        return int(self.sm["finished"])

    @property
    def instructions(self) -> int:
        """Warp instructions issued."""
        return int(self.sm["issued"])

    @property
    def cycles(self) -> int:
        """Cycles that passed."""
        return int(self.sm["now"])

    @property
    def alone(self) -> float:
        """The share of its time that a warp would need if it had the SM for itself."""
        time = self.counts.stalls.sum(axis=0).astype(np.float64)
        waiting = float(sum(time[REASONS.index(name)] for name in _FOR_OTHERS))
        waiting += float(self.sm["queued"])
        return 1.0 - waiting / max(1.0, float(time.sum()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A whole launch in time.

    Attributes:
        active_cycles: cycles in which an SM works, mean over all SMs of the chip.
        mean_cycles: until the mean busy SM ends; busiest_cycles: of the SM that works longest.
        elapsed_cycles: launch to end; `overhead_cycles` of them without a block.
        scale: the launch's work over the replayed work: what sums are multiplied with.
        steady_blocks_per_cycle: rate of one SM in the middle of the launch.
        sampling_error: relative difference between two halves of the steady part.
        idlest_cycles: of the SM that works least; warp_cycles: of all warps, if not as in the
            replay; 0: not known.
    """

    active_cycles: float
    mean_cycles: float
    busiest_cycles: float
    elapsed_cycles: float
    overhead_cycles: float
    scale: float
    steady_blocks_per_cycle: float
    sampling_error: float
    active_sms: int
    idlest_cycles: float = 0.0
    warp_cycles: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Of a block of the grid on average: warp instructions, and its cycles of a busy SM's time.

    `tail`: cycles that are lost at the end, when no blocks are left to take free places: those that
    remain are the faster for it until so few are left that they no longer wait for each other.
    """

    work: float
    cycles: float
    tail: float


class Model:
    """The timing of one launch, made from its sample when first asked."""

    def __init__(self, question: Question, sample: Sample) -> None:
        self.question = question
        self.sample = sample
        self.kept: dict[object, Any] = {}  # what launches that share the model have asked before

    @cached_property
    def active_sms(self) -> int:
        """SMs that get at least one block."""
        return min(self.question.gpu.sm_count, self.question.blocks)

    @property
    def resident(self) -> int:
        """Blocks of an SM in the sample."""
        windows = self.sample.windows
        return windows[0].resident if windows else self.question.resident

    @cached_property
    def code(self) -> Records:
        """The scheduler's view of the kernel."""
        return code_of(self.question.kernel, self.question.gpu)

    @cached_property
    def touched(self) -> Touched:
        """The lines that the sampled blocks touch."""
        trace = self.sample.trace
        return Touched.of(trace.context, trace.lines, trace.first)

    @cached_property
    def answer(self) -> l2.L2Answer:
        """What L2 holds when the sampled blocks ask."""
        size = self.question.gpu.l2_size_bytes * self.sharing.lines / self.sharing.chip_lines
        return self.answer_of(size)

    def answer_of(self, size_bytes: float) -> l2.L2Answer:
        """What an L2 of some size would hold, as the sample's share of it."""
        wave = self.sample.sms * self.resident
        found = l2.answer(self.touched, wave, size_bytes, self.sample.stride, self.sharing)
        return l2.warmed(found, self.touched, self.question.held)

    @cached_property
    def sharing(self) -> Sharing:
        """The lines that the sample uses at a time, and those of the whole chip."""
        wave = self.sample.sms * self.resident
        found = sharing(
            self.touched, wave, self.active_sms, self.sample.stride,
            blocks=0 if self.sample.windows else self.question.blocks,
            size_lines=self.question.gpu.l2_size_bytes / 128,
        )  # fmt: skip
        if self.sample.windows:  # SMs are not in step: some of what others use is gone by then
            return replace(found, part=found.part**_MEETING)
        return found

    @cached_property
    def machine(self) -> Machine:
        """The GPU as this launch uses it."""
        q, gpu = self.question, self.question.gpu
        footprint = self.answer.footprint * q.blocks / max(1, self.sample.trace.sampled)
        room = float(gpu.l2_size_bytes) * float(gpu.value("l2.dirty_fraction", 0.78))
        # What SMs near both partitions use is kept in both, as far as half of L2 goes.
        two = int(gpu.value("l2.partitions", 1)) > 1
        in_use = 128 * self.sharing.chip_lines
        return Machine(
            gpu=gpu,
            clock_mhz=q.clock_mhz,
            resident=max(1, q.resident),
            warps_per_block=q.warps_per_block,
            most_blocks=min(q.most_blocks, len(self.sample.trace.blocks)),
            registers=q.kernel.registers,
            carveout_bytes=q.carveout_bytes,
            active_sms=self.active_sms,
            balance=self._balance(),
            scheduler=q.scheduler,
            far_share=0.5 * max(self._far(), in_use > gpu.l2_size_bytes / 2) if two else 0.0,
            dram_write_share=max(0.0, 1.0 - room / footprint) if footprint > room else 0.0,
            ideal=q.ideal,
            local_missing=self._local_missing(room),
            together=float(min(q.blocks, max(1, q.resident) * self.active_sms)),
        )

    def _far(self) -> float:
        """The share of the lines that L2 held before and where others had use for them."""
        ranges = [one for one in self.question.held if not one.near]
        lines = self.touched.lines >> 4
        return float(shares(lines, ranges).mean()) if ranges and len(lines) else 0.0

    def _local_missing(self, room: float) -> float:
        """The share of local memory that L2 has lost when it is asked for: lines are replaced in
        no order, so of a footprint F in a cache of C bytes h = exp(-(1 - h) F / C) is found."""
        q = self.question
        blocks = min(q.blocks, max(1, q.resident) * self.active_sms)
        footprint = 32.0 * q.kernel.local_bytes * q.warps_per_block * blocks
        if footprint <= room:
            return 0.0
        found = 0.0
        for _ in range(_STEPS_TO_HITS):
            found = float(np.exp(-(1.0 - found) * footprint / room))
        return 1.0 - found

    def _balance(self) -> float:
        """The mean blocks of a busy SM over the most; 1 where SMs end together. Of unlike blocks,
        the mean work of an SM over that of the one that is replayed."""
        works, resident = self.sample.works, self.question.resident
        most = IN_STEP * self.active_sms * resident
        if works is not None and works.differ and works.total <= most:
            of_sm = np.arange(works.total) % self.active_sms
            work = np.bincount(of_sm, works.every[0], self.active_sms)
            mine = float(work[self.sample.trace.first % self.active_sms])
            return min(1.0, float(work.mean()) / max(1.0, mine))
        share = self.question.blocks / self.active_sms
        return share / most_of_an_sm(self.question, self.active_sms)

    def replay(self, *, events: int = 0, limit: int = 0, only: int = -1) -> Replay:
        """Runs the cycle loop over the sampled blocks, or `only` over one of them."""
        trace, answer = self.sample.trace, self.answer
        order = np.arange(len(trace.blocks), dtype=np.int64) if only < 0 else np.array([only])
        machine = self.machine
        limit = limit or (1 << 60 if self.question.exact else REPLAY_LIMIT)
        spec = machine.spec()
        table = len(self.question.kernel.instructions) * len(REASONS)
        notes = max(128, min(_NOTES, _NOTE_COST // (4 * max(1, table))))
        counts = new_counts(
            len(self.question.kernel.instructions), len(REASONS), len(order), notes=notes,
            events=events,
        )  # fmt: skip
        state = new_state(
            spec[0], machine.l1_lines, machine.l0_lines, machine.l1i_lines,
            note_interval=max(8, min(limit, trace.instructions()) // (4 * notes)),
        )  # fmt: skip
        simulate(spec, self.code, _tuple(trace, answer, order), state, counts, limit)
        return Replay(spec=spec[0], sm=state.sm[0], counts=counts)

    @cached_property
    def result(self) -> Replay:
        """The replay that all values come from."""
        return self.replay()

    @cached_property
    def estimate(self) -> Estimate:
        """The whole launch."""
        found = extrapolate(self.question, self.result, self.active_sms, self.pace)
        return found if self.grid is None else on_chip(found, self.grid, self.result)

    @cached_property
    def grid(self) -> Grid | None:
        """Where all blocks go, if they are of unlike work."""
        works, q = self.sample.works, self.question
        if works is None or not works.differ or q.blocks != works.total:
            return None
        if works.total > MOST_PLACED:
            return None
        pace = self.pace.work / self.pace.cycles if self.pace else 0.0
        together = min(float(self.resident), q.blocks / self.active_sms)
        replayed = replayed_blocks(self.sample, self.result, (pace, together))
        few = 1 < q.blocks / self.active_sms <= _FEW * self.resident
        if few and len(replayed.whole) > 1 and not self.code["compares"].any():
            longest = int(replayed.numbers[replayed.longest.argmax()])
            replayed = replace(replayed, alone=float(self.replay(only=longest).cycles))
        return grid_of(works, replayed, self.result.spec, q.gpu.sm_count)

    @cached_property
    def pace(self) -> Pace | None:
        """How long blocks of a busy SM take where only windows of them were replayed."""
        if not self.sample.windows:
            return None
        cycles = tail = fastest = 0.0
        for number, window in enumerate(self.sample.windows):
            sample = replace(
                self.sample, trace=window.trace, sms=window.sms, stride=window.stride, windows=()
            )
            question = replace(self.question, resident=window.resident)
            replay = Model(question, sample).result if number else self.result
            rate = _inner_rate(replay)
            fastest = max(fastest, rate)
            each = window.work / rate
            # In the window all sub-partitions have work; in the end the busiest one's counts.
            each *= 1.0 + (window.imbalance - 1.0) * (1.0 - replay.alone)
            cycles += window.share * each
            if window.is_last:
                # The oldest block goes first, so the last one has all its way before it when it is
                # alone. Blocks that leave the SM half idle as it is lose less by that.
                lost = max(0.0, replay.alone - 1.0 / window.resident) * rate / fastest
                tail = window.resident * each * lost
        return Pace(work=self.sample.mean_work, cycles=cycles, tail=tail)

    def with_trace(self, trace: BlockTrace) -> Sample:
        """The sample with another trace in its place."""
        return replace(self.sample, trace=trace)

    def variant(self, *, ideal: int | None = None, resident: int | None = None,
                blocks: int | None = None) -> Model:  # fmt: skip
        """The same launch with resources made ideal, or with other numbers of blocks."""
        q = self.question
        changed = replace(
            q,
            ideal=q.ideal if ideal is None else ideal,
            resident=q.resident if resident is None else resident,
            blocks=q.blocks if blocks is None else blocks,
        )
        return Model(changed, self.sample)


def _tuple(trace: BlockTrace, answer: l2.L2Answer, order: np.ndarray) -> Trace:
    return Trace(
        blocks=np.column_stack([trace.starts, trace.ends]),
        entries=trace.entries,
        ranges=np.column_stack([trace.warp_entries, trace.warp_accesses]),
        accesses=trace.accesses,
        lines=trace.lines,
        depths=trace.depths,
        hits=answer.hits,
        shares=answer.shares,
        passes=answer.passes,
        fetches=answer.fetches,
        arrivals=answer.arrivals.copy(),
        lots=answer.lots,
        pieces=answer.pieces,
        fills=answer.fills,
        joins=answer.joins,
        order=order,
    )


def most_of_an_sm(question: Question, active_sms: int) -> float:
    """Blocks that the busiest SM runs: after some waves places are filled as they become free, so
    SMs end together."""
    share = question.blocks / active_sms
    if share > IN_STEP * question.resident:
        return share
    return float(-(-question.blocks // active_sms))


def extrapolate(question: Question, replay: Replay, active_sms: int,
                pace: Pace | None = None) -> Estimate:  # fmt: skip
    """Continues a replay's steady rate, or the pace of windows, to the whole grid."""
    n = 0 if pace else replay.blocks
    done = np.sort(replay.counts.done[:n, 0]).astype(np.float64)
    work_per_block = replay.instructions / max(1, n)
    total = question.instructions or work_per_block * question.blocks
    share = question.blocks / active_sms  # blocks of a busy SM
    mean_work = total / question.blocks
    rate, error = _steady(replay, question.resident)
    if not n or (n <= 1.5 * question.resident < share):
        rate = _inner_rate(replay)  # of one wave: when it ends, the next would begin
    if pace:
        rate = pace.work / pace.cycles

    def cycles(blocks: float) -> float:
        if not n:
            return float(replay.cycles)
        blocks *= mean_work / work_per_block  # of a window of each block, so many more would run
        if blocks <= n:
            low = int(np.floor(blocks))
            below = done[low - 1] if low else 0.0
            above = done[min(n, low + 1) - 1]
            return float(below + (above - below) * (blocks - low))
        return float(done[-1] + (blocks - n) * work_per_block / rate)

    most = most_of_an_sm(question, active_sms)
    busiest, mean = cycles(most) + _apart(replay, question.blocks <= active_sms), cycles(share)
    if not n:  # blocks so long that none ended
        busiest, mean = most * mean_work / rate, max(1.0, share) * mean_work / rate
        tail = pace.tail if pace and share > IN_STEP * question.resident else 0.0
        busiest, mean = busiest + tail, mean + tail
    hertz = question.clock_mhz * 1e6
    overhead = float(question.gpu.value("launch.overhead_ns", 1850.0)) * 1e-9 * hertz
    # Reductions and stores that nobody waits for are still on their way when the last warp ends.
    busy = max(float(replay.sm[name]) for name in _LAST_FREE)
    left = max(busy, float(replay.sm["slowest_slice"])) - replay.cycles
    overhead += max(0.0, left) if n else 0.0
    return Estimate(
        active_cycles=mean * _active_share(replay) * active_sms / question.gpu.sm_count,
        mean_cycles=mean,
        busiest_cycles=busiest,
        elapsed_cycles=busiest + overhead,
        overhead_cycles=overhead,
        scale=total / max(1, replay.instructions),
        steady_blocks_per_cycle=rate / max(1.0, mean_work),
        sampling_error=error,
        active_sms=active_sms,
    )


def _apart(replay: Replay, few: bool = False) -> float:
    """From the mean SM's end to the last one's, where all have the same blocks: memory is not as
    near to all of them, and nothing makes up for that in the blocks with which they end. `few`: an
    SM has no more than one block."""
    n = replay.blocks
    if not n:
        return 0.0
    done = replay.counts.done[:n]
    time = replay.counts.stalls.sum(axis=0).astype(np.float64)
    waits = float(time[REASONS.index("long_scoreboard")]) / max(1.0, float(time.sum()))
    part = FEW_APART if few else SM_APART
    return part * waits * float((done[:, 0] - done[:, 2]).mean())


def on_chip(estimate: Estimate, grid: Grid, replay: Replay) -> Estimate:
    """An estimate with the times of a grid whose blocks were placed one by one."""
    placement, share = grid.placement, _active_share(replay)
    busiest = placement.makespan + _apart(replay)
    return replace(
        estimate,
        active_cycles=float(placement.active.mean()) * share,
        mean_cycles=float(placement.ends[placement.blocks > 0].mean()),
        busiest_cycles=busiest,
        idlest_cycles=float(placement.active.min()) * share,
        elapsed_cycles=busiest + estimate.overhead_cycles,
        warp_cycles=grid.warp_cycles,
    )


def replayed_blocks(sample: Sample, replay: Replay, pace: tuple[float, float]) -> Replayed:
    """Work and time of the blocks that ended in a replay; `pace`: see Replayed."""
    trace, n = sample.trace, 0 if sample.windows else replay.blocks
    sizes = (trace.ends - trace.starts)[trace.entries["lifted_block"]]
    warps = np.diff(np.concatenate(([0], np.cumsum(sizes)))[trace.warp_entries])
    work = warps.reshape(-1, trace.warps_per_block).astype(np.float64)
    done = replay.counts.done[:n]
    done = done[np.argsort(done[:, 3])]
    return Replayed(
        numbers=done[:, 3],
        whole=work[done[:, 3]].sum(axis=1), longest=work[done[:, 3]].max(axis=1, initial=0.0),
        cycles=(done[:, 0] - done[:, 2]).astype(np.float64), span=float(replay.cycles),
        warp_cycles=float(replay.sm["warp_cycles"]), pace=pace,
        rate=replay.instructions / max(1.0, busiest(replay.sm, replay.spec)),
    )  # fmt: skip


def _active_share(replay: Replay) -> float:
    """The part of the replayed time in which the SM had warps."""
    return min(1.0, float(replay.sm["cycles"]) / max(1, replay.cycles)) if replay.blocks else 1.0


def _inner_rate(replay: Replay) -> float:
    """Warp instructions per cycle while all warps run, or else all blocks: when one has ended, the
    next would begin. Without the first three tenths, in which caches fill; if they end early, from
    two to eight tenths of all."""
    notes = replay.counts.progress[: int(replay.sm["notes"])]
    names = ("now", "issued", "finished", "cycles", "warp_cycles")
    now, issued, ended, cycles, warps = (notes[:, PROGRESS.index(name)] for name in names)
    living = np.diff(warps, prepend=0.0) / np.maximum(1.0, np.diff(cycles, prepend=0.0))
    limits = 0.2 * replay.instructions, 0.8 * replay.instructions
    for all_run in (living >= _ALL * living.max(initial=0.0), ended == 0):
        until = float(issued[all_run][-1]) if all_run.any() else 0.0
        if until >= _MOST * replay.instructions:
            limits = 0.3 * until, until
            break
    a, b = np.searchsorted(issued, limits).tolist()
    if not a < b < len(notes):
        return max(1, replay.instructions) / max(1, replay.cycles)
    return float((issued[b] - issued[a]) / max(1.0, now[b] - now[a]))


def _steady(replay: Replay, resident: int) -> tuple[float, float]:
    """Warp instructions per cycle while the SM is full, and how sure that is."""
    n = replay.blocks
    if not n:
        return 0.0, 0.0
    order = np.argsort(replay.counts.done[:n, 0], kind="stable")
    done, work = replay.counts.done[:n, :2][order].astype(np.float64).T
    first, last = resident - 1, n - resident
    if last - first < max(2, resident // 2):
        return float(work[-1] / max(1.0, done[-1])), 0.0
    middle = (first + last) // 2

    def rate(a: int, b: int) -> float:
        return float((work[b] - work[a]) / max(1.0, done[b] - done[a]))

    whole = rate(first, last)
    return whole, abs(rate(first, middle) - rate(middle, last)) / whole if whole else 0.0
