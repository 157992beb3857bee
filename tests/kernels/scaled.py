"""References of scaled.cu in NumPy."""

from __future__ import annotations

import numpy as np

from tests.kernels.model import Problem, case


@case("scaled.cu", grid=4, block=64, options=())
def scaled_products(rng: np.random.Generator) -> Problem:
    # Far from overflow and denormals, where scaling before and after rounding are the same.
    a, b = rng.uniform(-3, 3, (2, 250)).astype(np.float32)
    product = a * b
    expected = np.stack([product * np.float32(s) for s in (0.5, 0.25, 0.125, 4, 8)])
    clamped = np.maximum(np.minimum(expected[0], np.float32(1)), np.float32(0))
    return (a, b, np.zeros((6, 250), np.float32), 250), {2: np.vstack([expected, clamped])}
