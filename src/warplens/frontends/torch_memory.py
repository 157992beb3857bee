"""Where PyTorch's tensors are: the host's, its pinned memory, or what stands for the GPU's.

All of them lie in the host's memory. A storage that a program has put on "cuda" is marked, and
kernels see its bytes at addresses of the simulated GPU. Tensors share the mark of their storage, so
views need no more. Pinned tensors lie in memory that the driver allocates for both sides.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from warplens.driver.cells import host_view
from warplens.driver.machine import Driver
from warplens.driver.memory import PINNED

_MARK, GPU = "_warplens_place", "gpu"
_LARGEST = 4  # how deep tensors stand in lists


def tensors(kind: type, values: Any, depth: int = 0) -> Iterator[Any]:
    """The tensors among values, those in lists, tuples and dictionaries included."""
    if isinstance(values, kind):
        yield values
    elif depth < _LARGEST and isinstance(values, (tuple, list)):
        for value in values:
            yield from tensors(kind, value, depth + 1)
    elif depth < _LARGEST and isinstance(values, dict):
        yield from tensors(kind, list(values.values()), depth + 1)


def storage(tensor: Any) -> Any:
    """What a tensor's elements lie in; None where it has nothing of that kind (sparse)."""
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return None


def place(tensor: Any) -> str:
    """GPU, PINNED, or an empty name for ordinary memory of the host."""
    return getattr(storage(tensor), _MARK, "")


def is_on_gpu(tensor: Any) -> bool:
    """Whether the program has put a tensor on "cuda"."""
    return place(tensor) == GPU


def put_on_gpu(tensor: Any) -> Any:
    """Marks a new tensor's storage as the GPU's."""
    found = storage(tensor)
    if found is not None:
        setattr(found, _MARK, GPU)
    return tensor


def pinned(torch: Any, driver: Driver, tensor: Any) -> Any:
    """A copy in memory that both sides reach at one address."""
    nbytes = int(tensor.numel()) * int(tensor.element_size())
    copy = torch.empty_like(tensor, device="cpu")  # of the same strides
    if nbytes and int(copy.untyped_storage().nbytes()) == nbytes:
        at = driver.memory.allocate(nbytes, kind=PINNED, device=0, context=0)
        words = np.frombuffer(host_view(at, nbytes), np.uint8)
        copy = (
            torch.frombuffer(words, dtype=torch.uint8).view(tensor.dtype)
            .as_strided(copy.size(), copy.stride())
        )  # fmt: skip
        end = weakref.finalize(copy.untyped_storage(), driver.memory.free, at, PINNED)
        end.atexit = False
    setattr(copy.untyped_storage(), _MARK, PINNED)
    return copy.copy_(tensor)


def host_pointer(value: Any) -> int:
    """Where a tensor's first element is, whatever `data_ptr` is made to say."""
    if hasattr(value, "untyped_storage"):
        start = int(value.untyped_storage().data_ptr())
        return start + int(value.storage_offset()) * int(value.element_size())
    return int(value.data_ptr())


class Lasting:
    """Tensors whose device address was told: they keep it for as long as their storage lives."""

    def __init__(self) -> None:
        self.addresses: dict[int, int] = {}

    def address(self, driver: Driver, tensor: Any) -> int:
        """The device address of a PyTorch tensor's first element."""
        pointer, found = host_pointer(tensor), tensor.untyped_storage()
        start, nbytes = int(found.data_ptr()), int(found.nbytes())
        if pointer == 0 or driver.memory.find(pointer) is not None:
            return pointer
        memory = driver.gpus[0].memory
        if start in self.addresses and memory.room(self.addresses[start]) < nbytes:
            self._end(driver, start, self.addresses[start])  # it was resized
        if start not in self.addresses:
            at = memory.map_host(host_view(start, nbytes), writable=True, name="tensor")
            self.addresses[start] = at
            weakref.finalize(found, self._end, driver, start, at).atexit = False
        return self.addresses[start] + pointer - start

    def _end(self, driver: Driver, start: int, address: int) -> None:
        if self.addresses.get(start) == address:
            driver.gpus[0].memory.free(self.addresses.pop(start))


LASTING = Lasting()
