"""Where a coordinate lies: texels by index, and the fraction between two of them."""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.textures.objects import BORDER, MIRROR, WRAP
from warplens.execute.textures.words import float_of, floor_of

_FAR = float(1 << 40)
_STEPS = float(1 << 21)  # of a normalised coordinate
_OUTSIDE = -1


@native
def texel(index: int, size: int, mode: int) -> int:
    """The texel that an index means, or -1 for the border."""
    if mode == WRAP:
        return index % size
    if mode == MIRROR:
        turn = index % (2 * size)
        return turn if turn < size else 2 * size - 1 - turn
    if mode == BORDER:
        return index if 0 <= index < size else _OUTSIDE
    return min(max(index, 0), size - 1)


@native
def cut(place: float) -> float:
    """A normalised coordinate in the steps that the unit computes with."""
    return float(floor_of(place * _STEPS)) / _STEPS


@native
def scaled(bits: int, size: int, is_normalised: int) -> float:
    """A coordinate in texels."""
    x = float(float_of(bits))
    if x != x:
        return 0.0
    x = min(max(x, -_FAR), _FAR)
    if is_normalised:
        return float(cut(x)) * size
    return x


@native
def nearest(bits: int, size: int, is_normalised: int) -> int:
    """The texel that a coordinate lies in."""
    return int(floor_of(scaled(bits, size, is_normalised)))


@native
def between(bits: int, size: int, is_normalised: int, is_held: int) -> int:
    """Where a coordinate lies between the middles of texels, in 1/256, or held within them."""
    place = int(floor_of(scaled(bits, size, is_normalised) * 256.0 + 0.5)) - 128
    return min(max(place, 0), (size - 1) * 256) if is_held else place
