"""GPU data: limits, pipes, latencies, counts and clocks, every number with its source."""

from __future__ import annotations

from warplens.gpus.find import find_gpu
from warplens.gpus.spec import (
    GpuFileError,
    GpuSpec,
    Sourced,
    gpu_names,
    list_architectures,
    list_gpus,
    override,
)

__all__ = [
    "GpuFileError",
    "GpuSpec",
    "Sourced",
    "find_gpu",
    "gpu_names",
    "list_architectures",
    "list_gpus",
    "override",
]
