"""Matrices in shared memory as their descriptors tell: where 16 bytes of them lie.

Bits 13:0 are the address, 29:16 the leading and 45:32 the stride byte offset, all in 16 bytes;
47:46 hold 1; 51:49 the base offset; 63:61 the layout (0: none, 1: 128 bytes in pieces of 32, 2, 4
and 6: 128, 64 and 32 bytes).
"""

from __future__ import annotations

from warplens.compiled import native

_NONE, _OF_32 = 0, 1


@native
def layout_of(descriptor: int) -> int:
    """The swizzle."""
    return descriptor >> 61 & 7


@native
def problem(descriptor: int, is_along: int) -> int:
    """Whether a descriptor is not understood; `is_along`: rows or columns lie along memory."""
    layout = layout_of(descriptor)
    if layout in (3, 5, 7) or (layout == _OF_32 and not is_along):
        return 1
    return int((descriptor >> 46 & 3) != 1 or (descriptor >> 52 & 1) != 0)


@native
def field(descriptor: int, shift: int) -> int:
    """An address or offset in bytes."""
    return (descriptor >> shift & 0x3FFF) << 4


@native
def swizzled(descriptor: int, address: int) -> int:
    """Where 16 bytes are after the swizzle."""
    layout, turn = layout_of(descriptor), descriptor >> 49 & 7
    address = address & 0x3FFFF
    row = (address >> 7) - turn
    if layout == _NONE:
        return address
    if layout == _OF_32:
        return address ^ (row & 3) << 5
    return address ^ (row & ((16 >> layout // 2) - 1)) << 4


@native
def row_width(layout: int) -> int:
    """Bytes of a row in shared memory."""
    return 16 if layout == _NONE else 128 if layout == _OF_32 else 256 >> layout // 2


@native
def row_place(descriptor: int, outer: int) -> int:
    """Where a row or column begins that lies along k, before the swizzle."""
    start, stride = field(descriptor, 0), field(descriptor, 32)
    return start + (outer >> 3) * stride + (outer & 7) * row_width(layout_of(descriptor))


@native
def along_row(descriptor: int) -> int:
    """How far apart 16 bytes of such a row are, before the swizzle."""
    return field(descriptor, 16) if layout_of(descriptor) == _NONE else 16


@native
def piece(descriptor: int, outer: int, inner: int, is_along: int) -> int:
    """The place of 16 bytes.

    Along k: `outer` is the row or column, `inner` counts 16 bytes of k. Along rows or columns:
    `outer` counts 16 bytes of them, `inner` is k.
    """
    if not is_along:
        place = row_place(descriptor, outer)
        return swizzled(descriptor, place + inner * along_row(descriptor))
    layout = layout_of(descriptor)
    start, leading, stride = field(descriptor, 0), field(descriptor, 16), field(descriptor, 32)
    if layout == _NONE:
        place = start + outer * stride + (inner & 7) * 16 + (inner >> 3) * leading
        return swizzled(descriptor, place)
    units, rows = row_width(layout) // 16, 4 if layout == _OF_32 else 8
    place = start + outer % units * 16 + outer // units * leading
    return swizzled(descriptor, place + inner % rows * row_width(layout) + inner // rows * stride)
