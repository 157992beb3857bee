"""Takes the sample of a launch about to run, or predicts one without running it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from warplens.errors import TimingUnavailable
from warplens.execute.executable import ExecutableLaunch
from warplens.execute.execution import Execution
from warplens.occupancy_calculator.occupancy import occupancy_of_kernel
from warplens.timing import sample as sampling
from warplens.timing.clock import kept_mhz, l2_lead
from warplens.timing.ground import Sample
from warplens.timing.launch_timing import LaunchTiming
from warplens.timing.model import REPLAY_LIMIT
from warplens.timing.pm_sampling import PmSampling
from warplens.timing.question import Question
from warplens.timing.residency import carveout_bytes, residency
from warplens.timing.schedule import POLICIES


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingOptions:
    """How a launch is timed; see `LaunchOptions`."""

    scheduler: str = POLICIES[0]
    exact: bool = False
    carveout: int | None = None
    over_time: PmSampling | None = None
    raises: bool = False  # what ends a sampled block, instead of no timing


def take(
    launch: ExecutableLaunch, options: TimingOptions, *, is_blind: bool = False
) -> LaunchTiming | None:
    """Samples a launch; memory is as before afterwards, unless it does not matter what memory
    holds (`is_blind`)."""
    if sampling.is_disabled():
        return None
    config, blocks = launch.config, prod(launch.config.grid)
    occupancy = occupancy_of_kernel(
        launch.sass, launch.gpu, config.block, config.dynamic_shared, carveout=options.carveout
    )
    places = residency(launch, occupancy)
    sample = sampling.record(
        launch.code, launch.variables, launch.memory, config, places,
        scale=sampling.EXACT if options.exact else 1, restore=not is_blind,
        raises=options.raises,
    )
    if sample is None:
        return None
    limits = (occupancy.limit_shared, occupancy.limit_warps, occupancy.limit_blocks)
    question = Question(
        kernel=launch.sass,
        gpu=launch.gpu,
        clock_mhz=kept_mhz(launch.gpu, launch.sass, launch.clock_mhz),
        blocks=blocks,
        warps_per_block=places.warps_per_block,
        resident=places.blocks,
        most_blocks=places.most,
        carveout_bytes=carveout_bytes(launch, occupancy),
        shared_bytes=launch.shared_bytes,
        l2_lead=l2_lead(launch.gpu, launch.sass, launch.clock_mhz),
        scheduler=options.scheduler,
        exact=options.exact,
        instructions=_all_instructions(sample, blocks),
        grid=config.grid if launch.sass.cluster_blocks <= 1 else None,
    )
    return LaunchTiming(
        question, sample, max(places.blocks, min(int(n) for n in limits)), options.over_time
    )


def _all_instructions(sample: Sample, blocks: int) -> float:
    """Warp instructions of the launch where the trace lacks some, or where blocks differ and those
    of other SMs say more; else 0: the trace tells."""
    trace = sample.trace
    is_whole = not trace.truncated and trace.instructions() < REPLAY_LIMIT
    if is_whole and not sample.is_of_works:
        return 0.0
    return sample.mean_work * blocks


def predicted_execution(name: str, timing: LaunchTiming | None) -> Execution:
    """The sample's counts, scaled to the whole grid.

    Raises:
        TimingUnavailable: the kernel could not be sampled.
    """
    if timing is None:
        raise TimingUnavailable(
            f"{name}: no block could be executed on its own",
            hint="Launch the whole grid. Sampling is also off where WARPLENS_TIMING=0 is set.",
        )
    sampled = timing.sample.execution
    executed = float(sampled.columns["inst_executed"].sum())
    factor = timing.question.blocks * timing.sample.mean_work / executed
    columns = {key: (column * factor).round().astype(column.dtype)
               for key, column in sampled.columns.items()}  # fmt: skip
    return replace(sampled, columns=columns)
