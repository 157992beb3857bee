"""Kernel Tuner: its CUDA backends are replaced by the simulated GPU. Scripts stay as they are."""

from __future__ import annotations

import importlib
from typing import Any

from warplens.frontends.frontend import Frontend, GiveDriver

_BACKENDS = {
    "kernel_tuner.backends.nvcuda": "CudaFunctions",
    "kernel_tuner.backends.cupy": "CupyFunctions",
    "kernel_tuner.backends.pycuda": "PyCudaFunctions",
}


def _activate(give_driver: GiveDriver) -> None:
    """Whatever CUDA backend a script names or leaves to Kernel Tuner is warplens's."""
    from warplens.frontends.kernel_tuner_backend import backend_class

    chosen: Any = backend_class(give_driver)
    core = importlib.import_module("kernel_tuner.core")
    core._select_default_cuda_backend = lambda: chosen  # type: ignore[attr-defined]
    for module, name in _BACKENDS.items():
        setattr(importlib.import_module(module), name, chosen)


FRONTEND = Frontend(
    module="kernel_tuner", package="kernel-tuner", first="1.5", before="1.6", activate=_activate
)
