"""What the sampled blocks touch: their lines and DRAM rows, numbered without gaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warplens.execute.trace import lines_of, warps_of
from warplens.timing.state import Ints, Records

ROW_LINES = 16  # of what DRAM has open at once: 2 KiB


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """Global accesses of sampled blocks (see execute/trace.py).

    Attributes:
        context: the accesses; lines: the table of lines that they refer to.
        blocks: indices of the blocks, ascending; block: per access its place among them.
        warp: per access a number for its warp; by_warp: accesses warp by warp, in order.
        at: places in `lines` of one access after the other; access: which access that is; used:
            which line's number stands there; user: the place of the access's block.
        line: per element of `lines` the line's number, ascending with addresses, of `n_lines`.
        row: per line its DRAM row's number, ascending likewise.
        first: per line where in `lines` it stands first.
        offset: the first block of the SM that is replayed.
    """

    context: Records
    lines: Ints
    blocks: Ints
    block: Ints
    warp: Ints
    by_warp: Ints
    at: Ints
    access: Ints
    used: Ints
    user: Ints
    line: Ints
    row: Ints
    first: Ints
    offset: int = 0

    def sm_of(self, stride: int) -> Ints:
        """Per block the SM that runs it, from the one that is replayed; every `stride`-th block of
        the grid runs on the same."""
        found: Ints = (self.blocks - self.offset) % stride
        return found

    @property
    def n_lines(self) -> int:
        """How many lines there are."""
        return len(self.row)

    @classmethod
    def of(cls, context: Records, lines: Ints, offset: int = 0) -> Touched:
        """Of a trace's tables."""
        blocks, block = np.unique(context["block"], return_inverse=True)
        access = np.repeat(np.arange(len(context)), context["n_lines"])
        at, warp = lines_of(context), warps_of(context)
        names, first, line = np.unique(lines >> 4, return_index=True, return_inverse=True)
        row = np.cumsum(np.diff(names // ROW_LINES, prepend=-1) != 0) - 1
        by_warp = np.argsort(warp, kind="stable")
        return cls(
            context=context, lines=lines, blocks=blocks, block=block, warp=warp, by_warp=by_warp,
            at=at, access=access, used=line[at], user=block[access], line=line, row=row,
            first=first, offset=offset,
        )  # fmt: skip


def distinct(values: Ints) -> Ints:
    """Values without repetitions, ascending: by sorting, several times as quick for millions of
    them as NumPy's hashing."""
    found: Ints = np.sort(values)
    return np.asarray(found[np.diff(found, prepend=found[:1] - 1) != 0])
