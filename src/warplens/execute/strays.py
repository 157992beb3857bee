"""Accesses outside of every allocation that a GPU does not notice: it maps whole pages.

What lies there belongs to nobody: it reads as zeroes until a kernel writes it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warplens.execute.memory import DeviceMemory, Segment

MOST = 16  # ranges of one launch
PAGE = 2 << 20
_MOST_TOLD = 8  # instructions


class Strays:
    """The ranges between allocations that a launch has touched, in the last rows of its table."""

    def __init__(self, memory: DeviceMemory, table: npt.NDArray[np.int64]) -> None:
        self._memory, self._table = memory, table
        self._rows: dict[int, int] = {}
        self._told: dict[int, str] = {}

    @property
    def told(self) -> tuple[str, ...]:
        """A sentence for each instruction that was out of bounds."""
        return tuple(self._told.values())

    def is_told(self, inst: int) -> bool:
        """Whether it was said of an instruction, or of enough others."""
        return inst in self._told or len(self._told) == _MOST_TOLD

    def tell(self, inst: int, text: str) -> None:
        """Notes what an instruction has done."""
        self._told[inst] = text

    def row(self, address: int, size: int, allowed: int) -> tuple[int, Segment] | None:
        """The table's row for an access, with what it stands for; None: a GPU would fault."""
        segment = stray(self._memory, address, size)
        if segment is None:
            return None
        index = self._rows.get(segment.base)
        if index is None:
            if len(self._rows) == MOST:
                return None
            index = self._rows[segment.base] = len(self._table) - 1 - len(self._rows)
            self._table[index] = (segment.base, segment.size, segment.host, allowed)
        return index, segment


def stray(memory: DeviceMemory, address: int, size: int) -> Segment | None:
    """The range around an address that no allocation holds, in a page that is mapped."""
    page = address // PAGE * PAGE
    for space in (memory, *memory.peers):
        if not space.maps_pages or not space.segments:
            continue
        mine = [s for s in space.segments if space.owns(s.base)]
        # The page before all others has the runtime's own memory.
        if page + PAGE != mine[0].base // PAGE * PAGE and not any(
            s.base < page + PAGE and page < s.base + s.size for s in mine
        ):
            continue
        start = max((s.base + s.size for s in mine if s.base <= address), default=page)
        end = min((s.base for s in mine if s.base > address), default=page + PAGE)
        start, end = max(start, page), min(end, page + PAGE)
        if not start <= address <= address + size <= end:
            return None
        whole = space.pages.setdefault(page, np.zeros(PAGE, np.uint8))
        return Segment(start, end - start, whole[start - page : end - page], True, "no allocation")
    return None
