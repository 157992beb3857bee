"""One worker: its environment, warp records and resident blocks, and why a run stops."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.errors import (
    Deadlock,
    EndlessWait,
    ExecutionFault,
    KernelTrap,
    LimitExceeded,
    WarplensError,
)
from warplens.execute import clusters, parts, runner, splits
from warplens.execute.device_functions import hook_at
from warplens.execute.hook_registry import HeapWatch
from warplens.execute.launch import Launching, OrderNeeded
from warplens.execute.spinning import FIRST_LOOK, SpinWatch
from warplens.execute.tensor_memory.unit import serve as serve_tensor_memory
from warplens.execute.textures.unit import serve
from warplens.execute.warp_registers import lanes_of, read_register
from warplens.lift import layout as at
from warplens.lift.decode.binding import KEY_PREDICATE, Bound, members
from warplens.lift.decode.blocks import LiftedBlock
from warplens.lift.decode.gaps import bind_kernel, describe
from warplens.lift.decode.idle import idle_keys

_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_int64,
    ctypes.c_int32, ctypes.c_int32,
)  # fmt: skip
_REFUSED = -1
_KEPT_BYTES = 1 << 18
_FEW_STEPS = 64  # back edges, which are counted by the quantum, and looks of waiting blocks


def aligned(n_bytes: int, alignment: int = 64) -> npt.NDArray[np.uint8]:
    """A zeroed byte buffer whose first byte is aligned."""
    raw = np.zeros(n_bytes + alignment, np.uint8)
    start = -int(raw.ctypes.data) % alignment
    return raw[start : start + n_bytes]


class Worker:
    """Executes ranges of blocks of one launch in one thread."""

    def __init__(self, launching: Launching) -> None:
        self.launching = launching
        self.memory = launching.memory
        program, config = launching.program, launching.config
        self._lifted = program.lifted
        bx, by, bz = config.block
        self._threads = bx * by * bz
        self._n_warps = (self._threads + 31) // 32
        self.env = np.zeros(at.ENV_SLOTS, np.int64)
        self.counters = np.zeros(max(1, self._lifted.n_counters), np.int64)
        self._sites = aligned(at.SITE_SIZE * max(1, len(self._lifted.sites)))
        self._forget_sites()
        self._buffers: list[npt.NDArray[np.uint8]] = []
        self._fresh: list[npt.NDArray[np.uint8]] = []  # warp records before the first block
        live = self._lifted.layout.blocks[0].live_in
        zero = [k for k in members(live) if k < min(KEY_PREDICATE, self._lifted.n_registers)]
        self._zero_keys = np.array(zero, np.int64)
        self._callback = _CALLBACK(self._resolve)
        self._error: Exception | None = None
        self._spins: SpinWatch | None = None
        self._bound: list[Bound | None] = []
        self._idle: dict[int, int] = {}
        self._at_grid: dict[int, int] = {}  # lanes of the block in a slot at the grid's barrier
        self._returned = at.SPLIT_READY  # what becomes of lanes that come back from a hook
        self._set_environment()
        self.control = np.zeros(runner.N_CONTROL, np.int64)
        self._set_control()
        self._allocate_slots(0)
        self._add_slots()

    def _forget_sites(self) -> None:
        sites32 = self._sites.view(np.uint32).reshape(-1, at.SITE_SIZE // 4)
        sites32[:, at.SITE_PHASE // 4] = 0xFFFFFFFF
        sites32[:, 3] = 0xFFFFFFFF

    # --- again, for another launch of the same shape ----------------------------------------------

    def is_small(self) -> bool:
        """Whether what it holds is little enough to be kept and cleared for another launch."""
        return sum(buffer.size for buffer in self._buffers) <= _KEPT_BYTES

    def leave(self) -> None:
        """The launch is over; nothing of it is kept alive."""
        del self.launching, self.memory

    def enter(self, launching: Launching) -> None:
        """Everything as if new, in the same places, for a launch of the same shape."""
        self.launching, self.memory = launching, launching.memory
        self._error, self._spins = None, None
        self._at_grid.clear()
        self._returned = at.SPLIT_READY
        n_slots = self.control[runner.N_SLOTS]
        for array in (self.env, self.control, self.counters, self._sites, self._blocks,
                      self._barriers, self._arrived, self._seen, self._states):  # fmt: skip
            array.fill(0)
        for index, buffer in enumerate(self._buffers):
            if index % 3:  # local and shared memory
                buffer.fill(0)
            else:
                buffer[:] = self._fresh[index // 3]
        self._forget_sites()
        self._set_environment()
        self._set_control()
        self.control[runner.N_SLOTS] = n_slots
        self.control[clusters.SHARED_TABLE] = self._visible.ctypes.data

    # --- set-up ----------------------------------------------------------------------------------

    def _set_environment(self) -> None:
        launching, env = self.launching, self.env
        for number, bank in launching.banks.items():
            env[at.ENV_BANKS + number] = bank.ctypes.data
        env[at.ENV_SHARED_LIMIT] = launching.shared_limit
        env[at.ENV_COUNTERS] = self.counters.ctypes.data
        env[at.ENV_SITES] = self._sites.ctypes.data
        own = launching.own_sums.is_wanted
        self._table = launching.table.copy() if own else launching.table
        self._adds_elsewhere = False  # to memory that other workers add to
        env[at.ENV_SEGMENTS] = self._table.ctypes.data
        env[at.ENV_N_SEGMENTS] = launching.n_segments
        env[at.ENV_LOCAL_LIMIT] = launching.local_bytes
        env[at.ENV_CALLBACK] = ctypes.cast(self._callback, ctypes.c_void_p).value or 0
        env[at.ENV_EXCLUSIVE] = 1 if launching.n_workers == 1 else 0
        env[at.ENV_CLOCK] = 1000
        env[at.ENV_TIMER] = 1_000_000_000
        if launching.textures is not None:
            table, _ = launching.textures
            env[at.ENV_TEXTURES] = table.ctypes.data
            env[at.ENV_N_TEXTURES] = len(table)
            env[at.ENV_TEXTURE_UNIT] = serve.address
        if launching.program.has_tensor_memory:
            self._work = np.zeros(at.TM_WORK_BYTES // 8, np.int64)
            env[at.ENV_TENSOR_UNIT] = serve_tensor_memory.address
            env[at.ENV_TENSOR_MEMORY] = (launching.shared_limit + 63) // 64 * 64
            env[at.ENV_TENSOR_WORK] = self._work.ctypes.data
        observer = launching.config.observer
        if observer is not None:
            env[at.ENV_OBSERVE_BLOCK] = observer.block
            env[at.ENV_OBSERVE_ACCESS] = observer.access
            env[at.ENV_OBSERVE_SYNC] = observer.sync
            env[at.ENV_OBSERVE_RELEASE] = observer.release
            env[at.ENV_OBSERVER] = observer.state
            env[at.ENV_CHECK] = observer.check
        gx, gy, gz = launching.config.grid
        env[at.ENV_NCTAID : at.ENV_NCTAID + 3] = (gx, gy, gz)
        env[at.ENV_GRID_BLOCKS] = gx * gy * gz
        env[at.ENV_WARPS_PER_BLOCK] = self._n_warps
        env[at.ENV_CLUSTER_BLOCKS] = launching.cluster_blocks

    def _set_control(self) -> None:
        control, config = self.control, self.launching.config
        control[runner.GRID_X], control[runner.GRID_Y] = config.grid[0], config.grid[1]
        control[runner.WARPS] = self._n_warps
        control[runner.THREADS] = self._threads
        control[runner.ENV_ADDRESS] = self.env.ctypes.data
        size = self.launching.cluster_blocks
        control[clusters.CLUSTER_BLOCKS] = size
        control[clusters.CLUSTER_X : clusters.CLUSTER_Z + 1] = self.launching.cluster
        control[runner.MAX_SLOTS] = max(1, config.max_resident // size) * size
        control[runner.STEP_LIMIT] = config.max_steps or 0
        waiting = self._lifted.layout.waiting
        alone = waiting.is_shared or self.launching.n_workers == 1
        control[runner.IS_CERTAIN] = int(waiting.is_certain and alone)
        control[runner.TAKES] = int(waiting.takes)
        control[runner.IS_SHARED] = int(waiting.is_shared)
        if config.find_endless and not config.max_steps:
            self._spins = SpinWatch()
            control[runner.STEP_LIMIT] = FIRST_LOOK
            control[runner.SPINS] = 1
        first, step = config.warp_turns
        control[runner.FIRST_TURN] = first % self._n_warps
        control[runner.TURN_STEP] = step % self._n_warps
        control[runner.TURN] = config.interleave
        control[runner.PARTS] = int(self._lifted.layout.has_parts)
        control[parts.PART_ORDER] = config.part_order
        control[parts.STRICT_MASKS] = int(config.strict_masks)
        control[runner.N_SM] = max(1, config.sm_count)
        if config.observer is not None:
            control[runner.OBSERVE_RELEASE] = config.observer.release
        control[runner.SHARED_BYTES] = (self.launching.shared_limit + 7) // 8 * 8
        if self.launching.program.has_tensor_memory:
            control[runner.TENSOR_MEMORY] = self.env[at.ENV_TENSOR_MEMORY]
            control[runner.PAIR_BARRIER] = self.launching.program.pair_barrier
            control[runner.SHARED_BYTES] = self.env[at.ENV_TENSOR_MEMORY] + at.TM_BYTES

    def _allocate_slots(self, capacity: int) -> None:
        n = self._n_warps
        self._call: Callable[[], int] | None = None  # of the runner with these arrays
        self._blocks = np.zeros((capacity, runner.N_BLOCK), np.int64)
        self._barriers = np.zeros((capacity, at.N_BARRIERS, runner.N_BARRIER), np.int64)
        self._arrived = np.zeros((capacity, at.N_BARRIERS, n), np.int64)
        self._seen = np.zeros((capacity, n), np.int64)
        self._warps = np.zeros((capacity, n), np.int64)
        self._states = np.zeros((capacity, n), np.int64)
        self._shared = np.zeros(capacity, np.int64)
        self._visible = np.zeros(capacity, np.int64)

    def _add_slots(self) -> None:
        """Room for one more resident cluster."""
        for _ in range(self.launching.cluster_blocks):
            self._add_slot()
        self.control[clusters.SHARED_TABLE] = self._visible.ctypes.data

    def _add_slot(self) -> None:
        """Room for one more resident block."""
        slot = int(self.control[runner.N_SLOTS])
        if slot >= len(self._blocks):
            old = (self._blocks, self._barriers, self._arrived, self._seen, self._warps,
                   self._states, self._shared, self._visible)  # fmt: skip
            self._allocate_slots(max(1, 2 * slot))
            for before, after in zip(
                old, (self._blocks, self._barriers, self._arrived, self._seen, self._warps,
                      self._states, self._shared, self._visible), strict=True,
            ):  # fmt: skip
                after[:slot] = before
        size = at.warp_bytes(self._lifted.n_registers)
        records = aligned(size * self._n_warps)
        local_size = 128 * ((self.launching.local_bytes + 3) // 4)
        local = aligned(max(64, local_size * self._n_warps))
        # 256 bytes to spare: loads take a whole window at once.
        shared = aligned(int(self.control[runner.SHARED_BYTES]) + 256)
        self._buffers += [records, local, shared]
        self._shared[slot] = shared.ctypes.data
        words = records.view(np.uint32).reshape(self._n_warps, size // 4)
        bx, by, _ = self.launching.config.block
        thread = np.arange(self._n_warps * 32, dtype=np.uint32).reshape(self._n_warps, 32)
        indices = np.arange(self._n_warps)
        if self.launching.config.warp_order is not None:
            indices = np.array(self.launching.config.warp_order)
            thread = thread[indices]
        tid = at.WARP_TID // 4
        words[:, tid : tid + 32] = thread % bx
        words[:, tid + 32 : tid + 64] = thread // bx % by
        words[:, tid + 64 : tid + 96] = thread // (bx * by)
        words[:, at.WARP_INDEX // 4] = indices
        locals_ = local.ctypes.data + local_size * np.arange(self._n_warps, dtype=np.int64)
        words[:, at.WARP_LOCAL // 4 : at.WARP_LOCAL // 4 + 2] = locals_.view(np.uint32).reshape(
            -1, 2
        )
        self._warps[slot] = records.ctypes.data + size * np.arange(self._n_warps)
        self._fresh.append(records.copy())
        self.control[runner.N_SLOTS] = slot + 1

    # --- running ---------------------------------------------------------------------------------

    def run_blocks(self, first: int, last: int) -> None:
        """Runs blocks [first, last) to their end.

        Raises:
            ExecutionFault: the kernel did something illegal; all other workers should stop.
        """
        self._begin(first, last)
        self.go_on()

    def run_briefly(self, first: int, last: int) -> bool:
        """The same for as long as loops take few turns; False: `go_on` does the rest."""
        self._begin(first, last)
        self.control[runner.STEP_LIMIT] = _FEW_STEPS
        return self.go_on(is_brief=True)

    def _begin(self, first: int, last: int) -> None:
        self.control[runner.NEXT_BLOCK] = first
        self.control[runner.LAST_BLOCK] = last

    def go_on(self, *, is_brief: bool = False) -> bool:
        """Runs what was begun to its end; a brief run may stop before, and then gives False."""
        while True:
            if self._call is None:
                self._call = runner.run.prepared(
                    self.control, self.env, self._blocks, self._barriers, self._arrived, self._seen,
                    self._warps, self._states, self._shared, self._zero_keys,
                    self.launching.program.regions, self.launching.program.region_of,
                    self.launching.program.code_map,
                )  # fmt: skip
            status = self._call()
            if status == runner.ALL_DONE or status == runner.STOPPED:
                return True
            if is_brief and status == runner.STEPS_SPENT:
                self.control[runner.STEP_LIMIT] = 0
                return False
            if status == runner.NEED_SLOT:
                self._add_slots()
            elif status == runner.HOOK_CALL:
                self._run_hook()
            elif status == runner.STEPS_SPENT and self._spins is not None:
                if self._spins.repeats(self):
                    raise self._endless()
                self.control[runner.STEP_LIMIT] = self._spins.next_look(self)
            elif status == runner.DEADLOCKED and self._at_grid and self._get_on():
                continue
            else:
                self._raise(status)

    def stop(self) -> None:
        """Asks a running worker to return soon."""
        self.control[runner.STOP] = 1

    def _current(self) -> tuple[int, int, int]:
        slot, index = int(self.control[runner.SLOT]), int(self.control[runner.WARP])
        return slot, index, int(self._warps[slot, index])

    def _run_hook(self) -> None:
        slot, index, warp = self._current()
        while True:
            mask = int(self.control[runner.MASK])
            hook_at(int(self.control[runner.HOOK]))(self, warp, mask, index)
            self._return_from_hook(warp, mask)
            if self._at_grid:
                self._open_grid()
            rest = ctypes.c_uint32.from_address(warp + at.WARP_MASK).value
            if rest == 0:
                break
            outcome = splits.resolve_targets(warp, self.control, self.launching.program.code_map)
            if outcome == 0:
                pc = ctypes.c_uint32.from_address(warp + at.WARP_PC).value
                left = ctypes.c_uint32.from_address(warp + at.WARP_MASK).value
                splits.add_split(warp, left, pc, at.SPLIT_READY, 0, False)
                ctypes.c_uint32.from_address(warp + at.WARP_MASK).value = 0
                break
            if outcome == 2:
                self._raise(runner.BAD_PC)
        self._states[slot, index] = runner.WARP_READY

    def _return_from_hook(self, warp: int, mask: int) -> None:
        """Lanes go on at the return address in R20:R21."""
        code_map = self.launching.program.code_map
        groups: dict[int, int] = {}
        for lane in lanes_of(mask):
            target = read_register(warp, 20, lane)
            groups[target] = groups.get(target, 0) | 1 << lane
        for target, lanes in groups.items():
            index = target >> 4
            if index >= code_map.size or code_map[index] < 0:
                raise ExecutionFault(f"return to {target:#x}, which is not code")
            splits.add_split(warp, lanes, int(code_map[index]), self._returned, 0, False)
        self._returned = at.SPLIT_READY

    def wait_for_grid(self, mask: int) -> None:
        """The lanes that call go on when every thread of the grid has come."""
        slot = int(self.control[runner.SLOT])
        self.control[runner.GRID_WAITS] += mask.bit_count()
        self._at_grid[slot] = self._at_grid.get(slot, 0) + mask.bit_count()
        self._returned = at.SPLIT_AT_GRID

    def _get_on(self) -> bool:
        """Whether anybody can go on although all that have not ended wait."""
        if self._open_grid():
            return True
        found = False
        for slot in self._resident():
            for index in range(self._n_warps):
                if splits.part_from_grid(int(self._warps[slot, index])):
                    self._states[slot, index] = runner.WARP_READY
                    self._blocks[slot, clusters.BLOCK_WAITING] = 0
                    found = True
        return found

    def _open_grid(self) -> bool:
        """Lets everybody go on if every thread of every block has come or ended."""
        gx, gy, gz = self.launching.config.grid
        alive = self._blocks[:, runner.BLOCK_ALIVE]
        come = sum(lanes >= alive[slot] for slot, lanes in self._at_grid.items())
        if come < gx * gy * gz:
            return False
        self._at_grid.clear()
        self.control[runner.GRID_WAITS] = 0
        for slot in self._resident():
            self._blocks[slot, clusters.BLOCK_WAITING] = 0
            for index in range(self._n_warps):
                if splits.release_grid(int(self._warps[slot, index])):
                    self._states[slot, index] = runner.WARP_READY
        return True

    # --- what a SpinWatch looks at ---------------------------------------------------------------

    def steps(self) -> int:
        """Back edges taken so far."""
        return int(self.control[runner.STEPS])

    def turn(self) -> int:
        """Which resident block comes next."""
        return int(self.control[runner.CURRENT])

    def idle(self, pc: int) -> int:
        """Registers that decide nothing in the loops around a lifted block, as a set of keys."""
        if pc not in self._idle:
            if not self._bound:
                self._bound = list(bind_kernel(self._lifted.kernel)[0])
            self._idle[pc] = idle_keys(self._lifted.layout.blocks, self._bound.__getitem__, pc)
        return self._idle[pc]

    @property
    def record_bytes(self) -> int:
        """Bytes of a warp record."""
        return at.warp_bytes(self._lifted.n_registers)

    def _resident(self) -> Iterator[int]:
        for slot in range(int(self.control[runner.N_SLOTS])):
            if self._blocks[slot, runner.BLOCK_RUNNING]:
                yield slot

    def running(self) -> Iterator[int]:
        """Addresses of the warp records of resident blocks."""
        for slot in self._resident():
            yield from (int(warp) for warp in self._warps[slot, : self._n_warps])

    def shared_bytes(self) -> Iterator[bytes]:
        """The shared memory of resident blocks."""
        for slot in self._resident():
            yield ctypes.string_at(
                int(self._shared[slot]), int(self.control[runner.SHARED_BYTES])
            )

    # --- memory ----------------------------------------------------------------------------------

    def _resolve(self, env: int, inst: int, lane: int, address: int, kind: int, size: int) -> int:
        """Called by generated code for an access that the segment table does not allow (yet)."""
        try:
            index = self.launching.allow(self, inst, lane, address, kind, size)
            if self._table is not self.launching.table:
                self._note(index, kind)
            return index
        except (WarplensError, OrderNeeded) as error:
            self._error = error
        except Exception as error:
            self._error = ExecutionFault(f"internal error while resolving an access: {error!r}")
        self.env[at.ENV_FAULT : at.ENV_FAULT + 5] = (
            at.FAULT_GLOBAL, inst, lane, address, size,
        )  # fmt: skip
        return _REFUSED

    def _note(self, index: int, kind: int) -> None:
        """This worker may access a segment; numbers that it adds may go to sums of its own."""
        self._table[index, at.SEGMENT_ALLOWED] |= kind
        if kind == at.ACCESS_ATOMIC:
            host = self.launching.sums_for_worker(index)
            if host:
                self._table[index, at.SEGMENT_HOST] = host
            self._adds_elsewhere |= not host
            self.env[at.ENV_EXCLUSIVE] = not self._adds_elsewhere

    def shared_address(self) -> int:
        """Host address of the running block's shared memory."""
        return int(self.env[at.ENV_SHARED])

    def cluster_shared(self, rank: int) -> int:
        """Host address of the shared memory of a block of the running cluster; 0: none there."""
        size = self.launching.cluster_blocks
        first = int(self.control[runner.SLOT]) // size * size
        return int(self._visible[first + rank]) if 0 <= rank < size else 0

    def heap_allocate(self, size: int) -> int:
        """Device malloc: an address, or 0 when the heap is full."""
        return self.launching.heap_allocate(size)

    def heap_free(self, address: int) -> None:
        """Device free."""
        self.launching.heap_free(address)

    def print_text(self, text: str) -> None:
        """Output of device printf."""
        self.launching.output.append(text)

    def segments_changed(self, n_segments: int) -> None:
        """The table of segments is another one: access sites no longer remember any."""
        self.env[at.ENV_N_SEGMENTS] = n_segments
        words = self._sites.view(np.uint32).reshape(-1, at.SITE_SIZE // 4)
        words[:, at.SITE_LIMIT // 4] = 0
        words[:, 3] = 0xFFFFFFFF

    @property
    def heap_watch(self) -> HeapWatch | None:
        """Who is told of malloc and free."""
        return self.launching.config.heap_watch

    @property
    def shared_limit(self) -> int:
        """Bytes of a block's shared address space."""
        return self.launching.shared_limit

    @property
    def block_index(self) -> int:
        """Index of the running block in the grid."""
        return int(self.env[at.ENV_BLOCK])

    def allow_read(self, inst: int, lane: int, address: int, size: int) -> None:
        """Refuses, as a load of instruction `inst` would be, what may not be read."""
        self.launching.allow(self, inst, lane, address, at.ACCESS_READ, size)

    # --- errors ----------------------------------------------------------------------------------

    def running_thread(self, lane: int) -> str:
        """`thread (x,y,z) in block (x,y,z)` for a lane of the running warp."""
        return self.thread_text(int(self.control[runner.WARP]), lane)

    def thread_text(self, warp_index: int, lane: int) -> str:
        """`thread (x,y,z) in block (x,y,z)`."""
        bx, by, _ = self.launching.config.block
        t = warp_index * 32 + lane
        x, y, z = (int(v) for v in self.env[at.ENV_CTAID : at.ENV_CTAID + 3])
        return f"thread ({t % bx},{t // bx % by},{t // (bx * by)}) in block ({x},{y},{z})"

    def where(self, inst: int) -> str:
        """An instruction in words."""
        kernel = self._lifted.kernel
        return describe(kernel, kernel.instructions[inst])

    def standing(self) -> str:
        """Where the warp that ran last stands, in words; for a launch that was stopped."""
        slot, index, warp = self._current()
        for mask, pc, _ in _lanes_at(warp):
            if mask:
                place = self.where(self._lifted.layout.blocks[pc].start)
                return f"warp {index} of block {self._coordinates(slot)} stands at {place}"
        return f"no warp of block {self._coordinates(slot)} is running"

    def _raise(self, status: int) -> None:
        slot, index, warp = self._current()
        if status == runner.STEPS_SPENT:
            raise LimitExceeded(
                f"{self._lifted.kernel.demangled}: the limit of "
                f"{self.launching.config.max_steps:,} back edges was reached; {self.standing()}",
                hint="Raise max_steps, or look for an endless loop.",
            )
        if status == runner.DEADLOCKED:
            raise self._deadlock(slot)
        if status == runner.TRAPPED:
            inst = ctypes.c_uint32.from_address(warp + at.WARP_ARGS).value
            mask = ctypes.c_uint32.from_address(warp + at.WARP_ARGS + 4).value
            lane = lanes_of(mask)[0]
            raise KernelTrap(f"__trap() at {self.where(inst)}, {self.thread_text(index, lane)}")
        if status == runner.BAD_PC:
            inst = ctypes.c_uint32.from_address(warp + at.WARP_ARGS + 4).value
            raise ExecutionFault(f"jump to an address that is not code: {self.where(inst)}")
        if self._error is not None:
            raise self._error
        raise self._fault(index)

    def _fault(self, warp_index: int) -> ExecutionFault:
        kind, inst, lane, address, size = (
            int(v) for v in self.env[at.ENV_FAULT : at.ENV_FAULT + 5]
        )
        if kind == 0:
            return ExecutionFault(
                f"{self._lifted.kernel.demangled}: a warp ran past the end of the code"
            )
        where = f"{self.where(inst)}, {self.thread_text(warp_index, lane)}"
        address &= (1 << 64) - 1
        return self.launching.fault(kind, inst, address, size, where)

    def _waits(self, slot: int) -> list[str]:
        """What the warps of a resident block wait for, in words."""
        waits: list[str] = []
        for i in range(self._n_warps):
            warp = int(self._warps[slot, i])
            state = int(self._states[slot, i])
            if state >= runner.WARP_PARKED:
                pc = ctypes.c_uint32.from_address(warp + at.WARP_PC).value
                inst = self._lifted.kernel.instructions[
                    self._lifted.layout.blocks[pc].start - 1
                ]
                line = f" ({inst.file}:{inst.line})" if inst.line else ""
                waits.append(
                    f"  warp {i} waits at barrier {state - runner.WARP_PARKED}{line}"
                )
            for j in range(ctypes.c_uint32.from_address(warp + at.WARP_SPLITS).value):
                base = warp + at.WARP_SPLIT_TABLE + at.SPLIT_SIZE * j
                mask, pc, state, info = (
                    ctypes.c_uint32.from_address(base + 4 * k).value for k in range(4)
                )
                block = self._lifted.layout.blocks[pc]
                looks = state == at.SPLIT_LOOKS
                inst = self._lifted.kernel.instructions[block.start - (not looks)]
                what = {
                    at.SPLIT_AT_BARRIER: f"barrier {info}",
                    at.SPLIT_AT_WARPSYNC: f"warp synchronisation of mask {info:#010x}",
                    at.SPLIT_AT_BSYNC: f"BSYNC B{info} for other lanes of the warp",
                    at.SPLIT_AT_CLUSTER: "the cluster barrier",
                    at.SPLIT_AT_GRID: "the grid's barrier",
                    at.SPLIT_LOOKS: self._awaited(block),
                }.get(state, "")
                line = f" ({inst.file}:{inst.line})" if inst.line else ""
                if what:
                    waits.append(f"  warp {i} lanes {mask:#010x} wait at {what}{line}")
        return waits

    def _awaited(self, block: LiftedBlock) -> str:
        """What a split waits for that looks again at memory, from there on."""
        inst = self._lifted.kernel.instructions[block.start]
        if inst.opcode == "SYNCS":
            return "an mbarrier whose phase nobody completes"
        return "a loop that looks at memory nobody writes"

    def _spinning(self, slot: int) -> Iterator[str]:
        """Where the warps of a resident block go round, in words."""
        for i in range(self._n_warps):
            warp = int(self._warps[slot, i])
            for mask, pc, is_ready in _lanes_at(warp):
                if mask and is_ready and self._states[slot, i] == runner.WARP_READY:
                    start = self._lifted.layout.blocks[pc].start
                    inst = self._lifted.kernel.instructions[start]
                    line = f" ({inst.file}:{inst.line})" if inst.line else ""
                    yield f"  warp {i} lanes {mask:#010x} wait in a loop at +{start * 16:#x}{line}"

    def _endless(self) -> EndlessWait:
        rows: list[str] = []
        waiting = [*self._resident()]
        for slot in waiting:
            words = f"  block {self._coordinates(slot)}:"
            rows += [words + row[1:] for row in (*self._spinning(slot), *self._waits(slot))]
        shown = "\n".join(rows[:20]) + ("\n  …" if len(rows) > 20 else "")
        gx, gy, gz = self.launching.config.grid
        ended = int(self.control[runner.FINISHED])
        return EndlessWait(
            f"{self._lifted.kernel.demangled}: {len(waiting)} of {gx * gy * gz} blocks wait for "
            f"ever, {ended} have ended:\n{shown}",
            hint="no thread is left that would write what the loops wait for",
        )

    def _deadlock(self, slot: int) -> Deadlock:
        size = self.launching.cluster_blocks
        if size > 1:
            first = slot - slot % size
            waits = [f"  block of rank {s - first}:{line[1:]}" for s in range(first, first + size)
                     for line in self._waits(s)]  # fmt: skip
            where = f"the cluster of block {self._coordinates(first)}"
            hint = "all threads of the cluster that have not exited must reach the cluster barrier"
        else:
            waits, where = self._waits(slot), f"block {self._coordinates(slot)}"
            if self._at_grid:
                where += ", which waits for the whole grid,"
            hint = "all threads of the block that have not exited must reach the barrier"
        shown = "\n".join(waits[:20]) + ("\n  …" if len(waits) > 20 else "")
        return Deadlock(
            f"{self._lifted.kernel.demangled}: no thread of {where} can make "
            f"progress:\n{shown}", hint=hint
        )

    def _coordinates(self, slot: int) -> str:
        gx, gy, _ = self.launching.config.grid
        block = int(self._blocks[slot, runner.BLOCK_INDEX])
        return f"({block % gx},{block // gx % gy},{block // (gx * gy)})"


def _lanes_at(warp: int) -> Iterator[tuple[int, int, bool]]:
    """(lanes, lifted block, whether they could run) of a warp's splits, the running one first."""
    mask, pc = (ctypes.c_uint32.from_address(warp + at.WARP_MASK + 4 * k).value for k in (0, 1))
    yield mask, pc, True
    for j in range(ctypes.c_uint32.from_address(warp + at.WARP_SPLITS).value):
        base = warp + at.WARP_SPLIT_TABLE + at.SPLIT_SIZE * j
        mask, pc, state = (ctypes.c_uint32.from_address(base + 4 * k).value for k in range(3))
        yield mask, pc, state == at.SPLIT_READY


def counts_of(workers: list[Worker]) -> npt.NDArray[Any]:
    """Counters summed over workers."""
    total: npt.NDArray[Any] = sum((w.counters for w in workers[1:]), workers[0].counters.copy())
    return total
