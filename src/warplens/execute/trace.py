"""Traces of sampled blocks: what each warp ran and touched, compact, for the timing model.

The recorder (recorder.py) makes them. Compiled functions read their records by the names of fields.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.lift import layout as at

Ints = npt.NDArray[np.int64]
Records = npt.NDArray[Any]

# one lifted block that a warp executed with some of its lanes
ENTRY = np.dtype([("lifted_block", "i4"), ("mask", "u4")])
_WARPS = 1 << 12  # more than a block has
_COUNTED_WARPS, _LINE_BITS = 64, 20  # more lines than a warp has of local memory
# what an access belongs to, where no entry of a block that is recorded whole
BEFORE, ELSEWHERE = -1, -2  # the time before its block's window; a block on another SM
# one access of a warp
ACCESS = np.dtype([
    ("block", "i8"),  # index in the grid
    ("entry", "i4"),  # number of the entry that made it; BEFORE, ELSEWHERE
    ("instruction", "i4"),
    # its lines in the table of lines; of mbarriers the phase that it waits for or adds to
    ("first_line", "i4"),
    ("n_lines", "i2"),  # how many; of shared memory, the passes
    ("warp", "u1"), ("space", "u1"), ("kind", "u1"),  # in its block; SPACE_*, ACCESS_* of layout.py
    ("lanes", "u1"), ("size", "u1"),  # that take part; bytes of each
    # of global reads of blocks recorded whole, through the banks of L1's data; of shared atomics,
    # if lanes on a word take one together
    ("passes", "u1"),
    # different ones, of constant banks or among the values of a MATCH; of global atomics the first
    # lane's, in its line
    ("words", "u1"),
    # of atomics: the most on one word; of global ones the turns of lanes, and their cycles; of
    # shared ones the first lane's word, in two parts
    ("lanes_on_a_word", "u1"), ("turns", "u1"), ("cycles", "u1"),
])  # fmt: skip


def picked(records: Records, which: npt.NDArray[Any]) -> Records:
    """Some records (a mask, or their numbers), copied: as bytes, which is many times as quick as
    field by field."""
    plain = records.view(np.dtype((np.void, records.itemsize)))
    found: Records = plain[which].view(records.dtype)
    return found


def bytes_of(accesses: Records) -> Ints:
    """Bytes of all lanes that take part, per access."""
    n_bytes: Ints = accesses["lanes"].astype(np.int64) * accesses["size"]
    return n_bytes


def warps_of(accesses: Records) -> Ints:
    """One number for each warp of the grid, per access."""
    numbers: Ints = accesses["block"] * _WARPS
    numbers += accesses["warp"]
    return numbers


def lines_of(accesses: Records) -> Ints:
    """Places in the table of lines, of one access after the other."""
    counts = accesses["n_lines"].astype(np.int64)
    skipped = np.cumsum(counts) - counts
    every = np.repeat(accesses["first_line"] - skipped, counts)
    return every + np.arange(len(every))


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockTrace:
    """The traces of sampled blocks.

    Attributes:
        blocks: indices of the blocks recorded whole, ascending.
        stride, first: one of about every `stride` blocks is recorded whole: those of SM `first`.
        starts, ends: first instruction and end of every lifted block.
        entries: ENTRY per executed lifted block, warp after warp.
        warp_entries: where each warp's entries begin; warps of `blocks` in order.
        accesses: ACCESS per access of these entries, warp after warp.
        warp_accesses: where each warp's accesses begin.
        lines: line << 4 | sector mask.
        depths: per line of an atomic what its slice of L2 does one after another, see note_depths
            in coalescing.py; fewer than lines, where others were added behind.
        context: ACCESS per global access of all sampled blocks, in executed order; `entry` is
            BEFORE, ELSEWHERE, or 0 if the access is among `accesses`.
        warps_per_block: warps of a block.
        phases: per phase of an mbarrier how many accesses add to it, see phases.py.
        truncated: something was left out: by a window the end of every block, else, where the
            tables overflowed, the end of the last one.
        sampled: number of blocks that ran in all, recorded whole or not.
    """

    blocks: npt.NDArray[np.int64]
    stride: int
    starts: Ints
    ends: Ints
    entries: Records
    warp_entries: Ints
    accesses: Records
    warp_accesses: Ints
    lines: Ints
    depths: npt.NDArray[np.int16]
    context: Records
    warps_per_block: int
    truncated: bool
    sampled: int
    first: int = 0
    phases: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(1, np.int32))

    def with_entries(self, keep: npt.NDArray[np.bool_]) -> BlockTrace:
        """The same trace with only some entries, and their accesses."""
        number = np.cumsum(keep) - 1
        offsets = np.concatenate(([0], np.cumsum(keep)))
        kept = keep[self.accesses["entry"]]
        accesses = picked(self.accesses, kept)
        accesses["entry"] = number[accesses["entry"]]
        counts = np.concatenate(([0], np.cumsum(kept)))
        return replace(
            self,
            entries=picked(self.entries, keep),
            warp_entries=offsets[self.warp_entries],
            accesses=accesses,
            warp_accesses=counts[self.warp_accesses],
        )

    @property
    def nbytes(self) -> int:
        """Bytes of all tables."""
        tables = self.entries, self.accesses, self.lines, self.context
        return sum(table.nbytes for table in tables)

    def passes(self) -> Ints:
        """Passes through L1's data of each block recorded whole, for global and shared memory."""
        of = self.accesses
        counts = of["n_lines"].astype(np.int64)
        is_load = (of["space"] == at.SPACE_GLOBAL) & (of["kind"] == at.ACCESS_READ)
        counts[is_load] = of["passes"][is_load]
        counts[~np.isin(of["space"], (at.SPACE_GLOBAL, at.SPACE_SHARED))] = 0
        before = np.concatenate(([0], np.cumsum(counts)))[self.warp_accesses]
        found: Ints = np.diff(before).reshape(-1, self.warps_per_block).sum(axis=1)
        return found

    def local_lines(self) -> tuple[float, float]:
        """Lines of local memory that a warp touches, on average of the first ones, and how often
        it comes to each."""
        begins = self.warp_accesses[: _COUNTED_WARPS + 1]
        among = self.accesses[: begins[-1]]
        of = picked(among, among["space"] == at.SPACE_LOCAL)
        if not len(of):
            return 0.0, 0.0
        lines = self.lines[lines_of(of)] >> 4
        both = np.repeat(warps_of(of), of["n_lines"]) << _LINE_BITS | lines
        touched = len(np.unique(both))
        return touched / (len(begins) - 1), len(both) / touched

    def works(self) -> npt.NDArray[np.int64]:
        """Instructions by block recorded whole and warp."""
        sizes = (self.ends - self.starts)[self.entries["lifted_block"]].astype(np.int64)
        warps = np.diff(np.concatenate(([0], np.cumsum(sizes)))[self.warp_entries])
        return warps.reshape(-1, self.warps_per_block)

    def instructions(self) -> int:
        """Warp instructions of the blocks recorded whole."""
        sizes = self.ends - self.starts
        return int(sizes[self.entries["lifted_block"]].sum())
