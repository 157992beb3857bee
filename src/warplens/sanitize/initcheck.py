"""initcheck: reads of shared, local and device-heap memory that nobody wrote."""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute import layout as at
from warplens.execute.native import poke32
from warplens.sanitize import state as st
from warplens.sanitize.memcheck import ADDRESSES, OFFSETS
from warplens.sanitize.native import peek8, peek32, peek64, poke8
from warplens.sanitize.records import claim, fill

_ALL = 0x01010101


@native
def check_initialised(head: int, w: int, inst: int, mask: int, space: int, kind: int, size: int,
                      base: int, initial: int, block: int) -> None:  # fmt: skip
    """Marks what is written; reports what is read without having been written."""
    step = 128 if space == at.SPACE_LOCAL else 4
    words = 1 if size < 4 else size >> 2
    warp = peek32(w + at.WARP_INDEX)
    near = space == at.SPACE_SHARED and size >= 4
    if near and kind != at.ACCESS_WRITE and is_whole(w, mask, initial, words):
        return
    for lane in range(32):
        if (mask >> lane) & 1 == 0:
            continue
        if space == at.SPACE_GLOBAL:
            offset = peek64(w + ADDRESSES + 8 * lane) - base
        else:
            offset = peek32(w + OFFSETS + 4 * lane)
        place = initial + offset
        if space == at.SPACE_LOCAL:
            place = initial + (offset >> 2) * 128 + 4 * lane + (offset & 3)
        missing = False
        if kind != at.ACCESS_WRITE:
            missing = is_missing(place, step, words, size)
        if kind != at.ACCESS_READ:
            set_initialised(place, step, words, size)
        if missing:
            record = claim(head, st.C_UNINITIALISED, inst, inst, space, 1)
            if record != 0:
                fill(record, st.R_SPACE, space)
                fill(record, st.R_SECOND_KIND, 0 if kind == at.ACCESS_READ else 1)
                fill(record, st.R_SECOND_THREAD, warp << 5 | lane)
                fill(record, st.R_SECOND_BLOCK, block)
                fill(record, st.R_BASE, base)
                fill(record, st.R_OFFSET, offset)
                fill(record, st.R_SIZE, size)


@native
def is_whole(w: int, mask: int, initial: int, words: int) -> bool:
    """Whether every lane's words of shared memory have been written: the common case."""
    differing = 0
    if mask == 0xFFFFFFFF:
        for k in range(words):
            place = initial + 4 * k
            for lane in range(32):
                differing |= peek32(place + peek32(w + OFFSETS + 4 * lane)) ^ _ALL
        return differing == 0
    for lane in range(32):
        offset = peek32(w + OFFSETS + 4 * lane) if (mask >> lane) & 1 else -1
        if offset >= 0:
            for k in range(words):
                differing |= peek32(initial + offset + 4 * k) ^ _ALL
    return differing == 0


@native
def is_missing(place: int, step: int, words: int, size: int) -> bool:
    """Whether some 32-bit word (or the narrower value) has a byte that was never written."""
    if size < 4:
        written = 0
        for k in range(size):
            written += peek8(place + k)
        return written != size
    for k in range(words):
        found = peek32(place + step * k)
        # Of a local word all bytes must be missing: structures are copied with their padding.
        if found == 0 or (found != _ALL and step == 4):
            return True
    return False


@native
def set_initialised(place: int, step: int, words: int, size: int) -> None:
    """Marks bytes as written."""
    if size < 4:
        for k in range(size):
            poke8(place + k, 1)
        return
    for k in range(words):
        poke32(place + step * k, _ALL)
