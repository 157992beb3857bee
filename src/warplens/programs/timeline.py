"""A program over time: when the host calls, when GPUs copy and compute.

The time between calls is the host's own, measured where the program runs. What the simulated GPU
takes is modelled: copies by the link, kernels by the timing model. Kernels of several streams run
together as far as their blocks leave SMs free; a GPU has one copy engine for each direction.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

from warplens.analysis.transfers import staging_ns
from warplens.driver.launching import duration
from warplens.driver.machine import Context, Driver
from warplens.driver.memory import DEVICE, MANAGED, MAPPED
from warplens.driver.timeline import Moment, Stream, Work
from warplens.execute.strays import PAGE
from warplens.gpus.spec import GpuSpec
from warplens.occupancy_calculator.occupancy import occupancy_of_kernel
from warplens.programs.residue import Residue
from warplens.result.system import COPY, FILL, KERNEL, ApiCall, DeviceWork, NvtxRange
from warplens.timing.ranges import Range

if TYPE_CHECKING:
    from warplens.session.launch import Launch

_TO_DEVICE, _TO_HOST = "Host-to-Device", "Device-to-Host"
_SHORTEST_NS = 500.0
_ON_DEVICE, _BETWEEN = "Device-to-Device", "Peer-to-Peer"


@dataclass(slots=True)
class Noted:
    """Bytes that a piece of work moved."""

    operation: str
    nbytes: int
    pinned: bool
    kind: str = COPY
    reads: Range | None = None  # on a device
    writes: Range | None = None

    def join(self, other: Noted) -> None:
        """Adds another row of the same copy."""
        self.nbytes += other.nbytes
        self.reads, self.writes = _both(self.reads, other.reads), _both(self.writes, other.writes)


def _both(one: Range | None, other: Range | None) -> Range | None:
    if one is None or other is None:
        return one or other
    return Range(min(one.start, other.start), max(one.end, other.end))


@dataclass(slots=True)
class _Gpu:
    """Until when each engine of a GPU is busy, and which kernels run with what share of its SMs."""

    l2: Residue
    pages: set[int] = field(default_factory=set)  # that kernels have used
    engines: dict[str, float] = field(default_factory=dict)
    running: list[tuple[float, float, float]] = field(default_factory=list)

    def kernel_start(self, ready: float, share: float, nanoseconds: float) -> float:
        """When a kernel finds room; it is running from then on."""
        ends = sorted({ready, *(end for _, end, _ in self.running if end > ready)})
        start = next(
            at for at in ends
            if sum(s for begin, end, s in self.running if begin <= at < end) + share <= 1 + 1e-9
        )
        self.running = [one for one in self.running if one[1] > start - 1e9]
        self.running.append((start, start + nanoseconds, share))
        return start


class Clock(threading.local):
    """The host's time of the calling thread, in ns since the program began."""

    now: float = 0.0
    entered: float = 0.0
    is_new: bool = True


class Recorder:
    """Collects calls and work of all processes of a program."""

    def __init__(self) -> None:
        self.calls: list[ApiCall] = []
        self.work: list[DeviceWork] = []
        self.ranges: list[NvtxRange] = []
        self.clock = Clock()
        self._latest = 0.0

    def enter(self, host_ns: int) -> None:
        """The host calls, so long after it came back from the last call."""
        if self.clock.is_new:
            self.clock.is_new, self.clock.now = False, self._latest
        self.clock.now += host_ns
        self.clock.entered = self.clock.now

    def spend(self, nanoseconds: float) -> None:
        """The call itself takes the host so long."""
        self.clock.now += nanoseconds

    def wait_until(self, nanoseconds: float) -> None:
        """The host waits in the call."""
        self.clock.now = max(self.clock.now, nanoseconds)

    def leave(self, name: str, process: int, thread: int, *, is_listed: bool = True) -> None:
        """The call returns."""
        entered, now = self.clock.entered, self.clock.now
        self._latest = max(self._latest, now)
        if not is_listed:
            return
        self.calls.append(ApiCall(
            name=name, process=process, thread=thread, start_ns=entered, duration_ns=now - entered
        ))  # fmt: skip


class RecordingDriver(Driver):
    """The driver, with the times of work in streams."""

    recorder: Recorder
    process: int
    noted: list[Noted]
    keeps_caches = False  # launches keep the time that they take in the timeline

    def record(self, recorder: Recorder, process: int, noted: list[Noted]) -> None:
        """From now on work is recorded."""
        self.recorder, self.process, self.noted = recorder, process, noted
        self._gpus_busy = [_Gpu(Residue(gpu.spec)) for gpu in self.gpus]
        self.keep_times()

    def do(self, stream: Stream, work: Work) -> None:
        """Does work of a stream and says when a GPU would have done it."""
        if not hasattr(self, "recorder"):
            super().do(stream, work)
            return
        before = max(moment.nanoseconds() for moment in self.moments_before(stream))
        ready = max(before, self.recorder.clock.now)
        stream.now = _at(ready)
        self.noted.clear()
        n_launches = len(self.launches)
        taken = work(stream)
        if taken is None:
            return
        device = self.thing(stream.context, Context).gpu.index
        end = ready
        if len(self.launches) > n_launches:
            end = self._kernel(self.launches[-1], device, stream, ready)
        for noted in self.noted:
            end = self._moved(noted, device, stream, end, taken)
        stream.now = _at(end)

    def _kernel(self, launch: Launch, device: int, stream: Stream, ready: float) -> float:
        nanoseconds = max(self._taken(launch, device) - _edges(launch), _SHORTEST_NS)
        start = self._gpus_busy[device].kernel_start(ready, _share(launch), nanoseconds)
        self.recorder.work.append(DeviceWork(
            kind=KERNEL, name=launch.execution.kernel.demangled, process=self.process,
            device=device, stream=stream.number, start_ns=start, duration_ns=nanoseconds,
            grid=launch.grid, block=launch.block,
        ))  # fmt: skip
        return start + nanoseconds

    def _taken(self, launch: Launch, device: int) -> float:
        """What a launch takes with what L2 holds by then."""
        if not launch.is_timed:
            return duration(launch)
        l2, timing = self._gpus_busy[device].l2, launch.timing
        warm = timing.after(l2.held(by=timing.model))
        if self.keeps_caches:
            launch.time_by(warm)
        value = warm.value("gpu__time_duration.sum")
        used = timing.used()
        l2.used(used, by=timing.model)
        pages = {page for r in used for page in range(r.start // PAGE, (r.end - 1) // PAGE + 1)}
        new = len(pages - self._gpus_busy[device].pages)
        self._gpus_busy[device].pages |= pages
        return (value or 0.0) + new * float(launch.gpu.value("host.first_page_ns"))

    def _moved(
        self, noted: Noted, device: int, stream: Stream, ready: float, taken: Callable[[], float]
    ) -> float:
        nanoseconds = taken() / max(len(self.noted), 1)
        self._leave(noted, device)
        before, after = self._staged(noted, device)
        nanoseconds = max(nanoseconds - before - after, 0.0)
        engines = self._gpus_busy[device].engines
        start = max(ready + before, engines.get(noted.operation, 0.0))
        if noted.operation in (_TO_DEVICE, _TO_HOST):
            engines[noted.operation] = start + nanoseconds
        name = {FILL: "[CUDA memset]", COPY: f"[CUDA memcpy {noted.operation}]"}.get(
            noted.kind, noted.operation
        )
        self.recorder.work.append(DeviceWork(
            kind=noted.kind, name=name, process=self.process, device=device, stream=stream.number,
            start_ns=start, duration_ns=nanoseconds, nbytes=noted.nbytes,
            memory="" if noted.operation not in (_TO_DEVICE, _TO_HOST)
            else "pinned" if noted.pinned else "pageable",
        ))  # fmt: skip
        if noted.operation in (_TO_DEVICE, _TO_HOST) and not noted.pinned:
            # The host fills the driver's buffers, or empties them.
            self.recorder.wait_until(start + nanoseconds + after)
        return start + nanoseconds

    def _leave(self, noted: Noted, device: int) -> None:
        """What is in L2 behind a copy or a fill."""
        l2 = self._gpus_busy[device].l2
        if noted.writes is not None and noted.operation == _TO_DEVICE:
            l2.copied_in(noted.writes, is_pinned=noted.pinned)
        elif noted.writes is not None:
            l2.used(one for one in (noted.reads, noted.writes) if one is not None)

    def _staged(self, noted: Noted, device: int) -> tuple[float, float]:
        """How long the host alone is busy for a pageable copy, before the link is and after it."""
        if noted.pinned or noted.operation not in (_TO_DEVICE, _TO_HOST):
            return 0.0, 0.0
        is_first = noted.operation == _TO_DEVICE
        spent = staging_ns(self.gpus[device].spec, noted.nbytes, to_device=is_first)
        return (spent, 0.0) if is_first else (0.0, spent)


def _at(nanoseconds: float) -> Moment:
    moment = Moment((), lambda: nanoseconds)
    moment.nanoseconds()
    return moment


def _room(launch: Launch) -> int:
    """How many of a launch's blocks a GPU holds at a time."""
    execution, spec = launch.execution, launch.gpu
    fits = int(occupancy_of_kernel(execution.kernel, spec, launch.block, 0).blocks) or 1
    return fits * spec.sm_count


def _share(launch: Launch) -> float:
    """The part of a GPU's SMs that a launch's blocks fill."""
    return min(1.0, prod(launch.grid) / _room(launch))


def _edges(launch: Launch) -> float:
    """What gpu__time_duration counts and CUPTI's start and end do not span."""
    spec, first_wave = launch.gpu, min(prod(launch.grid), _room(launch))
    whole = float(spec.value("host.kernel_edges_ns"))
    return max(0.0, whole - first_wave * float(spec.value("host.kernel_edges_block_ns")))


def direction(kinds: tuple[str | None, str | None], devices: tuple[int, int]) -> str:
    """What a copy is called: its target's and its source's kind of memory say."""
    on_device = [kind in (DEVICE, MANAGED, MAPPED, "variable") for kind in kinds]
    if all(on_device):
        return _ON_DEVICE if devices[0] == devices[1] else _BETWEEN
    return _TO_DEVICE if on_device[0] else _TO_HOST if on_device[1] else "Host-to-Host"


def call_nanoseconds(name: str, spec: GpuSpec) -> float:
    """What a call takes the host beside waiting."""
    kind = "launch_ns" if "Launch" in name or name.endswith("Async") else "call_ns"
    short = ("cudaGet", "cudaSetDevice", "cudaEvent", "cudaStream", "cudaDevice")
    is_short = name.startswith(short)
    return float(spec.value("host.launch_ns" if is_short else f"host.{kind}"))
