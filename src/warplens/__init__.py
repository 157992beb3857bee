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
from warplens.version import __version__

if TYPE_CHECKING:
    from warplens.cuda import profile
    from warplens.gpus.find import find_gpu
    from warplens.gpus.spec import GpuSpec, list_gpus, override
    from warplens.occupancy_calculator.launch_choices import (
        available_dynamic_shared,
        max_potential_block_size,
        max_registers_for,
    )
    from warplens.occupancy_calculator.occupancy import Occupancy, max_active_blocks, occupancy
    from warplens.occupancy_calculator.steps import explain
    from warplens.result import Result, Value, load, save
    from warplens.session.arrays import DeviceArray
    from warplens.session.device import Device
    from warplens.session.kernel import Kernel
    from warplens.session.launch import Launch
    from warplens.session.module import Module
    from warplens.session.tensor_map import TensorMap
    from warplens.session.texture import Surface, Texture
    from warplens.session.unwritten import uninitialized
    from warplens.testing.assertions import assert_metric

# NumPy, llvmlite and the rest load only when a name below is first used.
_LAZY = {
    "Device": "warplens.session.device",
    "DeviceArray": "warplens.session.arrays",
    "GpuSpec": "warplens.gpus.spec",
    "Kernel": "warplens.session.kernel",
    "Launch": "warplens.session.launch",
    "Module": "warplens.session.module",
    "Occupancy": "warplens.occupancy_calculator.occupancy",
    "Result": "warplens.result",
    "Surface": "warplens.session.texture",
    "TensorMap": "warplens.session.tensor_map",
    "Texture": "warplens.session.texture",
    "Value": "warplens.result",
    "assert_metric": "warplens.testing.assertions",
    "available_dynamic_shared": "warplens.occupancy_calculator.launch_choices",
    "explain": "warplens.occupancy_calculator.steps",
    "find_gpu": "warplens.gpus.find",
    "list_gpus": "warplens.gpus.spec",
    "load": "warplens.result",
    "max_active_blocks": "warplens.occupancy_calculator.occupancy",
    "max_potential_block_size": "warplens.occupancy_calculator.launch_choices",
    "max_registers_for": "warplens.occupancy_calculator.launch_choices",
    "occupancy": "warplens.occupancy_calculator.occupancy",
    "override": "warplens.gpus.spec",
    "profile": "warplens.cuda",
    "save": "warplens.result",
    "uninitialized": "warplens.session.unwritten",
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
    "Surface",
    "TensorMap",
    "Texture",
    "ToolchainError",
    "UnknownGpu",
    "UnknownKernel",
    "UnknownMetric",
    "Unsupported",
    "Value",
    "WarplensError",
    "__version__",
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
    "profile",
    "save",
    "uninitialized",
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
