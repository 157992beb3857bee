"""Runs a launch under the sanitizers: the passes, the memory between them, and the findings.

The first pass runs the kernel as it was compiled. Where there is source, a second one runs an
unoptimised build (`--ptxas-options=-O0`), in which the masks of warp intrinsics survive: it checks
masks and what the lanes of a warp do to each other. Memory is put back before it and after it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePath

import numpy as np
import numpy.typing as npt

from warplens.errors import (
    Deadlock,
    ExecutionFault,
    InputError,
    LimitExceeded,
    WarplensError,
)
from warplens.execute import grid as engine
from warplens.execute.executable import ExecutableLaunch
from warplens.execute.execution import Execution
from warplens.execute.launch import Launching
from warplens.execute.memory import DeviceMemory, Segment
from warplens.execute.program import Program
from warplens.lift.regions.watch import Watch
from warplens.sanitize import state as st
from warplens.sanitize.deciding import deciding_loads
from warplens.sanitize.engine_errors import from_error
from warplens.sanitize.excerpt import Source, source_at, with_source
from warplens.sanitize.explain import Explainer
from warplens.sanitize.finding import TOOLS, Finding
from warplens.sanitize.heap import HeapUse
from warplens.sanitize.lock_findings import lock_finding
from warplens.sanitize.ptx import call_sites, has_warp_intrinsics, local_array_bytes
from warplens.sanitize.report import Report
from warplens.sanitize.schedules import changed_config, run_schedule
from warplens.sanitize.shadows import PassOptions, State, make_state
from warplens.sanitize.tables import passed_accesses, reserved_shared, uses_mbarriers
from warplens.sanitize.variants import (
    LANE_SYNCS,
    Variant,
    block_syncs,
    lost_shared,
    observed,
    unoptimised,
)
from warplens.sanitize.warpgroups import warpgroup_findings

MOST_SECONDS = 300.0  # of all passes together, where the user gives no limit
_LEAST_SECONDS = 5.0  # of a pass that still has to say where the launch waits
_MOST_REVERSED = 1 << 20  # blocks
_NO_LOCK_SETS = (
    "atomics change more words than are looked at for locks: what only a lock's order separates "
    "was not looked for"
)
_STUCK = ("mask-names-absent-lane", "barrier-deadlock")
_BITS = {"memcheck": 1, "racecheck": 2, "initcheck": 4, "synccheck": 8}


@dataclass(frozen=True, slots=True, kw_only=True)
class SanitizeOptions:
    """What to look for and how.

    Attributes:
        tools: names out of memcheck, racecheck, initcheck, synccheck.
        schedules: how many other orders of warps and blocks to try; seed: of the first one.
        lane_blocks: at most this many blocks run unoptimised for the checks inside warps.
    """

    tools: tuple[str, ...] = TOOLS
    schedules: int = 0
    seed: int = 1
    lane_blocks: int = 128


def chosen_tools(tools: Sequence[str]) -> tuple[str, ...]:
    """The tools by name; "all" means every one."""
    names = [tools] if isinstance(tools, str) else list(tools)
    if "all" in names:
        return TOOLS
    unknown = [name for name in names if name not in TOOLS]
    if unknown or not names:
        raise InputError(
            f"no sanitizer named {unknown[0] if unknown else ''!r}",
            hint=f"The tools are {', '.join(TOOLS)} and all.",
        )
    return tuple(name for name in TOOLS if name in names)


@dataclass
class Sanitizer:
    """One launch under the sanitizers."""

    launch: ExecutableLaunch
    options: SanitizeOptions
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _late: frozenset[int] = frozenset()
    _shares_words: bool = True
    _has_flags: bool = False
    _hides: bool = False
    _sharing_blocks: tuple[int, ...] = ()
    _ran_out: bool = False
    _locks: npt.NDArray[np.int64] | None = None  # the words that were used as locks
    _writes: State | None = None  # of the pass that knows what arrays count as written now
    _began: float = field(default_factory=time.monotonic)

    def run(self, *, keep_results: bool = True) -> Report:
        """Runs every pass; memory ends up as after one ordinary launch, or as before."""
        execution = self._passes(keep_results)
        if "synccheck" in self.options.tools:
            for finding in warpgroup_findings(self.launch.sass, self.launch.code.ptx):
                self._add(finding)
        if self._writes is not None:
            self._writes.keep_written()
        if "initcheck" not in self.options.tools:
            self.launch.memory.take_as_written()
        if "racecheck" in self.options.tools:
            racy = any(found.tool == "racecheck" and found.is_counted for found in self.findings)
            self.launch.code.has_races = racy or bool(self.launch.code.has_races)
        return Report(
            kernel=self.launch.sass.demangled,
            findings=tuple(self.findings),
            tools=self.options.tools,
            notes=tuple(self.notes),
            output=execution.output if execution is not None else "",
            grid=self.launch.config.grid,
            block=self.launch.config.block,
        )

    # --- passes ----------------------------------------------------------------------------------

    def _passes(self, keep_results: bool) -> Execution | None:
        memory = self.launch.memory
        bits = sum(_BITS[name] for name in self.options.tools)
        before = _Snapshot()
        config = replace(self._config(), snapshots=before.kept)
        execution = self._light_pass(memory, config, bits, before)
        if execution is None:
            execution = self._real_pass(memory, config, bits, before)
        inside = self._lane_tools(bits, execution is not None)
        if inside and not self._ran_out:
            results = before.present()
            before.restore()
            self._lane_pass(memory, config, inside, before)
            before.restore()
            for segment, copy in results:
                segment.buffer[:] = copy
        if execution is not None:
            self._schedules(config, before)
        if not keep_results:
            before.restore()
        return execution

    def _schedules(self, config: engine.LaunchConfig, before: _Snapshot) -> None:
        """Looks for races in other orders too, until one gives another result."""
        results = before.present()
        for number in range(self.options.schedules):
            seed = self.options.seed + number
            launch = self.launch.with_config(config)
            changed = changed_config(launch, seed)
            if "racecheck" in self.options.tools:
                before.restore()
                self._other_order(self._real, launch.memory, changed)
            before.restore()
            racy = any(finding.tool == "racecheck" for finding in self.findings)
            finding = run_schedule(launch, changed, seed, results, racy=racy)
            if finding is not None:
                self._add(finding)
                break
        before.restore()
        for segment, copy in results:
            segment.buffer[:] = copy

    def _light_pass(self, memory: DeviceMemory, config: engine.LaunchConfig, bits: int,
                    before: _Snapshot) -> Execution | None:  # fmt: skip
        """memcheck and synccheck alone: the engine's own code checks every access and the
        observer sees barriers. None if that is not enough, or something was wrong."""
        code, sass = self.launch.code, self.launch.sass
        syncs, memcheck = bits & st.TOOL_SYNCCHECK, bits & st.TOOL_MEMCHECK
        if bits & ~(st.TOOL_SYNCCHECK | st.TOOL_MEMCHECK) or (
            (memcheck and (code.program.uses_heap or code.program.has_warpgroup_products))
            or (syncs and uses_mbarriers(sass))
        ):
            return None
        sm_90 = sass.sm >= 90 and bool(self.launch.shared_bytes)
        first = (reserved_shared(sass) if sm_90 else 0) if memcheck else 0
        try:
            if not syncs and not first:
                workers = self.launch.config.workers
                return self.launch.with_config(replace(config, workers=workers)).run()
            watch = Watch(
                syncs=block_syncs(sass) if syncs else frozenset(), first_shared=first,
                parts=passed_accesses(sass) if syncs else frozenset(),
            )  # fmt: skip
            variant = observed(code, watch)
            if not syncs:
                return engine.execute(variant.program, variant.image, memory, config)
            options = PassOptions(mode=st.MODE_BLOCK, tools=st.TOOL_SYNCCHECK)
            return self._pass(variant, memory, config, options, raises=True)
        except LimitExceeded:
            if self._is_limited:
                raise
            before.restore()
            self.findings.clear()
            return None
        except ExecutionFault:
            before.restore()
            self.findings.clear()
            return None

    def _real_pass(self, memory: DeviceMemory, config: engine.LaunchConfig, bits: int,
                   before: _Snapshot) -> Execution | None:  # fmt: skip
        """The kernel as compiled; again with more shadow if reads came before writes."""
        options = PassOptions(mode=st.MODE_BLOCK, tools=bits)
        real = self._real
        found, output = len(self.findings), self._pass(real, memory, config, options)
        if self._late:
            options.tracked = self._late
            del self.findings[found:]
            before.restore()
            output = self._pass(real, memory, config, options)
        if output is not None and bits & st.TOOL_RACECHECK and (self._has_flags or self._hides):
            self._reversed_pass(real, memory, config, before)
        if output is not None and self._locks is not None:
            self._lock_pass(real, memory, config, before)
        return output

    def _lock_pass(self, variant: Variant, memory: DeviceMemory, config: engine.LaunchConfig,
                   before: _Snapshot) -> None:  # fmt: skip
        """What a lock orders counts only while it is held: what races now is a second opinion."""
        results = before.present()
        before.restore()
        self._other_order(variant, memory, config, locks=self._locks)
        before.restore()
        for segment, copy in results:
            segment.buffer[:] = copy

    def _other_order(self, variant: Variant, memory: DeviceMemory, config: engine.LaunchConfig,
                     locks: npt.NDArray[np.int64] | None = None) -> None:  # fmt: skip
        """Races in another order: reads count from the start, whoever writes later."""
        options = PassOptions(mode=st.MODE_BLOCK, tools=st.TOOL_RACECHECK, locks=locks)
        options.tracked = frozenset(segment.base for segment in memory.segments)
        self._pass(variant, memory, config, options, only_races=True)

    def _reversed_pass(self, variant: Variant, memory: DeviceMemory, config: engine.LaunchConfig,
                       before: _Snapshot) -> None:  # fmt: skip
        """The other side first: a fence that only the later of two threads needs may be missing,
        and an atomic hides what other blocks did before it from its own block."""
        total = int(np.prod(config.grid))
        results = before.present()
        before.restore()
        config = replace(config, warp_turns=(-1, -1))
        most = config.max_resident if self._has_flags else _MOST_REVERSED  # who waits needs all
        if 1 < total <= most and self.launch.sass.cluster_blocks == 1:
            config = replace(config, block_order=tuple(reversed(range(total))))
        self._other_order(variant, memory, config)
        before.restore()
        for segment, copy in results:
            segment.buffer[:] = copy

    def _lane_tools(self, bits: int, is_whole: bool) -> int:
        """What the unoptimised build is to be checked for; 0 if it can show nothing new."""
        tools = bits & (st.TOOL_RACECHECK | st.TOOL_SYNCCHECK)
        memcheck = bits & st.TOOL_MEMCHECK
        if not is_whole or not self.launch.code.has_text:
            return tools | memcheck if tools else 0
        sass, ptx = self.launch.sass, self.launch.code.ptx
        if not has_warp_intrinsics(ptx, sass.name):
            tools &= ~st.TOOL_SYNCCHECK
        if not self._shares_words and not lost_shared(self.launch):
            tools &= ~st.TOOL_RACECHECK
        if tools or local_array_bytes(ptx, sass.name) > max(sass.local_bytes, sass.frame_bytes):
            return tools | memcheck
        return 0

    def _sample(self, config: engine.LaunchConfig, program: Program) -> tuple[int, ...] | None:
        """Some blocks, the first, the last and those in which lanes share words among them; None:
        all."""
        total, most = int(np.prod(config.grid)), self.options.lane_blocks
        if total <= most or program.lifted.ordered_reason:
            return None
        spread = {int(i * (total - 1) / max(1, most - 1)) for i in range(most)}
        return tuple(sorted(spread | set(self._sharing_blocks[:most])))

    def _lane_pass(self, memory: DeviceMemory, config: engine.LaunchConfig, tools: int,
                   before: _Snapshot) -> None:  # fmt: skip
        if not self.launch.code.has_text:
            self.notes.append(
                "a loaded cubin is not checked for races between lanes of a warp, nor for masks of "
                "warp intrinsics: that needs the source, or PTX beside the machine code"
            )
            return
        is_light = tools == st.TOOL_SYNCCHECK
        try:
            variant = unoptimised(self.launch, Watch(checks=not is_light, syncs=LANE_SYNCS))
        except WarplensError as error:
            self.notes.append(f"races and masks within warps were not checked: {error.message}")
            return
        order = self._sample(config, variant.program)
        if order is not None:
            config = replace(config, block_order=order)
            self.notes.append(
                f"{len(order):,} of {int(np.prod(config.grid)):,} blocks were checked for races "
                "and masks within warps (--lane-blocks)"
            )
        options = PassOptions(mode=st.MODE_LANE, tools=tools)
        options.tracked = frozenset(segment.base for segment in memory.segments)
        found = len(self.findings)
        self._pass(variant, memory, replace(config, strict_masks=True), options)
        stuck = any(finding.check in _STUCK for finding in self.findings[found:])
        if stuck and self.launch.sass.cluster_blocks > 1:
            # lanes that return may wait for the others there: see clusters.count_joining()
            del self.findings[found:]
            before.restore()
            self._pass(variant, memory, config, options)

    @cached_property
    def _real(self) -> Variant:
        """The kernel as compiled, with every access and synchronisation shown."""
        return observed(self.launch.code, Watch(checks=True, syncs=block_syncs(self.launch.sass)))

    def _source(self, finding: Finding) -> Source:
        """The source that the kernel was compiled from, or the file that a finding names."""
        image = self.launch.code.image
        if image.unit is not None:
            return image.unit.name, tuple(image.unit.text.splitlines())
        paths = {PurePath(i.file).name: i.file for i in self.launch.sass.instructions if i.file}
        callers = [paths.get(name) for one in finding.accesses for name, _ in one.callers]
        files = [name for name in (*callers, *(one.file for one in finding.accesses)) if name]
        return source_at(files[0], image.shipped_ptx) if files else ("", ())

    def _config(self) -> engine.LaunchConfig:
        """The launch as it is run here: in order, and without a progress bar."""
        config = self.launch.config
        seconds = config.max_seconds
        if not self._is_limited:
            seconds = max(_LEAST_SECONDS, self._began + MOST_SECONDS - time.monotonic())
        return replace(
            config, deterministic=True, workers=1, progress=None, find_endless=True,
            max_seconds=seconds,
        )  # fmt: skip

    @property
    def _is_limited(self) -> bool:
        """Whether the user has limited the launch: then exceeding it is an error as elsewhere."""
        config = self.launch.config
        return config.max_seconds is not None or config.max_steps is not None

    def _pass(self, variant: Variant, memory: DeviceMemory, config: engine.LaunchConfig,
              options: PassOptions, *, raises: bool = False,
              only_races: bool = False) -> Execution | None:  # fmt: skip
        kernel = variant.program.lifted.kernel
        launching = Launching(variant.program, variant.image, memory, config, 1)
        config = replace(config, max_seconds=self._config().max_seconds)
        table = variant.table(options.mode)
        if options.locks is not None:
            table[sorted(deciding_loads(kernel)), st.I_FLAGS] |= st.F_DECIDES
        state = make_state(kernel, table, memory, config, options, launching.local_bytes)
        config = replace(
            config, observer=state.observer(),
            max_resident=min(config.max_resident, state.capacity),
        )  # fmt: skip
        explainer = Explainer(
            kernel=kernel, config=config, memory=memory, arrays=variant.arrays, mode=options.mode,
            sites=call_sites(variant.ptx),
        )  # fmt: skip
        heap = HeapUse(explainer, state)
        config = replace(config, heap_watch=heap)
        execution = None
        problem: Finding | None = None
        try:
            execution = engine.execute(variant.program, variant.image, memory, config)
        except LimitExceeded as error:
            if self._is_limited:
                raise
            self._ran_out = True
            problem = from_error(
                error, kernel, options.mode, self.options.tools, explainer.sites
            )
        except ExecutionFault as error:
            if raises and not isinstance(error, Deadlock):
                raise
            problem = from_error(
                error, kernel, options.mode, self.options.tools, explainer.sites
            )
        if options.mode == st.MODE_BLOCK:
            self._late = state.read_before_written() - options.tracked
            self._shares_words, self._sharing_blocks = state.shares_words, state.sharing_blocks
        self._collect(state, explainer, only_races=only_races)
        if only_races:
            return execution
        self._has_flags = bool(state.header[st.N_SYNC])
        self._hides = bool(state.header[st.MIXED])
        if options.mode == st.MODE_BLOCK:
            self._locks = state.found_locks()
            if state.header[st.LOCKS_LOST] and _NO_LOCK_SETS not in self.notes:
                self.notes.append(_NO_LOCK_SETS)
        if state.unwritten:
            self._writes = state
        for finding in heap.findings:
            self._add(finding)
        leaks = options.mode == st.MODE_BLOCK and "memcheck" in self.options.tools
        if execution is not None and leaks:
            for finding in heap.leaks():
                self._add(finding)
        overflown = any(finding.check == "stack-overflow" for finding in self.findings)
        if problem is not None and not overflown:  # after an overflow nothing makes sense
            self._add(with_source(problem, self._source(problem)))
        return execution

    def _collect(self, state: State, explainer: Explainer, *, only_races: bool) -> None:
        for record in state.records():
            finding = explainer.finding(record)
            if finding is not None and state.header[st.LOCK_SETS]:
                finding = lock_finding(finding, explainer, record, self.findings)
            if finding is not None and (finding.tool == "racecheck" or not only_races):
                self._add(with_source(finding, self._source(finding)))
                if finding.check == "stack-overflow":
                    break
        if state.header[st.OVERFLOWS]:
            self.notes.append(
                "the kernel uses more synchronisation variables than are tracked: some of the "
                "races between blocks may be false"
            )

    def _add(self, finding: Finding) -> None:
        """Adds a finding unless there is one of the same cause: the other build's, or the same
        two accesses the other way round."""
        key = (finding.check, finding.file, sorted(finding.lines), finding.severity)
        for place, known in enumerate(self.findings):
            same = (known.check, known.file, sorted(known.lines), known.severity)
            if same == key and finding.lines:
                wider = finding if finding.reach > known.reach else known  # it needs more
                self.findings[place] = replace(wider, count=max(known.count, finding.count))
                return
        self.findings.append(finding)


class _Snapshot:
    """The bytes that allocations had before the first pass wrote to them."""

    def __init__(self) -> None:
        self.kept: dict[int, tuple[Segment, npt.NDArray[np.uint8]]] = {}

    def restore(self) -> None:
        """Puts the bytes back."""
        for segment, copy in self.kept.values():
            segment.buffer[:] = copy

    def present(self) -> list[tuple[Segment, npt.NDArray[np.uint8]]]:
        """Copies of the same allocations as they are now."""
        return [(segment, segment.buffer.copy()) for segment, _ in self.kept.values()]
