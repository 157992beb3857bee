"""Which samples of mipmap levels by gradients are recorded, from a seed.

`python textures.py --pack CUBIN FOLDER gradient_cases` packs them. All texels of a level
are 2**level, so that a sample says what level of detail its gradients have asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from texture_cases import LINEAR, NORMALISED, WRAP, Array, Case, rng, specials

N = 4096
LEVELS = 5


def gradients(name: str, count: int) -> Array:
    """Of all lengths, a part of them along an axis, alike, turned by a right angle, or odd."""
    r = rng(name)
    found = 2.0 ** r.uniform(-8, 1, (count, N)) * r.choice([-1, 1], (count, N))
    kind = np.arange(N) % 8
    if count == 4:
        found[1:3, kind == 0] = 0
        found[:2, kind == 1] = 0
        found[2:, kind == 2] = found[:2, kind == 2]
        turned = kind == 3
        found[2, turned], found[3, turned] = -found[1, turned], found[0, turned]
        found[1, kind == 4] = found[2, kind == 4] = found[3, kind == 4] = 0
    odd = specials()
    found[:, : len(odd)] = odd
    return found


def cases() -> Iterator[Case]:
    """All of them."""
    for width, height in ((64, 32), (64, 64), (100, 60), (48, 17), (300, 5)):
        name = f"gradients/{width}x{height}"
        sizes = [(1, max(height >> k, 1), max(width >> k, 1), 1) for k in range(LEVELS)]
        levels = [np.full(size, 2.0**k, np.float32) for k, size in enumerate(sizes)]
        for bias in (0.0, 0.37):
            where = np.concatenate([rng(name + "/at").uniform(0, 1, (2, N)), gradients(name, 4)])
            yield Case(f"{name}/{bias}", "tex2_grad", levels, where.astype(np.float32),
                       filter=LINEAR, flags=NORMALISED, mode=(WRAP,) * 3, kind="mipmap",
                       mip_filter=LINEAR, bias=bias, levels=(0, LEVELS - 1),
                       channels=1)  # fmt: skip
        line = [level[:, :1] for level in levels]
        where = np.concatenate([rng(name + "/at").uniform(0, 1, (1, N)),
                                gradients(f"{name}/1", 2)])  # fmt: skip
        yield Case(f"{name}/line", "tex1_grad", line, where.astype(np.float32), rank=1,
                   filter=LINEAR, flags=NORMALISED, mode=(WRAP,) * 3, kind="mipmap",
                   mip_filter=LINEAR, levels=(0, LEVELS - 1), channels=1)  # fmt: skip
