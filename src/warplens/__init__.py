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
    from warplens.analysis.launch_choices import (
        available_dynamic_shared,
        max_potential_block_size,
        max_registers_for,
    )
    from warplens.analysis.occupancy import Occupancy, max_active_blocks, occupancy
    from warplens.analysis.occupancy_steps import explain
    from warplens.api import Device, Kernel, Launch, Module
    from warplens.arrays import DeviceArray
    from warplens.gpus.spec import GpuSpec, find_gpu, list_gpus, override
    from warplens.result import Result, Value, load, save
    from warplens.testing import assert_metric

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
    "assert_metric": "warplens.testing",
    "available_dynamic_shared": "warplens.analysis.launch_choices",
    "explain": "warplens.analysis.occupancy_steps",
    "find_gpu": "warplens.gpus.spec",
    "list_gpus": "warplens.gpus.spec",
    "load": "warplens.result",
    "max_active_blocks": "warplens.analysis.occupancy",
    "max_potential_block_size": "warplens.analysis.launch_choices",
    "max_registers_for": "warplens.analysis.launch_choices",
    "occupancy": "warplens.analysis.occupancy",
    "override": "warplens.gpus.spec",
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
    "assert_metric",
    "available_dynamic_shared",
    "explain",
    "find_gpu",
    "list_gpus",
    "load",
    "max_active_blocks",
    "max_potential_block_size",
    "max_registers_for",
    "occupancy",
    "override",
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
