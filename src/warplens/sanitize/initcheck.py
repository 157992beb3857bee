"""initcheck: reads of shared, local and device-heap memory that nobody wrote."""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import poke32, poke64
from warplens.lift import layout as at
from warplens.sanitize import state as st
from warplens.sanitize.memcheck import ADDRESSES, OFFSETS
from warplens.sanitize.native import peek8, peek32, peek64, poke8
from warplens.sanitize.records import claim, fill

_ALL = 0x01010101
_ATTEMPTS = 100  # to find a range written throughout; each may look at all shared memory


@native
def check_initialised(head: int, w: int, inst: int, mask: int, space: int, kind: int, size: int,
                      base: int, initial: int, known: int, block: int) -> None:  # fmt: skip
    """Marks what is written; reports what is read without having been written."""
    if space == at.SPACE_SHARED and mask == 0xFFFFFFFF and size >= 4 and lies_in_range(
        known, w, initial, size, kind != at.ACCESS_WRITE
    ):  # fmt: skip
        return
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
def is_known(known: int, w: int, mask: int, immediate: int, size: int) -> bool:
    """Whether an access needs no more looking at: a whole warp's, aligned, and in the range of
    shared memory that is written throughout (and so inside the limits)."""
    last = peek64(known + 8)
    if last == 0 or mask != 0xFFFFFFFF or size < 4:
        return False
    low, high, bits = 0x7FFFFFFF, 0, 0
    for lane in range(32):
        offset = peek32(w + at.WARP_SCRATCH + 4 * lane) + immediate
        low, high, bits = min(low, offset), max(high, offset), bits | offset
    return bool(bits & size - 1 == 0 and peek64(known) <= low and high + size <= last)


@native
def lies_in_range(known: int, w: int, initial: int, size: int, reads: bool) -> bool:
    """Whether a whole warp's access lies in a range of shared memory that is written throughout.

    The range, at `known`, grows by what is read and found written, until that has failed often.
    """
    low, high = peek32(w + OFFSETS), peek32(w + OFFSETS)
    for lane in range(32):
        offset = peek32(w + OFFSETS + 4 * lane)
        low, high = min(low, offset), max(high, offset)
    high += size
    first, last = peek64(known), peek64(known + 8)
    if first <= low and high <= last:
        return True
    tried = peek64(known + 16)
    if not reads or tried >= _ATTEMPTS:
        return False
    if last > first:
        low, high = min(low, first), max(high, last)
    differing = 0
    for place in range(initial + (low & ~3), initial + high, 4):
        differing |= peek32(place) ^ _ALL
    if differing != 0:
        poke64(known + 16, tried + 1)
        return False
    poke64(known, low)
    poke64(known + 8, high)
    return True


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
