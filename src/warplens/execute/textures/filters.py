"""Linear filters as an H200 computes them: weights of 8 bits, texels in a common exponent."""

from __future__ import annotations

from typing import Any

from warplens.compiled import native
from warplens.execute.textures.objects import FLOAT, SIGNED
from warplens.execute.textures.texels import channel_bits, real, whole
from warplens.execute.textures.words import bits_of, bits_of_double, power_of_two

_NAN, _NAN_OF_HALVES, _INFINITY = 0x7FFFFFFF, 0x7FFFE000, 0x7F800000
_GUARD = 4  # bits below a texel's own that the common exponent keeps
_KEPT_OF_LIGHT = 8  # bits of what sRGB values stand for
_LEAST = -900


@native
def split(weight: int, fraction: int) -> int:
    """The second one's part of a weight, in 1/256, rounded half up."""
    return (weight * fraction + 128) >> 8


@native
def weigh(weights: Any, first: int, rank: int, whole: int, fx: int, fy: int, fz: int) -> None:
    """Weights of 2, 4 or 8 texels from `first` on, x first: they sum to `whole`."""
    if rank == 1:
        weights[first + 1] = split(whole, fx)
        weights[first] = whole - weights[first + 1]
        return
    for z in range(2 if rank == 3 else 1):
        at, part = first + 4 * z, whole
        if rank == 3:
            near = split(whole, 256 - fz)
            part = whole - near if z else near
        right = split(part, fx)
        left = part - right
        weights[at + 3] = split(right, fy)
        weights[at + 1] = right - split(right, fy)
        weights[at] = split(left, 256 - fy)
        weights[at + 2] = left - split(left, 256 - fy)


@native
def are_halves(made: Any) -> bool:
    """Whether a filter's numbers are halves; what sRGB values stand for is one, too."""
    return bool(made.bytes == 2 or made.is_srgb)


@native
def integers(made: Any, places: Any, weights: Any, count: int, channel: int) -> int:
    """Normalised integers: 16 bits, rounded half up, as a float's bits. Of signed bytes the sum has
    as many already, and is brought from 127 times 256 to 32767 as an H100 does it."""
    total = 0
    for k in range(count):
        total = total + weights[k] * whole(made, places[k], channel)
    if made.kind == SIGNED and made.bytes == 1:
        total = total + ((total + 64 + 16 * (total >> 12)) >> 7)
        return int(bits_of(float(min(max(total, -32767), 32767)) / 32767))
    largest = 32767 if made.kind == SIGNED else 65535
    return int(bits_of(float((total + 128) >> 8) / largest))


@native
def exponent_of(value: float) -> int:
    """n where 2**(n - 1) <= |value| < 2**n; far below all others for zero."""
    field = bits_of_double(value) >> 52 & 2047
    return int(field - 1022) if field else _LEAST


@native
def rounded(total: int, unit: int, digits: int, least: int) -> int:
    """total * 2**unit with so many digits, half away from zero, as a float's bits."""
    size, length = abs(total), 0
    while size >> length:
        length = length + 1
    drop = max(length - digits, least - unit)
    if drop > 62:
        return 0x80000000 if total < 0 else 0
    if drop > 0:
        size = (size + (1 << (drop - 1))) >> drop
        unit = unit + drop
    value = float(size) * power_of_two(unit)
    if digits == 11 and value >= 65536.0:
        return 0xFF800000 if total < 0 else _INFINITY
    return int(bits_of(-value if total < 0 else value))


@native
def quad(made: Any, places: Any, weights: Any, first: int, count: int, channel: int, top: int
         ) -> int:  # fmt: skip
    """The weighted sum of some texels, each cut to a multiple of 2**top."""
    total, scale = 0, power_of_two(-top)
    for k in range(first, first + count):
        if weights[k]:
            total = total + weights[k] * int(real(made, places[k], channel) * scale)
    return total


@native
def exponent_of_light(code: int, own: int) -> int:
    """The same of what an sRGB value stands for, if its own is `own`: a few values below a power of
    two have the next one's, as recorded (`validation/data/filters_sm90.npz`)."""
    if code < 32:
        return own
    if code < 64:
        return -5 if code < 48 else -4
    if code < 136:
        return -3 if code < 96 else -2
    if code < 248:
        return -1 if code < 184 else 0
    return 1


@native
def common(made: Any, places: Any, weights: Any, first: int, count: int, channel: int) -> int:
    """The largest exponent of texels that have a weight."""
    top = _LEAST
    for k in range(first, first + count):
        if weights[k]:
            other = exponent_of(real(made, places[k], channel))
            if made.is_srgb:
                other = exponent_of_light(channel_bits(made, places[k], channel), other)
            top = max(top, other)
    return top


@native
def special(made: Any, places: Any, weights: Any, count: int, channel: int) -> int:
    """What infinities, NaN and zeroes alone give, or -1 if there is something to sum."""
    high, low, negative, plain = 0, 0, 1, 0
    nan = _NAN_OF_HALVES if are_halves(made) else _NAN
    for k in range(count):
        if weights[k]:
            value = real(made, places[k], channel)
            if value != value:
                return nan
            if exponent_of(value) > 1000:
                high, low = high | (value > 0), low | (value < 0)
            if value != 0.0:
                plain = 1
            if bits_of_double(value) >= 0:
                negative = 0
    if high and low:
        return nan
    if high or low:
        return _INFINITY if high else 0xFF800000
    if plain:
        return -1
    return 0x80000000 if negative else 0


@native
def floats(made: Any, places: Any, weights: Any, count: int, channel: int) -> int:
    """Floats and halves: exact over a common exponent for each plane of four texels."""
    known = special(made, places, weights, count, channel)
    if known >= 0:
        return known
    digits, least = (11, -24) if are_halves(made) else (24, -149)
    kept = _KEPT_OF_LIGHT if made.is_srgb else digits + _GUARD
    top, total = _LEAST, 0
    for first in range(0, count, 4):
        near = min(count - first, 4)
        other = common(made, places, weights, first, near, channel)
        if other > _LEAST:
            more = quad(made, places, weights, first, near, channel, other - kept)
            total = planes(total, top, more, other)
            top = max(top, other)
    return rounded(total, top - kept - 8, digits, least)


@native
def planes(a: int, top_a: int, b: int, top_b: int) -> int:
    """The sum of two planes' sums over the larger exponent; the other one is cut below."""
    if top_a >= top_b:
        return a + (b >> min(top_a - top_b, 62))
    return (a >> min(top_b - top_a, 62)) + b


@native
def filtered(made: Any, places: Any, weights: Any, count: int, channel: int) -> int:
    """A channel of a linearly filtered sample, as a float's bits."""
    if channel >= made.channels:
        return 0
    if made.kind == FLOAT or (made.is_srgb and channel < 3):
        return floats(made, places, weights, count, channel)
    return integers(made, places, weights, count, channel)
