"""Reads and writes of surfaces by bytes, formatted writes, and reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from warplens.compiled import carray, native, record_at
from warplens.execute.native import peek32, poke32
from warplens.execute.textures.lanes import (
    NO_OBJECT,
    NO_WORD,
    ODD_PLACE,
    OTHER_SHAPE,
    OTHER_USE,
    refuse,
    word,
)
from warplens.execute.textures.memory import host_of
from warplens.execute.textures.objects import (
    FLOAT,
    LEVEL,
    OBJECT,
    SIGNED,
    SURFACE,
    TEXTURE,
    UNSIGNED,
)
from warplens.execute.textures.observed import show_surface, tell
from warplens.execute.textures.requests import ROOM, note
from warplens.execute.textures.words import peek8, peek16, poke8, poke16
from warplens.lift import layout as at

_NOWHERE = -1
BOTH, NOTE, SERVE = range(3)  # parts of an access
_ROW = OBJECT.itemsize


@native
def _number(warp: int, slot: int, lane: int) -> int:
    bits = word(warp, slot, lane)
    return bits - (1 << 32) if bits >> 31 else bits


@native
def _is_one_word(made: Any, size: int) -> int:
    """Whether a reduction of texels takes each as one integer, as recorded: signed only where all
    of its channels are whole words."""
    if made.bytes * made.channels != size:
        return 0
    if size == 8:
        return int(made.bytes == 4 and made.kind != FLOAT)
    return int(made.bytes == 4 or made.kind != SIGNED)


@native
def _problem(made: Any, form: int) -> int:
    if made.use != SURFACE:
        return OTHER_USE if made.use == TEXTURE else NO_OBJECT
    same = made.rank == form >> at.UNIT_RANK & 3
    if (form >> at.UNIT_LAYERED & 1) != made.is_layered or not same:
        return OTHER_SHAPE
    if form >> at.UNIT_TEXELS & 1 and (form & 15) == at.UNIT_REDUCE:
        return -1 if _is_one_word(made, 1 << (form >> at.UNIT_WIDTH & 7)) else NO_WORD
    return -1


@native
def _held(x: int, size: int, boundary: int) -> int:
    """An index within a size, or -1 for outside."""
    if 0 <= x < size:
        return x
    return min(max(x, 0), size - 1) if boundary == at.BOUNDARY_CLAMP else _NOWHERE


@native
def width_of(made: Any, form: int) -> int:
    """Bytes of an access: what the instruction says, or a texel."""
    if form >> at.UNIT_TEXELS & 1:
        return int(made.bytes * made.channels)
    return 1 << (form >> at.UNIT_WIDTH & 7)


@native
def _offset(made: Any, level: Any, form: int, warp: int, lane: int) -> int:
    """Bytes from the image's start, or -1 for outside."""
    boundary = form >> at.UNIT_BOUNDARY & 3
    texel = made.bytes * made.channels
    width = width_of(made, form)
    x = _number(warp, 1, lane)
    if not form >> at.UNIT_TEXELS & 1:
        x = x // width
    x = _held(x, level[1] * texel // width, boundary) * width
    y, z = 0, 0
    if made.rank > 1:
        y = _held(_number(warp, 2, lane), level[2], boundary)
    if made.rank > 2:
        z = _held(_number(warp, 3, lane), level[3], boundary)
    if made.is_layered:
        z = _held(word(warp, 0, lane), made.layers, boundary)  # without a sign
    if x < 0 or y < 0 or z < 0:
        return _NOWHERE
    return int(z * level[5] + y * level[4] + x)


@native
def _read(warp: int, lane: int, host: int, width: int) -> None:
    """Words of a surface for a lane; without a place zeroes."""
    for k in range(max(width >> 2, 1)):
        found = 0
        if host:
            if width == 1:
                found = peek8(host)
            elif width == 2:
                found = peek16(host)
            else:
                found = peek32(host + 4 * k)
        poke32(warp + at.WARP_SCRATCH + 128 * (at.UNIT_RESULTS + k) + 4 * lane, found)


@native
def _write(warp: int, lane: int, host: int, width: int) -> None:
    first = word(warp, at.UNIT_VALUES, lane)
    if width == 1:
        poke8(host, first)
    elif width == 2:
        poke16(host, first)
    else:
        for k in range(width >> 2):
            poke32(host + 4 * k, word(warp, at.UNIT_VALUES + k, lane))


@native
def _half_cut(bits: int) -> int:
    """A float as a half, cut towards zero; NaNs keep their sign and the payload's upper bits."""
    sign, exponent, fraction = bits >> 16 & 0x8000, bits >> 23 & 255, bits & 0x7FFFFF
    if exponent == 255:
        payload = max(fraction >> 13, 1) if fraction else 0
        return sign | 0x7C00 | payload
    if exponent > 142:
        return sign | 0x7BFF
    if exponent > 112:
        return sign | (exponent - 112) << 10 | fraction >> 13
    shift = 126 - exponent
    return sign | (fraction | 0x800000) >> shift if shift < 24 and exponent else sign


@native
def _component(made: Any, bits: int) -> int:
    """What a texel's component becomes: held within its type's range, halves cut."""
    if made.kind == FLOAT:
        return int(_half_cut(bits)) if made.bytes == 2 else bits
    if made.kind == UNSIGNED:
        return int(min(bits, (1 << 8 * made.bytes) - 1))
    largest = (1 << (8 * made.bytes - 1)) - 1
    value = (bits ^ 1 << 31) - (1 << 31)
    return int(min(max(value, -largest - 1), largest))


@native
def _write_texel(made: Any, warp: int, lane: int, host: int, count: int) -> None:
    """Writes the components that a texel has: missing ones as zeroes, further ones are dropped."""
    for k in range(made.channels):
        bits = _component(made, word(warp, at.UNIT_VALUES + k, lane)) if k < count else 0
        place = host + k * made.bytes
        if made.bytes == 1:
            poke8(place, bits)
        elif made.bytes == 2:
            poke16(place, bits)
        else:
            poke32(place, bits)


@native
def _combined(a: int, b: int, operation: int, is_signed: int) -> int:
    if operation == 0:
        return a + b
    if operation > 2:
        if operation == 3:
            return a & b
        return a | b if operation == 4 else a ^ b
    left, right = a, b
    if is_signed:
        left, right = (a ^ 1 << 31) - (1 << 31), (b ^ 1 << 31) - (1 << 31)
    takes_left = left < right if operation == 1 else left > right
    return a if takes_left else b


@native
def _combine(host: int, warp: int, lane: int, operation: int, is_signed: int) -> None:
    """A reduction of 32 bits."""
    given = word(warp, at.UNIT_VALUES, lane)
    poke32(host, _combined(peek32(host), given, operation, is_signed))


@native
def _combine_wide(host: int, warp: int, lane: int, operation: int, is_signed: int) -> None:
    """A reduction of 64 bits: a sum, a minimum or a maximum."""
    low, high = peek32(host), peek32(host + 4)
    given_low, given_high = (word(warp, at.UNIT_VALUES, lane), word(warp, at.UNIT_VALUES + 1, lane))
    if operation == 0:
        total = low + given_low
        poke32(host, total)
        poke32(host + 4, high + given_high + (total >> 32))
        return
    left, right = high, given_high
    if is_signed:
        left, right = (left ^ 1 << 31) - (1 << 31), (right ^ 1 << 31) - (1 << 31)
    is_less = given_low < low if left == right else right < left
    is_more = given_low > low if left == right else right > left
    if (operation == 1 and is_less) or (operation == 2 and is_more):
        poke32(host, given_low)
        poke32(host + 4, given_high)


@native
def _change(made: Any, warp: int, lane: int, host: int, form: int) -> None:
    """Writes or combines what stands at a place."""
    is_texel, size = form >> at.UNIT_TEXELS & 1, 1 << (form >> at.UNIT_WIDTH & 7)
    if (form & 15) == at.UNIT_WRITE:
        if is_texel:
            _write_texel(made, warp, lane, host, form >> at.UNIT_COMPONENTS & 7)
        else:
            _write(warp, lane, host, size)
        return
    operation = form >> at.UNIT_OPERATION & 7
    is_signed = made.kind == SIGNED if is_texel else form >> at.UNIT_SIGNED & 1
    if size == 8:
        _combine_wide(host, warp, lane, operation, is_signed)
    else:
        _combine(host, warp, lane, operation, is_signed)


@native
def access(slots: Any, env: int, warp: int, lane: int, form: int, inst: int, made: Any,
           handle: int, marks: Any, counts: Any, part: int) -> int:  # fmt: skip
    """Serves a lane's access, or notes its place or serves it only; 1 after a fault."""
    reason = _problem(made, form)
    if reason >= 0:
        return refuse(slots, at.FAULT_TEXTURE, inst, lane, handle, reason)
    action, width, is_texel = form & 15, width_of(made, form), form >> at.UNIT_TEXELS & 1
    level = carray(made.levels, (LEVEL,), np.int64)
    if not is_texel and word(warp, 1, lane) & (width - 1):
        return refuse(slots, at.FAULT_TEXTURE, inst, lane, handle, ODD_PLACE)
    offset = _offset(made, level, form, warp, lane)
    host = 0
    if offset >= 0:
        if part != SERVE:
            note(marks, counts, lane, made, level, 0, 1, offset + 1, 1)
            marks[lane * ROOM + 1] = offset
        if action != at.UNIT_WRITE:  # a reduction asks for both: blocks then run in order
            host = host_of(slots, env, inst, lane, level[0] + offset, at.ACCESS_READ, width)
            if host == 0:
                return 1
        if action != at.UNIT_READ:
            host = host_of(slots, env, inst, lane, level[0] + offset, at.ACCESS_WRITE, width)
            if host == 0:
                return 1
    elif (form >> at.UNIT_BOUNDARY & 3) == at.BOUNDARY_TRAP:
        return refuse(slots, at.FAULT_SURFACE, inst, lane, handle, word(warp, 1, lane))
    if part == NOTE:
        return 0
    if action == at.UNIT_READ:
        _read(warp, lane, host, width)
    elif host:
        _change(made, warp, lane, host, form)
    return 0


@native
def serve_surface(slots: Any, env: int, warp: int, mask: int, form: int, inst: int, marks: Any,
                  counts: Any) -> int:  # fmt: skip
    """Serves a warp's access to surfaces; the last one's number, or -1 after a fault.

    An observer is asked before anything is read or written.
    """
    is_checked, size, last = form >> at.UNIT_CHECKED & 1, 1, 0
    for part in range(NOTE if is_checked else BOTH, SERVE + 1 if is_checked else BOTH + 1):
        for lane in range(32):
            if not mask >> lane & 1:
                continue
            handle = word(warp, at.UNIT_HANDLE, lane)
            last = handle if handle < slots[at.ENV_N_TEXTURES] else 0
            made = record_at(slots[at.ENV_TEXTURES] + last * _ROW, OBJECT)
            if access(slots, env, warp, lane, form, inst, made, handle, marks, counts, part):
                return -1
            size = width_of(made, form)
        if part == NOTE:
            tell(slots, env, warp, inst, form & 15, size, marks, counts)
    if form >> at.UNIT_SHOWN & 1:
        made = record_at(slots[at.ENV_TEXTURES] + last * _ROW, OBJECT)
        show_surface(slots, env, warp, inst, made, form, size, marks, counts)
    return int(last)
