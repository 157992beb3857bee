"""PyTorch programs that say "cuda" on a machine without: their tensors are the host's.

What is asked to be on the device `cuda` is made on the CPU, in place for Triton's kernels.
PyTorch's own operations are the CPU's: they have no launches and take no modelled time.
"""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

from warplens.driver import timeline
from warplens.driver.machine import Driver
from warplens.errors import ArgumentError
from warplens.frontends import torch_dlpack
from warplens.frontends.frontend import Frontend, GiveDriver
from warplens.frontends.triton_arguments import LASTING

_in_place: list[Any] = []


def put_in_place(give_driver: GiveDriver) -> None:
    """Lets this thread's PyTorch say that there is a GPU, once."""
    if _in_place:
        return
    torch: Any = importlib.import_module("torch")
    overrides: Any = importlib.import_module("torch.overrides")
    mode = _mode(torch, overrides.TorchFunctionMode, give_driver)
    _in_place.append(mode)
    mode.__enter__()
    _say_so(torch.cuda, give_driver)
    torch_dlpack.put_in_place(torch, give_driver)
    if not hasattr(torch.cpu, "set_stream"):  # programs ask the module that a device's type names
        torch.cpu.set_stream = lambda *_: None


def _mode(torch: Any, base: Any, give_driver: GiveDriver) -> Any:
    def on_host(value: Any) -> Any:
        if isinstance(value, str) and value.partition(":")[0] == "cuda":
            return "cpu"
        if isinstance(value, torch.device) and value.type == "cuda":
            return torch.device("cpu")
        return value

    class CudaIsHost(base):  # type: ignore[misc]
        """Functions with a device argument make the host's tensors."""

        def __torch_function__(
            self, function: Any, types: Any, arguments: Any = (), options: Any = None
        ) -> Any:
            """One call of PyTorch's."""
            options = {name: on_host(value) for name, value in (options or {}).items()}
            options.pop("pin_memory", None)
            if function == torch.Tensor.is_cuda.__get__:
                return True
            if function is torch.Tensor.data_ptr:
                return LASTING.address(give_driver(), arguments[0])
            if function in (torch.Tensor.cuda, torch.Tensor.pin_memory):
                return arguments[0]
            return function(*map(on_host, arguments), **options)

    return CudaIsHost()


class _Stream:
    """The default stream."""

    cuda_stream, device_index = 0, 0

    def synchronize(self) -> None:
        """Everything is done already."""

    def wait_stream(self, other: object) -> None:
        """Work is done in the order in which it is asked for."""


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
    stream = _Stream()
    cuda.Stream = _Stream
    cuda.is_available = lambda: True
    cuda.device_count = lambda: 1
    cuda.current_device = lambda: 0
    cuda.set_device = lambda *_: None
    cuda.synchronize = lambda *_: None
    cuda.empty_cache = lambda: None
    cuda.current_stream = cuda.default_stream = lambda *_: stream
    cuda.get_device_name = lambda *_: give_driver().gpus[0].name
    cuda.get_device_capability = lambda *_: divmod(give_driver().gpus[0].spec.sm, 10)
    cuda.get_device_properties = lambda *_: _properties(give_driver())
    Event.give_driver = staticmethod(give_driver)
    cuda.Event = Event


class Event:
    """An event of `torch.cuda`, on modelled time."""

    give_driver: GiveDriver

    def __init__(self, enable_timing: bool = False, **_: Any) -> None:
        self._event = timeline.Event(flags=0 if enable_timing else 2)

    def record(self, *_: Any) -> None:
        """Marks where the default stream is."""
        driver = self.give_driver()
        driver.keep_times()
        self._event.moment = driver.primary(driver.gpus[0]).default[0].now

    def elapsed_time(self, end: Event) -> float:
        """The time to a later event in ms."""
        first, last = self._event.moment, end._event.moment
        if first is None or last is None:
            raise ArgumentError("an event that was not recorded has no time")
        return (last.nanoseconds() - first.nanoseconds()) / 1e6

    def synchronize(self) -> None:
        """Everything is done already."""

    wait = synchronize


FRONTEND = Frontend(
    module="torch", package="torch", first="2.0", before="3", activate=put_in_place
)
