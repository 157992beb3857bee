"""Triton: a driver for its plug-in interface. Kernels take arrays in the host's memory.

PyTorch tensors of the CPU are used in place, and so is what `array` makes of a NumPy array where
there is no PyTorch; memory of the simulated GPU is used as it is. Benchmarks give modelled times.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from warplens.driver.images import Code
from warplens.driver.launching import duration, launch
from warplens.driver.machine import Driver
from warplens.driver.modules import Function, LoadedModule, function_of, load
from warplens.driver.timeline import Stream
from warplens.errors import Unsupported
from warplens.frontends import torch_streams
from warplens.frontends.frontend import Frontend, GiveDriver
from warplens.frontends.torch_cuda import put_in_place
from warplens.frontends.triton_arguments import Arguments, HostArray, Mapped, Scratch, array
from warplens.frontends.triton_lines import keep_lines
from warplens.gpus.spec import GpuSpec


class _Utils:
    """What Triton's compiler asks of a driver."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def get_device_properties(self, device: int | None) -> dict[str, int]:
        """The limits that compiled kernels are checked against; None is the index of "cuda"."""
        gpu = self._driver.gpu(device or 0)
        spec = gpu.spec
        return {
            "max_shared_mem": spec.shared_per_block_optin_bytes,
            "max_num_regs": spec.registers_per_block,
            "multiprocessor_count": spec.sm_count,
            "warpSize": spec.warp_size,
            "sm_clock_rate": int(gpu.clock_mhz * 1000),
            "mem_clock_rate": int(spec.memory_clock_mhz * 1000),
            "mem_bus_width": spec.dram_bus_bits,
        }

    def load_binary(
        self, name: str, code: bytes, shared: int, device: int
    ) -> tuple[int, Function, int, int, int]:
        """A compiled kernel on the GPU, with its registers, spilled words and most threads."""
        module = load(self._driver, self._driver.gpu(device), Code(cubin=code))
        loaded = self._driver.thing(module, LoadedModule)
        function = self._driver.thing(function_of(self._driver, loaded, name), Function)
        function.attributes[8] = max(shared, function.most_dynamic_shared)
        sass = function.kernel.sass  # what warplens does not execute is refused here
        return module, function, sass.registers, sass.local_bytes // 4, function.most_threads

    def unload_module(self, module: int) -> None:
        """Nothing: handles of modules that live until the process ends."""


class _Launcher:
    """Launches one compiled kernel."""

    def __init__(self, source: Any, metadata: Any) -> None:
        backend = importlib.import_module("triton.backends.driver")
        self._arguments = Arguments(source, metadata, backend)

    def __call__(
        self, gx: int, gy: int, gz: int, stream: int, function: Function, packed: Any,
        launch_metadata: Any, enter: Any, leave: Any, *values: Any,
    ) -> None:  # fmt: skip
        if not gx * gy * gz:
            return
        driver, shape = active().simulated, self._arguments.shape((gx, gy, gz))
        memory = driver.gpus[0].memory
        context = driver.primary(driver.gpus[0])
        on = driver.thing(stream, Stream) if stream else context.default[0]
        is_noted = on.capture is not None  # for launches later
        mapped, scratch = Mapped(memory, driver, is_lasting=is_noted), Scratch(memory)
        try:
            blocks = shape.grid[0] * gy * gz
            arguments = self._arguments.packed(values, blocks, mapped, scratch)
            if enter is not None:
                enter(launch_metadata)
            expected = len(function.sass.parameters)
            launch(driver, function, shape, on, arguments[:expected])
            if leave is not None:
                leave(launch_metadata)
        finally:
            if not is_noted:
                mapped.release()
                scratch.release()


class _DeviceInterface:
    """What Triton's own benchmarks ask of `torch.cuda`."""

    Event = torch_streams.Event

    def synchronize(self, *_: Any) -> None:
        """Everything is done already."""

    def current_device(self) -> int:
        """The first GPU."""
        return 0


def do_bench(
    fn: Callable[[], Any], warmup: int = 25, rep: int = 100, grad_to_none: Any = None,
    quantiles: Sequence[float] | None = None, return_mode: str = "mean",
) -> float | list[float]:  # fmt: skip
    """The modelled time of the launches of one call in ms; it needs no repetitions.

    What launches nothing, such as PyTorch's own operations, has no modelled time: it gets NaN.
    """
    driver = active().simulated
    driver.keep_times()
    first = len(driver.launches)
    if first == driver.launches.maxlen:
        driver.launches.clear()
        first = 0
    fn()
    launches = list(driver.launches)[first:]
    milliseconds = sum(map(duration, launches)) / 1e6 if launches else math.nan
    if quantiles is not None:
        return [milliseconds] * len(quantiles)
    return [milliseconds] if return_mode == "all" else milliseconds


class _HostBlas:
    """What Triton's programs call as cuBLAS: PyTorch's products on the CPU, which take no time."""

    def __init__(self, workspace: Any) -> None:
        self._torch: Any = importlib.import_module("torch")

    def matmul(self, a: Any, b: Any, c: Any) -> None:
        """c = a times the transpose of b."""
        c.copy_(self._torch.matmul(a.float(), b.float().T))

    def gemm(self, a: Any, b: Any, c: Any, d: Any, alpha: float, beta: float) -> None:
        """d = alpha times a times the transpose of b, plus beta times c."""
        d.copy_(alpha * self._torch.matmul(a.float(), b.float().T) + beta * c.float())


class SimulatedDevice:
    """Triton's driver interface over the simulated driver."""

    launcher_cls = _Launcher

    def __init__(self, give_driver: GiveDriver) -> None:
        self._give_driver = give_driver
        self.pretended: GpuSpec | None = None  # what kernels are compiled for instead
        self._target = importlib.import_module("triton.backends.compiler").GPUTarget
        self._spelled = importlib.import_module("triton.backends.nvidia.driver").ty_to_cpp

    @property
    def simulated(self) -> Driver:
        """The driver that launches go to."""
        return self._give_driver()

    @cached_property
    def utils(self) -> _Utils:
        """What Triton's compiler asks."""
        return _Utils(self.simulated)

    @staticmethod
    def is_active() -> bool:
        """It was set, so it is."""
        return True

    def map_python_to_cpp_type(self, kind: str) -> str:
        """The C type of an argument."""
        return str(self._spelled(kind))

    def get_current_target(self) -> Any:
        """What kernels are compiled for."""
        spec = self.pretended or self.simulated.gpus[0].spec
        return self._target("cuda", spec.sm, 32)

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        """The compute capability."""
        return divmod(self.simulated.gpu(device).spec.sm, 10)

    def get_current_device(self) -> int:
        """Triton runs on the first GPU; kernels for another architecture are kept apart."""
        return 0 if self.pretended is None else _OTHERS + self.pretended.sm

    def set_current_device(self, device: int) -> None:
        """The first GPU is the only one."""
        if device != 0:
            raise Unsupported("Triton on another simulated GPU than the first")

    def get_current_stream(self, device: int) -> int:
        """PyTorch's current one."""
        return torch_streams.current().cuda_stream

    def get_active_torch_device(self) -> Any:
        """The first GPU."""
        put_in_place(self._give_driver)
        return importlib.import_module("torch").device("cuda", 0)

    def get_device_interface(self) -> _DeviceInterface:
        """Events and synchronisation."""
        return _DeviceInterface()

    def get_benchmarker(self) -> Callable[..., float | list[float]]:
        """Modelled times."""
        return do_bench

    def get_empty_cache_for_benchmark(self) -> None:
        """Modelled times begin with cold caches anyway."""

    def clear_cache(self, cache: None) -> None:
        """Modelled times begin with cold caches anyway."""


_OTHERS = 1000  # device numbers from here on stand for architectures
_active: list[SimulatedDevice] = []


def active() -> SimulatedDevice:
    """The plug-in that was set."""
    return _active[-1]


def activate(give_driver: GiveDriver) -> None:
    """Makes the simulated GPU Triton's active device."""
    torch_streams.serve(give_driver)
    device = SimulatedDevice(give_driver)
    _active.append(device)
    importlib.import_module("triton.runtime.driver").driver.set_active(device)
    keep_lines()
    testing: Any = importlib.import_module("triton.testing")
    testing.do_bench = do_bench
    nvidia: Any = importlib.import_module("triton._C.libtriton").nvidia
    nvidia.cublas.CublasLt = _HostBlas


__all__ = ["FRONTEND", "HostArray", "array", "do_bench"]

FRONTEND = Frontend(
    module="triton", package="triton", first="3.8", before="3.10", activate=activate
)
