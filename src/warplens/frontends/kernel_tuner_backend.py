"""The backend that Kernel Tuner gets: it compiles with NVRTC, runs in full what is compared with an
answer, and predicts what is timed.

What stands between `start_event` and `stop_event` is timed: it is predicted from sampled blocks,
once, however many iterations were asked for, since the same launch has the same modelled time. All
other launches run in full.
"""

from __future__ import annotations

import ctypes
import importlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from warplens.errors import ExecutionFault, InputError, LaunchError, TimingUnavailable, Unsupported
from warplens.execute.executable import Image
from warplens.frontends.frontend import GiveDriver
from warplens.frontends.kernel_tuner_observers import Counters
from warplens.session.device import Device
from warplens.session.kernel import Kernel
from warplens.version import __version__

Array = npt.NDArray[Any]
# Kernel Tuner takes a failure for one of the configuration alone if it finds these words.
_NOT_LAUNCHED = "too many resources requested for launch"
_NOT_COMPILED = "uses too much shared data"
# NVRTC compiles for the simulated GPU whatever is named; the others are options of nvcc's drivers.
_DROPPED = ("-arch", "--arch", "--gpu-architecture", "-gencode", "-O", "-code", "-ccbin")


def backend_class(give_driver: GiveDriver, counters: Counters) -> type:
    """The backend on this process's driver, derived from Kernel Tuner's own base class."""
    base: Any = importlib.import_module("kernel_tuner.backends.backend").GPUBackend
    observer: Any = importlib.import_module("kernel_tuner.observers.observer").BenchmarkObserver

    class Times(observer):  # type: ignore[misc]
        """Collects the modelled time of every iteration."""

        def __init__(self, backend: Any) -> None:
            self._backend, self._times = backend, list[float]()

        def after_finish(self) -> None:
            self._times.append(self._backend.elapsed_ms)

        def get_results(self) -> dict[str, Any]:
            times, self._times = self._times, []
            return {"time": float(np.average(times)), "times": times}

    class Functions(Simulated, base):  # type: ignore[misc]
        """Kernel Tuner's interface over the simulated GPU."""

        def __init__(
            self, device: int = 0, iterations: int = 7,
            compiler_options: Sequence[str] | None = None, observers: list[Any] | None = None,
        ) -> None:  # fmt: skip
            Simulated.__init__(self, give_driver().gpu(device), iterations, compiler_options or [])
            self.counters = counters
            self.observers = [*(observers or []), Times(self)]
            for one in self.observers:
                one.register_device(self)

        refresh_memory = base.refresh_memory

    return Functions


class Simulated:
    """One simulated GPU with the module that was compiled last."""

    units: ClassVar[dict[str, str]] = {"time": "ms"}
    counters: Counters

    def __init__(self, gpu: Any, iterations: int, options: Sequence[str]) -> None:
        self.device = Device(gpu.spec, clock=gpu.clock_mhz)
        self.name = gpu.name
        self.max_threads = gpu.spec.max_threads_per_block
        self.cc = str(gpu.spec.sm)
        self.iterations, self.smem_size = iterations, 0
        self.compiler_options = [str(one) for one in options]
        self.num_regs, self.elapsed_ms = 0, 0.0
        self._image: Image | None = None
        self._is_timed = False
        self._predicted: dict[Any, float] = {}
        self.env = {
            "device_name": self.name, "compute_capability": self.cc, "iterations": iterations,
            "compiler_options": self.compiler_options, "warplens_version": __version__,
            "clock_mhz": self.device.clock_mhz,
        }  # fmt: skip

    def ready_argument_list(self, arguments: Sequence[Any]) -> list[Any]:
        """Copies of arrays stand for the GPU's memory."""
        return [_copy(one) for one in arguments]

    def compile(self, kernel_instance: Any) -> Kernel:
        """The kernel of a configuration.

        Raises:
            RuntimeError: in the words by which Kernel Tuner knows that only this one fails.
        """
        name, options = kernel_instance.name, self.compiler_options
        kept = [one for one in options if not one.startswith(_DROPPED)]
        try:
            module = self.device.compile(
                kernel_instance.kernel_string, options=[*kept, f"-I{Path.cwd()}"],
                name_expressions=(name,) if "<" in name else (),
            )  # fmt: skip
            kernel = module[name]
            self._image = kernel.code.image
            self.num_regs = kernel.registers
        except LaunchError as error:
            raise RuntimeError(f"{_NOT_COMPILED}: {error}") from error
        self._predicted.clear()
        return kernel

    def start_event(self) -> None:
        """What is launched from here on is timed."""
        self._is_timed = True

    def stop_event(self) -> None:
        """What is launched from here on runs in full."""
        self._is_timed = False

    def kernel_finished(self) -> bool:
        """Launches are done when they return."""
        return True

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def run_kernel(
        self, func: Kernel, gpu_args: Sequence[Any], threads: Sequence[int], grid: Sequence[int],
        stream: Any = None,
    ) -> None:  # fmt: skip
        """Predicts a launch that is timed, runs any other.

        Raises:
            RuntimeError: what the GPU would refuse and what faults, as a failure of this
                configuration alone.
        """
        gpu_args = [_seen(one) for one in gpu_args]
        sizes = tuple(map(int, grid)), tuple(map(int, threads)), int(self.smem_size)
        try:
            if self.counters.is_measuring:
                self.counters.take(_launched(func, sizes, gpu_args))
                return
            if not self._is_timed:
                func[sizes[0], sizes[1], 0, sizes[2]](*gpu_args)
                return
            key = (id(func), *sizes)
            if key not in self._predicted:
                self._predicted[key] = _milliseconds(func, sizes, gpu_args)
            self.elapsed_ms = self._predicted[key]
        except (LaunchError, ExecutionFault) as error:
            raise RuntimeError(f"{_NOT_LAUNCHED}: {error}") from error

    def copy_constant_memory_args(self, cmem_args: dict[str, Any]) -> None:
        """Writes variables of the module."""
        for name, value in cmem_args.items():
            self._write(name, np.asarray(value))

    def _write(self, name: str, value: Array) -> None:
        assert self._image is not None
        image = self._image
        found = image.cubin.symbols.get(name)
        data = np.frombuffer(np.ascontiguousarray(value).tobytes(), np.uint8)
        if found is None or data.size > found.size:
            raise InputError(
                f"cmem_args: there is no variable {name!r} of {data.size:,} bytes or more",
                hint=f"The kernel's source has: {', '.join(image.cubin.symbols) or 'none'}.",
            )
        image.memory.view(image.variables.addresses[name], data.size)[:] = data

    def copy_shared_memory_args(self, smem_args: dict[str, Any]) -> None:
        """Dynamic shared memory of later launches."""
        self.smem_size = int(smem_args["size"])

    def copy_texture_memory_args(self, texmem_args: dict[str, Any]) -> None:
        """Refuses texture references, which CUDA 12 dropped."""
        raise Unsupported("texture references: CUDA 12 dropped them, no compiler has them")

    def memset(self, allocation: Array, value: int, size: int) -> None:
        """Sets bytes."""
        allocation.reshape(-1).view(np.uint8)[:size] = value

    def memcpy_dtoh(self, dest: Array, src: Array) -> None:
        """Copies bytes to the host."""
        _copy_bytes(dest, src)

    def memcpy_htod(self, dest: Array, src: Array) -> None:
        """Copies bytes from the host."""
        _copy_bytes(dest, src)


def _milliseconds(kernel: Kernel, sizes: Any, arguments: Sequence[Any]) -> float:
    return float(_launched(kernel, sizes, arguments).prediction().nanoseconds / 1e6)


def _launched(kernel: Kernel, sizes: Any, arguments: Sequence[Any]) -> Any:
    """A launch from sampled blocks; of blocks that cannot run on their own, a full run."""
    grid, block, shared = sizes
    try:
        return kernel.predict[grid, block, 0, shared](*arguments)
    except TimingUnavailable:
        return kernel[grid, block, 0, shared](*arguments)


def _seen(value: Any) -> Any:
    """An array of CuPy's as one of NumPy's over the same bytes: a device address is one of this
    process's."""
    told = getattr(value, "__cuda_array_interface__", None)
    if told is None:
        return value
    if told.get("strides") is not None:
        raise InputError("arrays of CuPy must be contiguous")
    kind, count = np.dtype(told["typestr"]), math.prod(told["shape"])
    if not count:
        return np.empty(told["shape"], kind)
    held = (ctypes.c_uint8 * (count * kind.itemsize)).from_address(told["data"][0])
    return np.frombuffer(held, kind).reshape(told["shape"])


def _copy(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return _seen(value)
    return np.array(value, order="C", copy=True)


def _copy_bytes(dest: Array, src: Array) -> None:
    source = np.ascontiguousarray(_seen(src)).reshape(-1).view(np.uint8)
    target = _seen(dest).reshape(-1).view(np.uint8)
    count = min(source.size, target.size)
    target[:count] = source[:count]
