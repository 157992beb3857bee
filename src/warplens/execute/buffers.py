"""Host buffers for copies of arrays, used again: new pages cost ten times what the copy does."""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
_SPARE_BYTES = 128 << 20  # kept for others
_PIECE = 1 << 15  # words of 8 bytes that are looked at together

_HUGE = 4 << 20  # bytes from which NumPy asks for pages of 2 MB, all of which the first byte takes

_MMAP_THRESHOLD = -3  # glibc's M_MMAP_THRESHOLD, which else grows to the largest array freed
_libc = ctypes.CDLL(None) if os.name == "posix" else None
_LIBC = _libc if hasattr(_libc, "malloc_trim") else None  # others have neither function

_lock = threading.RLock()  # a collection while it is held may end in `give_back`
_spare: list[Bytes] = []


def take(size: int) -> Bytes:
    """A buffer of at least some size, if possible one whose pages are there already."""
    with _lock:
        fitting = [b for b in _spare if size <= len(b) <= 4 * size]
        if fitting:
            best = min(fitting, key=len)
            _spare[:] = [b for b in _spare if b is not best]
            return best
    return np.empty(size, np.uint8)


def give_back(buffer: Bytes) -> None:
    """Whoever took a buffer needs it no longer, and has kept no view of it."""
    if not buffer.flags.writeable:
        return
    with _lock:
        _spare.append(buffer)
        while sum(len(b) for b in _spare) > _SPARE_BYTES:
            del _spare[0]


def let_go() -> None:
    """Nobody keeps buffers for others: what follows needs the room, and takes longer than getting
    new pages. From now on large arrays go back to the system as soon as they are freed."""
    with _lock:
        _spare.clear()
    if _LIBC is not None:
        _LIBC.mallopt(_MMAP_THRESHOLD, _HUGE)
        _LIBC.malloc_trim(0)


def sparse(shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Zeroes of which little is ever written: pages that nobody writes take no memory."""
    kind = np.dtype(dtype)
    size = kind.itemsize * (prod(shape) if isinstance(shape, tuple) else shape)
    if size < _HUGE:
        return np.zeros(shape, kind)
    # Where there are no such flags memory is the process's own, too.
    flags = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    memory = mmap.mmap(-1, size, **flags)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, kind).reshape(shape)


def sparse_copy(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A copy of an array that is zero but for a few places."""
    found = sparse(len(values), values.dtype)
    at = np.flatnonzero(values)
    found[at] = values[at]
    return found


def copy_of(data: Bytes) -> Bytes:
    """A buffer, to be given back, that begins with a copy. Of zeros in large arrays nothing is
    written: nobody may ever have touched their pages; one of zeros alone is read only."""
    if len(data) <= _SPARE_BYTES and (len(data) < _HUGE or _any(data)):
        buffer = take(len(data))
        buffer[: len(data)] = data
        return buffer
    buffer = np.zeros(len(data), np.uint8)
    is_zero = True
    for piece, copy in _pieces(data, buffer):
        if piece.any():
            copy[:] = piece
            is_zero = False
    buffer.flags.writeable = not is_zero
    return buffer


def _any(data: Bytes) -> bool:
    """Whether there is anything but zeros."""
    return any(piece.any() for piece, _ in _pieces(data, data))


def put_back(data: Bytes, copy: Bytes) -> None:
    """Makes data what they were when they were copied; writes only where they differ."""
    for piece, old in _pieces(data, copy):
        if not np.array_equal(piece, old):
            piece[:] = old


def _pieces(one: Bytes, other: Bytes) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
    """Both in words, piece by piece, then the bytes that are left."""
    whole = len(one) // 8 * 8
    words = one[:whole].view(np.uint64), other[:whole].view(np.uint64)
    for start in range(0, whole // 8, _PIECE):
        yield words[0][start : start + _PIECE], words[1][start : start + _PIECE]
    yield one[whole:], other[whole : len(one)]
