"""What a warp's texture and surface accesses ask of L1: requests, sectors, sets of tags.

As an H100 counts them (`validation/data/texture_counts_sm90.json`): a request is that of four lanes
side by side, or of eight where one or two coordinates name a texel that no filter is for. Filters
over volumes take two lanes at a time, those over 16 bytes do so twice. A sector of an array is 16
bytes of two rows, a line two sectors of four rows; pitched and plain memory lie in rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warplens.compiled import carray, native
from warplens.execute.textures.objects import LEVEL, LINEAR, PITCHED, PLAIN, TILED
from warplens.lift import layout as at

SECTOR_BYTES = 32
ROOM = 16  # texels that a lane looks at: eight of each of two levels
TEXELS = 32  # behind the lanes' sectors: the device addresses of their texels
OUTSIDE = 2 * TEXELS  # behind their numbers: 1 if a texel lies outside of its allocation
_ROW, _SLICE, _LEVEL = 20, 40, 56  # places of a sector's row, slice and level among its bits
_FIELD = (1 << _ROW) - 1
_APART = 1 << 48  # above all addresses of memory
_WIDE = 16  # bytes of a texel that a filter takes in two turns


@native
def sector_of(layout: int, level: Any, number: int, offset: int) -> int:
    """The sector of a byte of an image, by its place."""
    z = offset // level[5] if level[5] else 0
    rest = offset - z * level[5]
    y = rest // level[4] if level[4] else 0
    x = rest - y * level[4]
    if layout == PLAIN:
        return int((level[0] + offset) >> 5)
    if layout == TILED:
        x, y = x >> 4, y >> 1
    else:
        x = x >> 5
    return int(number << _LEVEL | z << _SLICE | y << _ROW | x)


@native
def address_of(made: Any, sector: int) -> int:
    """Where a sector lies in memory. Arrays are taken to lie line by line, each of two sectors of
    four rows; where that needs more room than there is, in memory of its own."""
    if made.layout == PLAIN:
        return sector << 5
    number, z = sector >> _LEVEL, sector >> _SLICE & 0xFFFF
    y, x = sector >> _ROW & _FIELD, sector & _FIELD
    level = carray(made.levels + 8 * LEVEL * number, (LEVEL,), np.int64)
    if made.layout == PITCHED:
        return int(level[0] + z * level[5] + y * level[4] + 32 * x)
    across, down = (level[1] * made.bytes * made.channels + 31) >> 5, (level[2] + 3) >> 2
    place = 128 * ((z * down + (y >> 1)) * across + (x >> 1)) + 64 * (y & 1) + 32 * (x & 1)
    slices = made.layers if made.rank < 3 else level[3]
    room = 0 if 128 * slices * down * across <= level[6] else _APART
    return int(room + level[0] + place)


@native
def place_of(made: Any, sector: int, offset: int) -> int:
    """Where a byte of an array lies that stands in a sector, by its own offset."""
    level = carray(made.levels, (LEVEL,), np.int64)
    row = offset - offset // level[5] * level[5] if level[5] else offset
    x = row - row // level[4] * level[4] if level[4] else row
    y = row // level[4] if level[4] else 0
    return int(address_of(made, sector) + 16 * (y & 1) + (x & 15))


@native
def line_of(layout: int, sector: int) -> int:
    """What the tags are looked up for."""
    if layout == PLAIN:
        return sector >> 2
    x, rest = sector & _FIELD, sector >> _ROW
    if layout == TILED:
        return (rest >> 1) << _ROW | x >> 1
    return (rest >> 2) << _ROW | x


@native
def note(marks: Any, counts: Any, lane: int, made: Any, level: Any, number: int, base: int,
         address: int, weight: int) -> None:  # fmt: skip
    """A texel that a lane looks at; the border (0) is none. Those with a weight are noted for
    observers too, and only for them what lies outside of its allocation."""
    if address == 0:
        return
    row = TEXELS + lane
    if weight and counts[row] < ROOM:
        offset = address - base if address > 0 else -1 - address
        marks[row * ROOM + counts[row]] = level[0] + offset
        counts[row] += 1
        if address < 0:
            counts[OUTSIDE] = 1
    if address > 0 and counts[lane] < ROOM:
        marks[lane * ROOM + counts[lane]] = sector_of(made.layout, level, number, address - base)
        counts[lane] += 1


@native
def distinct(marks: Any, counts: Any, first: int, lanes: int, layout: int, of_lines: int) -> int:
    """Sectors or lines that some lanes look at."""
    seen, found = np.empty(128, np.int64), 0
    for lane in range(first, first + lanes):
        for k in range(counts[lane]):
            key = marks[lane * ROOM + k]
            if of_lines:
                key = line_of(layout, key)
            known = 0
            while known < found and seen[known] != key:
                known += 1
            if known == found and found < 128:
                seen[found] = key
                found += 1
    return found


@native
def conflicts(marks: Any, counts: Any, first: int, lanes: int) -> int:
    """Turns in which L1's data gives some lanes the sectors of an array that they look at: four
    banks, by the places of sectors (fitted to points of texture_counts_sm90.json; of turns beyond
    one for each request a tenth is not explained)."""
    in_bank, seen, found = np.zeros(4, np.int64), np.empty(128, np.int64), 0
    for lane in range(first, first + lanes):
        for k in range(counts[lane]):
            key, known = marks[lane * ROOM + k], 0
            while known < found and seen[known] != key:
                known += 1
            if known == found and found < 128:
                seen[found] = key
                found += 1
                x, y = key & _FIELD, key >> _ROW & _FIELD
                mixed = x ^ x >> 4 ^ y
                in_bank[(mixed ^ y >> 1) & 1 | (mixed ^ y >> 4) << 1 & 2] += 1
    return int(max(max(in_bank[0], in_bank[1]), max(in_bank[2], in_bank[3])))


@native
def repeated(marks: Any, counts: Any, first: int, lanes: int) -> int:
    """Lanes of a reduction that come to a word that another lane before them comes to: each looks
    its sector up again. A word's place stands behind its sector."""
    found = 0
    for lane in range(first, first + lanes):
        for other in range(first, lane):
            same = marks[other * ROOM + 1] == marks[lane * ROOM + 1]
            if counts[lane] and counts[other] and same:
                found += 1
                break
    return found


@native
def width_of(made: Any, form: int) -> int:
    """Lanes of a request."""
    action = form & 15
    coordinates = (form >> at.UNIT_RANK & 3) + (form >> at.UNIT_LAYERED & 1)
    if coordinates > 2 or (action != at.UNIT_TLD and action < at.UNIT_READ):
        return 4
    wide = action == at.UNIT_TLD and made.bytes * made.channels >= _WIDE
    return 4 if wide else 8


@native
def parts(mask: int, lanes: int) -> int:
    """Groups of so many lanes of which one at least is active."""
    found = 0
    for first in range(0, 32, lanes):
        found += int(mask >> first & ((1 << lanes) - 1) != 0)
    return found


@native
def count(counters: int, made: Any, form: int, mask: int, marks: Any, counts: Any) -> None:
    """Adds requests, sectors, sets of tags, sectors that are written and turns of the filters to
    five counters."""
    totals, layout = carray(counters, (5,), np.int64), made.layout
    action, lanes, turns = form & 15, width_of(made, form), 1
    asked = parts(mask, lanes)
    totals[0] += asked
    samples = action == at.UNIT_TEX or action == at.UNIT_GRADIENT
    filters = samples and made.filter == LINEAR
    is_wide = made.bytes * made.channels >= _WIDE
    if filters and (is_wide or made.rank == 3):
        lanes = 1 if is_wide and made.rank == 3 else 2
        turns = 2 if is_wide else 1
    passes = turns * parts(mask, lanes)
    if samples and is_wide:
        passes = max(passes, 2 * asked)
    sectors, lines = 0, 0
    for first in range(0, 32, lanes):
        more = repeated(marks, counts, first, lanes) if action == at.UNIT_REDUCE else 0
        sectors += distinct(marks, counts, first, lanes, layout, 0) + more
        lines += distinct(marks, counts, first, lanes, layout, 1) + more
    if action == at.UNIT_READ:
        passes = max(passes, lines)
    elif not filters and action < at.UNIT_READ:
        given = 3 * lines >> 2
        if layout == TILED:
            given = 0
            for first in range(0, 32, lanes):
                given += conflicts(marks, counts, first, lanes)
        passes = max(passes, given)
    totals[4] += passes
    totals[1] += turns * sectors
    totals[2] += turns * lines
    if action == at.UNIT_WRITE:
        totals[3] += distinct(marks, counts, 0, 32, layout, 0)
    elif action == at.UNIT_REDUCE:
        totals[3] += sectors
