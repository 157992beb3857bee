"""Device memory as a sandbox: virtual addresses mapped to host buffers, with guard gaps."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.errors import InputError, MemoryFault
from warplens.execute.buffers import sparse
from warplens.execute.textures.objects import ObjectTable
from warplens.lift import layout as at
from warplens.wording import count

ALIGNMENT = 2048  # and a row of DRAM: what time depends on does not depend on other arrays
GUARD = 4096  # unmapped bytes behind every allocation
_FIRST = (0x7F50 << 32) + 0x0200_0000
_WIDE_GUARD, _WIDEST_GUARD = 16 << 20, 1 << 30
_LAST = 0x7FF0 << 32  # wide guards end here: addresses are never used twice
_NOTHING = np.zeros(0, np.uint8)
_MARGIN = 0x0200_0000  # keep this far from 4 GiB boundaries, see lift/runtime/global_ir.py


@dataclass(slots=True)
class Segment:
    """One allocation: device address, bytes, host buffer, who may write and what is written."""

    base: int
    size: int
    buffer: npt.NDArray[np.uint8]
    writable: bool
    name: str
    on_device_heap: bool = False
    written: npt.NDArray[np.uint8] | None = None  # a flag per byte; None: all count as written

    @property
    def host(self) -> int:
        """Host address of the first byte."""
        return int(self.buffer.__array_interface__["data"][0])  # ctypes takes three times as long


@dataclass(frozen=True, slots=True)
class Outline:
    """Where allocations were, without what they held."""

    memory: DeviceMemory  # over no bytes

    @property
    def bases(self) -> list[int]:
        """The address of each."""
        return self.memory._bases

    def place(self, address: int) -> tuple[int, int] | None:
        """Base and size of the allocation that holds an address, or at whose end it is."""
        for space in (self.memory, *self.memory.peers):
            i = bisect.bisect_right(space._bases, address) - 1
            if i >= 0 and address <= space._bases[i] + space._segments[i].size:
                return space._bases[i], space._segments[i].size
        return None

    def filled(self, contents: Sequence[npt.NDArray[np.uint8] | None] | None) -> DeviceMemory:
        """The same allocations at the same addresses over these bytes, or over zeroes."""
        memory = self.memory._copied()
        for i, segment in enumerate(memory.segments):
            held = None if contents is None else contents[i]
            segment.buffer = sparse(segment.size, np.uint8) if held is None else held
        return memory


def _anywhere(address: int, nbytes: int) -> npt.NDArray[np.uint8]:
    """Zeroed host memory, wherever the host has some."""
    return np.zeros(nbytes, np.uint8)


class DeviceMemory:
    """All allocations of one device. Addresses are the same in every run of a program.

    Args:
        first: the lowest address; later ones are higher, and none is used twice.
        bytes_at: gives the host memory behind (address, bytes).
    """

    def __init__(
        self,
        *,
        first: int = _FIRST,
        bytes_at: Callable[[int, int], npt.NDArray[np.uint8]] = _anywhere,
    ) -> None:
        self._first = self._next = first
        self._bytes_at = bytes_at
        self._bases: list[int] = []
        self._segments: list[Segment] = []
        self._freed: list[Segment] = []
        self.heap_limit = 8 << 20
        self.has_wide_guards = False  # so that no index out of bounds meets another allocation
        self.maps_pages = False  # as a GPU does; see strays.py
        self.pages: dict[int, npt.NDArray[np.uint8]] = {}  # what kernels wrote out of bounds
        self.peers: tuple[DeviceMemory, ...] = ()  # others whose allocations kernels see too
        self.textures = ObjectTable()  # texture and surface objects
        self.namer: Callable[[Segment], str] | None = None  # a better name, or an empty one
        self.elsewhere: Callable[[int], str] | None = None  # what is at an address outside, or ""

    def _place(self, size: int, alignment: int = ALIGNMENT) -> int:
        base = -(-self._next // alignment) * alignment
        guard = GUARD
        if self.has_wide_guards and base < _LAST:
            guard = min(max(_WIDE_GUARD, 2 * size), _WIDEST_GUARD) // alignment * alignment
            base += guard
        window = base >> 32
        if size < 1 << 31 and (base + size + _MARGIN) >> 32 != window:
            base = ((window + 1) << 32) + _MARGIN
        self._next = (base + max(size, 1) + guard + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        return base

    def _add(self, base: int, buffer: npt.NDArray[np.uint8], writable: bool, name: str,
             heap: bool = False) -> int:  # fmt: skip
        segment = Segment(base, buffer.nbytes, buffer, writable, name, heap)
        self._bases.append(base)
        self._segments.append(segment)
        return base

    def map_host(
        self, array: npt.NDArray[Any], *, writable: bool, name: str = "array",
        written: npt.NDArray[np.uint8] | None = None,
    ) -> int:  # fmt: skip
        """Makes a contiguous host array visible to kernels, in place; returns its address."""
        if not array.flags.c_contiguous and not array.flags.f_contiguous:
            raise InputError(f"{name} is not contiguous")
        view = array.ravel(order="K").view(np.uint8) if array.size else np.zeros(0, np.uint8)
        if array.size and not np.shares_memory(view, array):
            raise InputError(f"{name} cannot be used in place")
        address = self._add(self._place(view.nbytes), view, writable, name)
        self._segments[-1].written = written
        return address

    def allocate(
        self, nbytes: int, *, name: str = "allocation", heap: bool = False,
        is_written: bool = True,
    ) -> int:  # fmt: skip
        """Zeroed device memory, which may count as not written; returns its address."""
        if nbytes < 0:
            raise InputError(f"cannot allocate {count(nbytes, 'byte')}")
        base = self._place(nbytes)
        address = self._add(base, self._bytes_at(base, nbytes), True, name, heap)
        if not is_written:
            self._segments[-1].written = np.zeros(nbytes, np.uint8)
        return address

    def set_written(self, address: int, nbytes: int, *, source: int | None = None) -> None:
        """Bytes have been written by the host, or copied from `source` with what is known of it."""
        segment = self.find(address)
        if segment is None or segment.written is None or nbytes <= 0:
            return
        origin = None if source is None else self.find(source)
        start = address - segment.base
        flags: Any = 1
        if origin is not None and origin.written is not None:
            assert source is not None
            first = source - origin.base
            flags = origin.written[first : first + nbytes].copy()
        segment.written[start : start + nbytes] = flags

    def take_as_written(self) -> None:
        """A kernel ran that nobody followed: whatever it wrote is not reported as unwritten."""
        for segment in self.segments:
            if segment.written is not None:
                segment.written[:] = 1

    def reserve(self, nbytes: int, alignment: int) -> int:
        """Addresses that nothing is behind yet, and that no allocation will get."""
        return self._place(nbytes, max(alignment, ALIGNMENT))

    def attach(
        self, base: int, buffer: npt.NDArray[np.uint8], *, writable: bool, name: str
    ) -> None:
        """Puts memory behind reserved addresses."""
        index = bisect.bisect_left(self._bases, base)
        self._bases.insert(index, base)
        self._segments.insert(index, Segment(base, buffer.nbytes, buffer, writable, name))

    def free(self, address: int) -> None:
        """Ends an allocation.

        Raises:
            MemoryFault: nothing is allocated at exactly this address.
        """
        index = self._index(address)
        if index is None or self._segments[index].base != address:
            known = next((s for s in self._freed if s.base == address), None)
            what = "was already freed" if known is not None else "is not an allocation"
            raise MemoryFault(f"cannot free {address:#x}: it {what}")
        segment = self._segments.pop(index)
        self._bases.pop(index)
        # Remembered for messages only: its bytes must not stay alive.
        self._freed.append(replace(segment, buffer=np.zeros(0, np.uint8)))
        if len(self._freed) > 256:
            del self._freed[0]

    def _index(self, address: int) -> int | None:
        i = bisect.bisect_right(self._bases, address) - 1
        if i < 0:
            return None
        segment = self._segments[i]
        return i if address - segment.base < max(segment.size, 1) else None

    def owns(self, address: int) -> bool:
        """Whether an address is, was or lies between allocations of this memory."""
        return self._first <= address < self._next

    def find(self, address: int) -> Segment | None:
        """The live allocation that holds an address, this memory's or a peer's."""
        i = self._index(address)
        if i is not None:
            return self._segments[i]
        found = (peer.find(address) for peer in self.peers if peer.owns(address))
        return next(found, None)

    def room(self, address: int) -> int:
        """Bytes from an address to the end of the live allocation that holds it, or 0."""
        segment = self.find(address)
        return 0 if segment is None else segment.base + segment.size - address

    def view(self, address: int, nbytes: int) -> npt.NDArray[np.uint8]:
        """Bytes of one allocation.

        Raises:
            MemoryFault: the range is not inside one live allocation.
        """
        segment = self.find(address)
        if segment is None or address + nbytes > segment.base + segment.size:
            raise MemoryFault(
                f"{count(nbytes, 'byte')} at {address:#x}: {self.describe(address)}"
            )
        start = address - segment.base
        return segment.buffer[start : start + nbytes]

    def _placed(self, segment: Segment) -> str:
        """`parameter 0 (1,024 bytes at 0x7f5002000000)`."""
        name = self.namer(segment) if self.namer is not None else ""
        return f"{name or segment.name} ({count(segment.size, 'byte')} at {segment.base:#x})"

    def describe(self, address: int) -> str:
        """What is at or near an address, for messages."""
        for peer in self.peers:
            if peer.owns(address):
                return peer.describe(address)
        for segment in reversed(self._freed):
            if 0 <= address - segment.base < segment.size:
                return f"{self._placed(segment)} was already freed"
        if address < 4096:
            return "a null pointer, or close to one"
        outside = self.elsewhere(address) if self.elsewhere and not self.owns(address) else ""
        if outside:
            return outside
        best: tuple[int, str] | None = None
        for segment in self._segments:
            offset = address - segment.base
            where = self._placed(segment)
            if 0 <= offset < segment.size:
                return f"inside {where}, {count(segment.size - offset, 'byte')} before its end"
            distance = -offset if offset < 0 else offset - segment.size
            side = "before" if offset < 0 else "after"
            text = f"{count(distance, 'byte')} {side} the nearest allocation, {where}"
            if best is None or distance < best[0]:
                best = (distance, text)
        return best[1] if best else "there are no allocations"

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Live allocations by address, peers' as well."""
        if not self.peers:
            return tuple(self._segments)
        spaces = sorted((self, *self.peers), key=lambda space: space._first)
        return tuple(segment for space in spaces for segment in space._segments)

    def outline(self) -> Outline:
        """Where the allocations are now."""
        memory = self._copied()
        for segment in memory.segments:
            segment.buffer = _NOTHING
        return Outline(memory)

    def _copied(self, *, is_whole: bool = True) -> DeviceMemory:
        """The same allocations, apart from what comes and goes from now on; peers', too."""
        other = DeviceMemory(first=self._first)
        other._next, other.heap_limit = self._next, self.heap_limit
        other._bases, other._freed = list(self._bases), list(self._freed)
        other._segments = [replace(segment) for segment in self._segments]
        other.textures, other.maps_pages = self.textures.copied(), self.maps_pages
        if is_whole:
            other.peers = tuple(peer._copied(is_whole=False) for peer in self.peers)
        return other

    def table(self, spare: int = 64) -> npt.NDArray[np.int64]:
        """The segment table for generated code (nothing allowed yet), with room for more."""
        segments = self.segments
        table = np.zeros((len(segments) + spare, at.SEGMENT_SLOTS), np.int64)
        for i, segment in enumerate(segments):
            table[i, : at.SEGMENT_ALLOWED] = (segment.base, segment.size, segment.host)
        return table
