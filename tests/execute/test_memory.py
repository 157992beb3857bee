"""Device memory keeps nothing alive that has been freed."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

from warplens.errors import MemoryFault
from warplens.execute.memory import DeviceMemory


def test_freed_bytes_are_given_back() -> None:
    """An array that was an argument dies with its last user; its address is still known."""
    memory = DeviceMemory()
    array = np.zeros(1 << 16, np.uint8)
    alive = weakref.ref(array)
    base = memory.map_host(array, writable=True, name="argument 0")

    memory.free(base)
    del array

    assert alive() is None
    assert memory.describe(base + 8) == f"argument 0 (65,536 bytes at {base:#x}) was already freed"
    with pytest.raises(MemoryFault, match="was already freed"):
        memory.free(base)
