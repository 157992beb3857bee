"""Which linear filters of signed bytes and of sRGB texels are recorded: `textures.py` packs them.

Every value beside 0 at every weight, pairs of random ones at a fifth of the weights, planes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from texture_cases import LINEAR, SRGB, Array, Case

_WEIGHTS = 256


def _rows(along: Array) -> Array:
    """Coordinates along each of 256 rows."""
    x = np.tile(along, 256).astype(np.float32)
    return np.stack([x, np.repeat(np.arange(256) + 0.5, len(along)).astype(np.float32)])


def cases() -> Iterator[Case]:
    """Three of each type."""
    for name, kind, channels, flags in (("i1", np.int8, 1, 0), ("srgb", np.uint8, 4, SRGB)):
        ramp = np.zeros((1, 256, 4, channels), np.uint8)
        ramp[0, :, 1] = np.arange(256, dtype=np.uint8)[:, None]
        lot = np.random.default_rng(5)
        random = lot.integers(0, 256, (1, 256, 8, channels)).astype(np.uint8)
        along = np.arange(0, 7 * _WEIGHTS)[::5] / _WEIGHTS + 0.5
        plane = np.stack([lot.uniform(0.5, 7.5, 40000), lot.uniform(0.5, 255.5, 40000)])
        for what, texels, where in (
            ("ramp", ramp, _rows(np.arange(2 * _WEIGHTS) / _WEIGHTS + 0.5)),
            ("random", random, _rows(along)), ("plane", random, plane.astype(np.float32)),
        ):  # fmt: skip
            yield Case(f"{what}/{name}", "tex2", [texels.view(kind)], where, filter=LINEAR,
                       flags=flags, channels=1)  # fmt: skip
