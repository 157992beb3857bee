"""The texture unit: serves texture and surface instructions of generated code, lane by lane.

Operands stand in the warp's scratch area (`lift/layout.py`, UNIT_...), results go there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warplens.compiled import carray, cfunc, native, record_at, types
from warplens.execute.textures import cubes
from warplens.execute.textures.filters import filtered, weigh
from warplens.execute.textures.gradients import UNKNOWN, asked
from warplens.execute.textures.lanes import (
    NO_CUBE,
    NO_FILTER,
    NO_GRADIENT,
    NO_LAYERS,
    NO_LEVELS,
    NO_OBJECT,
    OTHER_SHAPE,
    OTHER_USE,
    give,
    refuse,
    word,
)
from warplens.execute.textures.memory import host_of
from warplens.execute.textures.objects import (
    CLAMP,
    FLOAT,
    LEVEL,
    LINEAR,
    OBJECT,
    SURFACE,
    TEXTURE,
)
from warplens.execute.textures.observed import is_inside, show, tell
from warplens.execute.textures.places import between, nearest, texel
from warplens.execute.textures.requests import OUTSIDE, ROOM, TEXELS, count, note
from warplens.execute.textures.surfaces import serve_surface
from warplens.execute.textures.texels import shown
from warplens.execute.textures.words import float_of
from warplens.lift import layout as at

_FAR = 65536.0  # levels of detail
_ROW = OBJECT.itemsize


@native
def base_of(slots: Any, env: int, inst: int, lane: int, level: Any) -> int:
    """The host address of a level; 0 after a fault, anything where it has no memory at all."""
    if level[6] <= 0:
        return 1
    return int(host_of(slots, env, inst, lane, level[0], at.ACCESS_READ, 1))


@native
def image_place(level: Any, base: int, x: int, y: int, z: int, size: int) -> int:
    """The host address of a texel, 0 for the border; outside of the allocation -1 less the bytes
    from the image's start."""
    if x < 0 or y < 0 or z < 0:
        return 0
    offset = z * level[5] + y * level[4] + x * size
    if offset + size > level[6]:
        return int(-1 - offset)
    return int(base + offset)


@native
def layer_of(made: Any, form: int, warp: int, lane: int) -> int:
    """The slice that a sample names; layers beyond the last one are the last one."""
    if not form >> at.UNIT_LAYERED & 1:
        return 0
    named = word(warp, at.UNIT_PLACES, lane)
    return int(min(named, made.layers - 1))


@native
def rank_of(made: Any, form: int) -> int:
    """Coordinates of a sample: an image of one row may be sampled as one of two dimensions."""
    return int(made.rank if form >> at.UNIT_CUBE & 1 else form >> at.UNIT_RANK & 3)


@native
def cube_layer(made: Any, form: int, warp: int, lane: int) -> int:
    """The first face of the cube that a sample names; cubes beyond the last one are the last."""
    if not form >> at.UNIT_LAYERED & 1:
        return 0
    return int(6 * min(word(warp, at.UNIT_PLACES, lane), made.layers // 6 - 1))


@native
def cube_point(made: Any, level: Any, base: int, form: int, warp: int, lane: int) -> int:
    """The address of the texel that a direction points to."""
    size, texel_bytes = level[1], made.bytes * made.channels
    x = cubes.held(cubes.position(warp, lane, size, 0), size)
    y = cubes.held(cubes.position(warp, lane, size, 1), size)
    z = cube_layer(made, form, warp, lane) + cubes.face(warp, lane)
    return image_place(level, base, x, y, z, texel_bytes)


@native
def cube_corners(made: Any, level: Any, base: int, form: int, warp: int, lane: int, places: Any,
                 weights: Any, first: int, whole: int) -> int:  # fmt: skip
    """Addresses and weights of a cube's linear filter, as of `corners`."""
    size, texel_bytes = level[1], made.bytes * made.channels
    fx = cubes.between(cubes.position(warp, lane, size, 0))
    fy = cubes.between(cubes.position(warp, lane, size, 1))
    if not made.is_seamless:
        fx, fy = min(max(fx, 0), (size - 1) * 256), min(max(fy, 0), (size - 1) * 256)
    weigh(weights, first, 2, whole, fx & 255, fy & 255, 0)
    layer, face = cube_layer(made, form, warp, lane), cubes.face(warp, lane)
    for k in range(4):
        x, y = (fx >> 8) + (k & 1), (fy >> 8) + (k >> 1)
        if not made.is_seamless:
            x, y = min(x, size - 1), min(y, size - 1)
        number = cubes.neighbour(face, x, y, size)
        if number < 0:
            cubes.share(weights, first, k)
            places[first + k] = 0
            continue
        row = number // size
        places[first + k] = image_place(level, base, number % size, row % size,
                                        layer + row // size, texel_bytes)  # fmt: skip
    return 4


@native
def point(made: Any, level: Any, base: int, form: int, warp: int, lane: int) -> int:
    """The address of the texel that coordinates lie in."""
    if made.is_cube:
        return int(cube_point(made, level, base, form, warp, lane))
    norm, rank = made.is_normalised, rank_of(made, form)
    x = texel(nearest(word(warp, 1, lane), level[1], norm), level[1], made.mode_x)
    y, z = 0, layer_of(made, form, warp, lane)
    if rank > 1:
        y = texel(nearest(word(warp, 2, lane), level[2], norm), level[2], made.mode_y)
    if rank > 2:
        z = texel(nearest(word(warp, 3, lane), level[3], norm), level[3], made.mode_z)
    return image_place(level, base, x, y, z, made.bytes * made.channels)


@native
def corners(made: Any, level: Any, base: int, form: int, warp: int, lane: int, places: Any,
            weights: Any, first: int, whole: int) -> int:  # fmt: skip
    """Addresses and weights of the texels of a linear filter; how many there are.

    They stand from `first` on, and the weights sum to `whole`.
    """
    if made.is_cube:
        return int(cube_corners(made, level, base, form, warp, lane, places, weights, first, whole))
    size, norm, rank = made.bytes * made.channels, made.is_normalised, rank_of(made, form)
    held = (form & 15) != at.UNIT_GATHER
    fx, fy, fz = between(word(warp, 1, lane), level[1], norm, held and made.mode_x == CLAMP), 0, 0
    if rank > 1:
        fy = between(word(warp, 2, lane), level[2], norm, held and made.mode_y == CLAMP)
    if rank > 2:
        fz = between(word(warp, 3, lane), level[3], norm, held and made.mode_z == CLAMP)
    layer = layer_of(made, form, warp, lane)
    weigh(weights, first, rank, whole, fx & 255, fy & 255, fz & 255)
    for k in range(1 << rank):
        x = texel((fx >> 8) + (k & 1), level[1], made.mode_x)
        y, z = 0, layer
        if rank > 1:
            y = texel((fy >> 8) + (k >> 1 & 1), level[2], made.mode_y)
        if rank > 2:
            z = texel((fz >> 8) + (k >> 2), level[3], made.mode_z)
        places[first + k] = image_place(level, base, x, y, z, size)
    return int(1 << rank)


@native
def sample(made: Any, level: Any, base: int, form: int, warp: int, lane: int, number: int,
           marks: Any, counts: Any) -> None:  # fmt: skip
    """One sample of one level."""
    if made.filter != LINEAR:
        address = point(made, level, base, form, warp, lane)
        note(marks, counts, lane, made, level, number, base, address, 1)
        for c in range(4):
            give(warp, c, lane, shown(made, address, c))
        return
    places, weights = np.empty(8, np.int64), np.empty(8, np.int64)
    size = corners(made, level, base, form, warp, lane, places, weights, 0, 256)
    for k in range(size):
        note(marks, counts, lane, made, level, number, base, places[k], weights[k])
    for c in range(4):
        give(warp, c, lane, filtered(made, places, weights, size, c))


@native
def level_at(made: Any, number: int) -> Any:
    """One of a texture's levels."""
    return carray(made.levels + 8 * LEVEL * number, (LEVEL,), np.int64)


@native
def detail(made: Any, form: int, warp: int, lane: int) -> int:
    """The level of detail in 1/256, within the texture's limits.

    What is given and the bias are cut towards zero, as recorded; without one it is the least.
    """
    last = (made.n_levels - 1) << 8
    low = min(max(int(min(made.low, _FAR) * 256.0), 0), last)
    high = min(max(int(min(made.high, _FAR) * 256.0), 0), last)
    if (form & 15) == at.UNIT_GRADIENT:
        found = asked(made, level_at(made, 0), warp, lane)
        if found == UNKNOWN:
            return int(found)
        return int(max(min(found + int(made.bias * 256.0), high), low))
    if not form >> at.UNIT_LEVEL & 1:
        return int(low)
    given = float(float_of(word(warp, at.UNIT_VALUES, lane)))
    if given != given:
        given = 0.0
    given = min(max(given, -_FAR), _FAR)
    return int(max(min(int(given * 256.0) + int(made.bias * 256.0), high), low))


@native
def sample_between(made: Any, slots: Any, env: int, inst: int, form: int, warp: int, lane: int,
                   number: int, fraction: int, marks: Any, counts: Any) -> int:  # fmt: skip
    """A sample of two levels: of each a plane, with the fraction's weight; 1 after a fault."""
    places, weights = np.zeros(16, np.int64), np.zeros(16, np.int64)
    room = 8 if rank_of(made, form) > 2 else 4
    for k in range(2):
        level = level_at(made, number + k)
        base = base_of(slots, env, inst, lane, level)
        if base == 0:
            return 1
        whole_weight = fraction if k else 256 - fraction
        if made.filter == LINEAR:
            corners(made, level, base, form, warp, lane, places, weights, room * k, whole_weight)
        else:
            places[room * k] = point(made, level, base, form, warp, lane)
            weights[room * k] = whole_weight
        for i in range(room * k, room * (k + 1)):
            note(marks, counts, lane, made, level, number + k, base, places[i], weights[i])
    for c in range(4):
        give(warp, c, lane, filtered(made, places, weights, 2 * room, c))
    return 0


@native
def sample_levels(made: Any, slots: Any, env: int, inst: int, form: int, warp: int, lane: int,
                  marks: Any, counts: Any) -> int:  # fmt: skip
    """A sample of a texture with several levels; 1 after a fault."""
    wanted = detail(made, form, warp, lane)
    if wanted == UNKNOWN:
        return refuse(slots, at.FAULT_TEXTURE, inst, lane, word(warp, at.UNIT_HANDLE, lane),
                      NO_GRADIENT)  # fmt: skip
    if made.mip_filter == LINEAR and wanted & 255:
        return int(sample_between(made, slots, env, inst, form, warp, lane, wanted >> 8,
                                  wanted & 255, marks, counts))  # fmt: skip
    number = (wanted + 128) >> 8
    level = level_at(made, number)
    base = base_of(slots, env, inst, lane, level)
    if base == 0:
        return 1
    sample(made, level, base, form, warp, lane, number, marks, counts)
    return 0


@native
def gather(made: Any, level: Any, base: int, form: int, warp: int, lane: int, marks: Any,
           counts: Any) -> None:  # fmt: skip
    """One component of four texels, counter-clockwise from the lower left."""
    places, weights = np.empty(8, np.int64), np.empty(8, np.int64)
    for k in range(corners(made, level, base, form, warp, lane, places, weights, 0, 256)):
        note(marks, counts, lane, made, level, 0, base, places[k], 1)
    c = form >> at.UNIT_COMPONENT & 3
    give(warp, 0, lane, shown(made, places[2], c))
    give(warp, 1, lane, shown(made, places[3], c))
    give(warp, 2, lane, shown(made, places[1], c))
    give(warp, 3, lane, shown(made, places[0], c))


@native
def whole(warp: int, slot: int, lane: int) -> int:
    """A signed operand."""
    bits = word(warp, slot, lane)
    return bits - (1 << 32) if bits >> 31 else bits


@native
def fetch(made: Any, level: Any, base: int, form: int, warp: int, lane: int, marks: Any,
          counts: Any) -> None:  # fmt: skip
    """The texel at integer coordinates; beside the image there are zeroes."""
    x, y, z = whole(warp, 1, lane), 0, layer_of(made, form, warp, lane)
    inside = 0 <= x < level[1]
    if made.rank > 1:
        y = whole(warp, 2, lane)
        inside = inside and 0 <= y < level[2]
    if made.rank > 2:
        z = whole(warp, 3, lane)
        inside = inside and 0 <= z < level[3]
    if inside:
        address = image_place(level, base, x, y, z, made.bytes * made.channels)
        note(marks, counts, lane, made, level, 0, base, address, 1)
        for c in range(4):
            give(warp, c, lane, shown(made, address, c))
        return
    for c in range(4):
        give(warp, c, lane, 0)


@native
def query(made: Any, level: Any, warp: int, lane: int) -> None:
    """Width, height, depth of a volume, levels."""
    give(warp, 0, lane, level[1])
    give(warp, 1, lane, level[2])
    give(warp, 2, lane, level[3] if made.rank == 3 else 0)
    give(warp, 3, lane, made.n_levels)


@native
def shape_fits(made: Any, form: int) -> int:
    """Whether an instruction names the object's own dimensions; one row also counts as 1-D."""
    rank, is_cube = form >> at.UNIT_RANK & 3, form >> at.UNIT_CUBE & 1
    is_fetch = (form & 15) == at.UNIT_TLD
    if (form >> at.UNIT_LAYERED & 1) != made.is_layered or is_cube != made.is_cube:
        return 0
    if made.is_memory:
        return int(is_fetch and rank == 1)
    if is_cube:
        return 1
    is_row = made.rank == 1 and rank == 2 and not is_fetch
    return int(rank == made.rank or is_row)


@native
def problem(made: Any, form: int) -> int:
    """Why a texture instruction cannot be served, or -1."""
    action = form & 15
    if made.use != TEXTURE:
        return NO_OBJECT if made.use != SURFACE else OTHER_USE
    if action != at.UNIT_QUERY and not shape_fits(made, form):
        return OTHER_SHAPE
    if made.filter == LINEAR and made.kind != FLOAT and not made.promotes:
        return NO_FILTER
    if action == at.UNIT_QUERY and made.is_layered:
        return NO_LAYERS
    if made.n_levels > 1 and action != at.UNIT_TEX:
        flat = made.rank < 3 and not made.is_layered
        if action != at.UNIT_GRADIENT or not flat:
            return NO_LEVELS
    return NO_CUBE if made.is_cube and action != at.UNIT_TEX else -1


@native
def texture(slots: Any, env: int, warp: int, mask: int, form: int, inst: int, marks: Any,
            counts: Any) -> int:  # fmt: skip
    """Serves a warp's texture instruction; the last texture's number, or -1 after a fault."""
    action, last, base, size = form & 15, -1, 0, 1
    for lane in range(32):
        if not mask >> lane & 1:
            continue
        handle = word(warp, at.UNIT_HANDLE, lane)
        known = handle if handle < slots[at.ENV_N_TEXTURES] else 0
        made = record_at(slots[at.ENV_TEXTURES] + known * _ROW, OBJECT)
        if handle != last:
            reason = problem(made, form)
            if reason >= 0:
                refuse(slots, at.FAULT_TEXTURE, inst, lane, handle, reason)
                return -1
            first = carray(made.levels, (LEVEL,), np.int64)
            base = base_of(slots, env, inst, lane, first)
            if base == 0:
                return -1
            last, size = handle, made.bytes * made.channels
        level = carray(made.levels, (LEVEL,), np.int64)
        if action == at.UNIT_QUERY:
            query(made, level, warp, lane)
        elif action == at.UNIT_TLD:
            fetch(made, level, base, form, warp, lane, marks, counts)
        elif action == at.UNIT_GATHER:
            gather(made, level, base, form, warp, lane, marks, counts)
        elif made.n_levels > 1:
            if sample_levels(made, slots, env, inst, form, warp, lane, marks, counts):
                return -1
        else:
            sample(made, level, base, form, warp, lane, 0, marks, counts)
        is_checked = form >> at.UNIT_CHECKED & 1
        if not is_checked and not is_inside(slots, env, inst, lane, size, marks, counts):
            return -1
    if form >> at.UNIT_CHECKED & 1:
        tell(slots, env, warp, inst, action, size, marks, counts)
    if form >> at.UNIT_SHOWN & 1 and action != at.UNIT_QUERY:
        made = record_at(slots[at.ENV_TEXTURES] + last * _ROW, OBJECT)
        show(slots, env, warp, inst, made, marks, counts)
    return int(last)


@cfunc(types.int32(types.pointer, types.int64, types.int32, types.int64, types.int32))
def serve(env: int, warp: int, mask: int, form: int, inst: int) -> int:
    """What generated code calls: 0, or 1 after a fault."""
    slots = carray(env, (at.ENV_SLOTS,), np.int64)
    marks, counts = np.empty(2 * TEXELS * ROOM, np.int64), np.zeros(OUTSIDE + 1, np.int64)
    if mask == 0:
        return 0
    if form & 15 >= at.UNIT_READ:
        last = serve_surface(slots, env, warp, mask, form, inst, marks, counts)
    else:
        last = texture(slots, env, warp, mask, form, inst, marks, counts)
    if last < 0:
        return 1
    if form & 15 != at.UNIT_QUERY:
        made = record_at(slots[at.ENV_TEXTURES] + last * _ROW, OBJECT)
        counters = slots[at.ENV_COUNTERS] + 8 * (form >> at.UNIT_COUNTERS)
        count(counters, made, form, mask, marks, counts)
    return 0
