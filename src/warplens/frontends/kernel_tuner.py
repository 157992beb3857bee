"""Kernel Tuner: its CUDA backends are replaced by the simulated GPU. Scripts stay as they are."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from warplens.frontends.frontend import Frontend, GiveDriver

_BACKENDS = {
    "kernel_tuner.backends.nvcuda": "CudaFunctions",
    "kernel_tuner.backends.cupy": "CupyFunctions",
    "kernel_tuner.backends.pycuda": "PyCudaFunctions",
}
_PARALLEL = "kernel_tuner.runners.parallel"


def _activate(give_driver: GiveDriver) -> None:
    """Whatever CUDA backend a script names or leaves to Kernel Tuner is warplens's."""
    from warplens.frontends.kernel_tuner_backend import backend_class
    from warplens.frontends.kernel_tuner_host import host_class
    from warplens.frontends.kernel_tuner_observers import SENSORS, Counters, refuse_sensors

    counters = Counters()
    chosen: Any = backend_class(give_driver, counters)
    core = importlib.import_module("kernel_tuner.core")
    core._select_default_cuda_backend = lambda: chosen  # type: ignore[attr-defined]
    for module, name in _BACKENDS.items():
        setattr(importlib.import_module(module), name, chosen)
    compiled: Any = importlib.import_module("kernel_tuner.backends.compiler")
    compiled.CompilerFunctions = host_class(give_driver)
    counted: Any = importlib.import_module("kernel_tuner.observers.ncu")
    counted.nvmetrics = counters
    refuse_sensors({name: importlib.import_module(name) for name in SENSORS})
    sys.modules[_PARALLEL] = _parallel()


def _parallel() -> ModuleType:
    """A module in the place of the one that gives configurations to GPUs by way of Ray: there is
    one simulated GPU, which takes them one after another."""
    base: Any = importlib.import_module("kernel_tuner.runners.sequential").SequentialRunner

    class ParallelRunner(base):  # type: ignore[misc]
        """Kernel Tuner's sequential runner, with what the other one is asked for."""

        def __init__(
            self, kernel_source: Any, kernel_options: Any, device_options: Any,
            tuning_options: Any, iterations: int, observers: Any, num_workers: int | None = None,
        ) -> None:  # fmt: skip
            super().__init__(kernel_source, kernel_options, device_options, iterations, observers)

    found = ModuleType(_PARALLEL)
    found.ParallelRunner = ParallelRunner  # type: ignore[attr-defined]
    return found


def _offer() -> None:
    from warplens.frontends.kernel_tuner_pycuda import lend

    lend()


FRONTEND = Frontend(module="kernel_tuner", package="kernel-tuner", first="1.5", before="1.6",
                    offer=_offer, activate=_activate)  # fmt: skip
