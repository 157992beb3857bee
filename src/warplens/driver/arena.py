"""Host memory at chosen addresses: a device address is the host address of the same byte.

So pointers stored in arrays hold for every kernel, pinned and managed memory are read by both
sides through one pointer, and which side an address belongs to never is a guess. Addresses count
up from fixed places far from where a process keeps its own memory, the same in every run.
"""

from __future__ import annotations

import ctypes
import mmap
import weakref
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from warplens.errors import Unsupported

FIRST = 0x2000_0200_0000
_SPAN = 0x0800_0000_0000  # per device
_MOST_DEVICES = 8
_NO_RESERVE, _FIXED_NO_REPLACE = 0x4000, 0x10_0000
_FAILED = (1 << 64) - 1


def first_address(device: int) -> int:
    """Where a device's addresses begin."""
    if device >= _MOST_DEVICES:
        raise Unsupported(f"a process simulates at most {_MOST_DEVICES} GPUs")
    return FIRST + device * _SPAN


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_uint64
    libc.mmap.argtypes = [
        ctypes.c_uint64, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
    ]  # fmt: skip
    libc.munmap.argtypes = [ctypes.c_uint64, ctypes.c_size_t]
    return libc


def bytes_at(address: int, nbytes: int) -> npt.NDArray[np.uint8]:
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
    raw = (ctypes.c_uint8 * nbytes).from_address(address)
    weakref.finalize(raw, _libc().munmap, start, length).atexit = False
    return np.frombuffer(raw, np.uint8)
