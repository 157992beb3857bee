"""Traces of sampled blocks: what each warp ran and touched, compact, for the timing model.

An observer (observe.py) of four native functions writes three bounded tables. Blocks whose index is
a multiple of `stride` are recorded whole; of the others (they run on other SMs) only the global
memory accesses are kept, since they share the L2 cache. Of long blocks only a stretch of every warp
is kept, its window, so that as many blocks fit as an SM holds at once; global accesses are kept
from some time before, so that L2 is found as it would be. Windows of different blocks may begin at
different points, as blocks do that were not started together. Where no block waits for another,
the rest of the block need not run (`cut`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.compiled import carray, cfunc, native
from warplens.execute.callbacks import ACCESS, SPLIT, ignore_release, ignore_sync, peek64
from warplens.execute.native import peek32, poke32, poke64, population
from warplens.execute.observe import Observer
from warplens.execute.runner import ENOUGH
from warplens.lift import layout as at

Ints = npt.NDArray[np.int64]

# header of the recorder's state, int64 slots
N_ENTRIES, CAP_ENTRIES, AT_ENTRIES, N_ACCESSES, CAP_ACCESSES, AT_ACCESSES = range(6)
N_LINES, CAP_LINES, AT_LINES, STRIDE, OVERFLOW = range(6, 11)
FIRST, LAST, ACCESS_FIRST, ACCESS_LAST, AT_SEEN, CUT = range(11, 17)
STAGGER, ACCESS_STAGGER, SOONER, ACCESS_SOONER, DRIFT, UNEVEN, WARPS, N_HEADER = range(17, 25)
# what an access belongs to, where no entry of a block that is recorded whole
BEFORE, ELSEWHERE = -1, -2  # the time before its block's window; a block on another SM

SUB_PARTITIONS = 4  # of every SM with a control word in its instructions
_SEEN = 1 << 18  # counters of a window, by block and warp
_CONSTANTS = 1 << 44  # lines of constant banks, among those of memory

ENTRY_BYTES, ACCESS_BYTES, LINE_BYTES = 16, 32, 8
MAX_ENTRIES, MAX_ACCESSES, MAX_LINES = 1_300_000, 750_000, 2_200_000  # 62 MB in all

# `where` of an access: instruction | space << 24 | kind << 28 | lanes << 32 | size << 40, and << 46
# for atomics the most lanes that use one word, for global reads the passes through L1's banks, for
# constants the different words but one
SPACE_SHIFT, KIND_SHIFT, LANES_SHIFT, SIZE_SHIFT, DEPTH_SHIFT = 24, 28, 32, 40, 46
SENT_SHIFT, TURNS_SHIFT = 52, 58  # of global atomics: cycles, and turns less one
SPACE_MASK = 7


@native
def _seen_place(state: int, block: int, warp: int) -> int:
    """The address of the counter of what was kept of a warp."""
    stride = peek64(state + 8 * STRIDE)
    number = (block // stride << 7 | block % stride & 127) << 5 | warp & 31
    return peek64(state + 8 * AT_SEEN) + 4 * (number & _SEEN - 1)


@native
def _shift(state: int, block: int, warp: int, first: int, stagger: int, sooner: int) -> int:
    """By how much a warp's window begins later than others': those of an SM's blocks are spread
    evenly over their time. Of one block's warps that share a sub-partition the older are behind,
    and all are behind those of a sub-partition that has fewer."""
    stride = peek64(state + 8 * STRIDE)
    # Multiples of the golden ratio's fraction lie far apart, however many there are.
    mixed = block // stride * 0x9E3779B1 >> 12 & 0xFFFFF
    later = (mixed * peek64(state + 8 * stagger) >> 20) - peek64(state + 8 * sooner)
    warps = peek64(state + 8 * WARPS)
    if warps <= SUB_PARTITIONS:  # none of them compete
        return int(later)
    fewest, place = warps // SUB_PARTITIONS, (warp & 31) % SUB_PARTITIONS
    there = (warps - 1 - place) // SUB_PARTITIONS + 1
    behind = (there - 1 - (warp & 31) // SUB_PARTITIONS) * peek64(state + 8 * DRIFT)
    behind += (there - fewest) * peek64(state + 8 * UNEVEN)
    begin = peek64(state + 8 * first) + later
    return int(later - (begin * behind // there >> 20))


@native
def _count(state: int, last: int, block: int, record: int) -> int:
    """Counts one more for a warp, up to one more than `last`."""
    place = _seen_place(state, block, peek32(record + at.WARP_INDEX))
    seen = int(np.int64(peek32(place))) + 1
    if seen > last:
        seen = last + 1
        poke64(state + 8 * OVERFLOW, 1)
        if peek64(state + 8 * CUT) != 0:
            poke64(record + at.WARP_FUEL, ENOUGH)
    poke32(place, seen)
    return int(seen)


@cfunc(SPLIT)
def _on_block(env: Any, warp: int, number: int, mask: int) -> None:
    slots = carray(env, (at.ENV_SLOTS,), np.int64)
    state = slots[at.ENV_OBSERVER]
    block = slots[at.ENV_BLOCK]
    if block % peek64(state + 8 * STRIDE) != 0:
        return
    last = peek64(state + 8 * LAST)
    if last:
        index = peek32(warp + at.WARP_INDEX)
        shift = _shift(state, block, index, FIRST, STAGGER, SOONER)
        seen = _count(state, last + shift, block, warp) - shift
        if seen > last or seen <= peek64(state + 8 * FIRST):
            return
    n = peek64(state + 8 * N_ENTRIES)
    if n >= peek64(state + 8 * CAP_ENTRIES):
        poke64(state + 8 * OVERFLOW, 1)
        return
    row = peek64(state + 8 * AT_ENTRIES) + ENTRY_BYTES * n
    poke32(row, block)
    poke32(row + 4, peek32(warp + at.WARP_INDEX))
    poke32(row + 8, number)
    poke32(row + 12, mask)
    poke64(state + 8 * N_ENTRIES, n + 1)


@native
def _add_line(table: int, first: int, count: int, key: int, sectors: int) -> int:
    """Joins a line with its sectors to the lines of one access; returns their new number."""
    for back in range(count):
        place = table + LINE_BYTES * (first + count - 1 - back)
        known = peek64(place)
        if known >> 4 == key:
            poke64(place, known | sectors)
            return count
    poke64(table + LINE_BYTES * (first + count), key << 4 | sectors)
    return count + 1


@native
def _global_lines(warp: int, mask: int, size: int, table: int, first: int) -> int:
    base = warp + at.WARP_SCRATCH + 128 * 20
    count = 0
    for lane in range(32):
        if mask >> lane & 1:
            address = peek64(base + 8 * lane)
            sector = (address >> 5) & 3
            bits = 1 << sector
            if ((address + size - 1) >> 5) & 3 != sector:
                bits |= 1 << (((address + size - 1) >> 5) & 3)
            count = _add_line(table, first, count, address >> 7, bits)
    return count


@native
def _local_lines(warp: int, mask: int, size: int, table: int, first: int) -> int:
    base = warp + at.WARP_SCRATCH
    count = 0
    for lane in range(32):
        if mask >> lane & 1:
            word = peek32(base + 4 * lane) >> 2
            for k in range(max(1, size >> 2)):
                count = _add_line(table, first, count, word + k, 1 << (lane >> 3))
    return count


@native
def _constant_parts(warp: int, mask: int, bank: int, shift: int, table: int, first: int) -> int:
    """Parts of 1 << shift bytes of a constant bank that lanes ask for."""
    base = warp + at.WARP_SCRATCH
    count = 0
    for lane in range(32):
        if mask >> lane & 1:
            part = peek32(base + 4 * lane) >> shift
            count = _add_line(table, first, count, _CONSTANTS | bank << 12 | part, 15)
    return count


@native
def _pass_wavefronts(base: int, each: int, mask: int, size: int, first: int, lanes: int) -> int:
    """Passes for the lanes [first, first + lanes): the most distinct words of one bank. Offsets or
    addresses take `each` bytes."""
    words = np.empty(64, np.int64)  # of two groups whose passes may be joined
    n = 0
    worst = 0
    counts = np.zeros(32, np.int64)
    for lane in range(first, first + lanes):
        if mask >> lane & 1:
            place = base + each * lane
            start = (peek64(place) if each == 8 else peek32(place)) >> 2
            for k in range(max(1, size >> 2)):
                seen = False
                for i in range(n):
                    if words[i] == start + k:
                        seen = True
                        break
                if not seen:
                    words[n] = start + k
                    n += 1
                    bank = (start + k) & 31
                    counts[bank] += 1
                    worst = max(worst, counts[bank])
    return worst


@native
def _shared_passes(warp: int, mask: int, size: int, is_load: bool) -> int:
    """Passes of an access: wide ones go by groups of lanes, of which a load joins two neighbours
    where one conflict-free pass serves both (on an H200 a broadcast of 16 bytes takes two)."""
    base = warp + at.WARP_SCRATCH
    groups = 1 if size <= 4 else size // 4
    lanes = 32 // groups
    total = 0
    for g in range(0, groups, 2):
        together = _pass_wavefronts(base, 4, mask, size, g * lanes, lanes)
        if groups > 1:
            together += _pass_wavefronts(base, 4, mask, size, (g + 1) * lanes, lanes)
            if is_load and together == 2:
                together = _pass_wavefronts(base, 4, mask, size, g * lanes, 2 * lanes)
        total += together
    return max(1, total)


@native
def _global_passes(warp: int, mask: int, size: int, lines: int) -> int:
    """Passes of a load through the banks of L1's data, which hold the words of a line; wide ones go
    by groups of lanes, none of which are joined (recorded on an H200)."""
    base = warp + at.WARP_SCRATCH + 128 * 20
    groups = 1 if size <= 4 else size // 4
    lanes, total = 32 // groups, 0
    for g in range(groups):
        if lines == 1:
            total += int(mask >> g * lanes & (1 << lanes) - 1 != 0)
        else:
            total += _pass_wavefronts(base, 8, mask, size, g * lanes, lanes)
    return int(total)


@native
def _most_lanes_on_a_word(address: int, mask: int) -> int:
    """The most lanes whose offsets name one 32-bit word of shared memory."""
    words = np.empty(32, np.int64)
    counts = np.zeros(32, np.int64)
    n = worst = 0
    for lane in range(32):
        if mask >> lane & 1:
            word = peek32(address + 4 * lane) >> 2
            found = n
            for i in range(n):
                if words[i] == word:
                    found = i
                    break
            if found == n:
                words[n] = word
                n += 1
            counts[found] += 1
            worst = max(worst, counts[found])
    return worst


@native
def _atomic_turns(address: int, mask: int) -> int:
    """Cycles (bits 0 to 5) and turns (6 to 11) in which an SM sends the atomics of a warp to L2,
    and the most lanes that use one word (above).

    Lanes on one word take turns, line by line; a turn with one word takes a cycle, one with several
    a cycle and one for each of the line's sectors (measured, validation/data/reductions_sm90.json).
    """
    lines, words = np.empty(32, np.int64), np.empty(32, np.int64)
    lanes = np.zeros(32, np.int64)  # by word
    depth, many, sectors = np.zeros(32, np.int64), np.zeros(32, np.int64), np.zeros(32, np.int64)
    n_lines = n_words = 0
    for lane in range(32):
        if mask >> lane & 1:
            word = peek64(address + 8 * lane) >> 2
            at_line = at_word = 0
            while at_line < n_lines and lines[at_line] != word >> 5:
                at_line += 1
            if at_line == n_lines:
                lines[n_lines] = word >> 5
                n_lines += 1
            while at_word < n_words and words[at_word] != word:
                at_word += 1
            if at_word == n_words:
                words[n_words] = word
                n_words += 1
                many[at_line] += 1
            lanes[at_word] += 1
            depth[at_line] = max(depth[at_line], lanes[at_word])
            sectors[at_line] |= 1 << (word >> 3 & 3)
    cycles = turns = deep = 0
    for i in range(n_lines):
        turns += depth[i]
        cycles += depth[i] * (1 + population(sectors[i]) if many[i] > 1 else 1)
        deep = max(deep, depth[i])
    return min(63, cycles) | turns << 6 | deep << 12


@cfunc(ACCESS)
def _on_access(env: Any, warp: int, inst: int, mask: int, space: int, kind: int, size: int,
               base: int, host: int) -> None:  # fmt: skip
    slots = carray(env, (at.ENV_SLOTS,), np.int64)
    state = slots[at.ENV_OBSERVER]
    block = slots[at.ENV_BLOCK]
    whole = block % peek64(state + 8 * STRIDE) == 0
    if not whole and space != at.SPACE_GLOBAL:
        return
    entry = np.int64(peek64(state + 8 * N_ENTRIES)) - 1 if whole else np.int64(ELSEWHERE)
    last = peek64(state + 8 * LAST)
    if last:
        first = peek64(state + 8 * (FIRST if whole else ACCESS_FIRST))
        index = peek32(warp + at.WARP_INDEX)
        if whole:
            seen = np.int64(peek32(_seen_place(state, block, index)))
            seen -= _shift(state, block, index, FIRST, STAGGER, SOONER)
        else:
            shift = _shift(state, block, index, ACCESS_FIRST, ACCESS_STAGGER, ACCESS_SOONER)
            last = peek64(state + 8 * ACCESS_LAST)
            seen = np.int64(_count(state, last + shift, block, warp)) - shift
        if seen <= 0 or seen > last:
            return
        if seen <= first:
            entry = np.int64(BEFORE)
            if space != at.SPACE_GLOBAL:
                return
    n, lines = peek64(state + 8 * N_ACCESSES), peek64(state + 8 * N_LINES)
    full = lines + 160 > peek64(state + 8 * CAP_LINES)
    if n >= peek64(state + 8 * CAP_ACCESSES) or full:
        poke64(state + 8 * OVERFLOW, 1)
        return
    table = peek64(state + 8 * AT_LINES)
    lanes: Any = np.int64(mask) & 0xFFFFFFFF
    deep = sent = 0
    if space == at.SPACE_GLOBAL:
        count = _global_lines(warp, lanes, size, table, lines)
        poke64(state + 8 * N_LINES, lines + count)
    elif space == at.SPACE_LOCAL:
        count = _local_lines(warp, lanes, size, table, lines)
        poke64(state + 8 * N_LINES, lines + count)
    elif space == at.SPACE_VALUES:
        count = 0
        deep = max(0, _constant_parts(warp, lanes, 0, 0, table, lines) - 1)
    elif space == at.SPACE_CONSTANT:
        deep = max(0, _constant_parts(warp, lanes, 0, 0, table, lines) - 1)  # only their number
        count = _constant_parts(warp, lanes, base, 6, table, lines)
        poke64(state + 8 * N_LINES, lines + count)
    else:
        count = _shared_passes(warp, lanes, size, kind == at.ACCESS_READ)
    if whole and space == at.SPACE_GLOBAL and kind == at.ACCESS_READ:
        deep = _global_passes(warp, lanes, size, count)
    if kind == at.ACCESS_ATOMIC and space == at.SPACE_GLOBAL:
        sent = _atomic_turns(warp + at.WARP_SCRATCH + 128 * 20, lanes)
        deep = sent >> 12
    elif kind == at.ACCESS_ATOMIC:
        deep = _most_lanes_on_a_word(warp + at.WARP_SCRATCH, lanes)
        if space == at.SPACE_SHARED:
            count = max(count, deep)
    row = peek64(state + 8 * AT_ACCESSES) + ACCESS_BYTES * n
    poke64(row, block << 12 | peek32(warp + at.WARP_INDEX))
    poke64(row + 8, entry)
    where = inst | np.int64(space) << SPACE_SHIFT | np.int64(kind) << KIND_SHIFT
    where |= population(lanes) << LANES_SHIFT | np.int64(size) << SIZE_SHIFT
    where |= np.int64(deep) << DEPTH_SHIFT | np.int64(sent & 63) << SENT_SHIFT
    where |= np.int64(max(0, (sent >> 6 & 63) - 1)) << TURNS_SHIFT
    poke64(row + 16, where)
    poke64(row + 24, lines << 16 | count)
    poke64(state + 8 * N_ACCESSES, n + 1)


def _address(function: Any) -> int:
    return int(function.address)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """What is kept of a warp: its entries behind `first` up to `last`, and its global accesses up
    to there; of blocks on other SMs, `accesses` says the same by their own numbers. All of it
    begins up to `stagger` (entries, accesses) later, by block, less `sooner`. Of a block's
    `warps` those of one sub-partition are up to the share `drift` apart; where it has more of them
    than others have, up to `uneven` behind."""

    first: int
    last: int
    accesses: tuple[int, int]
    stagger: tuple[int, int] = (0, 0)
    sooner: tuple[int, int] = (0, 0)
    drift: float = 0.0
    uneven: float = 0.0
    warps: int = 1


class Recorder:
    """The tables that one sampled run fills."""

    def __init__(self, stride: int, scale: int = 1, window: Stretch | None = None, *,
                 cut: bool = False) -> None:  # fmt: skip
        """`window`: what is kept of a warp. `cut`: blocks end with the windows of their warps."""
        sizes = scale * MAX_ENTRIES, scale * MAX_ACCESSES, scale * MAX_LINES
        self._entries = np.empty((sizes[0], 4), np.int32)
        self._accesses = np.empty((sizes[1], 4), np.int64)
        self._lines = np.empty(sizes[2], np.int64)
        self.header = np.zeros(N_HEADER, np.int64)
        self.header[[CAP_ENTRIES, CAP_ACCESSES, CAP_LINES]] = sizes
        self.header[AT_ENTRIES] = self._entries.ctypes.data
        self.header[AT_ACCESSES] = self._accesses.ctypes.data
        self.header[AT_LINES] = self._lines.ctypes.data
        self.header[STRIDE] = stride
        self._seen = np.zeros(_SEEN if window else 1, np.int32)
        if window:
            self.header[[FIRST, LAST]] = window.first, window.last
            self.header[[ACCESS_FIRST, ACCESS_LAST]] = window.accesses
            self.header[[STAGGER, ACCESS_STAGGER]] = window.stagger
            self.header[[SOONER, ACCESS_SOONER]] = window.sooner
            shares = np.array([window.drift, window.uneven]) * (1 << 20)
            self.header[[DRIFT, UNEVEN]] = shares.astype(np.int64)
            self.header[WARPS] = window.warps
        self.header[CUT] = cut
        self.header[AT_SEEN] = self._seen.ctypes.data

    @property
    def observer(self) -> Observer:
        """The native functions, with this recorder's state."""
        return Observer(
            block=_address(_on_block),
            access=_address(_on_access),
            sync=_address(ignore_sync),
            release=_address(ignore_release),
            state=self.header.ctypes.data,
        )

    @property
    def overflowed(self) -> bool:
        """Whether something did not fit."""
        return bool(self.header[OVERFLOW])

    def tables(self) -> tuple[npt.NDArray[np.int32], Ints, Ints]:
        """Entries (block, warp, lifted block, mask), accesses and lines, in executed order."""
        return (
            self._entries[: self.header[N_ENTRIES]].copy(),
            self._accesses[: self.header[N_ACCESSES]].copy(),
            self._lines[: self.header[N_LINES]].copy(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockTrace:
    """The traces of sampled blocks.

    Attributes:
        blocks: indices of the blocks recorded whole, ascending.
        stride: every `stride`-th block of a sampled wave is recorded whole.
        starts, ends: first instruction and end of every lifted block.
        entries: (lifted block, mask) per executed lifted block, warp after warp.
        warp_entries: where each warp's entries begin; warps of `blocks` in order.
        accesses: (entry, where, first line << 16 | count) per access, warp after warp.
        warp_accesses: where each warp's accesses begin.
        lines: line << 4 | sector mask; hits: per line, sectors found in L2 (see timing/l2.py).
        context: (block << 12 | warp, where, first line << 16 | count, BEFORE, ELSEWHERE or 0 if it
            is in `accesses`) of every global access of all sampled blocks, in executed order.
        warps_per_block: warps of a block.
        truncated: something was left out: by a window the end of every block, else, where the
            tables overflowed, the end of the last one.
        sampled: number of blocks that ran in all, recorded whole or not.
    """

    blocks: npt.NDArray[np.int64]
    stride: int
    starts: Ints
    ends: Ints
    entries: npt.NDArray[np.uint32]
    warp_entries: Ints
    accesses: Ints
    warp_accesses: Ints
    lines: Ints
    context: Ints
    warps_per_block: int
    truncated: bool
    sampled: int

    @property
    def nbytes(self) -> int:
        """Size of the tables."""
        parts = (self.entries, self.accesses, self.lines, self.context)
        return sum(part.nbytes for part in parts)

    def with_entries(self, keep: npt.NDArray[np.bool_]) -> BlockTrace:
        """The same trace with only some entries, and their accesses."""
        number = np.cumsum(keep) - 1
        offsets = np.concatenate(([0], np.cumsum(keep)))
        kept = keep[self.accesses[:, 0]] if len(self.accesses) else np.zeros(0, bool)
        accesses = self.accesses[kept].copy()
        accesses[:, 0] = number[accesses[:, 0]]
        counts = np.concatenate(([0], np.cumsum(kept)))
        return replace(
            self,
            entries=np.ascontiguousarray(self.entries[keep]),
            warp_entries=offsets[self.warp_entries],
            accesses=accesses,
            warp_accesses=counts[self.warp_accesses],
        )

    def instructions(self) -> int:
        """Warp instructions of the blocks recorded whole."""
        sizes = self.ends - self.starts
        return int(sizes[self.entries[:, 0].astype(np.int64)].sum())


def collect(recorder: Recorder, lifted_blocks: list[Any], warps_per_block: int,
            sampled: int) -> BlockTrace:  # fmt: skip
    """Sorts what a recorder holds into traces, warp after warp."""
    entries, accesses, lines = recorder.tables()
    block_of = entries[:, 0].astype(np.int64)
    blocks = np.unique(block_of)
    if recorder.overflowed and len(blocks) > 1 and not recorder.header[LAST]:
        blocks = blocks[blocks != block_of[-1]]
    kept = np.isin(block_of, blocks)
    position = np.searchsorted(blocks, block_of)
    key = np.where(kept, position * warps_per_block + entries[:, 1], -1)
    order = np.argsort(key, kind="stable")
    order = order[np.count_nonzero(~kept) :]
    n_warps = len(blocks) * warps_per_block
    rank = np.full(len(entries), -1, np.int64)
    rank[order] = np.arange(len(order))
    is_global = (accesses[:, 2] >> SPACE_SHIFT & SPACE_MASK) == at.SPACE_GLOBAL
    context = accesses[is_global].copy()
    context[:, 1] = np.minimum(context[:, 1], 0)
    whole = accesses[:, 1] >= 0
    mine = accesses[whole]
    mine = mine[kept[mine[:, 1]]] if len(mine) else mine
    place = rank[mine[:, 1]]
    by_entry = np.argsort(place, kind="stable")
    mine, place = mine[by_entry], place[by_entry]
    warp_of = key[order][place] if len(place) else place
    return BlockTrace(
        blocks=blocks,
        stride=int(recorder.header[STRIDE]),
        starts=np.array([b.start for b in lifted_blocks], np.int64),
        ends=np.array([b.end for b in lifted_blocks], np.int64),
        entries=np.ascontiguousarray(entries[order][:, 2:]).view(np.uint32),
        warp_entries=np.searchsorted(key[order], np.arange(n_warps + 1)).astype(np.int64),
        accesses=np.ascontiguousarray(np.column_stack([place, mine[:, 2], mine[:, 3]])),
        warp_accesses=np.searchsorted(warp_of, np.arange(n_warps + 1)).astype(np.int64),
        lines=lines,
        context=np.ascontiguousarray(context[:, (0, 2, 3, 1)]),
        warps_per_block=warps_per_block,
        truncated=recorder.overflowed,
        sampled=sampled,
    )
