"""One configuration, stage by stage: compiled facts, a prediction, a full run."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from warplens.errors import TimingUnavailable, WarplensError
from warplens.lift.decode.binding import BindingError
from warplens.session.device import Device
from warplens.session.kernel import Kernel
from warplens.session.module import Module
from warplens.session.options import LaunchOptions
from warplens.toolchain.together import disassemble_together
from warplens.tune.counted import cycles
from warplens.tune.mix import alone, least, mix, work
from warplens.tune.problem import Job
from warplens.tune.walk import Unknown, Walk
from warplens.tune.why import explained
from warplens.workers import resolved

TIME = "gpu__time_duration.sum"
COUNTED = "counted"
FACTS = ("registers", "local_bytes", "shared_bytes", "code_bytes", "instructions", "memory",
         "stalls", "waits", "work", "least", "occupancy", "blocks")  # fmt: skip
_WAIT = 30.0  # cycles of a load that hits L1, where a GPU's file has none
_RUN = ("predict", "confirm")  # stages that launch
_IDLE_S = 60.0  # in which no block of a full run ends: an endless loop
_FINISHED = re.compile(r",? with [\d,]+ of [\d,]+ blocks? finished$")
_LOOKED_S = 20.0  # of a full run that is looked through for a fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a worker is asked: which stage of which job, on which GPU."""

    stage: str  # facts, list, count, predict or confirm
    job: Job
    gpu: str
    clock: str | float
    metrics: tuple[str, ...]
    arguments: tuple[Any, ...]
    timeout: float | None = None  # seconds of a full run
    others: tuple[Job, ...] = ()  # that are listed together with this one


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a stage gave; `problem` says why it gave nothing.

    Attributes:
        facts: registers, local_bytes, shared_bytes, code_bytes, instructions, memory (those that
            go to it), stalls and waits (see `mix.alone`), work and least (see there), occupancy (a
            fraction) and blocks (of an SM).
        metrics: values by name, the time in ns among them; of a count the cycles that its warps'
            ways take at least.
        arguments: the arrays after a full run.
    """

    facts: dict[str, float] | None = None
    metrics: dict[str, float] | None = None
    limiter: str = ""
    arguments: tuple[Any, ...] = ()
    problem: str = ""
    seconds: float = 0.0


def answer(task: Task) -> Answer:
    """Does what is asked; errors of the configuration are answers, too."""
    begin = time.perf_counter()
    try:
        found = _STAGES[task.stage](task)
    except (WarplensError, MemoryError, AssertionError) as error:
        found = {"problem": f"{type(error).__name__}: {_reason(str(error))}"}
    except Exception as error:  # a mistake of ours at one configuration is no reason to end
        found = {"problem": f"internal error, {type(error).__name__}: {error}"}
    return Answer(**found, seconds=round(time.perf_counter() - begin, 4))


def _reason(text: str) -> str:
    """An error in one line: where a fault happened or what a compiler said along with it, but not
    how far other blocks had come, which is another each time."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    has_more = len(lines) > 1 and (lines[0].endswith(":") or lines[1].startswith("at "))
    return _FINISHED.sub("", " ".join(lines[: 2 if has_more else 1]))


@lru_cache(maxsize=4)
def _module(job: Job, gpu: str, clock: str | float, timeout: float | None, stage: str) -> Module:
    """A module on a device of its own: what a device has launched before decides where arrays lie,
    and thereby a little of the times. `stage` keeps what runs apart."""
    expressions = (job.kernel,) if "<" in job.kernel else ()
    options = LaunchOptions(max_seconds=timeout, max_idle_seconds=None if timeout else _IDLE_S)
    device = Device(gpu, clock=clock, options=options)
    return device.compile(job.source, options=job.options, name_expressions=expressions)


def _module_of(task: Task, job: Job | None = None) -> Module:
    stage = task.stage if task.stage in _RUN else ""
    return _module(job or task.job, task.gpu, task.clock, task.timeout, stage)


def _kernel_of(task: Task) -> Kernel:
    kernel, cluster = _module_of(task)[task.job.kernel], task.job.cluster
    return kernel if cluster is None else kernel.clustered(cluster)


def _facts(task: Task) -> dict[str, Any]:
    """What the compiled file says without being disassembled."""
    job = task.job
    kernel = _module_of(task).outline(job.kernel)
    if job.cluster is not None:
        kernel = kernel.clustered(job.cluster)
    kernel[job.grid, job.block, 0, job.shared]  # raises what a GPU would refuse
    occupancy = kernel.occupancy(job.block, job.shared)
    code = kernel.code.cubin.kernels[kernel.sass.name].code
    (instructions, memory), (stalls, waits) = mix(code), alone(code)
    bound = least(
        job, instructions=instructions, memory=memory, stalls=stalls, waits=waits,
        blocks=occupancy.blocks, wait=float(kernel.device.gpu.value("latency.l1_hit", _WAIT)),
    )  # fmt: skip
    values = (
        kernel.registers, kernel.local_bytes, kernel.static_shared + job.shared, len(code),
        instructions, memory, stalls, waits, work(job, instructions, memory), bound,
        occupancy.occupancy, occupancy.blocks,
    )  # fmt: skip
    return {"facts": dict(zip(FACTS, map(float, values), strict=True))}


def _list(task: Task) -> dict[str, Any]:
    """Disassembles several configurations in one call; what was refused before stays refused."""
    cubins = []
    for job in (task.job, *task.others):
        with suppress(WarplensError):
            cubins += [image.cubin.data for image in _module_of(task, job).images]
    disassemble_together(cubins)
    return {}


def _count(task: Task) -> dict[str, Any]:
    """What the ways of its warps take at least; nothing is traced or replayed."""
    kernel, job = _kernel_of(task), task.job
    configured = kernel[job.grid, job.block, 0, job.shared]
    shape = configured.shape
    try:
        walk = Walk(configured.sass, configured.bank(resolved(task.arguments)), shape.grid,
                    shape.block)  # fmt: skip
        found = cycles(
            walk, configured.device.gpu, grid=shape.grid,
            resident=kernel.occupancy(job.block, job.shared).blocks,
        )  # fmt: skip
    except (Unknown, BindingError) as error:
        return {"problem": f"not followed: {error}"}
    return {"metrics": {COUNTED: found}}


def _predict(task: Task) -> dict[str, Any]:
    kernel, job = _kernel_of(task), task.job
    try:
        launch = kernel.predict[job.grid, job.block, 0, job.shared](*resolved(task.arguments))
        told = launch.prediction()
    except TimingUnavailable:
        _look_for_fault(task)
        raise
    metrics = {TIME: float(told.nanoseconds)}
    metrics |= {name: float(launch[name]) for name in task.metrics}
    return {"metrics": metrics, "limiter": told.limiter}


def _look_for_fault(task: Task) -> None:
    """Where sampled blocks could not be executed, a full run of limited time tells the fault."""
    limited = replace(task, timeout=min(task.timeout or _LOOKED_S, _LOOKED_S))
    kernel, job = _kernel_of(limited), task.job
    kernel[job.grid, job.block, 0, job.shared](*_copies(task))


def _copies(task: Task) -> tuple[Any, ...]:
    return tuple(
        value.copy() if isinstance(value, np.ndarray) else value
        for value in resolved(task.arguments)
    )


def _confirm(task: Task) -> dict[str, Any]:
    kernel, job = _kernel_of(task), task.job
    arguments = _copies(task)
    launch = kernel[job.grid, job.block, 0, job.shared](*arguments)
    told = launch.prediction()
    metrics = {TIME: float(told.nanoseconds)}
    metrics |= explained(launch.metric)
    metrics |= {name: float(launch[name]) for name in task.metrics}
    return {"metrics": metrics, "limiter": told.limiter, "arguments": arguments}


_STAGES = {
    "facts": _facts, "list": _list, "count": _count, "predict": _predict, "confirm": _confirm,
}  # fmt: skip
