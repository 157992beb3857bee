"""Which samples of cube maps and of mipmap levels are recorded, from a seed.

Kernels of `kernels/textures.cu`; `textures.py` packs and runs them. What `texture_cases.py` leaves
open: other sizes, edges and corners, numbers that are no places, levels beyond a texture's own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from texture_cases import (
    CLAMP,
    CUBE,
    LAYERED,
    LINEAR,
    NORMALISED,
    POINT,
    SEAMLESS,
    WRAP,
    Array,
    Case,
    rng,
    specials,
    texels,
)

N = 1024


def directions(name: str, size: int) -> Array:
    """Into all faces, to their edges and corners, and numbers that are no directions."""
    r = rng(name + "/directions")
    found = r.uniform(-1, 1, (3, N))
    near = 1 + r.uniform(-1.2, 1.2, N) / size
    kind = np.arange(N) % 4
    found[1] = np.where(kind == 1, found[0] * near * r.choice([-1, 1], N), found[1])
    found[2] = np.where(kind == 2, found[1] * near * r.choice([-1, 1], N), found[2])
    corner = r.choice([-1, 1], (3, N)) * (1 + r.uniform(-1.5, 0.1, (3, N)) / size)
    found = np.where(kind == 3, corner, found) * 2.0 ** r.integers(-8, 9, N)
    odd = specials()
    found = found.astype(np.float32)
    for k in range(3):
        at = slice(k * len(odd), (k + 1) * len(odd))
        found[k, at] = odd
    pairs = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3e38, 1.0], np.float32)
    grid = np.array(list(itertools.product(pairs, repeat=3)), np.float32).T
    at = 3 * len(odd)
    found[:, at : at + 128] = grid[:, r.choice(grid.shape[1], 128, replace=False)]
    return found


def _cubes() -> Iterator[Case]:
    for size, dtype, filt, seam in itertools.product(
        (1, 2, 3, 64, 150), ("f4", "u1"), (POINT, LINEAR), (0, SEAMLESS)
    ):
        if (size == 150) != (dtype == "u1") and size > 2:
            continue
        name = f"cubes/{size}/{dtype}/{filt}/{seam}"
        data = texels(name, dtype, (6, size, size, 1))
        yield Case(name, "cube", [data], directions(name, size), rank=2, filter=filt,
                   flags=NORMALISED | seam, array_flags=CUBE, channels=1)  # fmt: skip
    for filt, seam in itertools.product((POINT, LINEAR), (0, SEAMLESS)):
        name = f"layers/{filt}/{seam}"
        data = texels(name, "f2", (12, 5, 5, 1))
        x = np.concatenate([directions(name, 5), rng(name).integers(-2, 5, (1, N))])
        yield Case(name, "cube_layered", [data], x.astype(np.float32), rank=2, filter=filt,
                   flags=NORMALISED | seam, array_flags=CUBE | LAYERED, channels=1)  # fmt: skip
    for filt, mip, seam in itertools.product((POINT, LINEAR), (POINT, LINEAR), (0, SEAMLESS)):
        name = f"cube_levels/{filt}/{mip}/{seam}"
        data = [texels(f"{name}/{k}", "f4", (6, 8 >> k, 8 >> k, 1)) for k in range(4)]
        lod = rng(name).uniform(-1, 4, (1, N))
        x = np.concatenate([directions(name, 8), lod]).astype(np.float32)
        yield Case(name, "cube_lod", data, x, rank=2, filter=filt, flags=NORMALISED | seam,
                   array_flags=CUBE, kind="mipmap", mip_filter=mip, levels=(0, 3),
                   channels=1)  # fmt: skip


def details(name: str) -> Array:
    """Levels of detail: ordinary ones, halves of steps, and numbers that are none."""
    r = rng(name + "/details")
    found = r.uniform(-2, 7, N)
    found[: N // 4] = r.integers(-512, 1800, N // 4) / 512
    found = found.astype(np.float32)
    found[: len(specials())] = specials()
    return found


def _levels() -> Iterator[Case]:
    for kernel, rank, dtype, limits in itertools.product(
        ("tex1_lod", "tex2_lod", "tex3_lod", "tex2_layered_lod"), (1, 2, 3), ("f4", "f2", "u1"),
        ((0, 9, 0), (1.7, 2.3, -0.37), (2.9, 1.1, 0.37), (7, 9, 0), (-3, -1, 16.5)),
    ):  # fmt: skip
        if int(kernel[3]) != rank:
            continue
        for filt, mip in itertools.product((POINT, LINEAR), (POINT, LINEAR)):
            low, high, bias = limits
            if limits != (0, 9, 0) and (dtype != "f4" or filt == POINT):
                continue
            name = f"detail/{kernel}/{dtype}/{filt}/{mip}/{low}/{high}"
            deep = {1: (1, 1, 20), 2: (1, 12, 20), 3: (8, 12, 20)}[rank]
            layers = 3 if "layered" in kernel else 0
            data = [texels(f"{name}/{k}", dtype, (layers or max(deep[0] >> k, 1),
                                                  max(deep[1] >> k, 1), deep[2] >> k, 1),
                           spread=6 if dtype != "u1" else 0) for k in range(4)]  # fmt: skip
            x = rng(name).uniform(-0.5, 1.5, (rank, N))
            more = [rng(name + "/layer").integers(-1, 4, (1, N))] if layers else []
            table = np.concatenate([x, *more, details(name)[None]]).astype(np.float32)
            yield Case(name, kernel, data, table, rank=rank, filter=filt, flags=NORMALISED,
                       mode=(WRAP, CLAMP, CLAMP), kind="mipmap", mip_filter=mip, bias=bias,
                       levels=(low, high), array_flags=LAYERED if layers else 0,
                       channels=1)  # fmt: skip


def cases() -> list[Case]:
    """All of them."""
    return [*_cubes(), *_levels()]
