"""A real GPU through its driver: the few calls that measuring needs."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from warplens.errors import InputError, WarplensError

Array = npt.NDArray[Any]
# CUdevice_attribute
_SM_COUNT, _CLOCK_KHZ, _MEMORY_KHZ, _BUS_BITS, _L2_BYTES = 16, 13, 36, 37, 38
_MAJOR, _MINOR = 75, 76
# Only the simulated driver exports it: see libcuda/.
_SIMULATED = "warplens_state"
_BUSY = np.array(np.uint64(200_000))  # cycles, 100 us and more


class Card(Protocol):
    """What is measured: `RealCard`, or recorded answers."""

    name: str
    capability: tuple[int, int]
    attributes: dict[str, float]

    def load(self, cubin: bytes) -> None:
        """Adds the kernels of a cubin to those that can be launched."""

    def alloc(self, size: int) -> int:
        """Device memory of so many bytes, zero."""

    def write(self, address: int, values: Array) -> None:
        """Copies to the device."""

    def read(self, address: int, count: int, dtype: Any) -> Array:
        """Copies from the device."""

    def launch(self, name: str, grid: Sequence[int], block: Sequence[int], *args: Any) -> float:
        """Launches a kernel, waits for it, and gives the nanoseconds between two events."""


class RealCard:
    """A GPU of this machine.

    Raises:
        InputError: there is no driver or no such GPU, or the driver is warplens' own.
    """

    def __init__(self, device: int = 0) -> None:
        try:
            self._lib = ct.CDLL("libcuda.so.1")
        except OSError:
            raise InputError(
                "this machine has no NVIDIA driver (libcuda.so.1)",
                hint="Calibrating needs the GPU itself; everything else of warplens does not.",
            ) from None
        if hasattr(self._lib, _SIMULATED):
            raise InputError("libcuda.so.1 of this process is the simulated driver")
        self._call("cuInit", 0)
        handle, context = ct.c_int(), ct.c_void_p()
        self._call("cuDeviceGet", ct.byref(handle), device)
        self._call("cuDevicePrimaryCtxRetain", ct.byref(context), handle)
        self._call("cuCtxSetCurrent", context)
        name = ct.create_string_buffer(256)
        self._call("cuDeviceGetName", name, 256, handle)
        memory = ct.c_size_t()
        self._call("cuDeviceTotalMem_v2", ct.byref(memory), handle)
        self.name = name.value.decode()
        get = partial(self._attribute, handle)
        self.capability = get(_MAJOR), get(_MINOR)
        self.attributes = {
            "counts.sm": get(_SM_COUNT), "clock.boost_mhz": get(_CLOCK_KHZ) / 1e3,
            "clock.memory_mhz": get(_MEMORY_KHZ) / 1e3, "dram.bus_bits": get(_BUS_BITS),
            "l2.size_bytes": get(_L2_BYTES), "dram.size_bytes": memory.value,
        }  # fmt: skip
        self._events = ct.c_void_p(), ct.c_void_p()
        for event in self._events:
            self._call("cuEventCreate", ct.byref(event), 0)
        self._modules: list[ct.c_void_p] = []
        self._functions: dict[str, ct.c_void_p] = {}

    def _call(self, name: str, *args: Any) -> None:
        status = getattr(self._lib, name)(*args)
        if status:
            text = ct.c_char_p()
            self._lib.cuGetErrorString(status, ct.byref(text))
            raise WarplensError(f"{name}: {(text.value or b'error').decode()} ({status})")

    def _attribute(self, handle: ct.c_int, number: int) -> int:
        value = ct.c_int()
        self._call("cuDeviceGetAttribute", ct.byref(value), number, handle)
        return value.value

    def load(self, cubin: bytes) -> None:
        """Adds the kernels of a cubin to those that can be launched."""
        module = ct.c_void_p()
        self._call("cuModuleLoadData", ct.byref(module), cubin)
        self._modules.append(module)

    def _function(self, name: str) -> ct.c_void_p:
        if name not in self._functions:
            function = ct.c_void_p()
            for module in self._modules:
                find = self._lib.cuModuleGetFunction
                if find(ct.byref(function), module, name.encode()) == 0:
                    break
            else:
                raise InputError(f"no cubin of those loaded has a kernel {name}")
            self._functions[name] = function
        return self._functions[name]

    def alloc(self, size: int) -> int:
        """Device memory of so many bytes, zero."""
        address = ct.c_uint64()
        self._call("cuMemAlloc_v2", ct.byref(address), ct.c_size_t(size))
        self._call("cuMemsetD8_v2", address, ct.c_ubyte(0), ct.c_size_t(size))
        return address.value

    def write(self, address: int, values: Array) -> None:
        """Copies to the device."""
        data = np.ascontiguousarray(values)
        place = ct.c_void_p(data.ctypes.data)
        self._call("cuMemcpyHtoD_v2", ct.c_uint64(address), place, ct.c_size_t(data.nbytes))

    def read(self, address: int, count: int, dtype: Any) -> Array:
        """Copies from the device."""
        found = np.empty(count, dtype)
        place = ct.c_void_p(found.ctypes.data)
        self._call("cuMemcpyDtoH_v2", place, ct.c_uint64(address), ct.c_size_t(found.nbytes))
        return found

    def launch(self, name: str, grid: Sequence[int], block: Sequence[int], *args: Any) -> float:
        """Launches a kernel, waits for it, and gives the nanoseconds between two events.

        A kernel that keeps the card busy goes before, so that all is in the queue when the first
        event comes: what a host takes to launch would be counted otherwise.

        Arguments: addresses and counts as int (64 bits), other values as NumPy scalars.
        """
        function = self._function(name)
        cells = [np.array(np.uint64(one) if isinstance(one, int) else one) for one in args]
        places = (ct.c_void_p * max(1, len(cells)))(*[cell.ctypes.data for cell in cells])
        gx, gy, gz = (*grid, 1, 1)[:3]
        bx, by, bz = (*block, 1, 1)[:3]
        begin, end = self._events
        turns = (ct.c_void_p * 1)(_BUSY.ctypes.data)
        self._call("cuLaunchKernel", self._function("occupy"), *(1,) * 6, 0, None, turns, None)
        self._call("cuEventRecord", begin, None)
        self._call("cuLaunchKernel", function, gx, gy, gz, bx, by, bz, 0, None, places, None)
        self._call("cuEventRecord", end, None)
        self._call("cuEventSynchronize", end)
        milliseconds = ct.c_float()
        self._call("cuEventElapsedTime", ct.byref(milliseconds), begin, end)
        return milliseconds.value * 1e6
