"""Matrices as tensor cores want them in shared memory, from the layouts of the PTX manual."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
# number in the descriptor -> bytes of a row, and of the pieces that a swizzle moves
LAYOUTS = {0: (16, 16), 6: (32, 16), 4: (64, 16), 2: (128, 16), 1: (128, 32)}


def descriptor(start: int, leading: int, stride: int, layout: int) -> int:
    """A matrix descriptor; 1 in bits 46 and 47 says sm_100."""
    return start >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | 1 << 46 | layout << 61


def _swizzled(place: Array, layout: int) -> Array:
    width, piece = LAYOUTS[layout]
    if layout == 0:
        return place
    base = 4 if piece == 16 else 5
    return place ^ ((place >> 7) % (width // piece)) << base


def along_k(rows: Array, layout: int, start: int) -> tuple[Array, int]:
    """Rows of 32 or 64 bytes; neighbours stand in groups of eight. Image and descriptor."""
    width, _ = LAYOUTS[layout]
    n, length = rows.shape
    row, byte = np.indices((n, length))
    leading, stride = (16 * n, 128) if layout == 0 else (16, 8 * width)
    inner = byte // 16 * leading + byte % 16 if layout == 0 else byte
    place = start + row // 8 * stride + row % 8 * width + inner
    size = length * n if layout == 0 else width * n
    return _filled(rows, place, start, size, layout), descriptor(start, leading, stride, layout)


def along_rows(columns: Array, layout: int, start: int) -> tuple[Array, int]:
    """Bytes by k, then row: neighbouring rows lie side by side. Image and descriptor."""
    width, _ = LAYOUTS[layout]
    depth, n = columns.shape
    k, byte = np.indices((depth, n))
    block, inside = byte // width, byte % width
    together = 4 if layout == 1 else 8
    if layout == 0:
        stride, leading = 128, 128 * (n // 16)
        place = block * stride + k // 8 * leading + k % 8 * 16 + inside
    else:
        stride = together * width
        leading = depth * width
        place = block * leading + k // together * stride + k % together * width + inside
    image = _filled(columns, start + place, start, depth * n, layout)
    return image, descriptor(start, leading, stride, layout)


def _filled(data: Array, place: Array, start: int, size: int, layout: int) -> Array:
    image = np.zeros(size, np.uint8)
    image[_swizzled(place, layout) - start] = data
    return image


def instruction(m: int, n: int, *, a: int, b: int, d: int = 0, a_along: int = 0, b_along: int = 0,
                negated: tuple[int, int] = (0, 0), saturates: int = 0) -> int:  # fmt: skip
    """An instruction descriptor without scales; d: 0 halves, 1 singles, 2 integers."""
    return (saturates << 3 | d << 4 | a << 7 | b << 10 | negated[0] << 13 | negated[1] << 14
            | a_along << 15 | b_along << 16 | n // 8 << 17 | m // 16 << 24)  # fmt: skip


def scaled_instruction(m: int, n: int, *, a: int, b: int, power: int, a_byte: int = 0,
                       b_byte: int = 0) -> int:  # fmt: skip
    """An instruction descriptor with scales; `power`: they are powers of two."""
    size = n // 8 << 17 | m // 16 << 24
    return b_byte << 4 | a << 7 | b << 10 | power << 23 | a_byte << 29 | size
