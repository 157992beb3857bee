"""What a texel says: the bits that a sample gives as it is, and the number that a filter takes."""

from __future__ import annotations

from typing import Any

from warplens.compiled import native
from warplens.execute.native import peek32
from warplens.execute.textures.numbers import (
    bits_of,
    float_of,
    float_of_half,
    peek8,
    peek16,
    power_of_two,
)
from warplens.execute.textures.objects import FLOAT, SIGNED

_ONE = 0x3F800000


@native
def raw(address: int, size: int) -> int:
    """The bits of one channel."""
    if size == 1:
        return int(peek8(address))
    if size == 2:
        return int(peek16(address))
    return int(peek32(address))


@native
def extended(bits: int, size: int) -> int:
    """A signed number of `size` bytes."""
    top = 1 << (8 * size - 1)
    return (bits ^ top) - top


@native
def promoted(bits: int, size: int, is_signed: int) -> float:
    """An integer as a fraction of the largest one."""
    if is_signed:
        largest = (1 << (8 * size - 1)) - 1
        return max(float(extended(bits, size)), -float(largest)) / largest
    return float(bits) / ((1 << (8 * size)) - 1)


@native
def linear_of_srgb(bits: int) -> float:
    """The light that an 8-bit sRGB value stands for."""
    return float(bits) / 255.0


@native
def value(made: Any, address: int, channel: int) -> float:
    """The number that a filter takes; an address of 0 is the border."""
    if address == 0:
        return border_value(made, channel)
    if channel >= made.channels:
        return 1.0 if channel == 3 else 0.0
    bits = raw(address + channel * made.bytes, made.bytes)
    if made.kind == FLOAT:
        return float_of_half(bits) if made.bytes == 2 else float(float_of(bits))
    if made.is_srgb and channel < 3:
        return linear_of_srgb(bits)
    return promoted(bits, made.bytes, made.kind == SIGNED)


@native
def border_bits(made: Any, channel: int) -> int:
    """The border's colour as its object has it."""
    if channel == 0:
        return int(made.border_0)
    if channel == 1:
        return int(made.border_1)
    return int(made.border_2) if channel == 2 else int(made.border_3)


@native
def border_value(made: Any, channel: int) -> float:
    """The border's colour for filters."""
    if channel >= made.channels:
        return 1.0 if channel == 3 else 0.0
    return float(float_of(border_bits(made, channel)))


@native
def shown(made: Any, address: int, channel: int) -> int:
    """The 32 bits that a sample without a filter gives."""
    is_integer = made.kind != FLOAT and not made.promotes
    if channel >= made.channels:
        if channel < 3:
            return 0
        return 1 if is_integer else _ONE
    if address == 0:
        return border_bits(made, channel)
    bits = raw(address + channel * made.bytes, made.bytes)
    if is_integer:
        if made.kind == SIGNED:
            return extended(bits, made.bytes) & 0xFFFFFFFF
        return bits
    if made.kind == FLOAT and made.bytes == 4:
        return bits
    return int(bits_of(value(made, address, channel)))


@native
def pair_weight(fraction: int, is_second: int) -> float:
    """The weight of one of two neighbours, from the 8 bits between them."""
    return float(fraction if is_second else 256 - fraction) * power_of_two(-8)
