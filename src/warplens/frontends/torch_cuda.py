"""PyTorch programs that say "cuda" on a machine without.

Tensors of the device `cuda` lie in the host's memory, where kernels see them in place, and count as
the GPU's (`torch_devices`). PyTorch's own operations are the CPU's: they have no launches and take
no modelled time.
"""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

from warplens.driver.machine import Driver
from warplens.frontends import torch_devices, torch_dlpack, torch_streams
from warplens.frontends.frontend import Frontend, GiveDriver
from warplens.frontends.torch_memory import LASTING, is_on_gpu

_in_place: list[Any] = []


def put_in_place(give_driver: GiveDriver) -> None:
    """Lets this thread's PyTorch say that there is a GPU, once."""
    if _in_place:
        return
    torch: Any = importlib.import_module("torch")
    overrides: Any = importlib.import_module("torch.overrides")
    sides = torch_devices.Sides(torch, give_driver)
    mode = torch_devices.mode(torch, overrides.TorchFunctionMode, sides)
    _tell_addresses(torch, give_driver)
    _in_place.append(mode)
    mode.__enter__()
    _say_so(torch.cuda, give_driver)
    torch_dlpack.put_in_place(torch, give_driver)
    torch_streams.put_in_place(torch, give_driver)
    if not hasattr(torch.cpu, "set_stream"):  # programs ask the module that a device's type names
        torch.cpu.set_stream = lambda *_: None


def _tell_addresses(torch: Any, give_driver: GiveDriver) -> None:
    """`data_ptr` gives a device address for what is on the GPU, in every thread."""
    plain = torch.Tensor.data_ptr

    def data_ptr(self: Any) -> int:
        with torch._C.DisableTorchFunction():
            if is_on_gpu(self):
                return LASTING.address(give_driver(), self)
            return int(plain(self))

    torch.Tensor.data_ptr = data_ptr


def _properties(driver: Driver) -> SimpleNamespace:
    gpu = driver.gpus[0]
    spec = gpu.spec
    return SimpleNamespace(
        name=gpu.name, major=spec.sm // 10, minor=spec.sm % 10, total_memory=spec.dram_size_bytes,
        multi_processor_count=spec.sm_count, warp_size=spec.warp_size,
        max_threads_per_multi_processor=spec.max_threads_per_sm,
        shared_memory_per_block=spec.shared_per_block_bytes,
        shared_memory_per_block_optin=spec.shared_per_block_optin_bytes,
        shared_memory_per_multiprocessor=spec.shared_per_sm_bytes,
        regs_per_multiprocessor=spec.registers_per_sm, L2_cache_size=spec.l2_size_bytes,
    )  # fmt: skip


def _say_so(cuda: Any, give_driver: GiveDriver) -> None:
    cuda.is_available = lambda: True
    cuda.device_count = lambda: 1
    cuda.current_device = lambda: 0
    cuda.set_device = lambda *_: None
    cuda.synchronize = lambda *_: None
    cuda.empty_cache = lambda: None
    cuda.get_device_name = lambda *_: give_driver().gpus[0].name
    cuda.get_device_capability = lambda *_: divmod(give_driver().gpus[0].spec.sm, 10)
    cuda.get_device_properties = lambda *_: _properties(give_driver())


FRONTEND = Frontend(
    module="torch", package="torch", first="2.0", before="3", activate=put_in_place
)
