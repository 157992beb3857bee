"""Records traces of sampled blocks (trace.py): an observer that writes three bounded tables.

Blocks of one SM are recorded whole; of those of others only the global memory accesses are kept,
since they share the L2 cache. Of long blocks only a stretch of every warp is kept, its window, so
that as many blocks fit as an SM holds at once; global accesses are kept from some time before, so
that L2 is found as it would be. Windows of different blocks may begin at different points, as
blocks do that were not started together. Where no block waits for another, the rest of the block
need not run (`cut`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.compiled import carray, cfunc, native, record_at
from warplens.execute import coalescing
from warplens.execute.callbacks import (
    ON_ACCESS,
    ON_SPLIT,
    ignore_release,
    ignore_sync,
    lane_addresses,
    lane_offsets,
)
from warplens.execute.native import peek32, poke64, population
from warplens.execute.observe import Observer
from warplens.execute.phases import BARRIER, MAX_PHASES, PLACES, next_place, phase_of
from warplens.execute.recorded import Recorded
from warplens.execute.run_layout import ENOUGH
from warplens.execute.tally import WARPS, row_of
from warplens.execute.trace import ACCESS, BEFORE, ELSEWHERE, ENTRY
from warplens.lift import layout as at

Ints = npt.NDArray[np.int64]
Records = npt.NDArray[Any]

# what is kept of a warp, counted in its entries or barriers (of other SMs' blocks, in its
# accesses): those behind `first` up to `last`, up to `stagger` later by block, less `sooner`
WINDOW = np.dtype([(name, "i8") for name in ("first", "last", "stagger", "sooner")])
# the recorder's state
RECORDER = np.dtype([
    ("stride", "i8"),  # of about so many blocks one is of the same SM
    # blocks recorded whole, ascending (host address; none: all), and the one last asked for
    ("whole", "i8"), ("n_whole", "i8"), ("asked", "i8"), ("is_whole", "i8"),
    ("overflowed", "i8"),  # 1: something did not fit, or came behind a window
    # the tables: host address, rows in use, rows that there are
    ("entries", "i8"), ("n_entries", "i8"), ("most_entries", "i8"),
    ("accesses", "i8"), ("n_accesses", "i8"), ("most_accesses", "i8"),
    ("lines", "i8"), ("n_lines", "i8"), ("most_lines", "i8"),
    ("own", WINDOW), ("others", WINDOW),  # of blocks recorded whole (`last` 0: none), of the others
    ("drift", "i8"), ("uneven", "i8"), ("warps", "i8"),  # see Stretch; shares times 1 << 20
    ("cut", "i8"),  # 1: blocks end with the windows of their warps
    ("seen", "i8"),  # host address of the counters of what passed, by block and warp
    ("waits", "i8"),  # host address: barriers in every lifted block; 0: entries are counted
    # work of every block: names of blocks, ascending, instructions of lifted blocks, counts by
    # block and warp (host addresses), and the block that runs with its row
    ("names", "i8"), ("n_names", "i8"), ("sizes", "i8"), ("works", "i8"),
    ("running", "i8"), ("row", "i8"),
    # mbarriers and what adds to each phase (host addresses), phases so far; 1: a copy is open
    ("barriers", "i8"), ("phases", "i8"), ("n_phases", "i8"), ("copying", "i8"),
])  # fmt: skip
# an entry as it is recorded
EXECUTED = np.dtype([("block", "u4"), ("warp", "i4"), ("entry", ENTRY)])

SUB_PARTITIONS = 4  # of every SM with a control word in its instructions
_SEEN = 1 << 18  # counters
_WAITS = 8  # bits of a counter for the barriers in the lifted block that runs
_MOST_OF_ONE = 160  # lines of an access are fewer
_MOST_OF_COPY = 4096
MAX_ENTRIES, MAX_ACCESSES, MAX_LINES = 1_300_000, 750_000, 2_200_000  # 62 MB in all


@native
def _is_whole(header: Any, block: int) -> bool:
    """Whether a block is recorded whole."""
    if block != header.asked:
        row, found = row_of(header.whole, header.n_whole, block), 1
        if header.n_whole > 0:
            found = int(carray(header.whole, (header.n_whole,), np.int64)[row] == block)
        header.asked, header.is_whole = block, found
    return bool(header.is_whole != 0)


@native
def _counter(header: Any, block: int, warp: int) -> int:
    """The place of the counter of what passed of a warp."""
    number = (block // header.stride << 7 | block % header.stride & 127) << 5 | warp & 31
    return int(number & _SEEN - 1)


@native
def _shift(header: Any, window: Any, block: int, warp: int) -> int:
    """By how much a warp's window begins later than others': those of an SM's blocks are spread
    evenly over their time. Of one block's warps that share a sub-partition the older are behind,
    and all are behind those of a sub-partition that has fewer."""
    # Multiples of the golden ratio's fraction lie far apart, however many there are.
    mixed = block // header.stride * 0x9E3779B1 >> 12 & 0xFFFFF
    later = (mixed * window.stagger >> 20) - window.sooner
    warps = header.warps
    if warps <= SUB_PARTITIONS:  # none of them compete
        return int(later)
    fewest, place = warps // SUB_PARTITIONS, (warp & 31) % SUB_PARTITIONS
    there = (warps - 1 - place) // SUB_PARTITIONS + 1
    behind = (there - 1 - (warp & 31) // SUB_PARTITIONS) * header.drift
    behind += (there - fewest) * header.uneven
    begin = window.first + later
    return int(later - (begin * behind // there >> 20))


@native
def _up_to(header: Any, last: int, warp: int, seen: int) -> int:
    """No more than one beyond `last`: from there on nothing is kept, and a block may end."""
    if seen <= last:
        return seen
    header.overflowed = 1
    if header.cut:
        poke64(warp + at.WARP_FUEL, ENOUGH)
    return last + 1


@native
def _count(header: Any, last: int, block: int, warp: int) -> int:
    """Counts one more for a warp (its record's address), up to one more than `last`."""
    counters = carray(header.seen, (_SEEN,), np.uint32)
    place = _counter(header, block, peek32(warp + at.WARP_INDEX))
    seen = _up_to(header, last, warp, int(counters[place]) + 1)
    counters[place] = seen
    return int(seen)


@native
def _count_barriers(header: Any, last: int, block: int, warp: int, number: int) -> int:
    """One more than the barriers that a warp has passed before it comes to a lifted block."""
    counters = carray(header.seen, (_SEEN,), np.uint32)
    place = _counter(header, block, peek32(warp + at.WARP_INDEX))
    before = int(counters[place])
    passed = max(1, (before >> _WAITS) + (before & (1 << _WAITS) - 1))
    seen = _up_to(header, last, warp, passed)
    waits = carray(header.waits, (number + 1,), np.int64)
    counters[place] = seen << _WAITS | waits[number]
    return int(seen)


@native
def _add_work(header: Any, block: int, warp: int, number: int) -> None:
    """Adds a lifted block to the work of a warp."""
    if header.n_names == 0:
        return
    if block != header.running:
        header.running, header.row = block, row_of(header.names, header.n_names, block)
    row = header.row
    works = carray(header.works, (row + 1, WARPS), np.int64)
    sizes = carray(header.sizes, (number + 1,), np.int64)
    works[row, peek32(warp + at.WARP_INDEX) & WARPS - 1] += sizes[number]


@cfunc(ON_SPLIT)
def _on_block(env: Any, warp: int, number: int, mask: int) -> None:
    slots = carray(env, (at.ENV_SLOTS,), np.int64)
    header = record_at(slots[at.ENV_OBSERVER], RECORDER)
    block = slots[at.ENV_BLOCK]
    _add_work(header, block, warp, number)
    if not _is_whole(header, block):
        return
    last = header.own.last
    if last:
        shift = _shift(header, header.own, block, peek32(warp + at.WARP_INDEX))
        if header.waits:
            seen = _count_barriers(header, last + shift, block, warp, number) - shift
        else:
            seen = _count(header, last + shift, block, warp) - shift
        if seen > last or seen <= header.own.first:
            return
    n = header.n_entries
    if n >= header.most_entries:
        header.overflowed = 1
        return
    row = carray(header.entries, (n + 1,), EXECUTED)[n]
    row.block, row.warp = block, peek32(warp + at.WARP_INDEX)
    row.entry.lifted_block, row.entry.mask = number, mask
    header.n_entries = n + 1


@native
def _entry_of(header: Any, block: int, warp: int, space: int) -> tuple[bool, int]:
    """Whether an access is kept, and what it belongs to."""
    whole = _is_whole(header, block)
    if not whole and space != at.SPACE_GLOBAL:
        return False, ELSEWHERE
    entry = header.n_entries - 1 if whole else ELSEWHERE
    last = header.own.last
    if last:
        first, index = header.own.first, peek32(warp + at.WARP_INDEX)
        if whole:
            counters = carray(header.seen, (_SEEN,), np.uint32)
            seen = int(counters[_counter(header, block, index)])
            if header.waits:
                seen >>= _WAITS
            seen -= _shift(header, header.own, block, index)
        else:
            shift = _shift(header, header.others, block, index)
            first, last = header.others.first, header.others.last
            seen = _count(header, last + shift, block, warp) - shift
        if seen <= 0 or seen > last:
            return False, entry
        if seen <= first:
            return space == at.SPACE_GLOBAL, BEFORE
    return True, entry


@native
def _measure(header: Any, row: Any, warp: int, lanes: int, whole: bool, space: int, kind: int,
             size: int, base: int) -> None:  # fmt: skip
    """Puts the lines, passes and turns of an access of some lanes into its record."""
    first, count = header.n_lines, 0
    lines = carray(header.lines, (first + _MOST_OF_ONE,), np.int64)
    addresses, offsets = lane_addresses(warp), lane_offsets(warp)
    row.words, row.passes, row.lanes_on_a_word, row.cycles, row.turns = 1, 0, 0, 0, 0
    if space == at.SPACE_GLOBAL:
        count = coalescing.global_lines(addresses, lanes, size, lines, first)
        if kind == at.ACCESS_ATOMIC:
            row.cycles, row.turns, row.lanes_on_a_word = coalescing.atomic_turns(addresses, lanes)
            coalescing.note_depths(addresses, lanes, lines, first, count)
            row.words = addresses[coalescing.first_lane(lanes)] >> 2 & 31
        elif kind == at.ACCESS_READ and whole:
            row.passes = coalescing.global_passes(addresses, lanes, size, count)
    elif space == at.SPACE_LOCAL:
        count = coalescing.local_lines(offsets, lanes, size, lines, first)
    elif space == at.SPACE_VALUES or space == at.SPACE_CONSTANT:
        row.words = max(1, coalescing.constant_parts(offsets, lanes, 0, 0, lines, first))
        if space == at.SPACE_CONSTANT:
            count = coalescing.constant_parts(offsets, lanes, base, 6, lines, first)
    else:
        count = coalescing.shared_passes(offsets, lanes, size, kind == at.ACCESS_READ)
    if kind == at.ACCESS_ATOMIC and space != at.SPACE_GLOBAL:
        row.lanes_on_a_word = coalescing.most_lanes_on_a_word(offsets, lanes)
        if space == at.SPACE_SHARED:
            row.passes = count  # of units that join the lanes of one word
            count = max(count, row.lanes_on_a_word)
            word = offsets[coalescing.first_lane(lanes)] >> 2
            row.turns, row.cycles = word & 255, word >> 8 & 255
    row.first_line, row.n_lines = first, count
    if space != at.SPACE_SHARED:
        header.n_lines = first + count


@native
def _new_access(header: Any, block: int, warp: int, entry: int, inst: int, space: int,
                kind: int) -> Any:  # fmt: skip
    """The next record of an access, begun; -1 if there is no room. The caller counts it."""
    n = header.n_accesses
    if n >= header.most_accesses or header.n_lines + _MOST_OF_ONE > header.most_lines:
        header.overflowed = 1
        return -1
    row = carray(header.accesses, (n + 1,), ACCESS)[n]
    row.block, row.warp, row.entry = block, peek32(warp + at.WARP_INDEX), entry
    row.instruction, row.space, row.kind = inst, space, kind
    row.lanes, row.size, row.words, row.passes = 1, 8, 1, 0
    row.lanes_on_a_word, row.turns, row.cycles = 0, 0, 0
    return int(n)


@native
def _note_phases(header: Any, slots: Any, warp: int, inst: int, lanes: int, kind: int) -> None:
    """Arrivals at mbarriers, and waits for them."""
    block, done = slots[at.ENV_BLOCK], 0
    whole = _is_whole(header, block)
    while done != lanes:
        place, done = next_place(warp, lanes, done)
        phase = phase_of(header, slots, place, kind)
        if phase == 0 or not whole:
            continue
        is_kept, entry = _entry_of(header, block, warp, at.SPACE_MBARRIER)
        if not is_kept:
            continue
        n = _new_access(header, block, warp, entry, inst, at.SPACE_MBARRIER, kind)
        if n < 0:
            return
        row = carray(header.accesses, (n + 1,), ACCESS)[n]
        row.first_line, row.n_lines = phase, 0
        header.n_accesses = n + 1
        if kind == at.ACCESS_ATOMIC:
            phases = carray(header.phases, (MAX_PHASES,), np.int32)
            phases[phase] += 1


@native
def _begin_copy(header: Any, slots: Any, warp: int, inst: int, kind: int) -> None:
    """A bulk or tensor copy, whose lines follow."""
    block = slots[at.ENV_BLOCK]
    is_kept, entry = _entry_of(header, block, warp, at.SPACE_GLOBAL)
    if not is_kept:
        return
    n = _new_access(header, block, warp, entry, inst, at.SPACE_GLOBAL, kind)
    if n < 0:
        return
    row = carray(header.accesses, (n + 1,), ACCESS)[n]
    row.lanes, row.size = 255, 255  # nothing of a sector is left out
    row.first_line, row.n_lines = header.n_lines, 0
    header.n_accesses, header.copying = n + 1, 1


@native
def _add_run(header: Any, address: int, size: int) -> None:
    """Bytes of global memory that the open copy moves."""
    row = carray(header.accesses, (header.n_accesses,), ACCESS)[header.n_accesses - 1]
    lines = carray(header.lines, (header.most_lines,), np.int64)
    while size > 0:
        if header.n_lines >= header.most_lines or row.n_lines >= _MOST_OF_COPY:
            header.overflowed = 1
            return
        here = min(size, 128 - (address & 127))
        first, last = (address & 127) >> 5, (address + here - 1 & 127) >> 5
        sectors = (2 << last) - (1 << first)
        line, n = address >> 7, header.n_lines
        partial = int(address & 31 != 0) + int((address + here) & 31 != 0)
        if first == last:
            partial = min(partial, 1)
        lines[n] = line << 4 | sectors | partial << coalescing.DEPTH_SHIFT
        header.n_lines = n + 1
        row.n_lines += 1
        address += here
        size -= here


@native
def _note_sleep(row: Any, warp: int, lanes: int, last: int) -> None:
    """For how long a warp sleeps: the least of what its lanes ask for, or the most; and how many
    different times there are."""
    times, found, count = lane_offsets(warp), np.int64(-1), 0
    for lane in range(32):
        if not lanes >> lane & 1:
            continue
        wanted, is_new = np.int64(times[lane]), 1
        for other in range(lane):
            if lanes >> other & 1 and times[other] == times[lane]:
                is_new = 0
        count += is_new
        if found < 0 or (wanted > found) == (last != 0):
            found = wanted
    row.first_line, row.n_lines, row.words = min(found, 0x7FFFFFFF), 0, count


@cfunc(ON_ACCESS)
def _on_access(env: Any, warp: int, inst: int, mask: int, space: int, kind: int, size: int,
               base: int, host: int) -> None:  # fmt: skip
    slots = carray(env, (at.ENV_SLOTS,), np.int64)
    header = record_at(slots[at.ENV_OBSERVER], RECORDER)
    block, lanes = slots[at.ENV_BLOCK], mask & 0xFFFFFFFF
    if lanes == 0:
        return
    if space == at.SPACE_RUN:
        if header.copying:
            _add_run(header, base, size)
        return
    header.copying = 0
    if space == at.SPACE_MBARRIER:
        _note_phases(header, slots, warp, inst, lanes, kind)
        return
    if space == at.SPACE_COPY:
        _begin_copy(header, slots, warp, inst, kind)
        return
    is_kept, entry = _entry_of(header, block, warp, space)
    if not is_kept:
        return
    n = _new_access(header, block, warp, entry, inst, space, kind)
    if n < 0:
        return
    row = carray(header.accesses, (n + 1,), ACCESS)[n]
    if space == at.SPACE_NAMED:
        row.first_line, row.n_lines = size, 0
        header.n_accesses = n + 1
        return
    if space == at.SPACE_SLEEP:
        _note_sleep(row, warp, lanes, size)
        header.n_accesses = n + 1
        return
    row.size, row.lanes = size, population(lanes)
    whole = _is_whole(header, block)
    _measure(header, row, warp, lanes, whole, space, kind, size, base)
    header.n_accesses = n + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """What is kept of a warp: its entries behind `first` up to `last`, and its global accesses up
    to there; of blocks on other SMs, `accesses` says the same by their own numbers. All of it
    begins up to `stagger` (entries, accesses) later, by block, less `sooner`. Of a block's
    `warps` those of one sub-partition are up to the share `drift` apart; where it has more of them
    than others have, up to `uneven` behind. `waits`: of every lifted block the barriers in it;
    then warps' own parts are counted in barriers, not entries."""

    first: int
    last: int
    accesses: tuple[int, int]
    stagger: tuple[int, int] = (0, 0)
    sooner: tuple[int, int] = (0, 0)
    drift: float = 0.0
    uneven: float = 0.0
    warps: int = 1
    waits: Ints | None = None


class Recorder:
    """The tables that one sampled run fills."""

    def __init__(self, stride: int, scale: int = 1, window: Stretch | None = None, *,
                 first: int = 0, cut: bool = False, names: Ints | None = None,
                 sizes: Ints | None = None, whole: Ints | None = None) -> None:  # fmt: skip
        """The blocks `whole`, ascending, are recorded whole, or all: those of the SM `first`, one
        of about every `stride` blocks.

        `window`: what is kept of a warp. `cut`: blocks end with the windows of their warps.
        `names`: of the blocks whose work is counted, ascending; `sizes`: instructions of every
        lifted block.
        """
        self._entries = np.empty(scale * MAX_ENTRIES, EXECUTED)
        self._accesses = np.empty(scale * MAX_ACCESSES, ACCESS)
        self._lines = np.empty(scale * MAX_LINES, np.int64)
        self._seen = np.zeros(_SEEN if window else 1, np.uint32)
        header = self._header = np.zeros((), RECORDER)
        for name, table in (
            ("entries", self._entries), ("accesses", self._accesses), ("lines", self._lines)
        ):  # fmt: skip
            header[name], header[f"most_{name}"] = table.ctypes.data, len(table)
        self._first = first
        self._whole = np.zeros(0, np.int64) if whole is None else np.ascontiguousarray(whole)
        header["stride"], header["n_whole"], header["asked"] = stride, len(self._whole), -1
        header["whole"] = self._whole.ctypes.data
        header["cut"], header["seen"] = cut, self._seen.ctypes.data
        self.names = np.zeros(0, np.int64) if names is None else np.ascontiguousarray(names)
        self._sizes = np.zeros(1, np.int64) if sizes is None else np.ascontiguousarray(sizes)
        self.works = np.zeros((len(self.names), WARPS), np.int64)  # instructions by block and warp
        self._barriers, self._phases = np.zeros(PLACES, BARRIER), np.zeros(MAX_PHASES, np.int32)
        header["barriers"], header["phases"] = self._barriers.ctypes.data, self._phases.ctypes.data
        header["n_names"], header["running"] = len(self.names), -1
        for name, table in (("names", self.names), ("sizes", self._sizes), ("works", self.works)):
            header[name] = table.ctypes.data
        if window:
            firsts, lasts = zip((window.first, window.last), window.accesses, strict=True)
            columns = firsts, lasts, window.stagger, window.sooner
            header["own"], header["others"] = zip(*columns, strict=True)
            header["drift"] = int(window.drift * (1 << 20))
            header["uneven"] = int(window.uneven * (1 << 20))
            header["warps"] = window.warps
            if window.waits is not None:
                self._waits = np.ascontiguousarray(window.waits, np.int64)
                header["waits"] = self._waits.ctypes.data

    @property
    def observer(self) -> Observer:
        """The native functions, with this recorder's state."""
        return Observer(
            block=_on_block.address,
            access=_on_access.address,
            sync=ignore_sync.address,
            release=ignore_release.address,
            state=self._header.ctypes.data,
        )

    @property
    def overflowed(self) -> bool:
        """Whether something did not fit."""
        return bool(self._header["overflowed"])

    def tables(self) -> tuple[Records, Records, Ints]:
        """Entries (EXECUTED), accesses and lines so far, in executed order."""
        return (
            self._entries[: self._header["n_entries"]],
            self._accesses[: self._header["n_accesses"]],
            self._lines[: self._header["n_lines"]],
        )

    def recorded(self) -> Recorded:
        """What the tables hold so far."""
        entries, accesses, lines = self.tables()
        return Recorded(
            entries=entries, accesses=accesses, lines=lines,
            phases=self._phases[: self._header["n_phases"] + 1].copy(),
            stride=int(self._header["stride"]), first=self._first, overflowed=self.overflowed,
            in_windows=bool(self._header["own"]["last"]),
        )  # fmt: skip
