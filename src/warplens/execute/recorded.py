"""From the tables of a recorder (recorder.py), in executed order, to traces, warp after warp."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.execute.coalescing import DEPTH_SHIFT
from warplens.execute.sorting import sorted_by
from warplens.execute.trace import ELSEWHERE, BlockTrace, picked
from warplens.lift import layout as at

Ints = npt.NDArray[np.int64]
Records = npt.NDArray[Any]
_LISTED = at.SPACE_LOCAL, at.SPACE_CONSTANT  # spaces whose lines are kept, of whole blocks alone
_OTHER_NUMBERS = at.SPACE_MBARRIER, at.SPACE_NAMED, at.SPACE_SLEEP  # in place of a first line


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The tables that one sampled run has filled.

    Attributes:
        entries: of blocks recorded whole; accesses: theirs, and global ones of others.
        lines: see BlockTrace, with the depths above them; phases: as there.
        stride, first: one of about every `stride` blocks is recorded whole: those of SM `first`.
        overflowed: something did not fit, or came behind a window; in_windows: there are such.
    """

    entries: Records
    accesses: Records
    lines: Ints
    phases: npt.NDArray[np.int32]
    stride: int
    first: int
    overflowed: bool
    in_windows: bool

    def trace(self, lifted_blocks: list[Any], warps_per_block: int, sampled: int) -> BlockTrace:
        """Sorted by warps. Of what did not fit the last block is left out."""
        entries, accesses = self.entries, self.accesses
        block_of = entries["block"]
        blocks = np.unique(block_of)
        lost = None
        if self.overflowed and len(blocks) > 1 and not self.in_windows:
            lost = block_of == block_of[-1]
            blocks = blocks[blocks != block_of[-1]]
        key = np.searchsorted(blocks, block_of).astype(np.int32)
        key *= warps_per_block
        key += entries["warp"]
        warps = len(blocks) * warps_per_block
        if lost is not None:
            key[lost] = warps  # behind all others
        order = sorted_by(key, warps + 1)
        order = order[: len(order) - (0 if lost is None else np.count_nonzero(lost))]
        key = key[order]
        rank = np.full(len(entries), -1, np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        own = np.flatnonzero(accesses["entry"] >= 0)
        number = rank[accesses["entry"][own]]
        if lost is not None:
            own, number = own[number >= 0], number[number >= 0]
        in_turn = sorted_by(number, len(order))
        mine = picked(accesses, own[in_turn])
        mine["entry"] = number[in_turn]
        del rank, own, number, in_turn
        context = picked(accesses, accesses["space"] == at.SPACE_GLOBAL)
        context["entry"] = np.minimum(context["entry"], 0)
        begins = np.arange(warps + 1, dtype=np.int32)
        depths = np.empty(len(self.lines), np.int16)
        np.right_shift(self.lines, DEPTH_SHIFT, out=depths, casting="unsafe")
        return BlockTrace(
            blocks=blocks.astype(np.int64),
            stride=self.stride,
            first=self.first,
            starts=np.array([b.start for b in lifted_blocks], np.int64),
            ends=np.array([b.end for b in lifted_blocks], np.int64),
            entries=picked(entries["entry"], order),
            warp_entries=np.searchsorted(key, begins).astype(np.int64),
            accesses=mine,
            warp_accesses=np.searchsorted(key[mine["entry"]], begins).astype(np.int64),
            lines=self.lines & (1 << DEPTH_SHIFT) - 1,
            depths=depths,
            context=context,
            warps_per_block=warps_per_block,
            phases=self.phases,
            truncated=self.overflowed,
            sampled=sampled,
        )

    def of_block(self, block: int) -> Recorded:
        """The same if of several blocks recorded whole this one alone had been; all did fit."""
        entries, accesses = self.entries, self.accesses
        its = entries["block"] == block
        own = accesses["block"] == block
        kept = own | (accesses["space"] == at.SPACE_GLOBAL)
        lines, left = self._lines_of(~kept)
        found, own = picked(accesses, kept), own[kept]
        number = (np.cumsum(its, dtype=np.int32) - 1)[found["entry"]]
        found["entry"] = np.where(own, number, ELSEWHERE)
        found["passes"] *= own
        if left is not None:
            moved = ~np.isin(found["space"], _OTHER_NUMBERS)
            found["first_line"][moved] = left[found["first_line"][moved]]
        phases = np.zeros_like(self.phases)
        adds = (found["space"] == at.SPACE_MBARRIER) & (found["kind"] == at.ACCESS_ATOMIC)
        np.add.at(phases, found["first_line"][adds], 1)
        return replace(
            self, entries=picked(entries, its), accesses=found, lines=lines, phases=phases,
            first=block,
        )  # fmt: skip

    def _lines_of(self, without: npt.NDArray[np.bool_]) -> tuple[Ints, Ints | None]:
        """The lines but for those of some accesses, and where each is then; None: where it was."""
        some = self.accesses[without & np.isin(self.accesses["space"], _LISTED)]
        if not some["n_lines"].any():
            return self.lines, None
        change = np.zeros(len(self.lines) + 1, np.int32)
        np.add.at(change, some["first_line"], 1)
        np.add.at(change, some["first_line"] + some["n_lines"], -1)
        stays = np.cumsum(change) == 0
        left = np.cumsum(stays) - stays
        return self.lines[stays[:-1]], left
