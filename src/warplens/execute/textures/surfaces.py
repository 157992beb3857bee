"""Reads, writes and reductions of surfaces by bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from warplens.compiled import carray, native
from warplens.execute.native import peek32, poke32
from warplens.execute.textures.lanes import (
    NO_OBJECT,
    ODD_PLACE,
    OTHER_SHAPE,
    OTHER_USE,
    refuse,
    word,
)
from warplens.execute.textures.memory import host_of
from warplens.execute.textures.objects import LEVEL, SURFACE, TEXTURE
from warplens.execute.textures.words import peek8, peek16, poke8, poke16
from warplens.lift import layout as at

_NOWHERE = -1


@native
def _number(warp: int, slot: int, lane: int) -> int:
    bits = word(warp, slot, lane)
    return bits - (1 << 32) if bits >> 31 else bits


@native
def _problem(made: Any, form: int) -> int:
    if made.use != SURFACE:
        return OTHER_USE if made.use == TEXTURE else NO_OBJECT
    same = made.rank == form >> at.UNIT_RANK & 3
    if (form >> at.UNIT_LAYERED & 1) != made.is_layered or not same:
        return OTHER_SHAPE
    return -1


@native
def _held(x: int, size: int, boundary: int) -> int:
    """An index within a size, or -1 for outside."""
    if 0 <= x < size:
        return x
    return min(max(x, 0), size - 1) if boundary == at.BOUNDARY_CLAMP else _NOWHERE


@native
def _offset(made: Any, level: Any, form: int, warp: int, lane: int) -> int:
    """Bytes from the image's start, or -1 for outside."""
    boundary = form >> at.UNIT_BOUNDARY & 3
    width = 1 << (form >> at.UNIT_WIDTH & 7)
    row = level[1] * made.bytes * made.channels
    x = _number(warp, 1, lane)
    x = _held(x // width, row // width, boundary) * width
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
def access(slots: Any, env: int, warp: int, lane: int, form: int, inst: int, made: Any,
           handle: int) -> int:  # fmt: skip
    """Serves a lane's access; 1 after a fault."""
    reason = _problem(made, form)
    if reason >= 0:
        return refuse(slots, at.FAULT_TEXTURE, inst, lane, handle, reason)
    action, width = form & 15, 1 << (form >> at.UNIT_WIDTH & 7)
    level = carray(made.levels, (LEVEL,), np.int64)
    if word(warp, 1, lane) & (width - 1):
        return refuse(slots, at.FAULT_TEXTURE, inst, lane, handle, ODD_PLACE)
    offset = _offset(made, level, form, warp, lane)
    host = 0
    if offset >= 0:
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
    if action == at.UNIT_READ:
        _read(warp, lane, host, width)
    elif host:
        if action == at.UNIT_WRITE:
            _write(warp, lane, host, width)
        else:
            given = word(warp, at.UNIT_VALUES, lane)
            operation = form >> at.UNIT_OPERATION & 7
            found = _combined(peek32(host), given, operation, form >> at.UNIT_SIGNED & 1)
            poke32(host, found)
    return 0
