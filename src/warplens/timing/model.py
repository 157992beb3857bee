"""The model of one launch: what its sample is replayed with, and what that gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.execute import buffers
from warplens.execute.trace import BlockTrace
from warplens.timing import added, begun, l2_answer
from warplens.timing.added import changed_lines, completed, first_added, written_back
from warplens.timing.extrapolate import (
    drained_rate,
    each_alone,
    ended_by,
    extrapolate,
    inner_rate,
    keeps_up,
    most_of_an_sm,
    on_chip,
    replayed_blocks,
)
from warplens.timing.ground import Sample
from warplens.timing.in_step import LOOP
from warplens.timing.lighter import lighter
from warplens.timing.line_facts import LineFacts, line_facts
from warplens.timing.merging import (
    COPIED_BY,
    COPIED_BY_THREADS,
    Placing,
    merge_loads,
    merge_of_threads,
    merged,
)
from warplens.timing.once import once
from warplens.timing.question import Estimate, Pace, Question, Replay
from warplens.timing.sample import IN_STEP
from warplens.timing.sharing import Sharing, allocated, sharing
from warplens.timing.sm import simulate
from warplens.timing.spec import Machine
from warplens.timing.stall import REASONS, SELECTED
from warplens.timing.state import (
    CODE_LINE,
    PAGES_HELD,
    Floats,
    Records,
    Trace,
    new_counts,
    new_state,
)
from warplens.timing.table import code_of
from warplens.timing.texels import SECTOR_LEAVES, TURNS
from warplens.timing.touched import Touched, are_same
from warplens.timing.uneven import MOST_PLACED, Grid, Replayed, busiest, grid_of
from warplens.timing.warmth import shares

# Of a line that is read or stored to, in an L2 of two sides: beside the one at its home, for about
# half of all another at the SM that asks, as their sectors are looked up (l2.fill_cost). What was
# used last is there up to 43 MiB of reads and 38 to 40 of stores (H200, warmth_sm90.json); stores
# that come again after 32 MiB find it on an H100 (states_sm90.json)
_COPIES = 0.4
REPLAY_LIMIT = 3_000_000  # warp instructions of one replay
_BEGUN_TOGETHER = 0.6  # of DRAM's latency is left when others fetch as blocks begin
_MOSTLY = 0.6  # of the steps in which it fetches anything new
_PROBE = 200_000  # warp instructions of a replay that tells whether SMs stay in step
_LEAST = 0.4  # of the latency is left in loops, however little is gained (fed_tiles_sm90.json)
# By so much quicker alone, SMs are half in step, and how steep that is: of a block, and of several,
# which hide from each other what they wait for (fed_tiles_sm90.json, sharers_sm90.json, and
# tiled products of the tuning half of two public suites, H200)
_CATCHES_UP, _SEVERAL_CATCH_UP = (0.07, 2.0), (0.22, 4.0)
_WORTH_A_THREAD = 50_000  # lines of a trace
_WORTH_ROOM = 1_000_000  # lines of a trace whose tables take some hundred MB
_TABLES = "touched", "answer", "line_facts", "merged"
_CORES = 2  # replays side by side: more memory would be needed for more
_FEW = 2.0  # waves of blocks, in which it matters how long a block takes alone
_BRIEF = 0.5  # of the longest block's work: a block of less tells what short ones take
_AS_MUCH = 0.9  # of what its blocks would ask L2 for with as many as other SMs have
_STEPS_TO_HITS = 60
_NOTES = 1024  # kept of a replay's progress
_TAGS = 1 / 3  # wavefronts of texture data to a set of tags, at least (texture_counts_sm90.json)
_NOTE_COST = 20_000_000  # entries of the stall table that notes may read


class Model:
    """The timing of one launch, made from its sample when first asked."""

    def __init__(self, question: Question, sample: Sample) -> None:
        self.question = question
        self.sample = sample
        self.kept: dict[object, Any] = {}  # what launches that share the model have asked before

    @once
    def active_sms(self) -> int:
        """SMs that get at least one block. Clusters of more than two leave some out: a GPC's number
        of them need not be a multiple. Of few clusters as many blocks are taken to be on each
        SM as if all got some."""
        q, sms = self.question, self.question.gpu.sm_count
        if q.kernel.cluster_blocks > 2 and q.blocks > q.resident * sms:
            sms = int(q.gpu.value("counts.sm_in_clusters", sms))
        return min(sms, q.blocks)

    @property
    def resident(self) -> int:
        """Blocks of an SM in the sample."""
        windows = self.sample.windows
        return windows[0].resident if windows else self.question.resident

    @once
    def wave(self) -> int:
        """Sampled blocks that run together: those of clusters bring all their blocks' SMs."""
        places = len(np.unique(self.touched.sm_of(self.sample.rounds.sms)))
        return max(self.sample.sms, places) * self.resident

    @once
    def code(self) -> Records:
        """The scheduler's view of the kernel."""
        table, found = code_of(self.question.kernel, self.question.gpu), self.sample.execution
        executed = found.columns["inst_executed"]
        passes = np.maximum(found.columns["tex_passes"], _TAGS * found.columns["tex_lines"])
        each = passes / np.maximum(1, executed)
        written = found.columns["tex_written"] / np.maximum(1, executed)
        each = np.maximum(each, SECTOR_LEAVES * written)
        table["texture"] = np.where(each > 0, each, TURNS)
        table["tex_written"] = written
        table["tex_sectors"] = found.columns["tex_sectors"] / np.maximum(1, executed)
        return table

    @once
    def touched(self) -> Touched:
        """The lines that the sampled blocks touch."""
        trace = self.sample.trace
        rounds = self.sample.rounds
        found = Touched.of(trace.context, trace.lines, trace.first, trace.sampled, rounds)
        return replace(found, orders={}) if self.sample.unlike else found

    @once
    def answer(self) -> l2_answer.L2Answer:
        """What L2 holds when the sampled blocks ask."""
        return self.answer_of(self._kept() * self.sharing.lines / self.sharing.chip_lines)

    def _kept(self) -> float:
        """Bytes of lines that L2 keeps at a time."""
        part = self.touched.part_copied if self._has_sides() else 0.0
        return self.question.gpu.l2_size_bytes / (1.0 + _COPIES * part)

    def _answered(self) -> l2_answer.L2Answer:
        """The same; of a long trace what else is asked of its lines is found meanwhile, on another
        core."""
        if "answer" in vars(self) or len(self.touched.lines) < _WORTH_A_THREAD:
            return self.answer
        if len(self.touched.lines) > _WORTH_ROOM:
            buffers.let_go()
        with ThreadPoolExecutor(max_workers=1) as other:
            for name in ("line_facts", "merged"):
                other.submit(getattr, self, name)
            return self.answer

    @once
    def line_facts(self) -> LineFacts:
        """What is known of the sampled blocks' lines whatever L2 holds."""
        together = self.question.blocks <= self.resident * self.active_sms
        return line_facts(
            self.touched, self.wave, self.sample.rounds.sms,
            self.active_sms if self._has_sides() else 1, self.sample.extents, together,
        )  # fmt: skip

    def answer_of(self, size_bytes: float) -> l2_answer.L2Answer:
        """What an L2 of some size would hold, as the sample's share of it."""
        room, stride = self._kept() / 128.0, self.sample.rounds.sms
        found = l2_answer.answer(
            self.touched, self.wave, size_bytes, stride, self.sharing, self._begins(),
            first_added(self.touched, room, self._grid()),
        )  # fmt: skip
        return l2_answer.warmed(found, self.touched, self.question.held)

    def _grid(self) -> added.Grid:
        """All blocks, for what they change."""
        sample = self.sample
        return added.Grid(self.question.blocks, self.wave, sample.rounds.sms, sample.extents)

    def _has_sides(self) -> bool:
        """Whether L2 has two sides."""
        return int(self.question.gpu.value("l2.partitions", 1)) > 1

    def _begins(self) -> begun.Grid | None:
        """The grid, if it is known how blocks begin: not where their windows begin anywhere."""
        q, at_once = self.question, self.resident * self.active_sms
        is_staggered = bool(self.sample.windows) and q.blocks > IN_STEP * at_once
        if q.grid is None or is_staggered or math.prod(q.grid) != q.blocks:
            return None
        return begun.Grid(q.grid, at_once)

    @once
    def merged(self) -> npt.NDArray[np.float32]:
        """The part of L2's work for a line that falls to this SM."""
        value, code = self.question.gpu.value, self.question.kernel.instructions
        placing = Placing(
            sms=self.question.gpu.sm_count, resident=self.resident,
            gpcs=int(value("counts.gpc", 1)), together=self.question.kernel.cluster_blocks,
        )  # fmt: skip
        by_unit, by_threads = (
            np.array([one.opcode in opcodes for one in code], np.bool_)
            for opcodes in (COPIED_BY, COPIED_BY_THREADS)
        )
        near, far = float(value("l2.merged_near")), float(value("l2.merged_far"))
        another, room = float(value("l2.merged_another")), self.question.shared_bytes
        found = merged(self.touched, by_unit, placing, another, room)
        merge_of_threads(found, self.touched, by_threads, near, far)
        again = float(value("l2.merged_load", 1.0))
        merge_loads(found, self.touched, by_unit | by_threads, placing, again)
        return found

    @once
    def sharing(self) -> Sharing:
        """The lines that the sample uses at a time, and those of the whole chip."""
        found = sharing(
            self.touched, self.wave, self.active_sms, self.sample.rounds.sms,
            blocks=0 if self.sample.windows else self.question.blocks,
            size_lines=self.question.gpu.l2_size_bytes / 128, extents=self.sample.extents,
            grid=self.question.grid, sampled=self.sample.trace.sampled,
        )  # fmt: skip
        return replace(found, are_alike=not self._is_uneven())

    @once
    def machine(self) -> Machine:
        """The GPU as this launch uses it."""
        q, gpu = self.question, self.question.gpu
        footprint = self.answer.footprint * q.blocks / max(1, self.sample.trace.sampled)
        room = float(gpu.l2_size_bytes) * float(gpu.value("l2.dirty_fraction", 0.78))
        if 128.0 * allocated(self.touched, self.sample.extents) <= room:
            footprint = min(footprint, room)  # there are not more lines, however often used
        changed = float(gpu.l2_size_bytes) * float(gpu.value("l2.changed_fraction", 1.0)) / 128.0
        grid = self._grid()
        stored = footprint / 128.0  # at most: no need to count what fits
        if stored > changed:
            stored = min(stored, changed_lines(self.touched, grid))
        # Of lines that are read as well fewer are written back the fewer they are among all.
        back = max(0.0, 1.0 - room / max(1, footprint))
        # What SMs near both partitions use is kept in both, as far as half of L2 goes.
        two = self._has_sides()
        in_use = 128 * self.sharing.chip_lines
        together = float(min(q.blocks, max(1, q.resident) * self.active_sms))
        return Machine(
            gpu=gpu,
            clock_mhz=q.clock_mhz,
            l2_lead=q.l2_lead,
            resident=max(1, q.resident),
            warps_per_block=q.warps_per_block,
            most_blocks=min(q.most_blocks, len(self.sample.trace.blocks)),
            registers=q.kernel.registers,
            carveout_bytes=q.carveout_bytes,
            active_sms=self.active_sms,
            balance=self._balance(),
            scheduler=q.scheduler,
            far_share=0.5 * max(self._far(), in_use > gpu.l2_size_bytes / 2) if two else 0.0,
            has_many_pages=self.touched.pages > PAGES_HELD,
            dram_write_share=back,
            fill_share=self._completed(back),
            changed_share=max(back, 1.0 - changed / max(1.0, stored)),
            added_back=written_back(self.touched, changed, grid),
            ideal=q.ideal,
            local_missing=self._local_missing(room, footprint),
            come_apart=self._come_apart(),
            is_warm=bool(q.held),
            is_uneven=self._is_uneven(),
            fellows=q.kernel.cluster_blocks,
            together=together,
            later=1.0 - together / q.blocks,
            replayed_part=self._replayed_part(),
        )

    def _completed(self, back: float) -> float:
        """Of sectors that stores leave incomplete, the part that L2 completes from DRAM; of windows
        of blocks, which do not tell how many there are, what it writes `back`."""
        gpu = self.question.gpu
        if self.sample.windows or not gpu.value("l2.partial_fill_bytes"):
            return back
        kept = float(gpu.l2_size_bytes) * float(gpu.value("l2.partial_fraction", 1.0)) / 32.0
        fills, hits = self.line_facts.fills, self.answer.hits
        return completed(self.touched, fills, hits, kept, back, self._grid())

    def _come_apart(self) -> float:
        """How far SMs come out of step, over what they do if each waits for DRAM for its own: their
        waits differ then, and their sums with the root of the steps. Who waits for what others
        fetch, or finds all in L2, stays in step (measured, validation/data/fed_tiles_sm90.json)."""
        own, late = self.answer.own_steps, self.answer.late_steps
        return math.sqrt(own / max(1, own + late))

    def _replayed_part(self) -> float:
        """The part of an SM's blocks that is replayed."""
        if self.sample.windows:
            return 0.0
        share = self.question.blocks / self.active_sms
        return min(1.0, len(self.sample.trace.blocks) / max(1.0, share))

    def _is_uneven(self) -> bool:
        works = self.sample.works
        return works is not None and works.differ

    def _far(self) -> float:
        """The share of the lines that L2 held before, and where others had use for them; of those
        that others bring as they begin half, for half of the others are near."""
        ranges = [one for one in self.question.held if not one.near]
        lines = self.touched.lines
        held = float(shares(lines >> 4, ranges).mean()) if ranges and len(lines) else 0.0
        return min(1.0, held + 0.5 * self.answer.of_others)

    def _local_missing(self, room: float, of_all: float) -> float:
        """The share of local memory that L2 has lost when it is asked for: lines are replaced in
        no order, so of a footprint F in a cache of C bytes h = exp(-(1 - h) F / C) is found. From
        one use of a line to the next all resident blocks use a part of the bytes `of_all` too."""
        q = self.question
        lines, uses = self.sample.trace.local_lines() if q.kernel.local_bytes else (0.0, 0.0)
        if not lines:
            return 0.0
        blocks = min(q.blocks, max(1, q.resident) * self.active_sms)
        footprint = 32.0 * q.kernel.local_bytes
        if not self.sample.trace.truncated:  # all that is used is known
            footprint = min(footprint, 128.0 * lines)
        footprint = footprint * q.warps_per_block * blocks + of_all * blocks / q.blocks / uses
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
            of_sm = self.sample.rounds.sm_of(np.arange(works.total)) % self.active_sms
            work = np.bincount(of_sm, works.every[0], self.active_sms)
            mine = float(work[self.sample.trace.first % self.active_sms])
            return min(1.0, float(work.mean()) / max(1.0, mine))
        share = self.question.blocks / self.active_sms
        return share / most_of_an_sm(self.question, self.active_sms)

    @once
    def in_step(self) -> float:
        """How much of DRAM's latency SMs wait for that ask for what others are only just fetching.

        In long loops those that are behind wait less than the one that is ahead, and catch up: all
        are in step and wait as long (measured, validation/data/sharers_sm90.json); unless an SM
        has other work meanwhile, so that nobody catches up and the SMs come apart.
        """
        late = self.answer.late_steps
        if late < max(LOOP, _MOSTLY * (late + self.answer.own_steps)):
            return _BEGUN_TOGETHER
        for name in ("machine", "code", "line_facts", "merged"):
            getattr(self, name)  # what both replays need
        with ThreadPoolExecutor(max_workers=_CORES) as pool:
            apart, together = pool.map(
                lambda share: self.replay(limit=_PROBE, in_step=share).cycles, (0.0, 1.0)
            )
        gain = max(0.0, together / apart - 1.0)
        several = min(self.resident, self.question.blocks / self.active_sms) > 1.0
        half, power = _SEVERAL_CATCH_UP if several else _CATCHES_UP
        return float(_LEAST + (1.0 - _LEAST) * gain**power / (gain**power + half**power))

    def replay(self, *, events: int = 0, limit: int = 0, only: Sequence[int] | None = None,
               is_paced: bool = False, in_step: float | None = None,
               balance: float | None = None) -> Replay:  # fmt: skip
        """Runs the cycle loop over the sampled blocks, or `only` over some of them; `is_paced`,
        `balance`: see Machine."""
        trace, answer = self.sample.trace, self._answered()
        order = np.array(range(len(trace.blocks)) if only is None else only, np.int64)
        in_step = self.in_step if in_step is None else in_step
        machine = replace(self.machine, is_paced=is_paced, in_step=in_step)
        machine = machine if balance is None else replace(machine, balance=balance)
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
            code_lines=len(self.code) // CODE_LINE + 1,
            note_interval=max(8, min(limit, trace.instructions()) // (4 * notes)),
            phases=trace.phases,
        )  # fmt: skip
        traced = _tuple(trace, answer, self.line_facts, self.merged, order)
        simulate(spec, self.code, traced, state, counts, limit)
        return Replay(spec=spec[0], sm=state.sm[0], counts=counts)

    @once
    def result(self) -> Replay:
        """The replay that all values come from. Those of other kinds of blocks are made beside it:
        they are asked for, too; long traces one after the other, for two have no room."""
        if not self.is_each_alone:
            return self.replayed
        is_long = len(self.sample.trace.lines) > _WORTH_ROOM
        with ThreadPoolExecutor(max_workers=1 if is_long else _CORES) as pool:
            replays = [pool.submit(one._replayed_once) for one in self.others]
            replays.append(pool.submit(getattr, self, "replayed"))
            found: list[Replay] = [one.result() for one in replays]
        return found[-1]

    def _replayed_once(self) -> Replay:
        """`replayed`, of a kind of block of which nothing else is asked: what it was worked out
        from is not kept."""
        found = self.replayed
        for name in _TABLES:
            vars(self).pop(name, None)
        return found

    @once
    def replayed(self) -> Replay:
        """The replay of the first sample: where SMs would work off blocks faster than the chip
        hands them out, one in which they come as slowly from the first on."""
        found, q = self.replay(), self.question
        many = q.blocks > IN_STEP * q.resident * self.active_sms
        if self.sample.windows or not many or self._is_uneven():
            return found
        if not keeps_up(found, q.resident, self.machine.launch_interval):
            return found
        return self.replay(is_paced=True)

    @once
    def loads(self) -> list[tuple[Replay, float]]:
        """Replays of SMs with as many blocks as the replayed one, and fewer, and how many SMs have
        as many; empty where all have. Of blocks of unlike work that have an SM each those of each
        kind, the longest first."""
        if self.is_each_alone:
            replays = [one.result for one in (self, *self.others)]
            kinds = zip(replays, (blocks for _, blocks in self.sample.unlike), strict=True)
            return sorted(kinds, key=lambda one: -one[0].cycles)
        found = lighter(self.question, self.sample, self.active_sms)
        fewer = [(self.replay(only=only), float(sms)) for only, sms in found[1:]]
        return [(self._heaviest(found[0][1], fewer), found[0][1]), *fewer] if found else []

    @property
    def is_each_alone(self) -> bool:
        """Whether blocks of unlike work have an SM each, and of each kind one is replayed."""
        works = self.sample.works if self.sample.unlike else None
        return works is not None and works.total == self.question.blocks

    @once
    def others(self) -> list[Model]:
        """The same launch with each other kind of block replayed."""
        found = [Model(self.question, sample) for sample, _ in self.sample.unlike[1:]]
        for one in found:
            vars(one)["code"] = self.code
            trace, mine = one.sample.trace, self.sample.trace
            is_beside = one.sample.rounds == self.sample.rounds and trace.sampled == mine.sampled
            if is_beside and are_same(trace.context, trace.lines, mine.context, mine.lines):
                vars(one)["touched"] = self.touched.seen_from(trace.context, trace.first)
        return found

    def _heaviest(self, sms: float, fewer: list[tuple[Replay, float]]) -> Replay:
        """The replay of an SM that has most blocks. Where these take L1 from each other, so that it
        asks L2 for more than its blocks' share, it has more of L2: the other SMs do not."""
        asked = _asked(self.result)
        part = sum(_asked(one) * count for one, count in fewer) + asked * sms
        part /= max(1.0, asked * self.active_sms)
        if part > _AS_MUCH * self.machine.balance:
            return self.result
        return self.replay(balance=part)

    @once
    def states(self) -> Floats:
        """Warp cycles by state, as many in all as in the replay, of all SMs."""
        own: Floats = self.result.counts.stalls.sum(axis=0).astype(np.float64)
        if not self.loads:
            return own
        found = np.zeros(len(own))
        for one, sms in self.loads:
            found += one.counts.stalls.sum(axis=0) * sms
        rest = (own.sum() - own[SELECTED]) / max(1.0, float(found.sum() - found[SELECTED]))
        found *= rest
        found[SELECTED] = own[SELECTED]
        return found

    @once
    def estimate(self) -> Estimate:
        """The whole launch."""
        if self.is_each_alone:
            found = extrapolate(self.question, self.result, self.active_sms, self.pace)
            sms, differ = self.question.gpu.sm_count, self._is_uneven()
            return each_alone(found, self.loads, sms, differ)
        heaviest = self.loads[0][0] if self.loads else self.result
        found = extrapolate(self.question, heaviest, self.active_sms, self.pace)
        if self.grid is not None:
            return on_chip(found, self.grid, self.result)
        if self.loads:
            mean = sum(one.cycles * sms for one, sms in self.loads) / self.active_sms
            active = found.active_cycles * mean / found.mean_cycles
            warps = sum(float(one.sm["warp_cycles"]) * sms for one, sms in self.loads)
            found = replace(found, mean_cycles=mean, active_cycles=active, warp_cycles=warps)
        if self.sample.last is None:
            return found
        last = Model(replace(self.question, blocks=1, grid=None), self.sample.last)
        return ended_by(found, self.question, heaviest, last.replay())

    @once
    def grid(self) -> Grid | None:
        """Where all blocks go, if they are of unlike work."""
        works, q = self.sample.works, self.question
        if works is None or not works.differ or q.blocks != works.total:
            return None
        if works.total > MOST_PLACED or self.is_each_alone:
            return None
        pace = self.pace.work / self.pace.cycles if self.pace else 0.0
        together = min(float(self.resident), q.blocks / self.active_sms)
        if self.sample.windows:
            together = min(together, float(len(self.sample.trace.blocks)))
        replayed = replayed_blocks(self.sample, self.result, (pace, together))
        share = q.blocks / self.active_sms
        if share <= _FEW * self.resident and not self.code["compares"].any():
            if len(replayed.whole) > 1 and share > 1.0:
                replayed = self._with_alone(replayed)
            elif self.sample.windows:
                replayed = replace(replayed, alone=self._cycles_alone())
                if len(self.sample.trace.blocks) == 1 < self.resident and not self._is_far_bound:
                    replayed = replace(replayed, pace=self._pace_of_two())
        early = int(q.gpu.value("launch.early_sms", 0)), int(q.gpu.value("launch.early_every", 0))
        return grid_of(works, replayed, self.result.spec, q.gpu.sm_count, early)

    def _with_alone(self, replayed: Replayed) -> Replayed:
        """With the cycles of the longest block and of a short one, each with an SM for itself."""
        work, numbers = replayed.longest, replayed.numbers
        longest = int(numbers[work.argmax()])
        alone = float(self.replay(only=[longest]).cycles)
        replayed = replace(replayed, alone=alone)
        if work.min() >= _BRIEF * work.max():
            return replayed
        if replayed.ends_with_longest and self.resident > 1:
            two = float(self.replay(only=[longest, longest]).cycles)
            replayed = replace(replayed, beside=two)
        brief = float(self.replay(only=[int(numbers[work.argmin()])]).cycles)
        return replace(replayed, briefest=brief)

    def _cycles_alone(self) -> float:
        """Cycles of an instruction of a block's longest warp, where the block with the longest
        window has the SM for itself."""
        trace = self.sample.trace
        longest = trace.works().max(axis=1)
        block = int(longest.argmax())
        return float(self.replay(only=[block]).cycles) / max(1.0, float(longest[block]))

    def _pace_of_two(self) -> tuple[float, float]:
        """Instructions a cycle of two blocks on an SM, and how many they are, where a window of one
        was traced: of its copies, one of which finds in L1 what the other reads."""
        two = self.replay(only=[0, 0])
        return two.instructions / max(1, two.cycles), 2.0

    @property
    def _is_far_bound(self) -> bool:
        """Whether what the replay keeps busiest lies beyond the SM."""
        sm = self.result.sm
        own = max(float(sm["tag_cycles"]), float(sm["data_cycles"]))
        issue, memory = busiest(sm, self.result.spec)
        return memory > max(issue, own)

    @once
    def pace(self) -> Pace | None:
        """How long blocks of a busy SM take where only windows of them were replayed."""
        if not self.sample.windows:
            return None
        cycles = tail = fastest = longest = fewer = 0.0
        share = self.question.blocks / self.active_sms
        for number, window in enumerate(self.sample.windows):
            sample = replace(
                self.sample, trace=window.trace, sms=window.sms, rounds=window.rounds, windows=()
            )
            question = replace(self.question, resident=window.resident)
            model = Model(question, sample) if number else self
            vars(model)["code"] = self.code
            replay = model.result
            rate = inner_rate(replay)
            fastest = max(fastest, rate)
            ends_together = 1.0 < share <= window.resident  # nothing takes free places
            each = window.work / (drained_rate(replay) if ends_together else rate)
            # In the window all sub-partitions have work; in the end the busiest one's counts.
            each *= 1.0 + (window.imbalance - 1.0) * (1.0 - replay.alone)
            cycles, longest = cycles + window.share * each, max(longest, each)
            if ends_together and share % 1.0 and int(share) < len(window.trace.blocks):
                alone = drained_rate(model.replay(only=range(int(share))))
                fewer += window.share * int(share) * window.work / alone
            if window.is_last and share <= IN_STEP * window.resident:
                tail = model.lost_in_the_last_wave(window.work)
            elif window.is_last:
                # The oldest block goes first, so the last one has all its way before it when it is
                # alone. Blocks that leave the SM half idle as it is lose less by that.
                lost = max(0.0, replay.alone - 1.0 / window.resident) * rate / fastest
                tail = window.resident * each * lost
        return Pace(work=self.sample.mean_work, cycles=cycles, tail=tail, longest=longest,
                    fewer=fewer)  # fmt: skip

    def lost_in_the_last_wave(self, work: float) -> float:
        """Cycles that blocks of so much work, which begin together when a wave has ended, take
        longer than at the rate of a full SM: they are fewer. Of windows of one kind."""
        most, resident = math.ceil(self.question.blocks / self.active_sms), self.resident
        few = most % resident
        if most < resident or not few or few >= len(self.sample.trace.blocks):
            return 0.0
        rate = drained_rate(self.replay(only=range(few)))
        return max(0.0, few * work * (1.0 / rate - 1.0 / inner_rate(self.result)))

    def rewritten(self, change: Callable[[BlockTrace], BlockTrace]) -> Sample:
        """The sample with its traces changed."""
        first, *others = (
            replace(one, trace=change(one.trace))
            for one in (self.sample, *(sample for sample, _ in self.sample.unlike[1:]))
        )
        blocks = (blocks for _, blocks in self.sample.unlike)
        return replace(first, unlike=tuple(zip((first, *others), blocks, strict=False)))

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


def _asked(replay: Replay) -> float:
    """Sectors that an SM asks L2 for or writes there."""
    return float(sum(replay.sm[name] for name in ("l2_read", "l2_write", "l2_atomic")))


def _tuple(trace: BlockTrace, answer: l2_answer.L2Answer, facts: LineFacts,
           merged: npt.NDArray[np.float32], order: np.ndarray) -> Trace:  # fmt: skip
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
        arrivals=buffers.sparse_copy(answer.arrivals),
        lots=facts.lots,
        pieces=facts.pieces,
        fills=facts.fills,
        joins=facts.joins,
        sides=facts.sides,
        merged=merged,
        order=order,
    )
