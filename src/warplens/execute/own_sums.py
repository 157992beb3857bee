"""Sums of atomics, taken by each worker for itself and added up when the blocks have ended.

Where the workers of a launch only ever add whole numbers to an allocation, nobody looks at it
before all are done; where somebody does, launch.py starts over in order. A locked addition costs
several times a plain one, and more where other processors want the same line.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warplens.execute.memory import Segment
from warplens.isa import families
from warplens.lift.decode.binding import bind
from warplens.lift.memory.atomic_ops import atomic_operation
from warplens.sass.model import SassKernel

Bytes = npt.NDArray[np.uint8]
_LARGEST, _MOST = 1 << 20, 4  # bytes of an allocation, allocations
_SIZES = {"U32": 4, "S32": 4, "U64": 8, "S64": 8}


def sum_bytes(kernel: SassKernel) -> int:
    """Bytes of the numbers that a kernel's reductions in memory add; 0 if it has none or others."""
    sizes = set()
    for inst in kernel.instructions:
        entry = families.find(inst)
        if entry is None or "reduce" in entry.role:  # of copies
            return 0
        if entry.role == "reduction":
            operation, kind, _ = atomic_operation(bind(inst, entry))
            sizes.add(_SIZES.get(kind, 0) if operation == "ADD" else 0)
    return sizes.pop() if len(sizes) == 1 else 0


class OwnSums:
    """The workers' sums of one launch; callers hold the launch's lock."""

    def __init__(self, size: int) -> None:
        self._size = size  # bytes of a number; 0: nothing is summed so
        self._bases: set[int] = set()  # of allocations that are summed so
        self._sums: list[tuple[Segment, Bytes]] = []

    @property
    def is_wanted(self) -> bool:
        """Whether any allocation may be summed so."""
        return self._size > 0

    def takes(self, segment: Segment) -> bool:
        """Whether an allocation, of which only sums are known, is summed by each worker."""
        if self._size == 0 or segment.size > _LARGEST or segment.base % self._size:
            return False
        if len(self._bases) < _MOST:
            self._bases.add(segment.base)
        return segment.base in self._bases

    def for_worker(self, segment: Segment) -> int:
        """Host address of one worker's sums; 0: it adds to the allocation itself."""
        if not self.takes(segment):
            return 0
        self._sums.append((segment, np.zeros(segment.size, np.uint8)))
        return int(self._sums[-1][1].ctypes.data)

    def forget(self) -> None:
        """The launch starts over."""
        self._sums.clear()

    def add_up(self) -> None:
        """The blocks have ended."""
        kind = np.uint32 if self._size == 4 else np.uint64
        for segment, sums in self._sums:
            whole = segment.size // self._size * self._size
            found = segment.buffer[:whole].view(kind)
            np.add(found, sums[:whole].view(kind), out=found)
        self._sums.clear()
