"""One launch on one GPU as the timing model asks for it, what its replay gives, and the answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warplens.gpus.spec import GpuSpec
from warplens.sass.model import SassKernel
from warplens.timing.ranges import Range
from warplens.timing.schedule import POLICIES
from warplens.timing.stall import REASONS
from warplens.timing.state import Counts, Record

_FOR_OTHERS = ("not_selected", "math_pipe_throttle", "lg_throttle", "mio_throttle")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One launch on one GPU.

    Attributes:
        blocks: blocks of the grid; resident: how many an SM holds at once.
        most_blocks: how many it holds if only few of their warps live; 0: no more.
        carveout_bytes: shared memory that L1 gives away; shared_bytes: what a block has of it.
        instructions: warp instructions of the whole launch (0: not known, take the sample's mean).
        l2_lead: cycles of L2 for one of the SMs, over what it is where they keep the clock asked
            for.
    """

    kernel: SassKernel
    gpu: GpuSpec
    clock_mhz: float
    blocks: int
    warps_per_block: int
    resident: int
    carveout_bytes: int
    shared_bytes: int = 0
    l2_lead: float = 1.0
    most_blocks: int = 0
    instructions: float = 0.0
    scheduler: str = POLICIES[0]
    ideal: int = 0
    exact: bool = False  # replay everything that was sampled, however long
    held: tuple[Range, ...] = ()  # by L2 when the launch begins
    grid: tuple[int, int, int] | None = None  # where blocks run in its order, x first


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
        states: cycles of all warps by state, if not as in the replay.
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
    states: npt.NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Of a block of the grid on average: warp instructions, and its cycles of a busy SM's time.

    `tail`: cycles that are lost at the end, when no blocks are left to take free places: those that
    remain are the faster for it until so few are left that they no longer wait for each other. Of
    few waves, whose blocks are in step: what the last, partial one takes longer than its share.
    `longest`: cycles of a block of the slowest kind. `fewer`: cycles of an SM that has a block less
    than those with most, where all are there at once and some SMs have one less (0: not so).
    """

    work: float
    cycles: float
    tail: float
    longest: float
    fewer: float = 0.0
