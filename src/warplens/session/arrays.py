"""Arrays on the simulated device."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.errors import ArgumentError
from warplens.execute.memory import DeviceMemory
from warplens.session.unwritten import UnwrittenArray

Array = npt.NDArray[Any]

class DeviceArray:
    """An array that stays on the simulated device; made by `Device.to_device`.

    It has no `__cuda_array_interface__`: its memory is the host's, and a real GPU must not get it.
    """

    __slots__ = ("_address", "_memory", "_storage")

    def __init__(self, memory: DeviceMemory, source: npt.ArrayLike) -> None:
        array = np.asanyarray(source)
        check_dtype(array, "the array")
        self._memory = memory
        self._storage: Array | None = np.array(array, order="C", copy=True)
        flags = array.flat_flags() if isinstance(array, UnwrittenArray) else None
        written = None if flags is None else flags.copy()
        self._address = map_array(memory, self._storage, "device array", written)

    @property
    def address(self) -> int:
        """The device address, for structures that hold pointers."""
        self._alive()
        return self._address

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        return self._alive().shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The array's element type."""
        return self._alive().dtype

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._alive().size

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self._alive().nbytes

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self._alive().ndim

    @property
    def strides(self) -> tuple[int, ...]:
        """Byte steps; always those of C order."""
        return self._alive().strides

    @property
    def is_freed(self) -> bool:
        """Whether `free` was called."""
        return self._storage is None

    def __len__(self) -> int:
        return len(self._alive())

    def copy_to_host(self, out: Array | None = None) -> Array:
        """A copy of the content, into `out` if given."""
        storage = self._alive()
        if out is None:
            return storage.copy()
        if out.shape != storage.shape or out.dtype != storage.dtype:
            raise ArgumentError(
                f"out is {out.dtype}{list(out.shape)}, the array {storage.dtype}"
                f"{list(storage.shape)}"
            )
        out[...] = storage
        return out

    def copy_from_host(self, source: npt.ArrayLike) -> None:
        """Replaces the content by that of an array of the same shape and type."""
        storage = self._alive()
        array = np.asarray(source)
        if array.shape != storage.shape or array.dtype != storage.dtype:
            raise ArgumentError(
                f"the source is {array.dtype}{list(array.shape)}, the array {storage.dtype}"
                f"{list(storage.shape)}"
            )
        storage[...] = array
        self._memory.set_written(self._address, storage.nbytes)

    def free(self) -> None:
        """Gives the memory back; a kernel that still uses the address faults."""
        self._alive()
        if self._address:
            self._memory.free(self._address)
        self._storage = None

    def belongs_to(self, memory: DeviceMemory) -> bool:
        """Whether the array lives in this memory."""
        return self._memory is memory

    def _alive(self) -> Array:
        if self._storage is None:
            raise ArgumentError("this device array has been freed")
        return self._storage

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.copy_to_host(), dtype)

    def __repr__(self) -> str:
        if self._storage is None:
            return "DeviceArray(freed)"
        return f"DeviceArray({self.dtype}{list(self.shape)} at {self._address:#x})"


def map_array(
    memory: DeviceMemory, array: Array, name: str,
    written: npt.NDArray[np.uint8] | None = None,
) -> int:  # fmt: skip
    """The device address at which an array's own memory is seen; 0 for an empty array."""
    if array.nbytes == 0:
        return 0
    if isinstance(array, UnwrittenArray):
        written = array.flat_flags()
        array = array.view(np.ndarray)
    return memory.map_host(
        array, writable=bool(array.flags.writeable), name=name, written=written
    )


def check_dtype(array: Array, what: str) -> None:
    """Refuses elements that have no fixed bytes in this machine's order."""
    if array.dtype.hasobject:
        raise ArgumentError(f"{what}: an array of Python objects cannot be passed to a kernel")
    if not array.dtype.isnative:
        raise ArgumentError(
            f"{what}: {array.dtype} does not have the native byte order",
            hint="Convert it: array.astype(array.dtype.newbyteorder('='))",
        )
