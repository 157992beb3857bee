"""Device memory that the engine and the program share: files in memory without a name.

Both map a GPU's file. The program's copies go straight into it; its own code sees the addresses of
pinned and managed memory only, so a program that reads a device pointer on the host stops as it
does with a GPU. The files end with the processes.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from warplens.driver.arena import Region
from warplens.driver.cells import served_caller
from warplens.driver.machine import Driver
from warplens.driver.memory import (
    DEVICE,
    MANAGED,
    MAPPED,
    PINNED,
    REGISTERED,
    Allocation,
    Memory,
)
from warplens.driver.status import DriverError, Status
from warplens.gpus.spec import GpuSpec
from warplens.programs.timeline import Noted, direction
from warplens.programs.wire import Peer
from warplens.result.system import FILL
from warplens.timing.ranges import Range

SPAN = 0x0400_0000_0000  # of each GPU's addresses, and of its file, which has no size before use
_NO_RESERVE, _FIXED_NO_REPLACE = 0x4000, 0x10_0000
_PUNCH_HOLE_KEEP_SIZE = 3


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_uint64
    libc.mmap.argtypes = [ctypes.c_uint64, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                          ctypes.c_int, ctypes.c_long]  # fmt: skip
    libc.munmap.argtypes = [ctypes.c_uint64, ctypes.c_size_t]
    libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
    return libc


_LIBC = _libc()


class SharedRegion(Region):
    """The addresses of one GPU, with a file behind them."""

    def __init__(self) -> None:
        super().__init__()
        self.span = SPAN
        self.file = os.memfd_create("warplens", os.MFD_CLOEXEC)
        os.truncate(self.file, SPAN)
        weakref.finalize(self, os.close, self.file).atexit = False

    def bytes_at(self, address: int, nbytes: int) -> npt.NDArray[np.uint8]:
        """Zeroed memory at exactly this address, which the program sees as well."""
        if nbytes == 0:
            return np.zeros(0, np.uint8)
        page = mmap.PAGESIZE
        start = address // page * page
        length = (address + nbytes - start + page - 1) // page * page
        flags = mmap.MAP_SHARED | _NO_RESERVE | _FIXED_NO_REPLACE
        found = _LIBC.mmap(start, length, mmap.PROT_READ | mmap.PROT_WRITE, flags, self.file,
                           start - self.first)  # fmt: skip
        if found != start:
            raise MemoryError(f"{nbytes} bytes at {address:#x}")
        raw: Any = (ctypes.c_uint8 * nbytes).from_address(address)
        weakref.finalize(raw, _unmap, self, start, length).atexit = False
        array: npt.NDArray[np.uint8] = np.frombuffer(raw, np.uint8)
        return array


def _unmap(region: SharedRegion, start: int, length: int) -> None:
    """Gives memory back to the system, in both processes."""
    _LIBC.munmap(start, length)
    _LIBC.fallocate(region.file, _PUNCH_HOLE_KEEP_SIZE, start - region.first, length)


class SharedMemory(Memory):
    """All memory of a program's GPUs; what the host may reach is mapped in the program."""

    def __init__(self, driver: Driver, regions: tuple[SharedRegion, ...]) -> None:
        super().__init__(tuple(gpu.memory for gpu in driver.gpus), driver.memory.host)
        self._regions = regions  # the host's, then the GPUs'
        self.noted: list[Noted] = []  # what a piece of work has moved
        self._shared_ranges: dict[int, tuple[int, int, int]] = {}

    def region_of(self, address: int) -> int:
        """0 for what the host shares, 1 for GPU 0's addresses, ...; -1 for the program's own."""
        for number, region in enumerate(self._regions):
            if region.first <= address < region.first + SPAN:
                return number
        return -1

    def allocate(
        self, nbytes: int, *, kind: str, device: int, context: int, pool: int = 0
    ) -> int:
        """Zeroed memory; pinned and managed memory is the program's as well."""
        address = super().allocate(nbytes, kind=kind, device=device, context=context, pool=pool)
        if kind in (PINNED, MANAGED):
            self.show(address, nbytes)
        return address

    def show(self, address: int, nbytes: int) -> None:
        """Lets the program's own code use a range of device memory."""
        start, length = _pages(address, nbytes)
        first = self._regions[self.region_of(address)].first
        _peer().map(start, length, start - first)

    def free(self, address: int, *kinds: str) -> Allocation:
        """Ends an allocation of one of these kinds."""
        freed = super().free(address, *kinds)
        if freed.kind in (PINNED, MANAGED):
            _peer().unmap(*_pages(address, freed.nbytes))
        return freed

    def register(self, host: int, nbytes: int, *, device: int, context: int) -> int:
        """Shares the pages of the program's own memory that hold a range with a device."""
        if host in self._registered:
            raise DriverError(Status.CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
        start, length = _pages(host, nbytes)
        base = super().allocate(  # a page more: the file's pages must be whole
            length + mmap.PAGESIZE, kind=REGISTERED, device=device, context=context
        )
        aligned = -(-base // mmap.PAGESIZE) * mmap.PAGESIZE
        _peer().share(start, length, aligned - self._regions[0].first, 0)
        self.allocations[base] = Allocation(
            kind=REGISTERED, nbytes=self.allocations[base].nbytes, device=device, context=context,
            host=start - (aligned - base), number=self.allocations[base].number,
        )  # fmt: skip
        self._registered[host] = base
        self._shared_ranges[host] = (start, length, aligned)
        return aligned + host - start

    def device_address(self, host: int) -> int:
        """The device address of a byte of pinned or registered host memory."""
        if self.find(host) is not None:
            return host
        for start, length, aligned in self._shared_ranges.values():
            if 0 <= host - start < length:
                return aligned + host - start
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"{host:#x} is not pinned memory")

    def unregister(self, host: int) -> None:
        """Takes such a range away from the device."""
        if host not in self._registered:
            raise DriverError(Status.CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)
        base = self._registered.pop(host)
        start, length, aligned = self._shared_ranges.pop(host)
        _peer().unshare(start, length, aligned - self._regions[0].first, 0)
        super().free(base, REGISTERED)

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copies bytes: inside of devices here, to and from the program by the program."""
        if not nbytes:
            return
        self._note(target, source, nbytes)
        ends = [self._checked(place, nbytes) for place in (target, source)]
        if all(ends):
            super().copy(target, source, nbytes)
        elif self._is_shared(target if ends[0] else source):
            _peer().copy(target, source, nbytes)
        elif ends[0]:
            self.view(target, nbytes)[:] = np.frombuffer(_peer().read(source, nbytes), np.uint8)
        else:
            _peer().write(target, self.view(source, nbytes).tobytes())
        if ends[0] and not ends[1]:
            self._set_written(target, nbytes)

    def _is_shared(self, address: int) -> bool:
        """Whether the program reaches a device address: constant variables lie in the engine."""
        segment, found = self.find(address), self.allocation(address)
        if found is not None and found[1].kind == MAPPED:
            return False  # cuMemMap's memory has files of its own
        return segment is None or segment.host == segment.base

    def copy_rows(
        self, target: int, source: int, width: int, rows: int, steps: tuple[int, int]
    ) -> bool:
        """Copies rows in one go; False if both sides are on devices."""
        extents = [step * (rows - 1) + width for step in steps]
        self._note(target, source, width * rows, (extents[0], extents[1]))
        ends = [
            self._checked(place, step * (rows - 1) + width)
            for place, step in zip((target, source), steps, strict=True)
        ]
        if all(ends) or not self._is_shared(target if ends[0] else source):
            self.noted.clear()  # the rows are copied one by one
            return False
        _peer().copy(target, source, width, rows=rows, steps=steps)
        if ends[0]:
            for row in range(rows):
                self._set_written(target + row * steps[0], width)
        return True

    def fill(self, target: int, value: int, width: int, count: int) -> None:
        """Sets `count` elements of 1, 2 or 4 bytes."""
        super().fill(target, value, width, count)
        written = Range(target, target + count * width)
        self.noted.append(Noted("", count * width, False, FILL, writes=written))

    def wrote(self, address: int, nbytes: int) -> None:
        """Says that something other than a kernel or a copy has written there."""
        self._set_written(address, nbytes)

    def copy_nanoseconds(self, target: int, source: int, nbytes: int, gpu: GpuSpec) -> float:
        """The modelled time of a copy."""
        return super().copy_nanoseconds(self._known(target), self._known(source), nbytes, gpu)

    def _known(self, address: int) -> int:
        """The device's address of registered memory."""
        if not self._shared_ranges or self.find(address) is not None:
            return address
        try:
            return self.device_address(address)
        except DriverError:
            return address

    def _note(
        self, target: int, source: int, nbytes: int, extents: tuple[int, int] | None = None
    ) -> None:
        kinds, devices = [], []
        for place in map(self._known, (target, source)):
            found = self.allocation(place)
            is_variable = found is None and self.find(place) is not None
            kinds.append("variable" if is_variable else None if found is None else found[1].kind)
            devices.append(self.region_of(place))
        operation = direction((kinds[0], kinds[1]), (devices[0], devices[1]))
        is_pinned = any(kind in (PINNED, REGISTERED) for kind in kinds)
        written, read = extents or (nbytes, nbytes)
        one = Noted(
            operation, nbytes, is_pinned,
            writes=Range(target, target + written) if devices[0] > 0 else None,
            reads=Range(source, source + read) if devices[1] > 0 else None,
        )  # fmt: skip
        last = self.noted[-1] if self.noted else None
        if last is not None and last.operation == operation:
            last.join(one)  # rows of one copy
        else:
            self.noted.append(one)

    def is_device_only(self, address: int) -> bool:
        """Whether only a device reaches an address."""
        found = self.allocation(address)
        return found is not None and found[1].kind == DEVICE

    def words(self, address: int) -> str:
        """What is at an address, for messages."""
        found = self.allocation(address)
        if found is not None:
            return f"{found[1].kind} memory"
        return "host memory" if self.find(address) is None else "a device's variable"

    def _checked(self, address: int, nbytes: int) -> bool:
        """Whether an address is on a device; the range must then be inside one allocation."""
        for space in self._spaces:
            if space.owns(address):
                self.view(address, nbytes)
                return True
        if self.region_of(address) >= 0:
            raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"{address:#x} is not allocated")
        return False


def _pages(address: int, nbytes: int) -> tuple[int, int]:
    page = mmap.PAGESIZE
    start = address // page * page
    return start, (address + nbytes - start + page - 1) // page * page


def _peer() -> Peer:
    return cast(Peer, served_caller())
