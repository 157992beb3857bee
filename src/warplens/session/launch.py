"""A finished launch: its metrics, sections, source table and pages."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from math import prod

from warplens.analysis.advice import advise, ranked, with_advice
from warplens.analysis.charts import charts_of
from warplens.analysis.prediction import Prediction, prediction
from warplens.analysis.stall_columns import lines_with_stalls, stalls_of, with_stalls
from warplens.analysis.transfers import Copied, Transfers, transfers
from warplens.errors import InputError, TimingUnavailable
from warplens.execute.execution import Execution
from warplens.gpus.spec import GpuSpec
from warplens.isa import forms
from warplens.metrics.assemble import (
    all_values,
    breakdown,
    build_section,
    by_line,
    choose_sections,
    command_line_section,
    line_table,
    metrics_of,
    source_table,
)
from warplens.metrics.classes import classes_of
from warplens.metrics.counters import Counters, Sources
from warplens.metrics.registry import evaluate, find_section
from warplens.occupancy_calculator.occupancy import occupancy_of_kernel
from warplens.report.jupyter import launch_html
from warplens.report.terminal import details_page
from warplens.result import (
    LaunchResult,
    LineTable,
    Number,
    Result,
    Rule,
    ScheduleWindow,
    Section,
    SourceTable,
    Value,
    save,
)
from warplens.session.process import process_name
from warplens.stepping.stepper import Stepper
from warplens.timing.ablate import AblationTable
from warplens.timing.launch_timing import LaunchTiming
from warplens.timing.view import Schedule
from warplens.version import __version__
from warplens.wording import count

DEFAULT_SET = "detailed"
_OVER_TIME = ("PmSampling", "PmSampling_WarpStates")


class Launch:
    """What one kernel launch did.

    `launch.metric(name)` is a number, `launch[name]` a value with unit and basis, `print(launch)`
    the details page.
    """

    def __init__(
        self,
        execution: Execution,
        gpu: GpuSpec,
        *,
        clock_mhz: float | None = None,
        function_name: str = "",
        texts: dict[str, str] | None = None,
        ptx: str | None = None,
        timing: Callable[[], LaunchTiming | None] | None = None,
        stepper: Callable[..., Stepper] | None = None,
        predicted: bool = False,
        copied: tuple[Copied, ...] = (),
        carveout: int | None = None,
    ) -> None:
        self.execution = execution
        self.gpu = gpu
        self.clock_mhz = gpu.clock_mhz() if clock_mhz is None else clock_mhz
        self.function_name = function_name or execution.kernel.name
        self._texts = texts or {}
        self._ptx = ptx or ""
        self._timer = timing
        self._stepper = stepper
        self.predicted = predicted
        self._copied = copied
        self._carveout = carveout

    @property
    def grid(self) -> tuple[int, int, int]:
        """Blocks along x, y, z."""
        return self.execution.grid

    @property
    def block(self) -> tuple[int, int, int]:
        """Threads of a block along x, y, z."""
        return self.execution.block

    @property
    def output(self) -> str:
        """What the kernel printed."""
        return self.execution.output

    @cached_property
    def sources(self) -> Sources:
        """What the metrics are computed from."""
        execution = self.execution
        cluster = execution.kernel.cluster
        return Sources(
            execution=execution,
            gpu=self.gpu,
            occupancy=occupancy_of_kernel(
                execution.kernel,
                self.gpu,
                execution.block,
                execution.dynamic_shared,
                carveout=self._carveout,
                cluster=None if cluster is None else prod(cluster),
            ),
            classes=classes_of(execution.kernel),
            timer=lambda: self._timing,
            sampled=self.predicted,
        )

    @cached_property
    def counters(self) -> Counters:
        """The view that metric formulas read."""
        return Counters(self.sources)

    @cached_property
    def _timing(self) -> LaunchTiming | None:
        return None if self._timer is None else self._timer()

    @property
    def is_timed(self) -> bool:
        """Whether the launch has a timing model."""
        return self._timing is not None

    def time_by(self, timing: LaunchTiming) -> None:
        """Takes another timing of the same launch from now on."""
        self.__dict__["_timing"] = timing

    @property
    def timing(self) -> LaunchTiming:
        """The timing model of this launch.

        Raises:
            TimingUnavailable: the launch was made without timing, or could not be sampled.
        """
        if self._timing is None:
            raise TimingUnavailable(
                f"{self.execution.kernel.demangled}: the launch kept no trace",
                hint="Launch with LaunchOptions(timing=True), the default.",
            )
        return self._timing

    def schedule(self, sm: int = 0, cycles: int = 200, first: int = 0) -> Schedule:
        """Which warp issued what in each cycle and why the others did not: text, JSON, Perfetto."""
        return self.timing.schedule(sm=sm, cycles=cycles, first=first)

    def ablate(self, *, pairs: bool = True) -> AblationTable:
        """What each resource is worth: the time with one, or two, of them ideal."""
        return self.timing.ablate(pairs=pairs)

    def prediction(self) -> Prediction:
        """The modelled duration, what limits it, and the error of the model elsewhere."""
        return prediction(self.timing)

    def transfers(self, memory: str = "pageable") -> Transfers:
        """The modelled copies of the launch's arrays between host and device.

        Args:
            memory: "pageable", as malloc and NumPy give it, or "pinned" (cudaHostAlloc).
        """
        return transfers(self.gpu, self._copied, memory)

    def step(self, block: int = 0, warp: int = 0) -> Stepper:
        """One warp of one block, instruction by instruction, with all lanes' registers.

        The block is run again, alone, on the arrays as they were before the launch (arrays over
        8 MB: as they are now). What other blocks would have written meanwhile is not there.
        """
        if self._stepper is None:
            raise InputError("this launch cannot be executed again")
        return self._stepper(block=block, warp=warp)

    def __getitem__(self, name: str) -> Value:
        """A metric's value with its unit and basis, in base units."""
        return evaluate(name, self.counters)

    def metric(self, name: str) -> Number:
        """A metric's number in base units (ns, byte, %); None where it is not available."""
        return self[name].number

    def metrics(self) -> dict[str, Value]:
        """Every metric with its first-level roll-ups."""
        return all_values(self.counters)

    def section(self, name: str) -> Section:
        """One section by identifier or title."""
        return build_section(find_section(name), self.counters)

    def per_instruction(self, name: str) -> tuple[Number, ...]:
        """A metric's value for each SASS instruction, in program order."""
        return breakdown(name, self.sources)

    def per_line(self, name: str) -> dict[tuple[str, int], Number]:
        """A metric's value for each source line, by (file, line)."""
        return by_line(name, self.sources)

    def source(self) -> SourceTable:
        """The source page: SASS, source lines and per-instruction values."""
        table = source_table(self.sources, self._texts, self._ptx)
        return with_stalls(table, stalls_of(self.sources.timing))

    @cached_property
    def _advice(self) -> tuple[tuple[str, Rule], ...]:
        return advise(self.sources, self.counters, self._texts)

    def advice(self) -> tuple[Rule, ...]:
        """What costs time, where and what helps; the largest estimated gain first."""
        return ranked(self._advice)

    def _source_pages(self) -> tuple[SourceTable, LineTable]:
        table, lines = self.source(), line_table(self.sources, self._texts)
        stalls = stalls_of(self.sources.timing)
        return table, lines_with_stalls(lines, table, stalls)

    def result(
        self,
        *,
        section_set: str | None = DEFAULT_SET,
        sections: Sequence[str] = (),
        metrics: Sequence[str] = (),
        identifier: int = 0,
        with_source: bool = True,
        warp: tuple[int, int] | None = None,
        window: tuple[int, int] | None = None,
    ) -> LaunchResult:
        """The launch as plain data for reports.

        `warp` (block, warp) adds one stepped warp; `window` (first, count) says which cycles of an
        SM's schedule are kept, else some from the middle of the first blocks.
        """
        specs = choose_sections(section_set=section_set, sections=sections)
        built = [build_section(spec, self.counters) for spec in specs]
        if metrics:
            built.insert(0, command_line_section(metrics, self.counters))
        found = metrics_of(built, self.counters)
        kernel = self.execution.kernel
        source, by_line = self._source_pages() if with_source else (None, None)
        major, minor = (int(part) for part in self.gpu.compute_capability.split("."))
        return LaunchResult(
            id=identifier,
            kernel_name=kernel.demangled,
            function_name=self.function_name,
            mangled=kernel.name,
            grid=self.grid,
            block=self.block,
            gpu=self.gpu.name,
            compute_capability=(major, minor),
            process_id=os.getpid(),
            process_name=process_name(),
            sections=with_advice(built, self._advice),
            metrics=found,
            source=source,
            by_line=by_line,
            notes=self.notes(),
            output=self.execution.output,
            properties=self._properties(),
            charts=charts_of(self.counters, clock_mhz=self.clock_mhz, known=found)
            if with_source else None,
            warp=None if warp is None else self.step(*warp).trace(),
            schedule=self._window(window) if with_source else None,
        )

    def _properties(self) -> dict[str, str]:
        found = {"clock_mhz": f"{self.clock_mhz:g}"}
        if self._timing is not None:
            told = self.prediction()
            found["clock_mhz"] = f"{self._timing.question.clock_mhz:g}"
            found["predicted_ns"] = f"{told.nanoseconds:.6g}"
            found["limiter"] = told.limiter
            found["error_percent"] = f"{told.error_percent:g}"
        return found

    def _window(self, chosen: tuple[int, int] | None) -> ScheduleWindow | None:
        if self._timing is None:
            return None
        return self._timing.window() if chosen is None else self._timing.window(*chosen)

    def _inferred_forms(self) -> list[str]:
        """A note if the kernel has instructions whose meaning was not compared with a GPU."""
        found = forms.inferred(self.execution.kernel)
        if not found:
            return []
        shown = ", ".join(f"`{name}`" for name in found[:3])
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        return [f"The meaning of {count(len(found), 'instruction form')} is inferred, not recorded "
                f"on a GPU: {shown}{more}; see `warplens list opcodes --forms`."]  # fmt: skip

    def notes(self) -> tuple[str, ...]:
        """How the launch was executed, where it matters to the reader."""
        execution = self.execution
        missing = "; n/a: needs the timing model" if self.sources.timing is None else ""
        copies = (self.transfers().sentence(),) if self._copied else ()
        if self.predicted and self._timing is not None:
            return (
                "Predicted from sampled blocks: counts are extrapolated, outputs are not "
                "meaningful.",
                self._timing.note(),
                *copies,
            )
        notes = [f"SASS executed on the CPU, simulating {self.gpu.name}{missing}."]
        if self._timing is not None:
            notes.append(self._timing.note())
        if execution.ordered:
            notes.append("Blocks ran in index order, since results may depend on it: "
                         f"{execution.ordered_reason}")
        if execution.spinning:
            notes.append("Blocks waited for each other; resident blocks were scheduled in turn.")
        notes += (f"Out of bounds, where a GPU goes on: {text}" for text in execution.strays)
        notes += self._inferred_forms()
        return (*notes, *copies, *execution.notes)

    def save(
        self, path: str, *, overwrite: bool = False, warp: tuple[int, int] | None = None
    ) -> str:
        """Writes a result file with all sections; returns its path.

        `warp` (block, warp) adds one warp, step by step, for the HTML report.
        """
        every = self.result(section_set="full", sections=_OVER_TIME, warp=warp)
        result = Result(launches=(every,), writer=__version__)
        return str(save(result, path, overwrite=overwrite))

    def __str__(self) -> str:
        launch = self.result(with_source=False)
        return details_page(Result(launches=(launch,), writer=__version__)).rstrip("\n")

    def __repr__(self) -> str:
        shape = f"{self.grid} x {self.block}"
        return f"Launch({self.execution.kernel.demangled!r}, {shape}, {self.gpu.name})"

    def _repr_html_(self) -> str:
        return launch_html(self.result(with_source=False))
