"""Which samples of textures and accesses of surfaces are recorded, from a seed.

A case is a kernel of `kernels/textures.cu`, an array with its bytes, how a texture sees it, and a
table of coordinates.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
WRAP, CLAMP, MIRROR, BORDER = range(4)
POINT, LINEAR = 0, 1
AS_INTEGER, NORMALISED, SRGB, SEAMLESS = 1, 2, 0x10, 0x40
LAYERED, SURFACE, CUBE, GATHER = 1, 2, 4, 8
FORMATS = {"u1": 1, "u2": 2, "u4": 3, "i1": 8, "i2": 9, "i4": 10, "f2": 16, "f4": 32}
N = 1536


@dataclass
class Case:
    """One launch.

    Attributes:
        texels: (depth or layers, height, width, channels) for each mipmap level; `rank` says how
            many of the dimensions the array has.
        kind: "array", "mipmap", "linear", "pitch".
        coordinates: a row for each coordinate.
        mode: address modes; border: its colour.
        whole: the array's bytes are the result, not the table.
    """

    name: str
    kernel: str
    texels: list[Array]
    coordinates: Array
    rank: int = 2
    kind: str = "array"
    filter: int = POINT
    flags: int = AS_INTEGER
    mode: tuple[int, int, int] = (CLAMP, CLAMP, CLAMP)
    array_flags: int = 0
    border: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    mip_filter: int = POINT
    bias: float = 0.0
    levels: tuple[float, float] = (0.0, 0.0)
    anisotropy: int = 0
    whole: bool = False
    surface: bool = False
    channels: int = 4  # of the result that are kept
    shape: tuple[int, int] = (0, 256)
    extra: dict[str, Any] = field(default_factory=dict)


def rng(name: str) -> np.random.Generator:
    """Numbers of a case."""
    return np.random.Generator(np.random.PCG64(zlib.crc32(name.encode())))


def texels(name: str, dtype: str, shape: tuple[int, ...], spread: int = 0) -> Array:
    """Random texels; floats of both signs, over 2**spread."""
    r, kind = rng(name + "/texels"), np.dtype(dtype)
    if kind.kind != "f":
        info = np.iinfo(kind)
        return r.integers(info.min, info.max, shape, kind, endpoint=True)
    found = r.uniform(-1, 1, shape) * 2.0 ** r.integers(-spread, 1, shape)
    return found.astype(kind)


def specials() -> Array:
    """Coordinates at the edges of what a float can be."""
    values = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.0, 0.99999994, 1.0000001, 1e-30, -1e-30,
              1e-45, 1e3, -1e3, 12345.678, -12345.678, 32767.5, 65535.5, 65536.5, 1e6, -1e6,
              8388607.5, 16777216.0, 2147483648.0,
              -2147483648.0, 4294967296.0, 1e10, -1e10, 1e20, -1e20,
              3e38, -3e38, np.inf, -np.inf, np.nan]  # fmt: skip
    return np.array(values, np.float32)


def spots(name: str, count: int, size: float, n: int = N) -> Array:
    """Coordinates within and beside an extent, some of them special or on the grid of 1/512."""
    r = rng(name + "/spots")
    x = r.uniform(-1.5 * size, 2.5 * size, (count, n)).astype(np.float32)
    inside = r.uniform(0, size, (count, n)).astype(np.float32)
    grid = (np.round(inside * 512 / size) * size / 512).astype(np.float32)
    pick = r.integers(0, 4, (count, n))
    x = np.where(pick == 0, x, np.where(pick == 1, grid, inside))
    known = specials()
    for k in range(count):
        x[k, : len(known)] = np.roll(known, 7 * k) if k else known
        if k:
            x[k, : len(known)] = np.where(np.arange(len(known)) % 2, x[k, : len(known)], 0.3 * size)
    return x.astype(np.float32)


def _fractions() -> Iterator[Case]:
    """How coordinates become texels and fractions: one texel of 1 among zeroes."""
    for width in (2, 5, 8, 13, 100, 1000, 2048):
        one = np.zeros((1, 1, width, 1), np.float32)
        one[0, 0, :, 0] = np.arange(width) % 2
        for norm in (0, 1):
            for filt in (POINT, LINEAR):
                data = one if filt else np.arange(width, dtype=np.float32).reshape(one.shape)
                name = f"fractions/{width}/{norm}/{filt}"
                r = rng(name)
                scale = 1.0 / width if norm else 1.0
                a = np.arange(512) / 1024 + min(width / 2, 500)  # halves of the smallest step
                b = r.uniform(-0.5, width + 0.5, 512)
                c = np.floor(r.uniform(0, width, 256)) + r.integers(0, 2048, 256) / 2048
                x = np.concatenate([a, b, c, np.nextafter(c.astype(np.float32), np.float32(1e9))])
                x = (x * scale).astype(np.float32)
                yield Case(name, "tex1", [data], x[None], rank=1, filter=filt,
                           flags=NORMALISED * norm, channels=1)  # fmt: skip


def _modes() -> Iterator[Case]:
    """Address modes, filters, dimensions."""
    for kernel, rank, shape in (("tex1", 1, (1, 1, 11)), ("tex2", 2, (1, 6, 11)),
                                ("tex3", 3, (5, 6, 11)), ("tex2", 2, (1, 8, 16))):  # fmt: skip
        for mode, filt, norm in itertools.product(range(4), (POINT, LINEAR), (0, 1)):
            if mode in (WRAP, MIRROR) and not norm and shape[2] == 11 and rank > 1:
                continue
            name = f"modes/{kernel}/{shape[2]}/{mode}/{filt}/{norm}"
            sizes = shape[::-1][:rank]
            x = np.stack([spots(f"{name}/{k}", rank, 1 if norm else s)[k]
                          for k, s in enumerate(sizes)])  # fmt: skip
            yield Case(name, kernel, [texels(name, "f4", (*shape, 1))], x, rank=rank, filter=filt,
                       flags=NORMALISED * norm, mode=(mode,) * 3, border=(0.25, 2, 3, 4),
                       channels=1)  # fmt: skip


def _arithmetic() -> Iterator[Case]:
    """What filters make of texels: types, magnitudes, NaN and infinities."""
    for kernel, rank, shape in (("tex1", 1, (1, 1, 64)), ("tex2", 2, (1, 24, 32)),
                                ("tex3", 3, (8, 8, 8))):  # fmt: skip
        for dtype, spread in (("f4", 0), ("f4", 10), ("f4", 40), ("f4", 140), ("f2", 0), ("f2", 24),
                              ("u1", 0), ("i1", 0), ("u2", 0), ("i2", 0)):  # fmt: skip
            name = f"arithmetic/{kernel}/{dtype}/{spread}"
            data = texels(name, dtype, (*shape, 1), spread)
            r = rng(name)
            x = np.stack([r.uniform(0, s, 2 * N) for s in shape[::-1][:rank]]).astype(np.float32)
            yield Case(name, kernel, [data], x, rank=rank, filter=LINEAR, flags=0, channels=1)
        for dtype in ("f4", "f2"):
            name = f"arithmetic/{kernel}/{dtype}/special"
            data = texels(name, dtype, (*shape, 1))
            r = rng(name)
            with np.errstate(over="ignore"):
                odd = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 3.4e38, -3.4e38, 1e-45, 6e-8,
                                65504, 1e-40], np.float32).astype(dtype)  # fmt: skip
            data = np.where(r.integers(0, 3, data.shape) == 0, r.choice(odd, data.shape), data)
            x = np.stack([np.round(r.uniform(0, s, N) * 16) / 16 for s in shape[::-1][:rank]])
            yield Case(name, kernel, [data.astype(dtype)], x.astype(np.float32), rank=rank,
                       filter=LINEAR, flags=0, channels=1)  # fmt: skip
    for dtype in ("u1", "i1"):  # every pair of 8 bits at one fraction, every fraction of a few
        pairs = np.arange(512, dtype=np.int64) * 97 % 256
        data = pairs.astype(np.uint8).view(dtype).reshape(1, 1, 512, 1)
        x = (np.arange(511 * 8) / 8 + 0.5 + 1 / 16)[None].astype(np.float32)
        yield Case(f"arithmetic/pairs/{dtype}", "tex1", [data], x, rank=1, filter=LINEAR, flags=0,
                   channels=1)  # fmt: skip
    for t0, t1 in ((1.0, 2.0**-24), (1.0, -(2.0**-25)), (16777215.0, 1.0), (1.0, -1.0), (3.0, 7.0)):
        data = np.array([t0, t1], np.float32).reshape(1, 1, 2, 1)
        x = (0.5 + np.arange(257) / 256)[None].astype(np.float32)
        yield Case(f"arithmetic/two/{t0}/{t1}", "tex1", [data], x, rank=1, filter=LINEAR, flags=0,
                   channels=1)  # fmt: skip
    for k in range(4):  # the weights of a square's corners, of a cube's
        data = np.zeros((1, 2, 2, 1), np.float32)
        data[0, k // 2, k % 2] = 1
        x = rng(f"weights{k}").uniform(0.5, 1.5, (2, N)).astype(np.float32)
        yield Case(f"arithmetic/weights/{k}", "tex2", [data], x, filter=LINEAR, flags=0, channels=1)
    for k in range(8):
        data = np.zeros((2, 2, 2, 1), np.float32)
        data[k // 4, k // 2 % 2, k % 2] = 1
        x = rng(f"weights3{k}").uniform(0.5, 1.5, (3, N)).astype(np.float32)
        yield Case(f"arithmetic/weights3/{k}", "tex3", [data], x, rank=3, filter=LINEAR, flags=0,
                   channels=1)  # fmt: skip


def _types() -> Iterator[Case]:
    """Every element type and number of channels, as elements and as normalised floats."""
    for dtype, channels in itertools.product(FORMATS, (1, 2, 4)):
        plain = dtype[0] == "f" or dtype[1] == "4"
        for as_integer in (1,) if plain else (0, 1):
            name = f"types/{dtype}x{channels}/{as_integer}"
            data = texels(name, dtype, (1, 8, 8, channels))
            for kind, kernel in (("array", "tex2"), ("linear", "fetch1"), ("pitch", "tex2"),
                                 ("array", "texel2d")):  # fmt: skip
                if kind == "linear":
                    shown = data.reshape(1, 1, 64, channels)
                    x = np.arange(-4, 72, dtype=np.float32)[None]
                else:
                    shown = data
                    x = np.floor(spots(name, 2, 8, 128) if kernel == "texel2d" else
                                 rng(name).uniform(-2, 10, (2, 128))).astype(np.float32)
                    x = np.where(np.abs(x) < 1e9, x, 0).astype(np.float32)
                    x += np.float32(0.5 if kernel == "tex2" else 0)
                for border in (0, 1) if kernel == "tex2" and kind == "array" else (0,):
                    mode = BORDER if border else CLAMP
                    yield Case(f"{name}/{kind}/{kernel}/{border}", kernel, [shown], x, kind=kind,
                               flags=AS_INTEGER * as_integer, mode=(mode,) * 3,
                               border=(0.3, -0.7, 5.0, 200.0))  # fmt: skip
            if (not plain and not as_integer) or dtype[0] == "f":
                x = rng(name + "l").uniform(-1, 9, (2, 384)).astype(np.float32)
                yield Case(f"{name}/filtered", "tex2", [data], x, filter=LINEAR, flags=0,
                           mode=(BORDER,) * 3, border=(0.3, -0.7, 5.0, 0.9))  # fmt: skip
    every = np.arange(256, dtype=np.uint8).reshape(1, 1, 256, 1)
    for dtype, flags in (("u1", 0), ("i1", 0), ("u1", SRGB)):
        shown = every.view(dtype) if not flags else np.repeat(every, 4, 3)
        x = (np.arange(256) + 0.5)[None].astype(np.float32)
        yield Case(f"types/every/{dtype}/{flags}", "tex1", [shown], x, rank=1, flags=flags)
    srgb = texels("srgb", "u1", (1, 8, 8, 4))
    x = rng("srgb").uniform(0, 8, (2, 1024)).astype(np.float32)
    yield Case("types/srgb/filtered", "tex2", [srgb], x, filter=LINEAR, flags=SRGB)
    wide = np.arange(65536, dtype=np.uint16).reshape(1, 1, 65536, 1)
    for dtype in ("u2", "i2", "f2"):
        x = (np.arange(0, 65536, 17) + 0.5)[None].astype(np.float32)
        yield Case(f"types/every/{dtype}", "tex1", [wide.view(dtype)], x, rank=1, flags=0,
                   channels=1)  # fmt: skip


def _shapes() -> Iterator[Case]:
    """Pitched memory, layers, cubes, gathers."""
    for filt, norm, mode in ((0, 0, 1), (1, 0, 1), (1, 1, 0), (1, 1, 1), (1, 1, 2), (1, 0, 3)):
        name = f"pitch/{filt}/{norm}/{mode}"
        data = texels(name, "f4", (1, 9, 19, 1))
        x = np.stack([spots(name, 2, 1 if norm else 19, 512)[0],
                      spots(name, 2, 1 if norm else 9, 512)[1]])  # fmt: skip
        yield Case(name, "tex2", [data], x, kind="pitch", filter=filt, flags=NORMALISED * norm,
                   mode=(mode,) * 3, border=(0.5, 0, 0, 0), channels=1)  # fmt: skip
    for kernel, rank, flags, shape in (("tex1_layered", 1, LAYERED, (5, 1, 16)),
                                       ("tex2_layered", 2, LAYERED, (5, 8, 16)),
                                       ("cube", 2, CUBE, (6, 8, 8)),
                                       ("cube_layered", 2, 5, (18, 8, 8))):  # fmt: skip
        cubic = kernel.startswith("cube")
        for filt, norm, seam in ((0, 1, 0), (1, 1, 0), (0, 0, 0), (1, 0, 0), (1, 1, SEAMLESS)):
            if (cubic and not norm) or (seam and not cubic):
                continue
            name = f"{kernel}/{filt}/{norm}/{seam}"
            data = texels(name, "f4", (*shape, 1))
            r = rng(name)
            if cubic:
                x = r.uniform(-1, 1, (3, 2048)).astype(np.float32)
                x[:, :6] = np.eye(3).repeat(2, 1) * np.tile([1, -1], 3)
                signs = np.array(list(itertools.product((-1, 0, 1), repeat=3)), np.float32).T
                x[:, 6:33] = signs
                near = x[:, 40:400]  # close to edges between faces
                near[1] = near[0] * (1 + r.uniform(-0.2, 0.2, 360))
            else:
                x = np.stack([spots(f"{name}/{k}", 2, 1 if norm else s, 512)[0]
                              for k, s in enumerate(shape[::-1][:rank])])  # fmt: skip
            if flags & LAYERED:
                layer = r.integers(-2, 8, (1, x.shape[1])).astype(np.float32)
                x = np.concatenate([x, layer])
            yield Case(name, kernel, [data], x, rank=rank, filter=filt,
                       flags=NORMALISED * norm | seam, array_flags=flags, channels=1,
                       mode=(WRAP,) * 3 if norm and not cubic else (CLAMP,) * 3)  # fmt: skip
    for kernel, dtype, channels, norm, mode in (
        ("gather0", "f4", 1, 0, CLAMP), ("gather1", "f4", 4, 1, WRAP), 
        ("gather3", "u1", 4, 1, MIRROR),
        ("gather0", "u1", 2, 0, BORDER), ("gather0", "u4", 1, 0, CLAMP), 
        ("gather1", "f2", 2, 0, CLAMP),
    ):  # fmt: skip
        name = f"{kernel}/{dtype}/{norm}/{mode}"
        data = texels(name, dtype, (1, 7, 16, channels))
        x = np.stack([spots(name, 2, 1 if norm else 16, 512)[0],
                      spots(name, 2, 1 if norm else 7, 512)[1]])  # fmt: skip
        flags = NORMALISED * norm | (AS_INTEGER if dtype == "u4" else 0)
        yield Case(name, kernel, [data], x, flags=flags, mode=(mode,) * 3, array_flags=GATHER,
                   border=(0.5, 0, 0, 0))  # fmt: skip
    data = texels("texel3d", "f4", (4, 6, 8, 1))
    x = rng("texel3d").integers(-3, 11, (3, 256)).astype(np.float32)
    yield Case("texel3d", "texel3d", [data], x, rank=3, channels=1)
    data = texels("lz", "f4", (1, 6, 8, 1))
    yield Case("texel2d/border", "texel2d", [data], x[:2], channels=1, mode=(BORDER,) * 3,
               border=(0.5, 0, 0, 0))  # fmt: skip
    yield Case("query/2d", "query", [data], x[:2, :1])
    yield Case("query/3d", "query", [texels("q3", "f4", (4, 6, 8, 1))], x[:, :1], rank=3)
    yield Case("query/1d", "query", [texels("q1", "f4", (1, 1, 8, 1))], x[:, :1], rank=1)


def _mipmaps() -> Iterator[Case]:
    """Levels of detail and gradients."""
    levels = [texels(f"level{k}", "f4", (1, 32 >> k, 64 >> k, 1)) for k in range(5)]
    flat = [np.full((1, 32 >> k, 64 >> k, 1), float(1 << k), np.float32) for k in range(5)]
    r = rng("lod")
    lod = np.concatenate([r.uniform(-2, 6, 1024), np.arange(512) / 128,
                          [np.nan, np.inf, -np.inf, 1e9, -1e9]]).astype(np.float32)  # fmt: skip
    n = len(lod)
    x = np.stack([r.uniform(-0.5, 1.5, n), r.uniform(-0.5, 1.5, n), lod]).astype(np.float32)
    for filt, mip, bias, low, high in ((0, 0, 0, 0, 4), (1, 0, 0, 0, 4), (0, 1, 0, 0, 4),
                                       (1, 1, 0, 0, 4),
                                       (1, 1, 0.7, 0, 4), (1, 1, 0, 1.3, 2.6), (0, 0, 0, 0.6, 2.4),
                                       (1, 1, 0, 0, 0)):  # fmt: skip
        for label, data in (("levels", levels), ("flat", flat)):
            yield Case(f"lod/{label}/{filt}/{mip}/{bias}/{low}/{high}", "tex2_lod", data, x,
                       filter=filt, flags=NORMALISED, mode=(WRAP,) * 3, kind="mipmap",
                       mip_filter=mip, bias=bias, levels=(low, high), channels=1)  # fmt: skip
        yield Case(f"nolod/{filt}/{mip}/{bias}/{low}/{high}", "tex2", levels, x[:2, :256],
                   filter=filt, flags=NORMALISED, mode=(WRAP,) * 3, kind="mipmap", mip_filter=mip,
                   bias=bias, levels=(low, high), channels=1)  # fmt: skip
    size = 2.0 ** r.uniform(-8, 1, (4, 1024)) * r.choice([-1, 1], (4, 1024))
    size[1:3, :256] = 0
    grad = np.concatenate([r.uniform(0, 1, (2, 1024)), size]).astype(np.float32)
    for aniso in (0, 4):
        for label, data in (("levels", levels), ("flat", flat)):
            yield Case(f"grad/{label}/{aniso}", "tex2_grad", data, grad, filter=LINEAR,
                       flags=NORMALISED, mode=(WRAP,) * 3, kind="mipmap", mip_filter=LINEAR,
                       levels=(0, 4), anisotropy=aniso, channels=1)  # fmt: skip
    yield Case("grad/plain", "tex2_grad", levels[:1], grad[:, :256], filter=LINEAR,
               flags=NORMALISED, mode=(WRAP,) * 3, channels=1)  # fmt: skip
    three = [texels(f"three{k}", "f4", (8 >> k, 16 >> k, 16 >> k, 1)) for k in range(4)]
    y = np.concatenate([x[:2], r.uniform(0, 1, (1, n)), x[2:]]).astype(np.float32)
    yield Case("lod/3d", "tex3_lod", three, y, rank=3, filter=LINEAR, flags=NORMALISED,
               mode=(WRAP,) * 3, kind="mipmap", mip_filter=LINEAR, levels=(0, 3),
               channels=1)  # fmt: skip
    one = [texels(f"one{k}", "f4", (1, 1, 64 >> k, 1)) for k in range(6)]
    yield Case("lod/1d", "tex1_lod", one, x[[0, 2]], rank=1, filter=LINEAR, flags=NORMALISED,
               mode=(WRAP,) * 3, kind="mipmap", mip_filter=LINEAR, levels=(0, 5),
               channels=1)  # fmt: skip


def _surfaces() -> Iterator[Case]:
    """Reads and writes at bytes, inside and beside arrays."""
    widths = {"b8": 1, "b16": 2, "b32": 4, "b64": 8, "b128": 16}
    for (name, width), mode, rank in itertools.product(
        widths.items(), ("zero", "clamp", "trap"), ("1d", "2d", "3d", "2dl")
    ):
        if mode == "trap" and rank != "2d":
            continue
        shape = {"1d": (1, 1, 8), "2d": (1, 6, 8), "3d": (4, 6, 8), "2dl": (4, 6, 8)}[rank]
        # clashing lanes: which one wins is not asked, so every place is written by one lane
        title = f"surface/{rank}/{mode}/{name}"
        data = texels(title, "u1", (*shape, 16)).view("u4")  # 4 channels of 32 bits
        r = rng(title)
        row = 16 * shape[2] // width
        places = np.array(list(itertools.product(range(-2, shape[0] + 2), range(-2, shape[1] + 2),
                                                 range(-2, row + 2))), np.int64)  # fmt: skip
        if rank == "1d":
            places = places[(places[:, 0] == 0) & (places[:, 1] == 0)]
        elif rank == "2d":
            places = places[places[:, 0] == 0]
        if mode == "trap":
            inside = (places >= 0).all(1) & (places[:, 1] < shape[1]) & (places[:, 2] < row)
            places = places[inside]
        places = places[r.permutation(len(places))[:768]]
        x = np.stack([places[:, 2] * width, places[:, 1], places[:, 0]])[: max(int(rank[0]), 2)]
        x = np.stack([places[:, 2] * width, places[:, 1], places[:, 0]]).astype(np.float32)
        flags = SURFACE | (LAYERED if rank == "2dl" else 0)
        common: dict[str, Any] = {"rank": int(rank[0]), "surface": True, "array_flags": flags}
        yield Case(f"{title}/read", f"read_{rank}_{mode}_{name}", [data], x, **common)
        if mode != "clamp":
            yield Case(f"{title}/write", f"write_{rank}_{mode}_{name}", [data], x, whole=True,
                       **common)  # fmt: skip
    for kernel in ("add_2d", "most_2d"):
        data = texels(kernel, "i4", (1, 4, 8, 1)) >> 16
        r = rng(kernel)
        x = np.stack([r.integers(-2, 10, 512) * 4, r.integers(-2, 6, 512)]).astype(np.float32)
        yield Case(f"surface/{kernel}", kernel, [data], x, whole=True, surface=True,
                   array_flags=SURFACE)  # fmt: skip
    for dtype, channels in itertools.product(FORMATS, (1, 2, 4)):
        name = f"surface/formatted/{dtype}x{channels}"
        data = texels(name, dtype, (1, 8, 8, channels))
        r = rng(name)
        y, x = np.divmod(np.arange(64), 8)
        values = r.uniform(-1.5, 1.5, (4, 64)) * (1 if dtype[0] == "f" else 1e-40)
        table = np.concatenate([np.stack([x, y]), values]).astype(np.float32)
        yield Case(name, "formatted_2d", [data], table, whole=True, surface=True,
                   array_flags=SURFACE)  # fmt: skip


def trapping() -> Case:
    """A write beside a surface whose mode is to trap: an error, and the context is gone."""
    x = np.full((3, 1), 1024, np.float32)
    return Case("trap", "write_2d_trap_b32", [np.zeros((1, 8, 8, 1), np.float32)], x, surface=True,
                array_flags=SURFACE)  # fmt: skip


def _clocks() -> Iterator[Case]:
    """What samples take: chains, and blocks of many."""
    data = np.full((1, 64, 64, 1), 5.5, np.float32)
    x = np.concatenate([np.full(32, 5.5), [0.0]])[None].astype(np.float32)
    for filt in (POINT, LINEAR):
        yield Case(f"clocks/chain/{filt}", "chain", [data], x, filter=filt, flags=0, channels=1,
                   shape=(1, 32))  # fmt: skip
    link = np.full((1, 1, 64, 1), 7, np.int32)
    yield Case("clocks/fetch", "chain_fetch", [link], x, kind="linear", channels=1, shape=(1, 32))
    for dtype, channels, filt in itertools.product(("f4", "f2", "u1"), (1, 2, 4), (POINT, LINEAR)):
        shown = texels("rate", dtype, (1, 64, 64, channels))
        for spread, threads in itertools.product((0, 1, 2), (32, 128, 1024)):
            lanes = np.arange(32)
            xs = {0: lanes % 8, 1: lanes, 2: lanes * 5 % 64}[spread] + 0.5
            ys = {0: lanes // 8, 1: lanes * 0, 2: lanes * 7 % 48}[spread] + 0.5
            table = np.concatenate([xs, ys])[None].astype(np.float32)
            kernel = f"rate{channels}"
            name = f"clocks/{dtype}x{channels}/{filt}/{spread}/{threads}"
            yield Case(name, kernel, [shown], table, filter=filt, flags=0, channels=1,
                       shape=(1, threads))  # fmt: skip


def cases() -> list[Case]:
    """All of them."""
    makers = (_fractions, _modes, _arithmetic, _types, _shapes, _mipmaps, _surfaces, _clocks)
    return [*(case for maker in makers for case in maker()), trapping()]
