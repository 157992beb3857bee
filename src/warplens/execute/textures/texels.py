"""What a texel says: the bits that a sample gives as it is, and the number that a filter takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from warplens.compiled import carray, native
from warplens.execute.native import peek32
from warplens.execute.textures.objects import FLOAT, SIGNED
from warplens.execute.textures.words import (
    bits_of,
    float_of,
    float_of_half,
    peek8,
    peek16,
)

_ONE = 0x3F800000


@native
def extended(bits: int, size: int) -> int:
    """A signed number of `size` bytes."""
    top = 1 << (8 * size - 1)
    return (bits ^ top) - top


@native
def channel_bits(made: Any, address: int, channel: int) -> int:
    """The bits of one channel of a texel, or at address 0 (and outside of memory) of the border."""
    if address <= 0:
        if channel == 0:
            return int(made.border_0)
        if channel == 1:
            return int(made.border_1)
        return int(made.border_2) if channel == 2 else int(made.border_3)
    place = address + channel * made.bytes
    if made.bytes == 1:
        return int(peek8(place))
    return int(peek16(place)) if made.bytes == 2 else int(peek32(place))


@native
def half_as_float(bits: int) -> int:
    """A half's value as a float's bits; NaN keep theirs."""
    if (bits & 0x7C00) == 0x7C00:
        return (bits & 0x8000) << 16 | 0x7F800000 | (bits & 0x3FF) << 13
    if (bits & 0x7FFF) == 0:
        return bits << 16
    return int(bits_of(float_of_half(bits)))


@native
def shown(made: Any, address: int, channel: int) -> int:
    """The 32 bits that a sample without a filter gives; channels that are missing are 0."""
    if channel >= made.channels:
        return 0
    bits = channel_bits(made, address, channel)
    if made.kind == FLOAT:
        return half_as_float(bits) if made.bytes == 2 else bits
    if not made.promotes:
        return extended(bits, made.bytes) & 0xFFFFFFFF if made.kind == SIGNED else bits
    if made.is_srgb and channel < 3 and made.bytes == 1:
        table = carray(made.srgb, (256,), np.int64)
        return int(bits_of(float(table[bits]) / 65536.0))
    if made.kind == SIGNED:
        largest = (1 << (8 * made.bytes - 1)) - 1
        return int(bits_of(float(max(extended(bits, made.bytes), -largest)) / largest))
    return int(bits_of(float(bits) / ((1 << (8 * made.bytes)) - 1)))


@native
def whole(made: Any, address: int, channel: int) -> int:
    """The 16-bit integer that a filter of normalised integers takes; a signed byte as it is."""
    bits = channel_bits(made, address, channel)
    if made.kind == SIGNED and made.bytes == 1:
        return int(extended(bits, 1))
    if made.kind == SIGNED:
        return max(extended(bits, 2), -32767)
    return bits * 257 if made.bytes == 1 else bits


@native
def real(made: Any, address: int, channel: int) -> float:
    """The number that a filter of floats takes; denormal floats are zeroes."""
    bits = channel_bits(made, address, channel)
    if made.is_srgb:
        table = carray(made.srgb, (256,), np.int64)
        return float(table[bits]) / 65536.0
    if made.bytes == 2:
        return float_of_half(bits)
    if (bits & 0x7F800000) == 0:
        bits = bits & 0x80000000
    return float(float_of(bits))
