"""A kernel with its launch shape: packs the arguments, runs, predicts, sanitizes and steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.errors import ArgumentError
from warplens.execute.executable import ExecutableLaunch, KernelCode, LaunchShape
from warplens.execute.launch import LaunchConfig
from warplens.lift.constants import bank0
from warplens.naming import bare_name
from warplens.occupancy_calculator.occupancy import occupancy_of_kernel
from warplens.sanitize.finding import TOOLS
from warplens.sanitize.passes import SanitizeOptions, Sanitizer, chosen_tools
from warplens.sanitize.report import Report
from warplens.sass.model import SassKernel
from warplens.session.arguments import Formal, copied_arrays, pack
from warplens.session.kept import KeptArguments, keep
from warplens.session.launch import Launch
from warplens.session.listeners import after_launch, before_launch
from warplens.session.progress import Progress
from warplens.session.target import Target
from warplens.stepping.stepper import Stepper, step_warp
from warplens.timing.attach import TimingOptions, predicted_execution, take
from warplens.timing.deferred import defer
from warplens.timing.launch_timing import LaunchTiming
from warplens.wording import count

_TURN = 4  # instructions of a warp's turn under `interleave`


class ConfiguredKernel:
    """A kernel with its launch shape; call it with the arguments."""

    def __init__(
        self, target: Target, code: KernelCode, parameters: tuple[Formal, ...],
        shape: LaunchShape, stream: Any = 0,
    ) -> None:  # fmt: skip
        self.device = target
        self.shape = shape
        self.stream = stream
        self._code = code
        self._parameters = parameters
        self._is_followed = False  # by initcheck, which knows what the launch writes
        self._fits: dict[int | None, int] = {}

    @property
    def sass(self) -> SassKernel:
        """The kernel's machine code and resources."""
        return self._code.sass

    def __call__(self, *arguments: Any) -> Launch:
        """Runs the kernel and gives its counters."""
        self._check_count(arguments)
        self._is_followed = False
        before_launch(self, arguments)
        return self._launch(arguments, predict=False)

    def predicted(self, arguments: tuple[Any, ...]) -> Launch:
        """Predicts time and counts from sampled blocks; arrays are left as they were."""
        self._check_count(arguments)
        return self._launch(arguments, predict=True)

    def bank(self, arguments: tuple[Any, ...]) -> npt.NDArray[np.uint8]:
        """Constant bank 0 as a launch finds it: its shape, its parameters."""
        self._check_count(arguments)
        sass, shape = self.sass, self.shape
        with self._packed(arguments, write_back=False) as launch:
            return bank0(
                sass, grid=shape.grid, block=shape.block, dynamic_shared=shape.dynamic_shared,
                local_bytes=sass.local_bytes, sm_count=self.device.gpu.sm_count,
                parameters=launch.config.params,
            )  # fmt: skip

    def sanitized(
        self, arguments: tuple[Any, ...], options: SanitizeOptions, *, keep_results: bool
    ) -> Report:
        """Runs the launch under the sanitizers; arrays end up as after it, or as before."""
        self._check_count(arguments)
        self._is_followed = True
        with self._packed(arguments, write_back=keep_results, apart=True) as launch:
            return Sanitizer(launch, options).run(keep_results=keep_results)

    def _check_count(self, arguments: tuple[Any, ...]) -> None:
        if len(arguments) != len(self._parameters):
            raise ArgumentError(
                f"{self.sass.demangled} takes {count(len(self._parameters), 'argument')}, "
                f"{len(arguments)} given"
            )

    def _launch(self, arguments: tuple[Any, ...], *, predict: bool) -> Launch:
        options, kept = self.device.options, keep(arguments)
        timed = TimingOptions(
            scheduler=options.scheduler, exact=options.exact_timing, carveout=options.carveout,
            over_time=options.pm_sampling, raises=predict,
        )  # fmt: skip
        timing: Callable[[], LaunchTiming | None] | None = None
        bar = Progress(bare_name(self.sass.demangled), shown=options.show_progress)
        try:
            with self._packed(arguments, write_back=not predict, progress=bar) as launch:
                if predict:
                    is_blind = not self._code.counts_depend_on_memory
                    taken = defer(launch, timed)() if is_blind else take(launch, timed)
                    timing = partial(_same, taken)
                    execution = predicted_execution(self.sass.demangled, taken)
                else:
                    timing = defer(launch, timed) if options.timing else None
                    execution = launch.run()
                    execution = replace(execution, notes=(*execution.notes, *self._notes()))
                    if not self._is_followed:
                        launch.memory.take_as_written()
        finally:
            bar.close()
        image = self._code.image
        unit = image.unit
        done = Launch(
            execution,
            self.device.gpu,
            clock_mhz=self.device.clock_mhz,
            function_name=bare_name(self.sass.demangled),
            texts={} if unit is None else {unit.name: unit.text},
            ptx=image.ptx,
            timing=timing,
            predicted=predict,
            stepper=partial(self._step, kept),
            copied=copied_arrays(self._parameters, arguments),
            carveout=options.carveout,
        )
        after_launch(done)
        return done

    def _notes(self) -> tuple[str, ...]:
        """What a reader should know of races."""
        turns = f"The warps of a block took turns of {_TURN} instructions."
        notes = (turns if self.device.options.interleave else "", self._code.race_note)
        return tuple(note for note in notes if note)

    def _step(self, kept: KeptArguments, *, block: int, warp: int) -> Stepper:
        notes = () if kept.is_copied else (
            "The arrays were too large to copy: the block read what the launch had left in them.",
        )  # fmt: skip
        with self._packed(kept.restored(), write_back=False) as launch:
            return step_warp(launch, block=block, warp=warp, notes=notes)

    @contextmanager
    def _packed(
        self, arguments: tuple[Any, ...], *, write_back: bool,
        progress: Callable[[int, int], None] | None = None, apart: bool = False,
    ) -> Iterator[ExecutableLaunch]:  # fmt: skip
        """The executable launch while its arrays are mapped, far apart if wanted; if all went well,
        arrays that had to be copied in are copied back on the way out."""
        memory, succeeded = self.device.memory, False
        memory.has_wide_guards = apart
        packed = pack(memory, self._parameters, self.sass.parameter_bytes, arguments)
        try:
            yield ExecutableLaunch(
                code=self._code, memory=memory, config=self._config(packed.parameters, progress),
                gpu=self.device.gpu, clock_mhz=self.device.clock_mhz,
            )  # fmt: skip
            succeeded = True
        finally:
            packed.finish(memory, write_back=write_back and succeeded)

    def _config(
        self, parameters: bytes, progress: Callable[[int, int], None] | None
    ) -> LaunchConfig:
        options, gpu, shape = self.device.options, self.device.gpu, self.shape
        return LaunchConfig(
            grid=shape.grid,
            block=shape.block,
            dynamic_shared=shape.dynamic_shared,
            params=parameters,
            deterministic=options.deterministic,
            interleave=_TURN if options.interleave else 0,
            workers=options.workers,
            max_steps=options.max_steps,
            max_seconds=options.max_seconds,
            max_idle_seconds=options.max_idle_seconds,
            max_resident=max(1, self._blocks_per_sm(options.carveout) * gpu.sm_count),
            sm_count=gpu.sm_count,
            progress=options.progress or progress,
        )

    def _blocks_per_sm(self, carveout: int | None) -> int:
        if carveout not in self._fits:
            shape = self.shape
            self._fits[carveout] = int(occupancy_of_kernel(
                self.sass, self.device.gpu, shape.block, shape.dynamic_shared, carveout=carveout
            ).blocks)  # fmt: skip
        return self._fits[carveout]


def _same(timing: LaunchTiming | None) -> LaunchTiming | None:
    return timing


class PredictedKernel:
    """A kernel with its launch shape whose call runs sampled blocks only."""

    def __init__(self, configured: ConfiguredKernel) -> None:
        self._configured = configured

    def __call__(self, *arguments: Any) -> Launch:
        """Predicts time and counts; arrays are left as they were."""
        return self._configured.predicted(arguments)


class Predictor:
    """`kernel.predict`: takes grid and block like the kernel."""

    def __init__(self, configure: Callable[[Any], ConfiguredKernel]) -> None:
        self._configure = configure

    def __getitem__(self, configuration: Any) -> PredictedKernel:
        """The kernel with its grid and block."""
        return PredictedKernel(self._configure(configuration))


class SanitizedKernel:
    """A launch shape under the sanitizers; call it with the arguments."""

    def __init__(self, configured: ConfiguredKernel) -> None:
        self._configured = configured

    def __call__(
        self,
        *arguments: Any,
        tools: Sequence[str] = TOOLS,
        schedules: int = 0,
        seed: int = 1,
        lane_blocks: int = 128,
    ) -> Report:
        """Runs the kernel and returns what was found.

        Args:
            tools: out of memcheck, racecheck, initcheck, synccheck; or "all".
            schedules: further runs in other orders of warps and blocks, to show that a race
                changes the result; seed: of the first of them.
            lane_blocks: how many blocks run unoptimised for the checks inside warps.
        """
        options = SanitizeOptions(
            tools=chosen_tools(tools), schedules=schedules, seed=seed, lane_blocks=lane_blocks
        )
        return self._configured.sanitized(arguments, options, keep_results=True)


class Sanitizing:
    """`kernel.sanitize`: takes grid and block like the kernel."""

    def __init__(self, configure: Callable[[Any], ConfiguredKernel]) -> None:
        self._configure = configure

    def __getitem__(self, configuration: Any) -> SanitizedKernel:
        """The kernel under the sanitizers with its grid and block."""
        return SanitizedKernel(self._configure(configuration))
