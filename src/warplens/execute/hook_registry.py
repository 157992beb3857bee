"""What a device function that runs on the host is given, and how it gets its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from warplens.errors import MemoryFault
from warplens.execute.memory import DeviceMemory


class HeapWatch:
    """Told of the device heap's use; with one, a bad free does not stop the launch."""

    def allocated(self, caller: Caller, warp: int, lane: int, index: int, address: int,
                  size: int) -> None:  # fmt: skip
        """A lane of warp record `warp`, number `index` of its block, got memory (or null)."""

    def freed(self, address: int) -> None:
        """Memory was given back."""

    def bad_free(self, caller: Caller, warp: int, lane: int, index: int, address: int,
                 error: MemoryFault) -> None:  # fmt: skip
        """A lane gave back what is not allocated."""


class Caller(Protocol):
    """What a hook sees of the worker whose warp calls it."""

    memory: DeviceMemory

    @property
    def heap_watch(self) -> HeapWatch | None:
        """Who is told of malloc and free."""

    @property
    def shared_limit(self) -> int:
        """Bytes of a block's shared address space."""

    @property
    def block_index(self) -> int:
        """Index of the running block in the grid."""

    def allow_read(self, inst: int, lane: int, address: int, size: int) -> None:
        """Refuses, as a load of instruction `inst` would be, what may not be read."""

    def shared_address(self) -> int:
        """Host address of the running block's shared memory."""

    def cluster_shared(self, rank: int) -> int:
        """Host address of the shared memory of a block of the running cluster; 0: none there."""

    def heap_allocate(self, size: int) -> int:
        """Device malloc: an address, or 0 when the heap is full."""

    def heap_free(self, address: int) -> None:
        """Device free."""

    def print_text(self, text: str) -> None:
        """Output of device printf."""

    def wait_for_grid(self, mask: int) -> None:
        """The lanes that call go on when every thread of the grid has come."""

    def thread_text(self, warp_index: int, lane: int) -> str:
        """`thread (x,y,z) in block (x,y,z)`."""


Hook = Callable[[Caller, int, int, int], None]  # caller, warp address, lane mask, warp index


class Hooks(dict[str, Hook]):
    """Host functions by the external symbols that they stand for."""

    def named(self, name: str) -> Callable[[Hook], Hook]:
        """Registers the host function for an external symbol."""

        def register(function: Hook) -> Hook:
            self[name] = function
            return function

        return register
