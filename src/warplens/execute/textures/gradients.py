"""The level of detail that gradients ask for, as recorded on an H200.

Recorded are gradients of images of 64 by 32 texels (`validation/data/textures_sm90.npz`), without a
bias, which is added here as to given levels. Where the horizontal one lies along rows and the
vertical one along columns, the longer one in texels decides: its logarithm is looked up by the
upper eight bits of its fraction. All 256 such samples are equal, 100 of them between the first
level and the last, at 84 places of the table; the rest of it follows from the same formula.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warplens.compiled import carray, native
from warplens.execute.textures.lanes import word
from warplens.execute.textures.logarithms import FRACTIONS
from warplens.execute.textures.words import bits_of_double, float_of
from warplens.lift import layout as at

_LEAST = -(1 << 20)
_MOST = 1e30
UNKNOWN = -(1 << 30)  # what was not recorded


@native
def logarithm(table: Any, length: float) -> int:
    """256 log2 of a length."""
    bits = bits_of_double(length)
    exponent = bits >> 52 & 2047
    if exponent == 0:
        return _LEAST
    return int((exponent - 1023) * 256 + table[bits >> 44 & 255])


@native
def is_power(size: int) -> int:
    """Whether a size is a power of two."""
    return int(size & (size - 1) == 0)


@native
def asked(made: Any, level: Any, warp: int, lane: int) -> int:
    """The level of detail in 1/256, or UNKNOWN."""
    if not is_power(level[1]) or not is_power(level[2]) or made.anisotropy > 1:
        return UNKNOWN
    first = at.UNIT_GRADIENTS  # of x to the right and downwards, of y likewise
    if (word(warp, first + 1, lane) | word(warp, first + 2, lane)) & 0x7FFFFFFF:
        return UNKNOWN
    right = abs(float(float_of(word(warp, first, lane)))) * level[1]
    below = abs(float(float_of(word(warp, first + 3, lane)))) * level[2]
    longer = max(right, below)
    if right != right or below != below or longer > _MOST:
        return UNKNOWN
    return int(logarithm(carray(made.logarithms, (FRACTIONS,), np.int64), longer))
