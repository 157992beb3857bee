"""Random operands with many edges; needs NumPy only, so that it runs on GPU machines too."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_INTERESTING = (0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256)


def edge_lanes(type: str, seed: int, width: int = 32) -> Array:
    """Random lanes with many edges: small numbers, powers of two, sign limits, their neighbours."""
    rng = np.random.default_rng(seed)
    if type == "p":
        return rng.random(width) < 0.5
    size = 32 if type == "u32" else 64
    pool = [*_INTERESTING, *(1 << n for n in range(size)), *((1 << n) - 1 for n in range(size))]
    pool += [~n for n in pool] + [-n for n in pool]
    edges = np.array([n & ((1 << size) - 1) for n in pool], np.uint64)
    random = rng.integers(0, 1 << 64, width, dtype=np.uint64, endpoint=False)
    random &= np.uint64((1 << size) - 1)
    chosen = np.where(rng.random(width) < 0.6, rng.choice(edges, width), random)
    return chosen.astype(np.uint32 if size == 32 else np.uint64)
