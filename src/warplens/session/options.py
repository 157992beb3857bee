"""How launches of a device run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from warplens.timing.pm_sampling import PmSampling


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOptions:
    """How launches of a device are run.

    Attributes:
        deterministic: order-dependent kernels run their blocks one after another.
        workers: threads that run blocks; None takes all cores.
        max_steps, max_seconds: limits that stop a runaway kernel; max_idle_seconds stops one in
            which no block has ended for so long.
        progress: called with (blocks done, blocks) now and then, in place of the bar.
        show_progress: on a terminal, runs over a second draw a progress bar.
        interleave: the warps of a block take turns of a few instructions, as they may on a GPU:
            slow, but shows what races do that the order warp after warp hides or invents.
        timing: keep a trace of sampled blocks, from which times are modelled when asked for.
        exact_timing: replay all blocks of an SM as far as memory allows instead of a sample.
        scheduler: warp scheduling policy of the model: oldest-block (as measured), gty (greedy,
            then youngest), gto, lrr.
        carveout: preferred shared memory in percent of the most that an SM has, as
            cudaFuncAttributePreferredSharedMemoryCarveout; None: as much as the blocks need.
        pm_sampling: interval, buffer and passes of counters sampled over the launch's time.
    """

    deterministic: bool = True
    workers: int | None = None
    max_steps: int | None = None
    max_seconds: float | None = None
    max_idle_seconds: float | None = None
    progress: Callable[[int, int], None] | None = None
    show_progress: bool = True
    interleave: bool = False
    timing: bool = True
    exact_timing: bool = False
    scheduler: str = "oldest-block"
    carveout: int | None = None
    pm_sampling: PmSampling = field(default_factory=PmSampling)
