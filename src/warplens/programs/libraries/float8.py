"""8-bit floats: what their bits stand for, and the bits of a value."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

E4M3, E5M2 = "e4m3", "e5m2"
_FRACTION = {E4M3: 3, E5M2: 2}


@lru_cache(maxsize=2)
def _values(kind: str) -> npt.NDArray[np.float32]:
    """What each of the 256 patterns stands for."""
    bits = np.arange(256)
    n_fraction = _FRACTION[kind]
    bias = (1 << (6 - n_fraction)) - 1
    exponent, fraction = (bits & 0x7F) >> n_fraction, bits & ((1 << n_fraction) - 1)
    significand = np.where(exponent > 0, fraction + (1 << n_fraction), fraction)
    found = significand * 2.0 ** (np.maximum(exponent, 1) - bias - n_fraction)
    if kind == E4M3:
        found[(bits & 0x7F) == 0x7F] = np.nan
    else:
        found[(bits & 0x7F) == 0x7C] = np.inf
        found[(bits & 0x7F) > 0x7C] = np.nan
    signed: npt.NDArray[np.float32] = np.where(bits & 0x80, -found, found).astype(np.float32)
    return signed


def decoded(bits: npt.NDArray[Any], kind: str) -> npt.NDArray[np.float32]:
    """The values of patterns."""
    found: npt.NDArray[np.float32] = _values(kind)[bits]
    return found


def encoded(values: npt.NDArray[Any], kind: str) -> npt.NDArray[np.uint8]:
    """The patterns of values: rounded to nearest, ties to even, the largest in place of more."""
    known = _values(kind)[:0x7F if kind == E4M3 else 0x7C].astype(np.float64)
    size = np.minimum(np.abs(np.asarray(values, np.float64)), known[-1])
    above = np.clip(np.searchsorted(known, size), 1, len(known) - 1)
    below = above - 1
    to_above, to_below = known[above] - size, size - known[below]
    is_up = (to_above < to_below) | ((to_above == to_below) & (above % 2 == 0))
    found = np.where(is_up, above, below) | np.where(np.signbit(values), 0x80, 0)
    return np.where(np.isnan(values), 0x7F, found).astype(np.uint8)
