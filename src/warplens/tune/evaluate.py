"""One configuration, stage by stage: compiled facts, a prediction, a full run."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from warplens.errors import WarplensError
from warplens.occupancy_calculator.occupancy import occupancy_of_kernel
from warplens.session.device import Device
from warplens.session.kernel import Kernel
from warplens.session.options import LaunchOptions
from warplens.tune.arguments import resolved
from warplens.tune.problem import Job
from warplens.tune.why import explained

TIME = "gpu__time_duration.sum"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a worker is asked: which stage of which job, on which GPU."""

    stage: str  # facts, predict or confirm
    job: Job
    gpu: str
    clock: str | float
    metrics: tuple[str, ...]
    arguments: tuple[Any, ...]
    timeout: float | None = None  # seconds of a full run


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a stage gave; `problem` says why it gave nothing.

    Attributes:
        facts: registers, local_bytes, shared_bytes, occupancy (a fraction) of the compiled kernel.
        metrics: values by name, the time in ns among them.
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
        first = str(error).splitlines()[0] if str(error) else ""
        found = {"problem": f"{type(error).__name__}: {first}"}
    return Answer(**found, seconds=round(time.perf_counter() - begin, 4))


@lru_cache(maxsize=8)
def _device(gpu: str, clock: str | float, timeout: float | None) -> Device:
    return Device(gpu, clock=clock, options=LaunchOptions(max_seconds=timeout))


@lru_cache(maxsize=4)
def _kernel(job: Job, gpu: str, clock: str | float, timeout: float | None) -> Kernel:
    expressions = (job.kernel,) if "<" in job.kernel else ()
    module = _device(gpu, clock, timeout).compile(
        job.source, options=job.options, name_expressions=expressions
    )
    kernel = module[job.kernel]
    return kernel if job.cluster is None else kernel.clustered(job.cluster)


def _kernel_of(task: Task) -> Kernel:
    return _kernel(task.job, task.gpu, task.clock, task.timeout)


def _facts(task: Task) -> dict[str, Any]:
    kernel, job = _kernel_of(task), task.job
    kernel[job.grid, job.block, 0, job.shared]  # raises what a GPU would refuse
    occupancy = occupancy_of_kernel(kernel.sass, kernel.device.gpu, job.block, job.shared)
    return {"facts": {
        "registers": float(kernel.registers),
        "local_bytes": float(kernel.local_bytes),
        "shared_bytes": float(kernel.static_shared + job.shared),
        "occupancy": float(occupancy.occupancy),
        "blocks": float(occupancy.blocks),
    }}  # fmt: skip


def _predict(task: Task) -> dict[str, Any]:
    kernel, job = _kernel_of(task), task.job
    launch = kernel.predict[job.grid, job.block, 0, job.shared](*resolved(task.arguments))
    told = launch.prediction()
    metrics = {TIME: float(told.nanoseconds)}
    metrics |= {name: float(launch[name]) for name in task.metrics}
    return {"metrics": metrics, "limiter": told.limiter}


def _confirm(task: Task) -> dict[str, Any]:
    kernel, job = _kernel_of(task), task.job
    arguments = tuple(
        value.copy() if isinstance(value, np.ndarray) else value
        for value in resolved(task.arguments)
    )
    launch = kernel[job.grid, job.block, 0, job.shared](*arguments)
    told = launch.prediction()
    metrics = {TIME: float(told.nanoseconds)}
    metrics |= explained(launch.metric)
    metrics |= {name: float(launch[name]) for name in task.metrics}
    return {"metrics": metrics, "limiter": told.limiter, "arguments": arguments}


_STAGES = {"facts": _facts, "predict": _predict, "confirm": _confirm}
