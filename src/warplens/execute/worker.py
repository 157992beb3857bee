"""One worker: its environment, and the loop that runs blocks, hooks and the grid's barrier."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.errors import ExecutionFault, WarplensError
from warplens.execute import run_layout, runner, splits
from warplens.execute.device_functions import hook_at
from warplens.execute.hook_registry import HeapWatch
from warplens.execute.launch import Launching, OrderNeeded
from warplens.execute.residents import Residents, aligned, apart
from warplens.execute.spinning import FIRST_LOOK, SpinWatch
from warplens.execute.stops import Stops
from warplens.execute.tensor_memory.unit import serve as serve_tensor_memory
from warplens.execute.textures.unit import serve
from warplens.execute.warp_registers import lanes_of, read_register
from warplens.lift import layout as at
from warplens.lift.decode.binding import KEY_PREDICATE, Bound, members
from warplens.lift.decode.gaps import bind_kernel
from warplens.lift.decode.idle import idle_keys
from warplens.lift.engines.host import host_features

_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_int64,
    ctypes.c_int32, ctypes.c_int32,
)  # fmt: skip
_REFUSED = -1
_FEW_STEPS = 64  # back edges, which are counted by the quantum, and looks of waiting blocks


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
        self._call: Callable[[], int] | None = None  # of the runner with these arrays
        self.env = apart(at.ENV_SLOTS)
        self.counters = apart(max(1, self._lifted.n_counters))
        self._sites = aligned(at.SITE_SIZE * max(1, len(self._lifted.sites)))
        self._forget_sites()
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
        self.control = apart(run_layout.N_CONTROL)
        self._set_control()
        self._residents = Residents(launching, self.control, self.record_bytes)
        self._stops = Stops(launching, self._residents, self.control, self.env)

    def _forget_sites(self) -> None:
        sites32 = self._sites.view(np.uint32).reshape(-1, at.SITE_SIZE // 4)
        sites32[:, at.SITE_PHASE // 4] = 0xFFFFFFFF
        sites32[:, 3] = 0xFFFFFFFF

    # --- again, for another launch of the same shape ----------------------------------------------

    def is_small(self) -> bool:
        """Whether what it holds is little enough to be kept and cleared for another launch."""
        return self._residents.is_small()

    def leave(self) -> None:
        """The launch is over; nothing of it is kept alive."""
        del self.launching, self.memory, self._stops

    def enter(self, launching: Launching) -> None:
        """Everything as if new, in the same places, for a launch of the same shape."""
        self.launching, self.memory = launching, launching.memory
        self._error, self._spins = None, None
        self._at_grid.clear()
        self._returned = at.SPLIT_READY
        n_slots = self.control[run_layout.N_SLOTS]
        for array in (self.env, self.control, self.counters, self._sites):
            array.fill(0)
        self._residents.clear()
        self._forget_sites()
        self._set_environment()
        self._set_control()
        self.control[run_layout.N_SLOTS] = n_slots
        self._residents.tell_runner()
        self._stops = Stops(launching, self._residents, self.control, self.env)

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
        if launching.program.has_warpgroup_products:
            self._kept = aligned(at.KEPT_BYTES * at.KEPT_GROUPS)
            env[at.ENV_WGMMA_WORK] = self._kept.ctypes.data
        if launching.program.has_tensor_memory:
            self._work = np.zeros(at.TM_WORK_BYTES // 8, np.int64)
            self._work[-1] = host_features().has_avx512
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
        control[run_layout.GRID_X], control[run_layout.GRID_Y] = config.grid[0], config.grid[1]
        control[run_layout.WARPS] = self._n_warps
        control[run_layout.THREADS] = self._threads
        control[run_layout.ENV_ADDRESS] = self.env.ctypes.data
        size = self.launching.cluster_blocks
        control[run_layout.CLUSTER_BLOCKS] = size
        control[run_layout.CLUSTER_X : run_layout.CLUSTER_Z + 1] = self.launching.cluster
        control[run_layout.MAX_SLOTS] = max(1, config.max_resident // size) * size
        control[run_layout.STEP_LIMIT] = config.max_steps or 0
        waiting = self._lifted.layout.waiting
        alone = waiting.is_shared or self.launching.n_workers == 1
        control[run_layout.IS_CERTAIN] = int(waiting.is_certain and alone)
        control[run_layout.TAKES] = int(waiting.takes)
        control[run_layout.IS_SHARED] = int(waiting.is_shared)
        if config.find_endless and not config.max_steps:
            self._spins = SpinWatch()
            control[run_layout.STEP_LIMIT] = FIRST_LOOK
            control[run_layout.SPINS] = 1
        first, step = config.warp_turns
        control[run_layout.FIRST_TURN] = first % self._n_warps
        control[run_layout.TURN_STEP] = step % self._n_warps
        control[run_layout.TURN] = config.interleave
        control[run_layout.FUEL] = 0 if config.by_turns else run_layout.QUANTUM
        control[run_layout.TURNS] = int(config.by_turns)
        control[run_layout.PARTS] = int(self._lifted.layout.has_parts)
        control[run_layout.PART_ORDER] = config.part_order
        control[run_layout.STRICT_MASKS] = int(config.strict_masks)
        control[run_layout.N_SM] = max(1, config.sm_count)
        if config.observer is not None:
            control[run_layout.OBSERVE_RELEASE] = config.observer.release
        control[run_layout.SHARED_BYTES] = (self.launching.shared_limit + 7) // 8 * 8
        if self.launching.program.has_tensor_memory:
            control[run_layout.TENSOR_MEMORY] = self.env[at.ENV_TENSOR_MEMORY]
            control[run_layout.PAIR_BARRIER] = self.launching.program.pair_barrier
            control[run_layout.SHARED_BYTES] = self.env[at.ENV_TENSOR_MEMORY] + at.TM_BYTES

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
        self.control[run_layout.STEP_LIMIT] = _FEW_STEPS
        return self.go_on(is_brief=True)

    def _begin(self, first: int, last: int) -> None:
        self.control[run_layout.NEXT_BLOCK] = first
        self.control[run_layout.LAST_BLOCK] = last
        wanted = min(last - first, int(self.control[run_layout.MAX_SLOTS]))
        while self.control[run_layout.TURNS] and self.control[run_layout.N_SLOTS] < wanted:
            self._residents.add_cluster()
            self._call = None

    def go_on(self, *, is_brief: bool = False) -> bool:
        """Runs what was begun to its end; a brief run may stop before, and then gives False."""
        while True:
            if self._call is None:
                self._call = self._prepared()
            status = self._call()
            if status == run_layout.ALL_DONE or status == run_layout.STOPPED:
                return True
            if is_brief and status == run_layout.STEPS_SPENT:
                self.control[run_layout.STEP_LIMIT] = 0
                return False
            if status == run_layout.NEED_SLOT:
                if self._residents.add_cluster():
                    self._call = None
            elif status == run_layout.HOOK_CALL:
                self._run_hook()
            elif status == run_layout.STEPS_SPENT and self._spins is not None:
                if self._spins.repeats(self):
                    raise self._stops.endless()
                self.control[run_layout.STEP_LIMIT] = self._spins.next_look(self)
            elif status == run_layout.DEADLOCKED and self._at_grid and self._get_on():
                continue
            else:
                raise self._why(status)

    def _prepared(self) -> Callable[[], int]:
        """The runner, with the arrays where they are now."""
        program, residents = self.launching.program, self._residents
        return runner.run.prepared(
            self.control, self.env, residents.blocks, residents.barriers, residents.arrived,
            residents.seen, residents.warps, residents.states, residents.shared, self._zero_keys,
            program.regions, program.region_of, program.code_map,
        )  # fmt: skip

    def _why(self, status: int) -> Exception:
        return self._stops.reason(status, self._error, is_grid_waiting=bool(self._at_grid))

    def stop(self) -> None:
        """Asks a running worker to return soon."""
        self.control[run_layout.STOP] = 1

    def _run_hook(self) -> None:
        slot, index, warp = self._residents.current()
        while True:
            mask = int(self.control[run_layout.MASK])
            hook_at(int(self.control[run_layout.HOOK]))(self, warp, mask, index)
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
                raise self._why(run_layout.BAD_PC)
        self._residents.states[slot, index] = run_layout.WARP_READY

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
        slot = int(self.control[run_layout.SLOT])
        self.control[run_layout.GRID_WAITS] += mask.bit_count()
        self._at_grid[slot] = self._at_grid.get(slot, 0) + mask.bit_count()
        self._returned = at.SPLIT_AT_GRID

    def _get_on(self) -> bool:
        """Whether anybody can go on although all that have not ended wait."""
        if self._open_grid():
            return True
        found = False
        for slot in self._residents.slots():
            for index in range(self._n_warps):
                if splits.part_from_grid(int(self._residents.warps[slot, index])):
                    self._residents.states[slot, index] = run_layout.WARP_READY
                    self._residents.blocks[slot, run_layout.BLOCK_WAITING] = 0
                    found = True
        return found

    def _open_grid(self) -> bool:
        """Lets everybody go on if every thread of every block has come or ended."""
        gx, gy, gz = self.launching.config.grid
        alive = self._residents.blocks[:, run_layout.BLOCK_ALIVE]
        come = sum(lanes >= alive[slot] for slot, lanes in self._at_grid.items())
        if come < gx * gy * gz:
            return False
        self._at_grid.clear()
        self.control[run_layout.GRID_WAITS] = 0
        for slot in self._residents.slots():
            self._residents.blocks[slot, run_layout.BLOCK_WAITING] = 0
            for index in range(self._n_warps):
                if splits.release_grid(int(self._residents.warps[slot, index])):
                    self._residents.states[slot, index] = run_layout.WARP_READY
        return True

    # --- what a SpinWatch looks at ---------------------------------------------------------------

    def steps(self) -> int:
        """Back edges taken so far."""
        return int(self.control[run_layout.STEPS])

    def turn(self) -> int:
        """Which resident block comes next."""
        return int(self.control[run_layout.CURRENT])

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

    def running(self) -> Iterator[int]:
        """Addresses of the warp records of resident blocks."""
        return self._residents.records()

    def shared_bytes(self) -> Iterator[bytes]:
        """The shared memory of resident blocks."""
        return self._residents.shared_bytes()

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
        return self._residents.fellow_shared(int(self.control[run_layout.SLOT]), rank)

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

    # --- in words ---------------------------------------------------------------------------------

    def running_thread(self, lane: int) -> str:
        """`thread (x,y,z) in block (x,y,z)` for a lane of the running warp."""
        return self.thread_text(int(self.control[run_layout.WARP]), lane)

    def thread_text(self, warp_index: int, lane: int) -> str:
        """`thread (x,y,z) in block (x,y,z)`."""
        return self._stops.thread(warp_index, lane)

    def where(self, inst: int) -> str:
        """An instruction in words."""
        return self._stops.where(inst)

    def standing(self) -> str:
        """Where the warp that ran last stands, in words; for a launch that was stopped."""
        return self._stops.standing()


def counts_of(workers: list[Worker]) -> npt.NDArray[Any]:
    """Counters summed over workers."""
    total: npt.NDArray[Any] = sum((w.counters for w in workers[1:]), workers[0].counters.copy())
    return total
