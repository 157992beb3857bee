"""The blocks that are resident on one worker: warp records, barriers, local and shared memory."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warplens.execute import run_layout
from warplens.execute.launch import Launching
from warplens.lift import layout as at

_KEPT_BYTES = 1 << 18
_PAIR = 128  # bytes of two cache lines


def aligned(n_bytes: int, alignment: int = 64) -> npt.NDArray[np.uint8]:
    """A zeroed byte buffer whose first byte is aligned."""
    raw = np.zeros(n_bytes + alignment, np.uint8)
    start = -int(raw.ctypes.data) % alignment
    return raw[start : start + n_bytes]


def apart(*shape: int) -> npt.NDArray[np.int64]:
    """Zeros in cache lines of their own, and in pairs of lines, which processors fetch together:
    every worker's thread writes its arrays all the time, and would wait for the others'."""
    size = 8 * math.prod(shape)
    return aligned(-(-size // _PAIR) * _PAIR, _PAIR)[:size].view(np.int64).reshape(shape)


class Residents:
    """Slots for resident blocks, whole clusters at a time, as the runner's arrays.

    Attributes:
        blocks: what the runner knows of each slot's block, shape (slots, N_BLOCK).
        barriers: of each slot's 16 barriers, shape (slots, 16, N_BARRIER).
        arrived: lanes of each warp that have come to a barrier, shape (slots, 16, warps).
        seen: lanes of each warp whose exit the block knows of, shape (slots, warps).
        warps: host addresses of warp records, shape (slots, warps).
        states: what each warp does, shape (slots, warps).
        shared: host address of each slot's shared memory.
        visible: the same for as long as other blocks of the cluster may read it.
    """

    def __init__(self, launching: Launching, control: npt.NDArray[np.int64], record_bytes: int):
        self.n_warps = int(control[run_layout.WARPS])
        self.record_bytes = record_bytes
        self._control = control
        self._local_bytes = launching.local_bytes
        self._cluster_blocks = launching.cluster_blocks
        self._fields = self._fields_of_records(launching)
        self._buffers: list[npt.NDArray[np.uint8]] = []  # records, local and shared memory in turn
        self._fresh: list[npt.NDArray[np.uint8]] = []  # warp records before the first block
        self._allocate(0)
        self.add_cluster()

    def _fields_of_records(self, launching: Launching) -> npt.NDArray[np.uint32]:
        """Of each warp record: the lanes' thread indices in x, y and z, then the warp's index."""
        config, n = launching.config, self.n_warps
        bx, by, _ = config.block
        indices = np.arange(n) if config.warp_order is None else np.array(config.warp_order)
        thread = np.arange(n * 32, dtype=np.uint32).reshape(n, 32)[indices]
        fields = np.empty((n, 97), np.uint32)
        fields[:, :32] = thread % bx
        fields[:, 32:64] = thread // bx % by
        fields[:, 64:96] = thread // (bx * by)
        fields[:, 96] = indices
        return fields

    def _arrays(self) -> tuple[npt.NDArray[np.int64], ...]:
        return (self.blocks, self.barriers, self.arrived, self.seen, self.warps, self.states,
                self.shared, self.visible)  # fmt: skip

    def _allocate(self, capacity: int) -> None:
        n = self.n_warps
        self.blocks = apart(capacity, run_layout.N_BLOCK)
        self.barriers = apart(capacity, at.N_BARRIERS, run_layout.N_BARRIER)
        self.arrived = apart(capacity, at.N_BARRIERS, n)
        self.seen = apart(capacity, n)
        self.warps = apart(capacity, n)
        self.states = apart(capacity, n)
        self.shared = apart(capacity)
        self.visible = apart(capacity)

    def add_cluster(self) -> bool:
        """Room for one more resident cluster; whether the arrays are other ones now."""
        moved = False
        for _ in range(self._cluster_blocks):
            moved |= self._add_slot()
        self.tell_runner()
        return moved

    def tell_runner(self) -> None:
        """The table of shared memories that blocks of a cluster see stands where it stands."""
        self._control[run_layout.SHARED_TABLE] = self.visible.ctypes.data

    def _add_slot(self) -> bool:
        slot = int(self._control[run_layout.N_SLOTS])
        moved = slot >= len(self.blocks)
        if moved:
            old = self._arrays()
            self._allocate(max(1, 2 * slot))
            for before, after in zip(old, self._arrays(), strict=True):
                after[:slot] = before
        n, size = self.n_warps, self.record_bytes
        local_size = 128 * ((self._local_bytes + 3) // 4)
        records, local = aligned(size * n), aligned(max(64, local_size * n))
        # 256 bytes to spare: loads take a whole window at once.
        shared = aligned(int(self._control[run_layout.SHARED_BYTES]) + 256)
        self._buffers += [records, local, shared]
        self.shared[slot] = shared.ctypes.data
        words = records.view(np.uint32).reshape(n, size // 4)
        tid, index, place = at.WARP_TID // 4, at.WARP_INDEX // 4, at.WARP_LOCAL // 4
        words[:, tid : tid + 96] = self._fields[:, :96]
        words[:, index] = self._fields[:, 96]
        locals_ = local.ctypes.data + local_size * np.arange(n, dtype=np.int64)
        words[:, place : place + 2] = locals_.view(np.uint32).reshape(-1, 2)
        self.warps[slot] = records.ctypes.data + size * np.arange(n)
        self._fresh.append(records.copy())
        self._control[run_layout.N_SLOTS] = slot + 1
        return moved

    # --- again, for another launch of the same shape ----------------------------------------------

    def is_small(self) -> bool:
        """Whether what it holds is little enough to be kept and cleared for another launch."""
        return sum(buffer.size for buffer in self._buffers) <= _KEPT_BYTES

    def clear(self) -> None:
        """Everything as if new, in the same places."""
        for array in (self.blocks, self.barriers, self.arrived, self.seen, self.states):
            array.fill(0)
        for index, buffer in enumerate(self._buffers):
            if index % 3:  # local and shared memory
                buffer.fill(0)
            else:
                buffer[:] = self._fresh[index // 3]

    # --- who is there -----------------------------------------------------------------------------

    def slots(self) -> Iterator[int]:
        """Slots whose block has begun and not ended."""
        for slot in range(int(self._control[run_layout.N_SLOTS])):
            if self.blocks[slot, run_layout.BLOCK_RUNNING]:
                yield slot

    def records(self) -> Iterator[int]:
        """Addresses of the warp records of resident blocks."""
        for slot in self.slots():
            yield from (int(warp) for warp in self.warps[slot, : self.n_warps])

    def shared_bytes(self) -> Iterator[bytes]:
        """The shared memory of resident blocks."""
        n_bytes = int(self._control[run_layout.SHARED_BYTES])
        for slot in self.slots():
            yield ctypes.string_at(int(self.shared[slot]), n_bytes)

    def fellow_shared(self, slot: int, rank: int) -> int:
        """Host address of the shared memory of a block of a slot's cluster; 0: none there."""
        first = slot // self._cluster_blocks * self._cluster_blocks
        return int(self.visible[first + rank]) if 0 <= rank < self._cluster_blocks else 0

    def current(self) -> tuple[int, int, int]:
        """(slot, index of the warp, address of its record) of the warp that ran last."""
        slot, index = int(self._control[run_layout.SLOT]), int(self._control[run_layout.WARP])
        return slot, index, int(self.warps[slot, index])
