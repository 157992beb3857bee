"""Allocates the native state of one pass and reads its records back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.execute import buffers
from warplens.execute.launch import LaunchConfig
from warplens.execute.memory import DeviceMemory, Segment
from warplens.execute.observe import Observer
from warplens.lift import layout as at
from warplens.sanitize import state as st
from warplens.sanitize import watch
from warplens.sanitize.tables import cell_shift, lent_shared, reserved_shared
from warplens.sass.model import SassKernel

MAX_RECORDS = 4096
_SYNC_VARIABLES = 8192
_HEAP_SEGMENTS = 4096  # as many as the engine's own table has room for
_MOST_CROSS_WARPS = 4096  # larger grids keep floors instead of rows of clocks
_CELLS = at.TM_LANES_OF_BLOCK * at.TM_COLUMNS
_SLOT_BUDGET = 6 << 30  # virtual bytes; only resident blocks touch theirs


def _address(function: Any) -> int:
    """The host address of a native function."""
    return int(function.address)


@dataclass(slots=True)
class PassOptions:
    """What one pass over the kernel looks for."""

    mode: int
    tools: int
    strong_lines: frozenset[int] = frozenset()
    locks: npt.NDArray[np.int64] | None = None  # what the first pass has found, for lock sets
    tracked: frozenset[int] = frozenset()  # allocations whose reads count from the start


def _shadow(words: int, sparse: bool) -> npt.NDArray[np.int64]:
    """Zeroed cells, and as many beside them, which few words need: untouched they cost nothing.

    Sparse ones in small pages: a few touched words must not fill huge ones.
    """
    shape = 2 * words, st.CELL_BYTES // 8
    return buffers.sparse(shape, np.int64) if sparse else np.zeros(shape, np.int64)


@dataclass(slots=True)
class State:
    """The header and every array it points to; must outlive the pass."""

    header: npt.NDArray[np.int64]
    arrays: list[npt.NDArray[Any]] = field(default_factory=list)
    capacity: int = 1
    unwritten: list[tuple[Segment, npt.NDArray[np.uint8]]] = field(default_factory=list)

    def keep_written(self) -> None:
        """What the pass has written counts as written from now on."""
        for segment, flags in self.unwritten:
            if segment.written is not None:
                np.maximum(segment.written, flags, out=segment.written)

    def keep(self, array: npt.NDArray[Any]) -> int:
        """Keeps an array alive; returns its address."""
        self.arrays.append(array)
        return int(array.ctypes.data)

    def add_heap_segment(self, memory: DeviceMemory, address: int) -> None:
        """Shadow for memory that the kernel has allocated itself."""
        segment = memory.find(address)
        n = int(self.header[st.N_SEGMENTS])
        rows = self._rows
        if segment is None or n >= len(rows):
            return
        every = at.ACCESS_READ | at.ACCESS_WRITE | at.ACCESS_ATOMIC | st.ALLOWED_HEAP
        tools = int(self.header[st.TOOLS])
        words = (segment.size + 3) // 4
        cells = initial = 0
        if tools & st.TOOL_RACECHECK:
            n_cells = 4 * words >> int(self.header[st.CELL_SHIFT])
            cells = self.keep(_shadow(n_cells, sparse=False))
        if tools & st.TOOL_INITCHECK:
            initial = self.keep(np.zeros(4 * words, np.uint8))
        place = int(np.searchsorted(rows[:n, st.S_BASE], segment.base))
        rows[place + 1 : n + 1] = rows[place:n].copy()
        rows[place] = (segment.base, segment.size, cells, initial, segment.host, every, 1, 0)
        self.header[st.N_SEGMENTS] = n + 1

    def drop_segment(self, address: int) -> None:
        """Forgets the shadow of memory that is no longer allocated."""
        n = int(self.header[st.N_SEGMENTS])
        rows = self._rows
        place = int(np.searchsorted(rows[:n, st.S_BASE], address))
        if place < n and rows[place, st.S_BASE] == address:
            rows[place : n - 1] = rows[place + 1 : n].copy()
            rows[n - 1] = 0
            self.header[st.N_SEGMENTS] = n - 1

    @property
    def _rows(self) -> npt.NDArray[np.int64]:
        return self._array(st.SEGMENTS)

    def read_before_written(self) -> frozenset[int]:
        """Allocations that were read untracked and written later."""
        late = self._rows[:, st.S_SEEN] & st.SEEN_READ_FIRST != 0
        return frozenset(int(base) for base in self._rows[late, st.S_BASE])

    def observer(self) -> Observer:
        """The native functions with this state."""
        return Observer(
            check=_address(watch.on_check),
            sync=_address(watch.on_sync),
            release=_address(watch.on_release),
            state=int(self.header.ctypes.data),
        )

    @property
    def shares_words(self) -> bool:
        """Whether something inside a warp may be ordered by nothing but the order of its lanes."""
        head = self.header
        return bool(head[st.SHARING] or head[st.HAS_FENCES] or head[st.HAS_ASYNC])

    @property
    def sharing_blocks(self) -> tuple[int, ...]:
        """The first blocks in which lanes of a warp share words."""
        table = self._array(st.SHARING_BLOCKS)
        return tuple(int(block) for block in table[: int(self.header[st.N_SHARING])])

    def found_locks(self) -> npt.NDArray[np.int64] | None:
        """The words that were used as locks only, as the pass for lock sets wants them."""
        if not self.header[st.LOCKS] or self.header[st.LOCKS_LOST]:
            return None
        table = self._array(st.LOCKS).copy()
        table[:, st.L_OTHERS] |= table[:, st.L_RELEASES] == 0
        table[:, [st.L_HOLDER, st.L_RELEASES]] = 0
        is_lock = (table[:, st.L_KEY] != 0) & (table[:, st.L_OTHERS] == 0)
        return table if is_lock.any() else None

    def _array(self, slot: int) -> npt.NDArray[np.int64]:
        return next(a for a in self.arrays if a.ctypes.data == self.header[slot])

    def records(self) -> Iterator[npt.NDArray[np.int64]]:
        """Every record, in the order in which they were found."""
        table = self._array(st.RECORDS)
        yield from table[: int(self.header[st.N_RECORDS])]


def make_state(kernel: SassKernel, table: npt.NDArray[np.int64], memory: DeviceMemory,
               config: LaunchConfig, options: PassOptions, local_bytes: int) -> State:  # fmt: skip
    """A fresh state for one pass."""
    state = State(np.zeros(st.HEADER_SLOTS, np.int64))
    head = state.header
    n_warps = (int(np.prod(config.block)) + 31) // 32
    blocks = int(np.prod(config.grid))
    head[st.N_WARPS] = head[st.COLUMNS] = n_warps
    head[st.CLUSTER] = kernel.cluster_blocks
    head[st.GRID_X], head[st.GRID_Y] = config.grid[:2]
    head[[st.CLUSTER_X, st.CLUSTER_Y, st.CLUSTER_Z]] = kernel.cluster_shape
    head[st.N_THREADS] = int(np.prod(config.block))
    head[st.CLOCK] = 1
    head[st.MODE] = options.mode
    head[st.TOOLS] = options.tools
    head[st.N_BLOCKS] = blocks
    head[st.TOTAL_WARPS] = n_warps * blocks
    head[st.INSTRUCTIONS] = state.keep(table)
    head[st.RECORDS] = state.keep(np.zeros((MAX_RECORDS, st.RECORD_SLOTS), np.int64))
    head[st.MAX_RECORDS] = MAX_RECORDS
    head[st.KEYS] = state.keep(np.zeros(4 * MAX_RECORDS, np.int64))
    head[st.KEY_MASK] = 4 * MAX_RECORDS - 1
    head[st.SHARING_BLOCKS] = state.keep(np.zeros(st.MAX_SHARING, np.int64))
    reserved = reserved_shared(kernel)
    limit = max(kernel.shared_section, kernel.static_shared, reserved) + config.dynamic_shared
    head[st.SHARED_FIRST], head[st.SHARED_LIMIT] = reserved, limit
    head[st.SHARED_BYTES] = (limit + 7) // 8 * 8
    head[st.LENT_SHARED] = min(lent_shared(kernel), limit)
    head[st.LOCAL_BYTES] = local_bytes
    head[st.CELL_SHIFT] = cell_shift(kernel)
    _segments(state, memory, options)
    _synchronisation(state, table, options)
    _slots(state, config, options, kernel.cluster_blocks)
    return state


def _segments(state: State, memory: DeviceMemory, options: PassOptions) -> None:
    rows = np.zeros((len(memory.segments) + _HEAP_SEGMENTS, st.SEGMENT_SLOTS), np.int64)
    every = at.ACCESS_READ | at.ACCESS_WRITE | at.ACCESS_ATOMIC
    for row, segment in zip(rows, memory.segments, strict=False):
        row[st.S_BASE], row[st.S_BYTES], row[st.S_HOST] = segment.base, segment.size, segment.host
        row[st.S_TRACKED] = int(segment.base in options.tracked)
        row[st.S_ALLOWED] = every if segment.writable else at.ACCESS_READ
        # What nobody may write cannot race: it needs no shadow.
        if options.tools & st.TOOL_RACECHECK and segment.writable:
            cells = ((segment.size + 3) // 4 * 4) >> int(state.header[st.CELL_SHIFT])
            row[st.S_CELLS] = state.keep(_shadow(cells, sparse=options.mode == st.MODE_LANE))
        if options.tools & st.TOOL_INITCHECK and segment.written is not None:
            flags = segment.written.copy()
            row[st.S_INIT] = state.keep(flags)
            state.unwritten.append((segment, flags))
    state.header[st.SEGMENTS] = state.keep(rows)
    state.header[st.N_SEGMENTS] = len(memory.segments)


def _synchronisation(
    state: State, table: npt.NDArray[np.int64], options: PassOptions
) -> None:
    """Rows for synchronisation variables, if the kernel has what makes them."""
    head = state.header
    lanes = options.mode == st.MODE_LANE
    variables = 4 * _SYNC_VARIABLES if lanes else _SYNC_VARIABLES
    head[st.SYNC_KEYS] = state.keep(np.zeros(4 * variables, np.int64))
    head[st.SYNC_MASK] = 4 * variables - 1
    flags = int(np.bitwise_or.reduce(table[:, st.I_FLAGS], initial=0))
    head[st.HAS_FENCES] = int(bool(flags & (st.F_FENCE | st.F_RELEASE)))
    head[st.HAS_ASYNC] = int(bool(flags & st.F_ASYNC))
    head[st.HAS_CELLS] = int(bool(flags & st.F_CELLS) and not lanes)
    if flags & (st.F_APART | st.F_CELLS) and not lanes:
        kinds = 4 if head[st.HAS_CELLS] else 3
        head[st.HAS_BULK], head[st.COLUMNS] = 1, kinds * head[st.N_WARPS]
    is_simple = not head[[st.HAS_FENCES, st.HAS_ASYNC, st.HAS_BULK]].any() and head[st.CLUSTER] <= 1
    head[st.INTERVALS] = int(is_simple and not lanes)
    orders = flags & (st.F_STRONG | st.F_APART | st.F_CLUSTER)
    if not orders or not options.tools & st.TOOL_RACECHECK:
        return
    exchanges = flags & (st.F_CAS | st.F_EXCHANGE) and head[st.HAS_FENCES] and not lanes
    if exchanges and head[st.CLUSTER] <= 1:
        locks = options.locks
        head[st.LOCK_SETS] = int(locks is not None)
        if locks is None:
            locks = np.zeros((st.LOCK_ROWS, st.LOCK_SLOTS), np.int64)
        head[st.LOCKS] = state.keep(locks)
        head[st.HELD] = state.keep(np.zeros((len(table), st.HELD_SLOTS), np.int64))
    total = int(head[st.TOTAL_WARPS])
    is_wide = flags & st.F_WIDE_FENCE or int(head[st.CLUSTER]) > 1
    crosses = not lanes and is_wide and total <= _MOST_CROSS_WARPS
    if crosses:
        head[st.CROSS] = state.keep(np.zeros((total, total), np.int32))
    members = 32 if lanes else int(head[st.COLUMNS])
    row = 8 * (st.SYNC_HEAD + members + (total + 1) // 2 * int(bool(crosses)))
    head[st.SYNC_ROW_BYTES] = row
    head[st.SYNC_CAPACITY] = variables
    head[st.SYNC_ROWS] = state.keep(np.zeros((variables, row), np.uint8))


def _slots(state: State, config: LaunchConfig, options: PassOptions, together: int) -> None:
    """One record per resident block; its parts in the order of the header."""
    head = state.header
    n, wide = int(head[st.N_WARPS]), int(head[st.COLUMNS])
    races = bool(options.tools & st.TOOL_RACECHECK)
    lanes = options.mode == st.MODE_LANE
    total = int(head[st.TOTAL_WARPS]) if head[st.CROSS] else 0
    starts = bool(options.tools & st.TOOL_INITCHECK)
    shared_cells = int(head[st.SHARED_BYTES]) >> int(head[st.CELL_SHIFT])
    followed = bool(races and shared_cells and head[st.INTERVALS])
    head[st.INTERVALS] = int(followed)
    sizes = {
        st.AT_BLOCK: 48,
        st.AT_CLOCKS: 8 * n,
        st.AT_KNOWN: 8 * n * wide,
        st.AT_BARRIERS: 128 * wide,
        st.AT_WAITING: 128,
        st.AT_FENCED: 16 * n,
        st.AT_PENDING: 8 * n * wide,
        st.AT_FLOORS: 8 * n,
        st.AT_BARRIER_FLOORS: 128,
        st.AT_PENDING_FLOORS: 8 * n,
        st.AT_FLAGS: 16,
        st.AT_BARRIER_CROSS: 128 * total,
        st.AT_PENDING_CROSS: 8 * n * total,
        st.AT_ARRIVALS: 128 * (n + 3),
        st.AT_CALLS: 768 * n,
        st.AT_CLUSTER: 16 * n,
        st.AT_COPIES: 8 * st.COPY_SLOTS * n if head[st.HAS_ASYNC] else 0,
        st.AT_GROUPS: 16 * st.COPY_SLOTS * n if head[st.HAS_BULK] else 0,
        st.AT_HOLDS: 16 * n if head[st.LOCK_SETS] else 0,
        st.AT_KEPT: 8 * n * (wide + 1) if head[st.LOCK_SETS] else 0,
        st.AT_KEPT_CROSS: 4 * n * total if head[st.LOCK_SETS] else 0,
        st.AT_LANE_CLOCKS: 256 * n if lanes else 0,
        st.AT_LANE_KNOWN: 8192 * n if lanes else 0,
        st.AT_LANE_PENDING: 8192 * n if lanes and head[st.HAS_FENCES] else 0,
        st.AT_LANE_FENCED: 256 * n if lanes and head[st.HAS_FENCES] else 0,
        st.AT_SHARED_CELLS: 2 * shared_cells * st.CELL_BYTES if races else 0,
        st.AT_INTERVAL: 8 * st.BOOK_SLOTS + st.LOG_BYTES * st.MOST_LOGGED if followed else 0,
        st.AT_OWNERS: 4 * shared_cells if followed else 0,
        st.AT_LASTS: 8 * shared_cells if followed else 0,
        st.AT_SHARED_INIT: int(head[st.SHARED_BYTES]) if starts else 0,
        st.AT_CELLS_INIT: _CELLS if starts and head[st.HAS_CELLS] else 0,
        st.AT_CELLS: _CELLS // 16 * st.CELL_BYTES if races and head[st.HAS_CELLS] else 0,
        st.AT_SHARED_WHOLE: 24 if starts else 0,
        st.AT_LOCAL_INIT: (int(head[st.LOCAL_BYTES]) + 3) // 4 * 128 * n if starts else 0,
    }
    offset = 0
    for slot, size in sizes.items():
        head[slot] = offset
        offset += (size + 63) // 64 * 64
    head[st.SLOT_BYTES] = offset
    blocks = int(head[st.N_BLOCKS])
    state.capacity = max(together, min(config.max_resident, blocks, _SLOT_BUDGET // offset))
    head[st.SLOTS] = state.keep(np.zeros((state.capacity, offset), np.uint8))
