"""What sampled blocks run on, and what is known of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod

import numpy as np
import numpy.typing as npt

from warplens.execute import grid as engine
from warplens.execute.executable import KernelCode
from warplens.execute.execution import Execution
from warplens.execute.launch import turns_of
from warplens.execute.memory import DeviceMemory
from warplens.execute.recorded import Recorded
from warplens.execute.recorder import Recorder, Stretch
from warplens.execute.rounds import Rounds
from warplens.execute.tally import WARPS, Tally
from warplens.execute.trace import BlockTrace
from warplens.sass.model import RZ, Reg
from warplens.timing.plans import LONG, Plan
from warplens.timing.sharing import extents_of
from warplens.timing.works import Works, works_of

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The beginning of some long blocks: part of the grid's blocks are of this kind."""

    share: float
    work: float  # warp instructions of one, to its end
    trace: BlockTrace
    sms: int
    rounds: Rounds
    resident: int  # blocks of an SM
    is_last: bool  # the grid ends with blocks of this kind
    imbalance: float  # the busiest sub-partition's work over the mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A trace and how it was taken.

    Attributes:
        sms: SMs of a wave that were sampled; `rounds`: the SMs of blocks.
        execution: the counts of `executed` whole blocks.
        windows: of long blocks, the kinds of which the grid consists; `trace` is the first one's.
        works: the work of blocks all over the grid; None: it is taken to be alike.
        unlike: of blocks that have an SM each, samples with one block of each kind recorded whole,
            of which this is the first, and how many blocks each stands for.
        extents: first lines and ends of the allocations, ascending; None: not known.
        last: the grid's last block by itself, if it goes another way than the others.
    """

    trace: BlockTrace
    sms: int
    rounds: Rounds
    execution: Execution
    executed: int
    windows: tuple[Window, ...] = ()
    works: Works | None = None
    extents: Ints | None = None
    unlike: tuple[tuple[Sample, float], ...] = ()
    last: Sample | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of its traces."""
        windows = (window.trace for window in self.windows)
        unlike = (sample.trace for sample, _ in self.unlike)
        last = (self.last.trace,) if self.last else ()
        traces = {id(t): t for t in (self.trace, *windows, *unlike, *last)}
        return sum(trace.nbytes for trace in traces.values())

    @property
    def is_of_works(self) -> bool:
        """Whether blocks are of unlike work, and it is known."""
        return self.works is not None and (self.works.differ or bool(self.unlike))

    @property
    def mean_work(self) -> float:
        """Warp instructions of a block over the whole grid."""
        if self.works is not None and self.is_of_works:
            return float(self.works.every[0].mean())
        if self.windows:
            return sum(window.share * window.work for window in self.windows)
        return float(self.execution.columns["inst_executed"].sum()) / self.executed


@dataclass(frozen=True, slots=True, kw_only=True)
class Tallied:
    """Blocks all over the grid, run to their ends; with clusters, all blocks of theirs.

    Attributes:
        counts: instructions by place, block of its cluster and warp; passes: by block (of `Tally`).
    """

    places: Ints
    execution: Execution
    counts: Ints
    passes: Ints

    @property
    def warps(self) -> Ints:
        """Instructions by block and warp."""
        return self.counts.reshape(-1, WARPS)

    def of_a_block(self, at: Ints) -> float:
        """How often a block executes the instructions at some places, in the mean."""
        executed = self.execution.columns["inst_executed"][at]
        return float(executed.sum()) / len(self.counts.reshape(-1, WARPS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What sampled blocks run on; `program` counts them, too.

    Attributes:
        found: of blocks that were counted the instructions of their warps and their passes.
        sums: the instructions of each block that was counted.
    """

    code: KernelCode
    program: engine.Program
    image: engine.ModuleImage
    memory: DeviceMemory
    config: engine.LaunchConfig
    found: dict[tuple[int, ...], tuple[Ints, Ints]] = field(default_factory=dict, compare=False)
    sums: dict[int, int] = field(default_factory=dict, compare=False)

    @property
    def has_clusters(self) -> bool:
        """Whether blocks come in clusters."""
        x, y, z = self.program.lifted.kernel.cluster_shape
        return x * y * z > 1

    @property
    def tells_blocks_apart(self) -> bool:
        """Whether a block may find out by an atomic which one it is."""
        code = self.program.lifted.kernel.instructions
        return bool(self.program.lifted.ordered_reason) and any(
            one.opcode in ("ATOM", "ATOMG") for one in code
        )

    @property
    def draws_in_blocks(self) -> bool:
        """Whether warps may draw their block's work in turn, by what an atomic on shared memory
        gives them."""
        code = self.program.lifted.kernel.instructions
        given = (one.operands[0] for one in code if one.opcode == "ATOMS")
        return any(isinstance(one, Reg) and one.index != RZ for one in given)

    @property
    def global_loads(self) -> Ints:
        """Where the kernel loads what lies in global memory, or may."""
        code = self.program.lifted.kernel.instructions
        return np.array([i for i, one in enumerate(code) if one.opcode in ("LDG", "LD")], np.int64)

    @property
    def can_cut(self) -> bool:
        """Whether a block may end early: no other one waits for what it does."""
        return not self.program.lifted.ordered_reason and not self.has_clusters

    @property
    def sizes(self) -> Ints:
        """Instructions of every lifted block."""
        lifted = self.program.lifted.layout.blocks
        return np.array([one.end - one.start for one in lifted], np.int64)

    @property
    def waits(self) -> Ints:
        """Barriers of a block in every lifted block."""
        code, lifted = self.program.lifted.kernel.instructions, self.program.lifted.layout.blocks
        waits = [one.opcode == "BAR" and "ARV" not in one.modifiers for one in code]
        return np.array([sum(waits[one.start : one.end]) for one in lifted], np.int64)

    def turns(self, places: tuple[int, ...]) -> tuple[int, ...]:
        """The turns at which blocks come; with clusters, of all their fellows."""
        return turns_of(places, self.config.grid, self.program.lifted.kernel.cluster_shape)

    @property
    def uncounted(self) -> Ground:
        """The same where nobody asks for counts."""
        return replace(self, program=self.code.traced(counts=False))

    def tallied(self, places: Ints) -> Tallied:
        """Runs blocks."""
        turns = self.turns(tuple(places.tolist()))
        names = None if self.has_clusters else np.unique(places)
        tally = Tally(self.sizes, len(turns), names)
        execution = engine.execute(
            self.program, self.image, self.memory,
            replace(self.config, observer=tally.observer, block_order=turns),
        )  # fmt: skip
        counts, passes = tally.counts, tally.passes
        if names is not None:
            rows = np.searchsorted(names, places)
            counts, passes = counts[rows], passes[rows]
            self.sums.update(zip(places.tolist(), counts.sum(axis=1).tolist(), strict=True))
        return Tallied(
            places=places, execution=execution, counts=counts.reshape(len(places), -1, WARPS),
            passes=passes,
        )  # fmt: skip

    def by_turns(self, resident: int) -> Ground:
        """The same where so many blocks run side by side, and warps in turn from round to round of
        a loop, as those do that draw work."""
        config = replace(self.config, by_turns=True, max_resident=resident)
        return replace(self, config=config, found={}, sums={})

    def counted(self, places: Ints) -> tuple[Ints, Ints]:
        """Instructions of the warps of some blocks, and passes of the blocks. The same blocks are
        run once."""
        key = tuple(places.tolist())
        if key not in self.found:
            found = self.uncounted.tallied(places)
            self.found[key] = found.warps, found.passes
        return self.found[key]

    def work_of(self, places: Ints) -> Floats:
        """Instructions of some blocks; with clusters, the mean of all fellows. Blocks on which
        others have no effect are counted once."""
        if self.can_cut and all(one in self.sums for one in places.tolist()):
            return np.array([self.sums[one] for one in places.tolist()], np.float64)
        return np.asarray(self.uncounted.tallied(places).counts.sum(axis=2).mean(axis=1))

    def run(self, chosen: Plan, scale: int = 1, window: Stretch | None = None, *,
            cut: bool = False) -> Sample:  # fmt: skip
        """Runs the blocks of a plan and records them."""
        run = self.turns(chosen.blocks)
        names = None if window or self.has_clusters else np.array(sorted(run), np.int64)
        recorder = Recorder(
            chosen.rounds.sms, max(scale, LONG), window, cut=cut, first=chosen.first, names=names,
            sizes=self.sizes, whole=chosen.whole,
        )  # fmt: skip
        execution = self._observed(recorder, chosen)
        return self._sample(chosen, recorder, execution, recorder.recorded())

    def run_for_each(self, plans: list[Plan], scale: int = 1) -> list[Sample]:
        """The same for several plans; those for all blocks of the grid, of which each has another
        block recorded whole, are run once."""
        first, every = plans[0], np.arange(prod(self.config.grid))
        whole = np.unique(np.concatenate([one.whole for one in plans]))
        if self.has_clusters or any(len(one.blocks) < len(every) for one in plans):
            return [self.run(one, scale) for one in plans]
        recorder = Recorder(
            first.rounds.sms, max(scale, LONG), whole=whole, first=first.first, names=every,
            sizes=self.sizes,
        )  # fmt: skip
        execution = self._observed(recorder, first)
        if recorder.overflowed:
            return [self.run(one, scale) for one in plans]
        recorded = recorder.recorded()
        return [
            self._sample(one, recorder, execution, recorded.of_block(one.first)) for one in plans
        ]

    def _observed(self, recorder: Recorder, chosen: Plan) -> Execution:
        """Runs the blocks of a plan with a recorder that looks on."""
        every = len(chosen.blocks) == prod(self.config.grid)
        order = None if every else chosen.blocks
        return engine.execute(
            self.program, self.image, self.memory,
            replace(self.config, observer=recorder.observer, block_order=order),
        )  # fmt: skip

    def _sample(self, chosen: Plan, recorder: Recorder, execution: Execution,
                recorded: Recorded) -> Sample:  # fmt: skip
        """What a plan's run gave."""
        run, warps = self.turns(chosen.blocks), -(-prod(self.config.block) // 32)
        trace = recorded.trace(self.program.lifted.layout.blocks, warps, len(run))
        names = recorder.names
        works = works_of(self.config.grid, names, recorder.works) if len(names) else None
        return Sample(
            trace=trace, sms=chosen.sms, rounds=chosen.rounds, execution=execution,
            executed=len(run), works=works, extents=extents_of(self.memory),
        )  # fmt: skip
