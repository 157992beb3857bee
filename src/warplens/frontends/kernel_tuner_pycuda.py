"""What Kernel Tuner's scripts ask of PyCUDA's driver module where PyCUDA is not installed: contexts
and pinned arrays, on the simulated GPU. Anything else is refused by name."""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_loader
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.errors import Unsupported
from warplens.libcuda import place

_FLAGS = {"PORTABLE": 1, "DEVICEMAP": 2, "WRITECOMBINED": 4}
_ATTRIBUTES = {
    "MAX_THREADS_PER_BLOCK": 1, "MAX_BLOCK_DIM_X": 2, "MAX_SHARED_MEMORY_PER_BLOCK": 8,
    "WARP_SIZE": 10, "CLOCK_RATE": 13, "MULTIPROCESSOR_COUNT": 16,
    "COMPUTE_CAPABILITY_MAJOR": 75, "COMPUTE_CAPABILITY_MINOR": 76,
}  # fmt: skip


def stand_in() -> dict[str, ModuleType]:
    """The modules `pycuda` and `pycuda.driver`, by name."""
    package, driver = _Refusing("pycuda"), _Refusing("pycuda.driver")
    package.__path__ = []
    vars(driver).update(
        init=_init, Device=_Device, pagelocked_empty=_pinned, pagelocked_zeros=_pinned,
        host_alloc_flags=SimpleNamespace(**_FLAGS), device_attribute=SimpleNamespace(**_ATTRIBUTES),
        PointerHolderBase=object,  # a base class in Kernel Tuner's backend, which is not used
    )  # fmt: skip
    package.driver = driver  # type: ignore[attr-defined]
    return {"pycuda": package, "pycuda.driver": driver}


class StandIn(MetaPathFinder, Loader):
    """Lets scripts import PyCUDA before Kernel Tuner. It is the last one asked, so an installed
    PyCUDA comes first; without Kernel Tuner there is nothing for it to stand in for."""

    def __init__(self) -> None:
        self._modules: dict[str, ModuleType] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Of the modules that there are."""
        if name.partition(".")[0] != "pycuda" or PathFinder.find_spec("kernel_tuner") is None:
            return None
        self._modules = self._modules or stand_in()
        if name not in self._modules:
            return None
        return spec_from_loader(name, self, is_package=name == "pycuda")

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Made already."""
        return self._modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to do."""


def lend() -> None:
    """Puts the stand-in behind all that finds modules, once."""
    if not any(isinstance(one, StandIn) for one in sys.meta_path):
        sys.meta_path.append(StandIn())


class _Refusing(ModuleType):
    """A module that names what it does not have."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Unsupported(
            f"{self.__name__}.{name}: PyCUDA is not installed, and what stands in for it has "
            "contexts and pinned arrays only",
            hint="Arrays of NumPy do as arguments of tune_kernel.",
        )


def _call(name: str, *arguments: Any) -> None:
    code = getattr(place.library(), name)(*arguments)
    if code:
        raise RuntimeError(f"{name} failed: {place.driver().explained(code)}")


def _init(flags: int = 0) -> None:
    _call("cuInit", ctypes.c_uint(flags))


class _Device:
    """One simulated GPU."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._gpu = place.driver().gpu(number)

    @staticmethod
    def count() -> int:
        """How many there are."""
        return len(place.driver().gpus)

    def name(self) -> str:
        """What programs are told."""
        return self._gpu.name

    def compute_capability(self) -> tuple[int, int]:
        """Major and minor number."""
        return divmod(self._gpu.spec.sm, 10)

    def get_attribute(self, attribute: int) -> int:
        """One of `device_attribute`."""
        value = ctypes.c_int()
        _call("cuDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(attribute),
              ctypes.c_int(self._number))  # fmt: skip
        return value.value

    def make_context(self, flags: int = 0) -> _Context:
        """The primary context, which CUDA's runtime uses as well."""
        context = ctypes.c_void_p()
        _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ctypes.c_int(self._number))
        _call("cuCtxPushCurrent_v2", context)
        return _Context()


class _Context:
    """A context that is current until it is popped."""

    @staticmethod
    def pop() -> None:
        """Takes it from the thread's stack."""
        _call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    @staticmethod
    def synchronize() -> None:
        """Everything is done when a call returns."""
        _call("cuCtxSynchronize")

    detach = pop


def _pinned(
    shape: int | Sequence[int], dtype: npt.DTypeLike, order: str = "C", mem_flags: int = 0
) -> npt.NDArray[Any]:
    """An array of zeros in pinned memory, which stays for as long as the process."""
    kind, sizes = np.dtype(dtype), (shape,) if isinstance(shape, int) else tuple(shape)
    count, address = math.prod(map(int, sizes)), ctypes.c_void_p()
    nbytes = max(1, count * kind.itemsize)
    _call("cuMemHostAlloc", ctypes.byref(address), ctypes.c_size_t(nbytes),
          ctypes.c_uint(mem_flags))  # fmt: skip
    held = (ctypes.c_uint8 * nbytes).from_address(address.value or 0)
    flat: npt.NDArray[np.uint8] = np.frombuffer(memoryview(held), np.uint8)
    values = flat[: count * kind.itemsize].view(kind)
    return values.reshape(sizes, order="F" if order == "F" else "C")
