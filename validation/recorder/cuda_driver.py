"""A thin ctypes layer over libcuda: contexts, modules, memory, launches and events.

Only the driver library is needed at run time, so that recordings use exactly the cubins that were
compiled elsewhere (see `build.py`).
"""

from __future__ import annotations

import ctypes as ct
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class CudaError(RuntimeError):
    """A driver call returned something else than CUDA_SUCCESS."""


class Driver:
    """One context on device 0. Every method checks the returned status."""

    def __init__(self, device: int = 0) -> None:
        self._lib = ct.CDLL("libcuda.so.1")
        self._call("cuInit", ct.c_uint(0))
        self.device = ct.c_int()
        self._call("cuDeviceGet", ct.byref(self.device), ct.c_int(device))
        self.context = ct.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ct.byref(self.context), self.device)
        self._call("cuCtxSetCurrent", self.context)
        self._buffers: list[ct.c_uint64] = []

    def _call(self, name: str, *args: Any) -> None:
        status = getattr(self._lib, name)(*args)
        if status != 0:
            text = ct.c_char_p()
            self._lib.cuGetErrorString(status, ct.byref(text))
            raise CudaError(f"{name}: {status} {(text.value or b'?').decode()}")

    def describe(self) -> dict[str, Any]:
        """The device's name, attributes and the driver's CUDA version."""
        name = ct.create_string_buffer(256)
        self._call("cuDeviceGetName", name, 256, self.device)
        version = ct.c_int()
        self._call("cuDriverGetVersion", ct.byref(version))
        total = ct.c_size_t()
        self._call("cuDeviceTotalMem_v2", ct.byref(total), self.device)
        attributes = {}
        for number in range(1, 150):
            value = ct.c_int()
            if self._lib.cuDeviceGetAttribute(ct.byref(value), number, self.device) == 0:
                attributes[number] = value.value
        return {
            "gpu": name.value.decode(),
            "cuda_driver": version.value,
            "memory_bytes": total.value,
            "attributes": attributes,
        }

    def load(self, cubin: bytes) -> ct.c_void_p:
        """Loads a cubin and returns the module handle."""
        module = ct.c_void_p()
        self._call("cuModuleLoadData", ct.byref(module), ct.c_char_p(cubin))
        return module

    def unload(self, module: ct.c_void_p) -> None:
        """Unloads a module."""
        self._call("cuModuleUnload", module)

    def function(self, module: ct.c_void_p, name: str) -> ct.c_void_p:
        """The kernel `name` of a module."""
        function = ct.c_void_p()
        self._call("cuModuleGetFunction", ct.byref(function), module, name.encode())
        return function

    def variable(self, module: ct.c_void_p, name: str) -> ct.c_uint64:
        """The address of a module's variable."""
        pointer, size = ct.c_uint64(), ct.c_size_t()
        self._call(
            "cuModuleGetGlobal_v2", ct.byref(pointer), ct.byref(size), module, name.encode()
        )
        return pointer

    def set_dynamic_shared(self, function: ct.c_void_p, size_bytes: int) -> None:
        """Raises the limit of dynamic shared memory of one kernel."""
        self._call("cuFuncSetAttribute", function, ct.c_int(8), ct.c_int(size_bytes))

    def function_attribute(self, function: ct.c_void_p, number: int) -> int:
        """CU_FUNC_ATTRIBUTE number `number`."""
        value = ct.c_int()
        self._call("cuFuncGetAttribute", ct.byref(value), ct.c_int(number), function)
        return value.value

    def occupancy(self, function: ct.c_void_p, block: int, shared: int) -> int:
        """Blocks per multiprocessor, as the driver computes them."""
        value = ct.c_int()
        self._call(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            ct.byref(value),
            function,
            ct.c_int(block),
            ct.c_size_t(shared),
        )
        return value.value

    def alloc(self, size_bytes: int) -> ct.c_uint64:
        """Device memory, remembered until `free_all`."""
        pointer = ct.c_uint64()
        self._call("cuMemAlloc_v2", ct.byref(pointer), ct.c_size_t(max(size_bytes, 16)))
        self._buffers.append(pointer)
        return pointer

    def free_all(self) -> None:
        """Frees every buffer that `alloc` and `upload` gave."""
        for pointer in self._buffers:
            self._call("cuMemFree_v2", pointer)
        self._buffers.clear()

    def free(self, pointer: ct.c_uint64) -> None:
        """Frees one buffer."""
        self._call("cuMemFree_v2", pointer)
        self._buffers = [one for one in self._buffers if one is not pointer]

    def copy(self, target: ct.c_uint64, source: ct.c_uint64, size_bytes: int) -> None:
        """Copies device memory to device memory."""
        self._call("cuMemcpyDtoD_v2", target, source, ct.c_size_t(size_bytes))

    def host_words(self, count: int) -> tuple[Array, ct.c_uint64]:
        """Words of the host's memory that kernels can write, and their device address."""
        place, pointer = ct.c_void_p(), ct.c_uint64()
        self._call("cuMemHostAlloc", ct.byref(place), ct.c_size_t(4 * count), ct.c_uint(2))
        self._call("cuMemHostGetDevicePointer_v2", ct.byref(pointer), place, ct.c_uint(0))
        words = np.ctypeslib.as_array(ct.cast(place, ct.POINTER(ct.c_uint32)), (count,))
        return words, pointer

    def upload(self, array: Array) -> ct.c_uint64:
        """A device copy of an array."""
        pointer = self.alloc(array.nbytes)
        self.write(pointer, array)
        return pointer

    def write(self, pointer: ct.c_uint64, array: Array) -> None:
        """Copies an array to existing device memory."""
        data = np.ascontiguousarray(array)
        source = ct.c_void_p(data.ctypes.data)
        self._call("cuMemcpyHtoD_v2", pointer, source, ct.c_size_t(data.nbytes))

    def download(self, pointer: ct.c_uint64, count: int, dtype: Any) -> Array:
        """Copies `count` elements back."""
        array = np.empty(count, dtype)
        self._call(
            "cuMemcpyDtoH_v2", ct.c_void_p(array.ctypes.data), pointer, ct.c_size_t(array.nbytes)
        )
        return array

    def fill(self, pointer: ct.c_uint64, byte: int, size_bytes: int) -> None:
        """Sets memory to one byte value."""
        self._call("cuMemsetD8_v2", pointer, ct.c_ubyte(byte), ct.c_size_t(size_bytes))

    def synchronize(self) -> None:
        """Waits for everything."""
        self._call("cuCtxSynchronize")

    def launch(
        self,
        function: ct.c_void_p,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        args: tuple[Any, ...],
        shared: int = 0,
    ) -> None:
        """Launches without waiting. Arguments are ctypes values or arrays, or NumPy scalars."""
        pointers, cells = _pointers(args)
        shape = [ct.c_uint(v) for v in (*(*grid, 1, 1)[:3], *(*block, 1, 1)[:3], shared)]
        self._call("cuLaunchKernel", function, *shape, ct.c_void_p(0), pointers, ct.c_void_p(0))
        del cells

    def launch_clusters(self, function: ct.c_void_p, grid: tuple[int, ...],
                        block: tuple[int, ...], args: tuple[Any, ...], shared: int,
                        cluster: int) -> None:  # fmt: skip
        """The same in clusters of so many blocks."""
        pointers, cells = _pointers(args)
        attribute = (ct.c_uint32 * 16)(4, 0, cluster, 1, 1)  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        config = _Config(*(*grid, 1, 1)[:3], *(*block, 1, 1)[:3], shared, None,
                         ct.addressof(attribute), 1)  # fmt: skip
        self._call("cuLaunchKernelEx", ct.byref(config), function, pointers, ct.c_void_p(0))
        del cells

    def launch_cooperative(self, function: ct.c_void_p, grid: tuple[int, ...],
                           block: tuple[int, ...], args: tuple[Any, ...],
                           shared: int = 0) -> None:  # fmt: skip
        """The same for kernels whose blocks all meet."""
        pointers, cells = _pointers(args)
        shape = [ct.c_uint(v) for v in (*(*grid, 1, 1)[:3], *(*block, 1, 1)[:3], shared)]
        self._call("cuLaunchCooperativeKernel", function, *shape, ct.c_void_p(0), pointers)
        del cells

    def event(self) -> ct.c_void_p:
        """A timing event."""
        event = ct.c_void_p()
        self._call("cuEventCreate", ct.byref(event), ct.c_uint(0))
        return event

    def record(self, event: ct.c_void_p) -> None:
        """Records an event on the default stream."""
        self._call("cuEventRecord", event, ct.c_void_p(0))

    def elapsed_ms(self, start: ct.c_void_p, stop: ct.c_void_p) -> float:
        """Milliseconds between two recorded events, after waiting for the second."""
        self._call("cuEventSynchronize", stop)
        value = ct.c_float()
        self._call("cuEventElapsedTime", ct.byref(value), start, stop)
        return value.value


class _Config(ct.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        *((name, ct.c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")),
        ("stream", ct.c_void_p), ("attributes", ct.c_void_p), ("count", ct.c_uint),
    ]  # fmt: skip


def _pointers(args: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    """The array of pointers to arguments, and the cells that it points to."""
    cells = [a if isinstance(a, ct._SimpleCData | ct.Array) else _cell(a) for a in args]
    count = max(len(cells), 1)
    return (ct.c_void_p * count)(*[ct.cast(ct.pointer(c), ct.c_void_p) for c in cells]), cells


def _cell(value: Any) -> Any:
    """A ctypes cell with the bytes of a NumPy scalar (a Python int becomes 32 bits)."""
    scalar = np.asarray(value, np.int32) if isinstance(value, int) else np.asarray(value)
    kinds = {1: ct.c_uint8, 2: ct.c_uint16, 4: ct.c_uint32, 8: ct.c_uint64}
    return kinds[scalar.nbytes](int.from_bytes(scalar.tobytes(), "little"))
