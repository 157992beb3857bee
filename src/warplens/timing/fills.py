"""Sectors that stores write in part: what L2 has to read from DRAM before it can write them back.

A sector that is written in part is read from DRAM soon if L2 does not hold it, unless others write
the rest of it about the same time (measured, validation/data/stores_sm90.json and
validation/timing/h200_vectors.json: warps that write 16 bytes of a sector one after another need
not read it; warps that write all of it in two stores need to if they are many).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warplens.execute.trace import bytes_of
from warplens.timing.state import Ints
from warplens.timing.touched import Touched

_WRITE = 2
_SECTOR_BYTES = 32
# Lines that an SM writes meanwhile, within which stores complete a sector in time: 256 of an SM's
# two blocks of add_four_near do, 512 of its four do not (validation/timing/h200_vectors.json).
_IN_TIME = 384


def fills(touched: Touched, step: Ints, sms: int) -> npt.NDArray[np.uint8]:
    """Per element of the table of lines: the sectors that stores leave incomplete when they first
    write them. `step`: per access, equal for those at about the same time; `sms`: sampled ones."""
    found = np.zeros(len(touched.lines), np.uint8)
    is_write = touched.context["kind"] == _WRITE
    mine = is_write[touched.access]
    at, access, line = touched.at[mine], touched.access[mine], touched.used[mine]
    sectors = touched.lines[at] & 15
    count = np.bitwise_count(sectors.astype(np.uint8))
    of_access = np.bincount(access, weights=count, minlength=len(is_write))
    n_bytes = bytes_of(touched.context)
    if not (is_write & (n_bytes < _SECTOR_BYTES * of_access)).any():
        return found
    # Of a stretch, a little of which is in the sectors at its ends, all others are whole.
    is_stretch = (n_bytes > _SECTOR_BYTES * (of_access - 2))[access]
    n_sectors = of_access[access]
    inner = np.maximum(0, n_sectors - 2)
    at_end = (n_bytes[access] - _SECTOR_BYTES * inner) / np.minimum(2, np.maximum(1, n_sectors))
    begins = np.flatnonzero(np.diff(access, prepend=-1))
    lengths = np.diff(np.append(begins, len(access)))
    is_first = line == np.repeat(np.minimum.reduceat(line, begins), lengths)
    is_last = line == np.repeat(np.maximum.reduceat(line, begins), lengths)
    begun = step[access]
    lines = np.bincount(begun, minlength=int(step.max()) + 1)
    clock = (np.cumsum(lines) - lines) / max(1, sms)
    for bit in range(4):
        has = sectors >> bit & 1 != 0
        first = np.full(touched.n_lines, len(lines) - 1)
        np.minimum.at(first, line[has], begun[has])
        in_time = clock[begun[has]] - clock[first[line[has]]] < _IN_TIME
        lowest = is_first & (sectors & (1 << bit) - 1 == 0)
        highest = is_last & (sectors >> bit == 1)
        of_stretch = np.where(lowest | highest, at_end, _SECTOR_BYTES)
        each = np.where(is_stretch, of_stretch, n_bytes[access] / np.maximum(1, n_sectors))
        written = each[has] * in_time
        whole = np.bincount(line[has], written, touched.n_lines) >= _SECTOR_BYTES
        found[at[has]] |= np.where(whole[line[has]], 0, 1 << bit).astype(np.uint8)
    return found
