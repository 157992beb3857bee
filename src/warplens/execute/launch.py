"""What the workers of one launch share: memory permissions, constant banks, output, faults."""

from __future__ import annotations

import bisect
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from warplens.errors import ExecutionFault, MemoryFault
from warplens.execute import buffers
from warplens.execute.cooperative import give_parameters, give_workspace
from warplens.execute.hook_registry import HeapWatch
from warplens.execute.memory import DeviceMemory, Segment
from warplens.execute.observe import Observer
from warplens.execute.own_sums import OwnSums
from warplens.execute.program import ModuleImage, Program
from warplens.execute.strays import MOST, Strays
from warplens.execute.tensor_memory.faults import tensor_memory_fault
from warplens.execute.textures.faults import texture_fault
from warplens.lift import layout as at
from warplens.lift.constants import bank0
from warplens.lift.memory.atomic_ops import atomic_operation
from warplens.wording import count

SNAPSHOT_LIMIT = 256 << 20  # bytes copied so that an optimistic parallel run can be taken back
_MOST_BANKS = 32
_MOST_PLACES = 64
_MINIMUM_STACK = 1024

_SPACE_OF_FAULT = {
    at.FAULT_SHARED: "__shared__", at.FAULT_MISALIGNED_SHARED: "__shared__",
    at.FAULT_LOCAL: "__local__", at.FAULT_MISALIGNED_LOCAL: "__local__",
}  # fmt: skip


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchConfig:
    """How to launch: dimensions, parameter bytes and limits.

    Attributes:
        grid, block: dimensions x, y, z; dynamic_shared: bytes per block.
        params: the parameter block, as in constant bank 0 behind the parameter base.
        deterministic: order-dependent kernels run their blocks in index order on one worker.
        workers: threads (None: one per core).
        max_steps: limit on loop iterations summed over warps; max_seconds: wall time limit;
            max_idle_seconds: limit on the wall time in which no block ends.
        max_resident: blocks that may be resident together when blocks wait for each other.
        sm_count: what the kernel sees as the number of SMs.
        progress: called now and then with (blocks finished, blocks in all).
        observer: told of blocks, accesses and synchronisation; needs a program prepared with
            observe=True and runs on one worker.
        heap_watch: told of device malloc and free.
        snapshots: gets a copy of every allocation, by address, before its first write.
        block_order: only these blocks, in this order (None: all, ascending).
        warp_order: in which order the warps of a block come (None: ascending); a last warp that is
            not full must stay last.
        restore: afterwards memory is as it was before: nothing that the blocks write stays.
        find_endless: raise EndlessWait where all that still runs goes round in loops for ever.
        warp_turns: which warp of a block runs first, and how many further the next one is; the
            second has no divisor in common with the number of warps.
        interleave: instructions that a warp executes before the next warp does (0: until it waits);
            needs the program `KernelCode.interleaved`.
        by_turns: max_resident blocks begin at once, and one runs until its warps have come back in
            loops before the next does.
        strict_masks: a WARPSYNC whose mask names lanes that never come is a deadlock.
        part_order: draws whose turn it is where nobody is put aside (0: as an H200 chooses; see
            parts.py).
        is_blind: tells whether what is executed, and where it goes, follows from parameters alone.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared: int = 0
    params: bytes = b""
    deterministic: bool = True
    workers: int | None = None
    max_steps: int | None = None
    max_seconds: float | None = None
    max_idle_seconds: float | None = None
    max_resident: int = 4096
    sm_count: int = 1
    progress: Callable[[int, int], None] | None = None
    observer: Observer | None = None
    heap_watch: HeapWatch | None = None
    snapshots: dict[int, tuple[Segment, npt.NDArray[np.uint8]]] | None = None
    block_order: tuple[int, ...] | None = None
    warp_order: tuple[int, ...] | None = None
    restore: bool = False
    find_endless: bool = False
    warp_turns: tuple[int, int] = (0, 1)
    interleave: int = 0
    by_turns: bool = False
    strict_masks: bool = False
    part_order: int = 0
    is_blind: Callable[[], bool] = _never


class OrderNeeded(Exception):
    """An optimistic parallel run met an access whose result depends on the order of blocks."""


def _alias_groups(segments: tuple[Segment, ...]) -> list[int]:
    """Group number per segment: segments over the same host bytes share one."""
    order = sorted(range(len(segments)), key=lambda i: segments[i].host)
    groups = [0] * len(segments)
    group, end = -1, -1
    for i in order:
        if segments[i].host >= end:
            group += 1
        groups[i] = group
        end = max(end, segments[i].host + segments[i].size)
    return groups


def places_of(memory: DeviceMemory, config: LaunchConfig) -> object:
    """What decides where a kernel goes that does not look at memory; None: not known.

    Addresses count as places in allocations, since every launch maps its arrays elsewhere.
    """
    segments = memory.segments
    if len(segments) > _MOST_PLACES or not config.is_blind():
        return None
    bases, words = [s.base for s in segments], len(config.params) // 8 * 8
    found: list[object] = [config.params[words:]]
    for (word,) in struct.iter_unpack("<Q", config.params[:words]):
        i = bisect.bisect_right(bases, word) - 1
        inside = i >= 0 and word <= bases[i] + segments[i].size
        found.append((i, word - bases[i]) if inside else word)
    return (
        config.grid, config.block, config.dynamic_shared, config.sm_count, memory.maps_pages,
        *found, *((s.size, s.writable) for s in segments), *_alias_groups(segments),
    )  # fmt: skip


def turns_of(
    blocks: tuple[int, ...], grid: tuple[int, int, int], cluster: tuple[int, int, int]
) -> tuple[int, ...]:
    """The turns at which blocks come, in their order; with clusters, of all their fellows."""
    cx, cy, cz = cluster
    size = cx * cy * cz
    if size == 1:
        return blocks
    gx, gy, _ = grid
    found = (
        b % gx // cx + gx // cx * (b // gx % gy // cy + gy // cy * (b // (gx * gy) // cz))
        for b in blocks
    )
    return tuple(c * size + rank for c in dict.fromkeys(found) for rank in range(size))


class Member(Protocol):
    """What a launch knows of each of its workers."""

    def where(self, inst: int) -> str:
        """An instruction in words."""

    def running_thread(self, lane: int) -> str:
        """`thread (x,y,z) in block (x,y,z)` for a lane of the running warp."""

    def segments_changed(self, n_segments: int) -> None:
        """The table of segments is another one."""


class Launching:
    """The shared state of one launch."""

    def __init__(self, program: Program, image: ModuleImage, memory: DeviceMemory,
                 config: LaunchConfig, n_workers: int,
                 is_apart: bool = False) -> None:  # fmt: skip
        """`is_apart`: a run in any order is known to need no other one, so nothing is copied."""
        self.program, self.image, self.memory, self.config = program, image, memory, config
        self.n_workers = n_workers
        self.params = program.given(config.params)
        kernel = program.lifted.kernel
        stack = _MINIMUM_STACK if kernel.uses_recursion else 0
        self.local_bytes = (max(kernel.local_bytes, kernel.frame_bytes, stack) + 15) // 16 * 16
        reserved = kernel.shared_section if kernel.shared_section else (
            0x400 if kernel.sm >= 90 else 0
        )
        self.cluster = kernel.cluster_shape
        self.cluster_blocks = kernel.cluster_blocks
        limit = max(reserved, kernel.static_shared) + config.dynamic_shared
        # Compilers widen loads over the end of a dynamic array; no GPU checks to the byte.
        self.shared_limit = -(-limit // program.shared_unit) * program.shared_unit
        self.banks = dict(image.banks)
        self.banks[0] = self._bank0()
        if program.asks_for_workspace:
            give_workspace(kernel, memory, self.banks[0])
        if program.asks_for_parameters:
            give_parameters(kernel, memory, self.params, self.banks[0])
        self.banks[2] = program.bank2
        self.table = memory.table(spare=4096 if program.uses_heap else 64)
        self.n_segments = len(memory.segments)
        self.strays = Strays(memory, self.table)
        self.textures = memory.textures.packed(memory.room) if program.samples else None
        self.output: list[str] = []
        self.order_reason = ""
        self._lock = threading.Lock()
        self._groups = _alias_groups(memory.segments)
        self._uses: dict[int, int] = {}
        self._operations: dict[int, str] = {}
        self._snapshots: dict[int, tuple[Segment, npt.NDArray[np.uint8]]] = {}
        self._is_apart = is_apart
        self._taken: list[npt.NDArray[np.uint8]] = []
        in_any_order = n_workers > 1 and config.deterministic
        is_plain = not program.uses_heap and self.textures is None
        self.own_sums = OwnSums(program.sum_bytes if in_any_order and is_plain else 0)
        self._heap_used = 0
        if n_workers == 1 and not config.restore and config.snapshots is None:
            self._allow_everything()

    def _bank0(self) -> npt.NDArray[np.uint8]:
        """A bank of its own; what does not change from launch to launch is made once."""
        kernel, config, known = self.program.lifted.kernel, self.config, self.program.banks
        constants = self.image.addresses.get(".nv.constant3", 0)
        shape = (config.grid, config.block, config.dynamic_shared, self.local_bytes,
                 config.sm_count, self.cluster, constants)  # fmt: skip
        if shape not in known:
            if len(known) >= _MOST_BANKS:
                known.clear()
            known[shape] = bank0(
                kernel, grid=config.grid, block=config.block, dynamic_shared=config.dynamic_shared,
                local_bytes=self.local_bytes, sm_count=config.sm_count, parameters=b"",
                cluster=self.cluster, constants=constants,
            )  # fmt: skip
        bank = known[shape].copy()
        start = kernel.parameter_base
        bank[start : start + len(self.params)] = np.frombuffer(self.params, np.uint8)
        return bank

    def _allow_everything(self) -> None:
        every = at.ACCESS_READ | at.ACCESS_WRITE | at.ACCESS_ATOMIC
        for i, segment in enumerate(self.memory.segments):
            self.table[i, at.SEGMENT_ALLOWED] = every if segment.writable else at.ACCESS_READ

    # --- permissions -----------------------------------------------------------------------------

    def allow(self, worker: Member, inst: int, lane: int, address: int, kind: int,
              size: int) -> int:  # fmt: skip
        """Segment index for an access, or a typed error."""
        with self._lock:
            address &= (1 << 64) - 1
            index = int(np.searchsorted(self.table[: self.n_segments, 0], address, "right")) - 1
            segments = self.memory.segments
            if index < 0 or address + size > segments[index].base + segments[index].size:
                return self._stray(worker, inst, lane, address, kind, size)
            segment = segments[index]
            if kind != at.ACCESS_READ and not segment.writable:
                where = worker.where(inst)
                raise MemoryFault(
                    f"write of size {size} bytes to read-only {segment.name} at {address:#x} by "
                    f"{where}",
                    hint="The argument is a read-only array, or the memory is constant.",
                )
            kept = self.config.snapshots
            if kept is not None and kind != at.ACCESS_READ and segment.base not in kept:
                kept[segment.base] = (segment, segment.buffer.copy())
            self._check_order(index, segment, kind, inst)
            allowed = int(self.table[index, at.SEGMENT_ALLOWED]) | kind
            self.table[index, at.SEGMENT_ALLOWED] = allowed
            return index

    def _stray(self, worker: Member, inst: int, lane: int, address: int, kind: int,
               size: int) -> int:  # fmt: skip
        """The row of an access outside of all allocations that a GPU would go on after."""
        every = at.ACCESS_READ | at.ACCESS_WRITE | at.ACCESS_ATOMIC
        found = self.strays.row(address, size, every)
        if found is None:
            raise self._outside(worker, inst, lane, address, kind, size)
        if self.n_workers > 1 and self.config.deterministic:
            self.order_reason = "it accesses what lies outside of its allocations"
            raise OrderNeeded
        index, segment = found
        if self.config.restore and index not in self._snapshots:
            self._snapshots[index] = (segment, segment.buffer.copy())
        if not self.strays.is_told(inst):
            self.strays.tell(
                inst, self._outside(worker, inst, lane, address, kind, size).message
            )
        return index

    def _outside(self, worker: Member, inst: int, lane: int, address: int, kind: int,
                 size: int) -> MemoryFault:  # fmt: skip
        where = f"{worker.where(inst)}, {worker.running_thread(lane)}"
        what = {at.ACCESS_READ: "read", at.ACCESS_WRITE: "write"}.get(kind, "atomic")
        return MemoryFault(
            f"invalid __global__ {what} of size {size} bytes at {address:#x}: "
            f"{self.memory.describe(address)}\n  at {where}",
        )

    def _check_order(self, index: int, segment: Segment, kind: int, inst: int) -> None:
        if self.config.restore and kind != at.ACCESS_READ and index not in self._snapshots:
            self._snapshots[index] = self._copied(segment)
        if self.n_workers == 1 or not self.config.deterministic:
            return
        group = self._groups[index]
        uses = self._uses.get(group, 0) | kind
        operation = ""
        if kind == at.ACCESS_ATOMIC:
            bound = self.program.bound_of(inst)
            operation = atomic_operation(bound)[0]
        before = self._operations.setdefault(group, operation) if operation else ""
        if uses not in (at.ACCESS_READ, at.ACCESS_WRITE, at.ACCESS_ATOMIC) or before != operation:
            self.order_reason = f"{segment.name} is both read and written"
            raise OrderNeeded
        if kind == at.ACCESS_ATOMIC and self.own_sums.takes(segment):
            self._uses[group] = uses
            return
        if kind != at.ACCESS_READ and index not in self._snapshots and not self._is_apart:
            taken = sum(len(copy) for _, copy in self._snapshots.values())
            if taken + segment.size > SNAPSHOT_LIMIT:
                self.order_reason = f"{segment.name} is too large to run blocks out of order first"
                raise OrderNeeded
            self._snapshots[index] = self._copied(segment)
        self._uses[group] = uses

    def _copied(self, segment: Segment) -> tuple[Segment, npt.NDArray[np.uint8]]:
        buffer = buffers.copy_of(segment.buffer)
        self._taken.append(buffer)
        return segment, buffer[: segment.size]

    def sums_for_worker(self, index: int) -> int:
        """Host address of a worker's own sums for a segment; 0: it adds to the segment itself."""
        with self._lock:
            return self.own_sums.for_worker(self.memory.segments[index])

    def take_back(self) -> None:
        """Restores all memory as it was before the launch."""
        self.own_sums.forget()
        for segment, copy in self._snapshots.values():
            buffers.put_back(segment.buffer, copy)

    def forget_copies(self) -> None:
        """The launch is over and nothing will be taken back."""
        self._snapshots.clear()
        while self._taken:
            buffers.give_back(self._taken.pop())

    # --- device heap -----------------------------------------------------------------------------

    def heap_allocate(self, size: int) -> int:
        """Device malloc: 0 when the heap limit or the segment table is full."""
        with self._lock:
            full = self.n_segments >= len(self.table) - MOST
            if size == 0 or full or self._heap_used + size > self.memory.heap_limit:
                return 0
            address = self.memory.allocate(size, name=f"device malloc of {size} bytes", heap=True)
            self._heap_used += size
            segment = self.memory.find(address)
            assert segment is not None
            if self.n_segments and self.table[self.n_segments - 1, 0] > address:
                raise ExecutionFault(
                    "device malloc while the memory of another GPU of a higher number is mapped",
                    hint="Disable peer access, or launch on the GPU of the highest number.",
                )
            every = at.ACCESS_READ | at.ACCESS_WRITE | at.ACCESS_ATOMIC
            self.table[self.n_segments] = (segment.base, segment.size, segment.host, every)
            self._groups.append(max(self._groups, default=-1) + 1)
            self.n_segments += 1
            self._tell_segments()
            return address

    def heap_free(self, address: int) -> None:
        """Device free."""
        with self._lock:
            segment = self.memory.find(address)
            if segment is not None and not segment.on_device_heap:
                raise MemoryFault(f"{address:#x} was not allocated by device malloc")
            self.memory.free(address)
            assert segment is not None
            self._heap_used -= segment.size
            index = int(np.searchsorted(self.table[: self.n_segments, 0], address))
            self.table[index : self.n_segments - 1] = self.table[index + 1 : self.n_segments]
            self.n_segments -= 1
            del self._groups[index]
            self._tell_segments()

    workers: tuple[Member, ...] = ()

    def _tell_segments(self) -> None:
        for worker in self.workers:
            worker.segments_changed(self.n_segments)

    # --- faults ----------------------------------------------------------------------------------

    def _cluster_fault(self, kind: int, address: int, size: int, where: str) -> MemoryFault:
        rank = address >> 24 & 0xFF
        what = f"invalid access of {size} bytes to the shared memory of a cluster's block {rank}"
        if kind == at.FAULT_CLUSTER_ENDED:
            return MemoryFault(
                f"{what} at {address:#x}: that block has exited\n  at {where}",
                hint="End the kernel with a cluster barrier: a block must not exit while others "
                "use its shared memory.",
            )
        return MemoryFault(
            f"{what} at {address:#x}: the cluster has {count(self.cluster_blocks, 'block')}\n  at "
            f"{where}",
            hint="Check the rank passed to map_shared_rank or mapa.",
        )

    def fault(self, kind: int, inst: int, address: int, size: int, where: str) -> ExecutionFault:
        """The typed error for a fault that generated code recorded."""
        if kind in (at.FAULT_MISALIGNED, at.FAULT_MISALIGNED_SHARED, at.FAULT_MISALIGNED_LOCAL):
            space = _SPACE_OF_FAULT.get(kind, "__global__")
            near = f": {self.memory.describe(address)}" if kind == at.FAULT_MISALIGNED else ""
            return MemoryFault(
                f"misaligned {space} access of size {size} bytes at {address:#x}{near}\n"
                f"  at {where}",
                hint=f"The address must be a multiple of {size}.",
            )
        if kind in (at.FAULT_CLUSTER_RANK, at.FAULT_CLUSTER_ENDED):
            return self._cluster_fault(kind, address, size, where)
        if kind == at.FAULT_TENSOR_MAP:
            return MemoryFault(
                f"{address:#x} holds no tensor map for this copy: none at all, one of another rank "
                f"or element type, or one not aligned to 64 bytes\n  at {where}",
                hint="make it with warplens.TensorMap and pass it as a __grid_constant__ parameter",
            )
        if kind in (at.FAULT_TEXTURE, at.FAULT_SURFACE):
            return texture_fault(kind, address, size, where)
        if kind == at.FAULT_TENSOR_MEMORY:
            return tensor_memory_fault(address, size, where)
        if kind == at.FAULT_PART_OF_WARP:
            return ExecutionFault(
                f"a product of a warpgroup (wgmma) by a part of the warp's lanes\n  at {where}",
                hint="all 128 threads of the warpgroup must execute it",
            )
        if kind == at.FAULT_SHARED:
            return MemoryFault(
                f"invalid __shared__ access of size {size} bytes at {address:#x}: the block has "
                f"{self.shared_limit:#x} bytes of shared address space\n  at {where}",
                hint="Check the index, and the dynamic shared memory of the launch.",
            )
        if kind == at.FAULT_LOCAL:
            signed = address - (1 << 32) if address >= 1 << 31 else address
            if signed < 0 or address >= self.local_bytes:
                return MemoryFault(
                    f"invalid __local__ access of size {size} bytes at {signed:#x}: the thread has "
                    f"{self.local_bytes} bytes of local memory (stack overflow?)\n  at {where}",
                    hint="Deep recursion needs a larger stack; or an index into a local array is "
                    "out of bounds.",
                )
        return MemoryFault(f"invalid access of size {size} bytes at {address:#x}\n  at {where}")


