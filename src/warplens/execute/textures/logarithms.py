"""The table of logarithms by which gradients choose a level: see `gradients.py`."""

from __future__ import annotations

import numpy as np

FRACTIONS = 256
# 256 log2 of the middle of each step, rounded up from 17/32 on; cut in the first and the last one
LOGARITHMS = np.floor(256 * np.log2(1 + (np.arange(FRACTIONS) + 0.5) / FRACTIONS) + 15 / 32).astype(
    np.int64
)
LOGARITHMS[[0, -1]] -= 1
