"""Host buffers for copies of arrays, used again: new pages cost ten times what the copy does."""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
_SPARE_BYTES = 128 << 20  # kept for others

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
    with _lock:
        _spare.append(buffer)
        while sum(len(b) for b in _spare) > _SPARE_BYTES:
            del _spare[0]
