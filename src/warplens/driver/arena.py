"""Host memory at chosen addresses: a device address is the host address of the same byte.

So pointers stored in arrays hold for every kernel, pinned and managed memory are read by both
sides through one pointer, and which side an address belongs to never is a guess. Addresses count
up from fixed places far from where a process keeps its own memory, the same in every run.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import weakref
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from warplens.errors import Unsupported

_FIRST = 0x2000_0200_0000
_SPAN = 0x0400_0000_0000
_MOST_REGIONS = 20
_FIXED, _NO_RESERVE, _FIXED_NO_REPLACE = 0x10, 0x4000, 0x10_0000
_FAILED = (1 << 64) - 1
_HUGE_PAGES, _HUGE_FROM = 14, 4 << 20  # as NumPy asks for its arrays


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_uint64
    libc.mmap.argtypes = [
        ctypes.c_uint64, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
    ]  # fmt: skip
    libc.munmap.argtypes = [ctypes.c_uint64, ctypes.c_size_t]
    libc.madvise.argtypes = [ctypes.c_uint64, ctypes.c_size_t, ctypes.c_int]
    return libc


class Region:
    """The addresses of one simulated GPU, its own until nothing of its memory is left.

    Raises:
        Unsupported: the process simulates too many GPUs.
    """

    _taken: ClassVar[set[int]] = set()

    def __init__(self) -> None:
        if len(self._taken) == _MOST_REGIONS:
            gc.collect()  # drivers that nobody uses any more may be part of cycles
        left = [number for number in range(_MOST_REGIONS) if number not in self._taken]
        if not left:
            raise Unsupported(f"a process simulates at most {_MOST_REGIONS} GPUs at a time")
        self.first = _FIRST + left[0] * _SPAN
        self._taken.add(left[0])
        weakref.finalize(self, self._taken.discard, left[0]).atexit = False

    def bytes_at(self, address: int, nbytes: int) -> npt.NDArray[np.uint8]:
        """Zeroed memory at exactly this address; it goes back when no array looks at it any more.

        Raises:
            MemoryError: the system has no memory, or something else lies there.
        """
        if nbytes == 0:
            return np.zeros(0, np.uint8)
        page = mmap.PAGESIZE
        start = address // page * page
        length = (address + nbytes - start + page - 1) // page * page
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE | _FIXED_NO_REPLACE
        found = _libc().mmap(start, length, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
        if found != start:
            if found != _FAILED:  # a kernel before Linux 4.17 takes the address as a wish
                _libc().munmap(found, length)
            raise MemoryError(f"{nbytes} bytes at {address:#x}")
        if nbytes >= _HUGE_FROM:
            _libc().madvise(start, length, _HUGE_PAGES)  # a wish: copies run faster
        raw: Any = (ctypes.c_uint8 * nbytes).from_address(address)
        weakref.finalize(raw, _unmap, self, start, length).atexit = False
        array: npt.NDArray[np.uint8] = np.frombuffer(raw, np.uint8)
        return array

    def show(self, address: int, nbytes: int, file: int, offset: int) -> None:
        """Puts a part of a file's memory at addresses that `bytes_at` gave."""
        access = mmap.PROT_READ | mmap.PROT_WRITE
        self._replace(address, nbytes, access, mmap.MAP_SHARED, file, offset)

    def hide(self, address: int, nbytes: int) -> None:
        """Puts fresh memory there instead."""
        access, kind = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self._replace(address, nbytes, access, kind | _NO_RESERVE, -1, 0)

    @staticmethod
    def _replace(
        address: int, nbytes: int, access: int, kind: int, file: int, offset: int
    ) -> None:
        if _libc().mmap(address, nbytes, access, kind | _FIXED, file, offset) != address:
            raise MemoryError(f"{nbytes} bytes at {address:#x}")


def _unmap(region: Region, start: int, length: int) -> None:
    """Gives memory back; until then its region stays taken."""
    _libc().munmap(start, length)
