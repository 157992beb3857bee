"""Which accesses of one warp to textures and surfaces have their counters recorded.

A case is a kernel of `kernels/textures.cu`, launched with 32 threads: where its lanes sample is a
pattern, so that requests, sectors and passes can be followed from lane to lane.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from texture_cases import (
    AS_INTEGER,
    CUBE,
    GATHER,
    LAYERED,
    LINEAR,
    NORMALISED,
    POINT,
    SURFACE,
    Array,
    Case,
    rng,
)

LANES = np.arange(32)
FORMATS = (("u1", 1), ("u1", 4), ("f2", 4), ("f4", 1), ("f4", 2), ("f4", 4))
SIZE = 256
SURFACES = (
    ("read_2d_zero_b8", "u1", 1), ("read_2d_zero_b32", "u4", 1), ("read_2d_zero_b64", "u4", 2),
    ("read_2d_zero_b128", "u4", 4), ("write_2d_zero_b8", "u1", 1), ("write_2d_zero_b32", "u4", 1),
    ("write_2d_zero_b64", "u4", 2), ("write_2d_zero_b128", "u4", 4),
)  # fmt: skip


def patterns() -> Iterator[tuple[str, Array, Array, Array]]:
    """Names and x, y, z of the texels at which lanes look."""
    zero = np.zeros(32)
    for step in (0, 1, 2, 4, 7, 8):
        yield f"x{step}", step * LANES, zero, zero
    for step in (1, 2, 3, 4, 8):
        yield f"y{step}", zero, step * LANES, zero
    yield "z1", zero, zero, LANES % 8
    yield "tile8x4", LANES % 8, LANES // 8, zero
    yield "tile4x8", LANES % 4, LANES // 4, zero
    yield "tile16x2", LANES % 16, LANES // 16, zero
    yield "quads", LANES % 2 + LANES // 4 * 2, LANES // 2 % 2, zero
    yield "far", 8 * (LANES % 8) + 1, 16 * (LANES // 8), zero
    for seed in range(4):
        r = rng(f"counts/{seed}")
        yield f"lot{seed}", r.integers(0, SIZE - 1, 32), r.integers(0, SIZE - 1, 32), r.integers(
            0, 8, 32
        )
        near = r.integers(0, 16, (2, 32))
        yield f"near{seed}", near[0], near[1], r.integers(0, 2, 32)


FEW = ("x1", "x4", "y1", "z1", "tile8x4", "lot0", "near0", "near1")


def _further() -> Iterator[Case]:
    """Other dimensions, instructions and types; some lanes only."""
    few = [one for one in patterns() if one[0] in FEW]
    for dtype, channels in (("u1", 1), ("u1", 4), ("u2", 2), ("f2", 1), ("f2", 2), *FORMATS[2:]):
        what = f"{dtype}x{channels}"
        plane = np.zeros((1, SIZE, SIZE, channels), dtype)
        solid = np.zeros((8, SIZE // 4, SIZE // 4, channels), dtype)
        line = np.zeros((1, 1, 4096, channels), dtype)
        for name, x, y, z in few:
            near = [x % 64 + 0.75, y % 64 + 0.75]
            yield _case(f"more3d/{what}/{name}", "tex3", solid, [*near, z + 0.75], rank=3,
                        filter=LINEAR, flags=0)  # fmt: skip
            yield _case(f"more2d/{what}/{name}", "tex2", plane, [x + 0.75, y + 0.75], filter=LINEAR,
                        flags=0)  # fmt: skip
            yield _case(f"more1d/{what}/{name}", "tex1", line, [x + 3.75], rank=1, filter=LINEAR,
                        flags=0)  # fmt: skip
            yield _case(f"morelayers/{what}/{name}", "tex2_layered", solid, [*near, z],
                        filter=LINEAR, flags=0, array_flags=LAYERED)  # fmt: skip
            yield _case(f"moretexel2/{what}/{name}", "texel2d", plane, [x, y], flags=0)
            yield _case(f"moretexel3/{what}/{name}", "texel3d", solid, [x % 64, y % 64, z], rank=3,
                        flags=0)  # fmt: skip
            yield _case(f"moregather/{what}/{name}", "gather0", plane, [x + 0.75, y + 0.75],
                        flags=0, array_flags=GATHER)  # fmt: skip
            yield _case(f"morelevel/{what}/{name}", "tex2_lod", plane,
                        [x + 0.75, y + 0.75, 0 * x], flags=0)  # fmt: skip
            few_lanes = [one[:21] for one in (x + 0.5, y + 0.5)]
            yield _case(f"morelanes/{what}/{name}", "tex2", plane, few_lanes, flags=0)
    levels = [np.zeros((1, 64 >> k, 64 >> k, 1), np.float32) for k in range(3)]
    faces = np.zeros((6, 64, 64, 1), np.float32)
    for name, x, y, z in few:
        for level in (0.0, 1.0, 0.5):
            where = [(x % 64 + 0.75) / 64, (y % 64 + 0.75) / 64, 0 * x + level]
            for mip in (POINT, LINEAR):
                yield replace(
                    _case(f"moremip/{level}/{mip}/{name}", "tex2_lod", levels[0], where,
                          kind="mipmap", filter=LINEAR, flags=NORMALISED, mip_filter=mip,
                          levels=(0.0, 2.0)), texels=levels)  # fmt: skip
        u, v = ((one % 64 + 0.75) / 32 - 1 for one in (x, y))
        for filt in (POINT, LINEAR):
            for where, which in (([0 * u + 1, -v, -u], "face"),
                                 ([z % 2 * 2 - 1, -v, -u], "faces")):  # fmt: skip
                yield _case(f"morecube/{filt}/{which}/{name}", "cube", faces, where, filter=filt,
                            flags=NORMALISED, array_flags=CUBE)  # fmt: skip
    for name, x, y, z in few:
        solid = np.zeros((8, SIZE // 4, SIZE // 4, 1), np.uint32)
        where = [4 * (x % 64), y % 64, z]
        volume, layered = {"rank": 3}, {"array_flags": LAYERED | SURFACE}
        for kernel, more in (("read_3d_zero_b32", volume), ("write_3d_zero_b32", volume),
                             ("read_2dl_zero_b32", layered), ("write_2dl_zero_b32", layered)):
            yield _case(f"surface/{kernel}/{name}", kernel, solid, where, surface=True,
                        **({"array_flags": SURFACE} | more))  # fmt: skip
        plane = np.zeros((1, SIZE, SIZE, 1), np.int32)
        yield _case(f"surface/add_2d/{name}", "add_2d", plane, [4 * x, y], surface=True,
                    array_flags=SURFACE)  # fmt: skip
        yield _case(f"surface/formatted_2d/{name}", "formatted_2d", plane,
                    [x, y, x, x, x, x], surface=True, array_flags=SURFACE)  # fmt: skip
        few_lanes = [one[:21] for one in (4 * x, y)]
        yield _case(f"surface/lanes/{name}", "read_2d_zero_b32", plane, few_lanes, surface=True,
                    array_flags=SURFACE)  # fmt: skip


def _case(name: str, kernel: str, data: Array, where: list[Array], **more: object) -> Case:
    return Case(name, kernel, [data], np.stack(where).astype(np.float32), shape=(1, 32), **more)


def cases() -> Iterator[Case]:
    """All of them."""
    for what, (dtype, channels) in (("x".join(map(str, one)), one) for one in FORMATS):
        plane = np.zeros((1, SIZE, SIZE, channels), dtype)
        solid = np.zeros((8, SIZE // 4, SIZE // 4, channels), dtype)
        line = np.zeros((1, 1, 4096, channels), dtype)
        for name, x, y, z in patterns():
            for filt in (POINT, LINEAR):
                if filt and dtype == "u1":
                    continue
                flags = AS_INTEGER if dtype == "u1" else 0
                shift = 0.5 + 0.25 * filt
                yield _case(f"2d/{what}/{name}/{filt}", "tex2", plane, [x + shift, y + shift],
                            filter=filt, flags=flags)  # fmt: skip
                if channels == 1:
                    yield _case(f"3d/{what}/{name}/{filt}", "tex3", solid,
                                [x % 64 + shift, y % 64 + shift, z + shift], rank=3, filter=filt,
                                flags=flags)  # fmt: skip
                    yield _case(f"pitch/{what}/{name}/{filt}", "tex2", plane,
                                [x + shift, y + shift], kind="pitch", filter=filt, flags=flags)
            if name[0] in "xln":
                yield _case(f"fetch/{what}/{name}", "fetch1", line, [x + 3], rank=1, kind="linear",
                            flags=AS_INTEGER if dtype == "u1" else 0)  # fmt: skip
                yield _case(f"1d/{what}/{name}", "tex1", line, [x + 3.5], rank=1,
                            flags=AS_INTEGER if dtype == "u1" else 0)  # fmt: skip
            if channels == 1:
                layered = {"rank": 2, "array_flags": LAYERED, "flags": AS_INTEGER * (dtype == "u1")}
                yield _case(f"layers/{what}/{name}", "tex2_layered", solid,
                            [x % 64 + 0.5, y % 64 + 0.5, z], **layered)  # fmt: skip
    for kernel, dtype, channels in SURFACES:
        plane = np.zeros((1, SIZE, SIZE, channels), dtype)
        size = plane.itemsize * channels
        for name, x, y, _ in patterns():
            yield _case(f"surface/{kernel}/{name}", kernel, plane, [size * x, y], surface=True,
                        array_flags=SURFACE)  # fmt: skip
    yield from _further()
