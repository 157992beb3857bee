"""Triton: a driver for its plug-in interface. Kernels take arrays in the host's memory.

PyTorch tensors of the CPU are used in place, and so is what `array` makes of a NumPy array where
there is no PyTorch; memory of the simulated GPU is used as it is. Benchmarks give modelled times.
"""

from __future__ import annotations

import importlib
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.driver.cells import host_view
from warplens.driver.launching import Shape, duration, launch
from warplens.driver.machine import Driver
from warplens.driver.memory import DEVICE
from warplens.driver.modules import Function, LoadedModule, function_of, load
from warplens.driver.timeline import Event
from warplens.errors import ArgumentError, Unsupported
from warplens.frontends.frontend import Frontend, GiveDriver

_FLOATS = {"fp16": "e", "fp32": "f", "f32": "f", "fp64": "d"}
_INTEGER_BYTES = {"1": 1, "8": 1, "16": 2, "32": 4, "64": 8}
_DESCRIPTOR = "nvTmaDesc"


class HostArray:
    """A NumPy array as a kernel's argument, in place: what Triton asks of a tensor."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        if not array.flags.c_contiguous:
            raise ArgumentError("a Triton kernel's array is not contiguous")
        self.array = array
        self.dtype = array.dtype
        self.shape = array.shape

    def data_ptr(self) -> int:
        """Where the elements are."""
        return int(self.array.ctypes.data)

    def stride(self, axis: int) -> int:
        """The step along an axis, in elements."""
        return self.array.strides[axis] // self.array.itemsize

    def storage(self) -> tuple[int, int]:
        """First address and bytes."""
        return self.data_ptr(), self.array.nbytes


def array(source: npt.NDArray[Any]) -> HostArray:
    """A NumPy array for Triton kernels, without PyTorch."""
    return HostArray(source)


def _storage_of(value: Any) -> tuple[int, int]:
    """First address and bytes of the memory behind a tensor."""
    value = getattr(value, "base", value) if not hasattr(value, "untyped_storage") else value
    if isinstance(value, HostArray):
        return value.storage()
    if hasattr(value, "untyped_storage"):
        found = value.untyped_storage()
        return int(found.data_ptr()), int(found.nbytes())
    raise ArgumentError(
        f"{type(value).__name__} does not say where its memory begins and ends",
        hint="Pass a PyTorch tensor, or warplens.frontends.triton.array(numpy_array).",
    )


@dataclass(slots=True)
class _Mapped:
    """Host memory that kernels of one launch see, by its first address."""

    driver: Driver
    known: dict[int, int]

    def address(self, value: Any) -> int:
        """The device address of a pointer argument."""
        if value is None or isinstance(value, int):
            return value or 0
        pointer = int(value.data_ptr())
        if pointer == 0 or self.driver.memory.find(pointer) is not None:
            return pointer
        start, nbytes = _storage_of(value)
        if start not in self.known:
            self.known[start] = self.driver.gpus[0].device.memory.map_host(
                host_view(start, nbytes), writable=True, name="tensor"
            )
        return self.known[start] + pointer - start

    def release(self) -> None:
        """Takes the memory away from the GPU again."""
        for address in self.known.values():
            self.driver.gpus[0].device.memory.free(address)


def _scalar(kind: str, value: Any) -> bytes:
    if kind in _FLOATS:
        return struct.pack("<" + _FLOATS[kind], value)
    if kind == "bf16":
        bits = int(np.float32(value).view(np.uint32))
        return struct.pack("<H", bits + 0x7FFF + (bits >> 16 & 1) >> 16)
    nbytes = _INTEGER_BYTES.get(kind[1:]) if kind[:1] in "iu" else None
    if nbytes is None:
        raise Unsupported(f"a Triton argument of type {kind}")
    return (int(value) & (1 << 8 * nbytes) - 1).to_bytes(nbytes, "little")


def _pairs(signature: Iterable[Any], values: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Types and values of the arguments that reach the machine code, tuples taken apart."""
    for kind, value in zip(signature, values, strict=True):
        if isinstance(kind, tuple):
            yield from _pairs(kind, value)
        elif kind != "constexpr":
            yield kind, value


class _Utils:
    """What Triton's compiler asks of a driver."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def get_device_properties(self, device: int) -> dict[str, int]:
        """The limits that compiled kernels are checked against."""
        gpu = self._driver.gpu(device)
        spec = gpu.spec
        return {
            "max_shared_mem": spec.shared_per_block_optin_bytes,
            "max_num_regs": spec.registers_per_block,
            "multiprocessor_count": spec.sm_count,
            "warpSize": spec.warp_size,
            "sm_clock_rate": int(gpu.device.clock_mhz * 1000),
            "mem_clock_rate": int(spec.memory_clock_mhz * 1000),
            "mem_bus_width": spec.dram_bus_bits,
        }

    def load_binary(
        self, name: str, code: bytes, shared: int, device: int
    ) -> tuple[int, Function, int, int, int]:
        """A compiled kernel on the GPU, with its registers, spilled words and most threads."""
        module = load(self._driver, self._driver.gpu(device), code)
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
        self._metadata = metadata
        descriptors = getattr(metadata, "tensordesc_meta", None)
        signature = dict(source.signature.items())
        self._signature = tuple(
            backend.expand_signature(signature.values(), descriptors, _DESCRIPTOR)
        )
        self._launch = backend.wrap_handle_tensordesc_impl(
            self._run, signature, descriptors, self._descriptor(backend)
        )

    @staticmethod
    def _descriptor(backend: Any) -> Callable[[Any, Any, Any], Any]:
        def arguments(value: Any, metadata: Any, _: Any) -> Any:
            if metadata is not None:
                raise Unsupported("Triton's tensor descriptors made by the host (TMA)")
            return backend.decompose_descriptor(value)

        return arguments

    def __call__(
        self, gx: int, gy: int, gz: int, stream: int, function: Function, packed: Any,
        launch_metadata: Any, enter: Any, leave: Any, *values: Any,
    ) -> None:  # fmt: skip
        if gx * gy * gz:
            self._launch((gx, gy, gz), function, launch_metadata, enter, leave, values)

    def _run(
        self, grid: tuple[int, int, int], function: Function, launch_metadata: Any, enter: Any,
        leave: Any, values: Sequence[Any],
    ) -> None:  # fmt: skip
        driver, metadata = active().simulated, self._metadata
        mapped, scratch = _Mapped(driver, {}), _Scratch(driver)
        context = driver.primary(driver.gpus[0])
        blocks = grid[0] * grid[1] * grid[2] * metadata.num_ctas
        try:
            arguments = [
                struct.pack("<Q", mapped.address(value)) if kind.startswith("*")
                else _scalar(kind, value)
                for kind, value in _pairs(self._signature, values)
            ]  # fmt: skip
            for nbytes in (metadata.global_scratch_size, metadata.profile_scratch_size):
                arguments.append(struct.pack("<Q", scratch.allocate(nbytes * blocks)))
            if enter is not None:
                enter(launch_metadata)
            shape = Shape(
                grid=(grid[0] * metadata.num_ctas, grid[1], grid[2]),
                block=(32 * metadata.num_warps, 1, 1),
                shared=metadata.shared,
                cluster=(metadata.num_ctas, 1, 1) if metadata.num_ctas > 1 else None,
                is_cooperative=metadata.launch_cooperative_grid,
            )
            expected = len(function.sass.parameters)
            launch(driver, function, shape, context.default[0], tuple(arguments[:expected]))
            if leave is not None:
                leave(launch_metadata)
        finally:
            mapped.release()
            scratch.release()


class _Scratch:
    """Memory that a kernel needs besides its arguments, for one launch."""

    def __init__(self, driver: Driver) -> None:
        self._driver, self._addresses = driver, list[int]()

    def allocate(self, nbytes: int) -> int:
        """So many bytes, or a null pointer for none."""
        if not nbytes:
            return 0
        address = self._driver.memory.allocate(nbytes, kind=DEVICE, device=0, context=0)
        self._addresses.append(address)
        return address

    def release(self) -> None:
        """Gives it back."""
        for address in self._addresses:
            self._driver.memory.free(address, DEVICE)


class _Event:
    """An event of Triton's device interface, on modelled time."""

    def __init__(self, enable_timing: bool = False, **_: Any) -> None:
        self._event = Event(flags=0 if enable_timing else 2)

    def record(self, *_: Any) -> None:
        """Marks where the default stream is."""
        driver = active().simulated
        driver.keep_times()
        self._event.moment = driver.primary(driver.gpus[0]).default[0].now

    def elapsed_time(self, end: _Event) -> float:
        """The time to a later event in ms."""
        first, last = self._event.moment, end._event.moment
        if first is None or last is None:
            raise ArgumentError("an event that was not recorded has no time")
        return (last.nanoseconds() - first.nanoseconds()) / 1e6

    def synchronize(self) -> None:
        """Everything is done already."""

    wait = synchronize


class _DeviceInterface:
    """What Triton's own benchmarks ask of `torch.cuda`."""

    Event = _Event

    def synchronize(self, *_: Any) -> None:
        """Everything is done already."""

    def current_device(self) -> int:
        """The first GPU."""
        return 0


def do_bench(
    fn: Callable[[], Any], warmup: int = 25, rep: int = 100, grad_to_none: Any = None,
    quantiles: Sequence[float] | None = None, return_mode: str = "mean",
) -> float | list[float]:  # fmt: skip
    """The modelled time of the launches of one call in ms; it needs no repetitions."""
    driver = active().simulated
    driver.keep_times()
    first = len(driver.launches)
    if first == driver.launches.maxlen:
        driver.launches.clear()
        first = 0
    fn()
    milliseconds = sum(duration(one) for one in list(driver.launches)[first:]) / 1e6
    if quantiles is not None:
        return [milliseconds] * len(quantiles)
    return [milliseconds] if return_mode == "all" else milliseconds


class SimulatedDevice:
    """Triton's driver interface over the simulated driver."""

    launcher_cls = _Launcher

    def __init__(self, give_driver: GiveDriver) -> None:
        self._give_driver = give_driver
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
        return self._target("cuda", self.simulated.gpus[0].spec.sm, 32)

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        """The compute capability."""
        return divmod(self.simulated.gpu(device).spec.sm, 10)

    def get_current_device(self) -> int:
        """Triton runs on the first GPU."""
        return 0

    def set_current_device(self, device: int) -> None:
        """The first GPU is the only one."""
        if device != 0:
            raise Unsupported("Triton on another simulated GPU than the first")

    def get_current_stream(self, device: int) -> int:
        """The default stream."""
        return 0

    def get_active_torch_device(self) -> Any:
        """Tensors are the host's."""
        return importlib.import_module("torch").device("cpu")

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


_active: list[SimulatedDevice] = []


def active() -> SimulatedDevice:
    """The plug-in that was set."""
    return _active[-1]


def activate(give_driver: GiveDriver) -> None:
    """Makes the simulated GPU Triton's active device."""
    device = SimulatedDevice(give_driver)
    _active.append(device)
    importlib.import_module("triton.runtime.driver").driver.set_active(device)
    testing: Any = importlib.import_module("triton.testing")
    testing.do_bench = do_bench


FRONTEND = Frontend(
    module="triton", package="triton", first="3.8", before="3.10", activate=activate
)
