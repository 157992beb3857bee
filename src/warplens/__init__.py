"""Profile, check and tune CUDA kernels on a machine with no GPU.

`Device(name)` gives a GPU; `.compile(source)` a module, `module[name]` a kernel, and
`kernel[grid, block](*args)` runs it on the CPU from its machine code, counting what Nsight Compute
counts. `occupancy(...)` answers from numbers alone. Everything else is imported when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from warplens.errors import (
    ArgumentError,
    CompileError,
    CubinError,
    Deadlock,
    ExecutionFault,
    InputError,
    KernelTrap,
    LaunchError,
    LimitExceeded,
    MemoryFault,
    ReportError,
    SassError,
    ToolchainError,
    UnknownGpu,
    UnknownKernel,
    UnknownMetric,
    Unsupported,
    WarplensError,
)

if TYPE_CHECKING:
    from warplens.analysis.occupancy import Occupancy, occupancy
    from warplens.api import Device, Kernel, Launch, Module
    from warplens.arrays import DeviceArray
    from warplens.gpus.spec import GpuSpec, list_gpus
    from warplens.result import Result, Value, load, save

__version__ = "0.1.0"

# NumPy, llvmlite and the rest load only when a name below is first used.
_LAZY = {
    "Device": "warplens.api",
    "DeviceArray": "warplens.arrays",
    "GpuSpec": "warplens.gpus.spec",
    "Kernel": "warplens.api",
    "Launch": "warplens.api",
    "Module": "warplens.api",
    "Occupancy": "warplens.analysis.occupancy",
    "Result": "warplens.result",
    "Value": "warplens.result",
    "list_gpus": "warplens.gpus.spec",
    "load": "warplens.result",
    "occupancy": "warplens.analysis.occupancy",
    "save": "warplens.result",
}

__all__ = [
    "ArgumentError",
    "CompileError",
    "CubinError",
    "Deadlock",
    "Device",
    "DeviceArray",
    "ExecutionFault",
    "GpuSpec",
    "InputError",
    "Kernel",
    "KernelTrap",
    "Launch",
    "LaunchError",
    "LimitExceeded",
    "MemoryFault",
    "Module",
    "Occupancy",
    "ReportError",
    "Result",
    "SassError",
    "ToolchainError",
    "UnknownGpu",
    "UnknownKernel",
    "UnknownMetric",
    "Unsupported",
    "Value",
    "WarplensError",
    "list_gpus",
    "load",
    "occupancy",
    "save",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    # `warplens.models`, `warplens.analysis` and other modules work without their own import.
    try:
        return importlib.import_module(f"warplens.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module 'warplens' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
