"""Cube maps: the face that a direction points to, and what lies beyond a face's edges.

Found from samples recorded on an H200. Of equal components the third decides, then the second.
A seamless cube's filter takes the neighbouring faces' texels; where three faces meet the missing
fourth texel's weight goes to the others in thirds, and what is left over to the one opposite.
"""

from __future__ import annotations

from typing import Any

from warplens.compiled import native
from warplens.execute.textures.lanes import word
from warplens.execute.textures.places import cut
from warplens.execute.textures.words import float_of, floor_of

_CORNER = -2  # what lies beyond two edges
_LEAST = 2.0**-126


@native
def _size(component: float) -> float:
    """How long a component is; no number is shorter than any."""
    return abs(component) if component == component else -1.0


@native
def face_of(x: float, y: float, z: float) -> int:
    """The face of a direction: +x, -x, +y, -y, +z, -z."""
    if _size(z) >= _size(x) and _size(z) >= _size(y):
        return 5 if z < 0.0 else 4
    if _size(y) >= _size(x):
        return 3 if y < 0.0 else 2
    return 1 if x < 0.0 else 0


@native
def across(face: int, x: float, y: float, z: float) -> float:
    """The component along a face's rows, to the right."""
    if face < 2:
        return -z if face == 0 else z
    return -x if face == 5 else x


@native
def down(face: int, x: float, y: float, z: float) -> float:
    """The component along a face's columns, downwards."""
    if face == 2:
        return z
    return -z if face == 3 else -y


@native
def outwards(face: int, x: float, y: float, z: float) -> float:
    """The component that a face belongs to, without its sign."""
    if face < 2:
        return abs(x)
    return abs(y) if face < 4 else abs(z)


@native
def component(warp: int, slot: int, lane: int) -> float:
    """A coordinate of a direction; subnormal numbers count as 0."""
    found = float(float_of(word(warp, slot, lane)))
    return 0.0 if abs(found) < _LEAST else found


@native
def face(warp: int, lane: int) -> int:
    """The face that a sample's direction points to."""
    return int(face_of(component(warp, 1, lane), component(warp, 2, lane),
                       component(warp, 3, lane)))  # fmt: skip


@native
def position(warp: int, lane: int, size: int, is_down: int) -> float:
    """Where a direction meets its face, in texels from the left or from the top."""
    x, y = component(warp, 1, lane), component(warp, 2, lane)
    z = component(warp, 3, lane)
    at = face_of(x, y, z)
    long = outwards(at, x, y, z)
    if long == 0.0:
        return 0.5 * size
    short = down(at, x, y, z) if is_down else across(at, x, y, z)
    share = short / long
    if share != share:  # of infinities it is their signs, of what is no number 0
        share = (1.0 if short > 0.0 else -1.0) if short == short and long == long else 0.0
    return float((cut(share * 0.5) + 0.5) * size)  # the least below 0 is below the middle


@native
def held(place: float, size: int) -> int:
    """The texel of a face that a position lies in."""
    return int(min(max(floor_of(place), 0), size - 1))


@native
def between(place: float) -> int:
    """Where a position lies between the middles of texels, in 1/256."""
    return int(floor_of(place * 256.0 + 0.5)) - 128


@native
def _index(value: int, size: int) -> int:
    """A texel's number from its place in half texels from the middle of a face."""
    if value == size:
        return size - 1
    return 0 if value == -size else (value + size - 1) >> 1


@native
def neighbour(at: int, x: int, y: int, size: int) -> int:
    """The texel at a column and row of a face, maybe one beyond it: its number in the cube."""
    beyond = (x < 0 or x >= size) + (y < 0 or y >= size)
    if beyond == 0:
        return (at * size + y) * size + x
    if beyond == 2:
        return _CORNER
    right, below, out = 2 * x + 1 - size, 2 * y + 1 - size, size
    # the direction's components, in half texels
    a, b, c = right, -below, out
    if at < 2:
        a, c = (out, -right) if at == 0 else (-out, right)
    elif at < 4:
        b, c = (out, below) if at == 2 else (-out, -below)
    elif at == 5:
        a, c = -right, -out
    other = face_of(float(a), float(b), float(c))
    column = int(across(other, float(a), float(b), float(c)))
    row = int(down(other, float(a), float(b), float(c)))
    return (other * size + _index(row, size)) * size + _index(column, size)


@native
def share(weights: Any, first: int, missing: int) -> None:
    """Gives the weight of a texel that there is not to the other three."""
    weight = weights[first + missing]
    third = (2 * weight + 3) // 6  # to the nearest
    for k in range(4):
        if k != missing and k != 3 - missing:
            weights[first + k] = weights[first + k] + third
    weights[first + 3 - missing] = weights[first + 3 - missing] + weight - 2 * third
    weights[first + missing] = 0
