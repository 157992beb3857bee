"""Sectors that stores write in part: what L2 has to read from DRAM before it can write them back.

A sector that is written in part is read from DRAM soon if L2 does not hold it, unless others write
the rest of it about the same time (measured, validation/data/stores_sm90.json and
validation/timing/h200_vectors.json: warps that write 16 bytes of a sector one after another need
not read it; warps that write all of it in two stores need to if they are many).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warplens.compiled import native
from warplens.execute.buffers import sparse
from warplens.execute.trace import bytes_of
from warplens.timing.picking import chosen, taken
from warplens.timing.state import Floats, Ints
from warplens.timing.touched import Touched

_WRITE = 2
_SECTOR_BYTES = 32
# Lines that an SM writes meanwhile, within which stores complete a sector in time: 256 of an SM's
# two blocks of add_four_near do, 512 of its four do not (validation/timing/h200_vectors.json).
_IN_TIME = 384


def fills(touched: Touched, step: Ints, sms: int) -> npt.NDArray[np.uint8]:
    """Per element of the table of lines: the sectors that stores leave incomplete when they first
    write them. `step`: per access, equal for those at about the same time; `sms`: sampled ones."""
    found = sparse(len(touched.lines), np.uint8)
    is_write = touched.context["kind"] == _WRITE
    mine = taken(is_write, touched.access)
    at, access, line = (chosen(one, mine) for one in (touched.at, touched.access, touched.used))
    sectors = taken(touched.lines, at) & 15
    count = np.bitwise_count(sectors.astype(np.uint8))
    of_access: Floats = np.bincount(access, count, len(is_write)).astype(np.float64, copy=False)
    n_bytes = bytes_of(touched.context)
    if not (is_write & (n_bytes < _SECTOR_BYTES * of_access)).any():
        return found
    begun = taken(step, access)
    lines = np.bincount(begun, minlength=int(step.max()) + 1)
    clock = (np.cumsum(lines) - lines) / max(1, sms)
    first = np.full((touched.n_lines, 4), len(lines) - 1)
    written = np.zeros((touched.n_lines, 4))
    _note_first(line, sectors, begun, first)
    _add_bytes(access, line, sectors, begun, n_bytes, of_access, clock, first, written)
    _mark(at, line, sectors, written, found)
    return found


@native
def _note_first(line: Ints, sectors: Ints, begun: Ints, first: Ints) -> None:
    """Per line and sector the step in which it is first written."""
    for i in range(line.size):
        for bit in range(4):
            if sectors[i] >> bit & 1 and begun[i] < first[line[i], bit]:
                first[line[i], bit] = begun[i]


@native
def _add_bytes(access: Ints, line: Ints, sectors: Ints, begun: Ints, n_bytes: Ints,
               of_access: Floats, clock: Floats, first: Ints, written: Floats) -> None:  # fmt: skip
    """Per line and sector the bytes that are written in time. `access` names one after the other;
    `of_access`: how many sectors each touches."""
    i = 0
    while i < access.size:
        its, j = access[i], i
        low, high = line[i], line[i]
        while j < access.size and access[j] == its:
            low, high = min(low, line[j]), max(high, line[j])
            j += 1
        size, n_sectors = float(n_bytes[its]), of_access[its]
        mean = size / max(1.0, n_sectors)
        at_end = size - _SECTOR_BYTES * max(0.0, n_sectors - 2.0)
        at_end = at_end / min(2.0, max(1.0, n_sectors))
        # Of a stretch, a little of which is in the sectors at its ends, all others are whole.
        is_stretch = size > _SECTOR_BYTES * (n_sectors - 2.0)
        for k in range(i, j):
            for bit in range(4):
                if sectors[k] >> bit & 1 == 0:
                    continue
                if clock[begun[k]] - clock[first[line[k], bit]] >= _IN_TIME:
                    continue
                is_lowest = line[k] == low and sectors[k] & ((1 << bit) - 1) == 0
                is_highest = line[k] == high and sectors[k] >> bit == 1
                each = mean
                if is_stretch:
                    each = at_end if is_lowest or is_highest else float(_SECTOR_BYTES)
                written[line[k], bit] += each
        i = j


@native
def _mark(at: Ints, line: Ints, sectors: Ints, written: Floats,
          found: npt.NDArray[np.uint8]) -> None:  # fmt: skip
    """The sectors of each element of which less than the whole is written."""
    for i in range(at.size):
        for bit in range(4):
            if sectors[i] >> bit & 1 and written[line[i], bit] < _SECTOR_BYTES:
                found[at[i]] |= 1 << bit
