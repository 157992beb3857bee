"""What the kernels of hopper_units.py are given: launches with their arrays and tensor maps.

All numbers come from a seed, and go into the recording with the results.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from hopper_units import (
    BULK,
    BULK_SHARED,
    PACKED_FORMS,
    SPARSE,
    WARPGROUP,
    WARPGROUP_SELECTORS,
    plain,
)
from wgmma_kernels import descriptor

Array = npt.NDArray[Any]
_CASES = 64  # of a form of a product
_WORDS = np.uint32


@dataclass(frozen=True, slots=True, kw_only=True)
class Map:
    """A tensor map of the argument `array`, innermost dimension first; im2col with corners."""

    array: int
    kind: int  # CUtensorMapDataType
    sizes: tuple[int, ...]
    strides: tuple[int, ...]  # bytes, of dimensions 1 and up
    box: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    swizzle: int = 0
    interleave: int = 0
    fill: int = 0
    corners: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    channels: int = 0
    pixels: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A texture object over the rows of texels of the argument `array`."""

    array: int
    width: int
    height: int
    format: int  # CUarray_format
    channels: int
    texel_bytes: int
    mode: int  # CUaddress_mode
    is_linear: bool
    flags: int  # 1: whole numbers, 2: normalised coordinates


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One launch; arguments are arrays, NumPy scalars, maps or textures, `kept` those whose end
    counts."""

    name: str
    unit: str
    kernel: str
    grid: int | tuple[int, int] = 1
    block: int = 32
    shared: int = 0
    cluster: int = 1
    arguments: tuple[Any, ...]
    kept: tuple[int, ...]
    hidden: dict[int, Array] = field(default_factory=dict)  # arrays behind maps, not passed

    @property
    def blocks(self) -> tuple[int, ...]:
        """The grid."""
        return self.grid if isinstance(self.grid, tuple) else (self.grid,)


def _halves(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> Array:
    """Bits of 16-bit floats: many magnitudes, a third of the rows any bits at all."""
    numbers = rng.standard_normal(shape) * 2.0 ** rng.integers(-8, 9, shape)
    if kind == "f16":
        bits = numbers.astype(np.float16).view(np.uint16)
    else:
        bits = (numbers.astype(np.float32).view(_WORDS) >> 16).astype(np.uint16)
    wild = rng.integers(0, 1 << 16, shape).astype(np.uint16)
    rare = rng.random(shape) < 0.5
    chosen = np.arange(shape[0]) % 3 == 2
    chosen = chosen.reshape(-1, *(1,) * (len(shape) - 1))
    return np.where(chosen & rare, wild, bits)


def _words(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> Array:
    """Words that hold numbers of a kind."""
    if kind in ("f16", "bf16"):
        return _halves(rng, (*shape[:-1], 2 * shape[-1]), kind).view(_WORDS)
    if kind in ("tf32", "f32"):
        scales = rng.standard_normal(shape), 2.0 ** rng.integers(-8, 9, shape)
        numbers = (scales[0] * scales[1]).astype(np.float32)
        wild = rng.integers(0, 1 << 32, shape).astype(_WORDS)
        chosen = (np.arange(shape[0]) % 3 == 2).reshape(-1, *(1,) * (len(shape) - 1))
        return np.where(chosen & (rng.random(shape) < 0.3), wild, numbers.view(_WORDS))
    return rng.integers(0, 1 << 32, shape).astype(_WORDS)


def metadata(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> Array:
    """Words of eight nibbles, each an ordered pair of places; of tf32 one place of two."""
    codes = np.array([4, 14] if kind == "tf32" else [4, 8, 12, 9, 13, 14], np.uint64)
    nibbles = rng.choice(codes, (*shape, 8))
    return (nibbles << (4 * np.arange(8, dtype=np.uint64))).sum(-1).astype(_WORDS)


def _sparse(rng: np.random.Generator) -> Iterator[Case]:
    for name, form in SPARSE.items():
        kind, sums = form.types.split(".")[1], form.types.split(".")[0]
        for selector in form.selectors:
            given = _words(rng, (_CASES, 9, 32), kind)
            given[:, 0] = metadata(rng, (_CASES, 32), kind)
            c = _words(rng, (_CASES, form.d, 32), sums)
            c[::4] = 0
            yield Case(name=f"{name}_{selector}", unit="sparse", kernel=f"sp_{name}_{selector}",
                       grid=_CASES, arguments=(given, c), kept=(1,))  # fmt: skip


def _warpgroup(rng: np.random.Generator) -> Iterator[Case]:
    for kernel in WARPGROUP.values():
        for selector in WARPGROUP_SELECTORS.get(kernel.a, (0,)):
            count = 24
            # A: 64 rows of 32 bytes, B: 8 columns of 64 bytes, in core matrices of 8 x 16 bytes
            kind = "f16" if kernel.a in ("e4m3", "e5m2", "s8") else kernel.a
            images = _words(rng, (count, (64 * 32 + 8 * 64) // 4), kind)
            if kernel.a in ("e4m3", "e5m2", "s8"):
                images = rng.integers(0, 1 << 32, images.shape).astype(_WORDS)
                if kernel.a != "s8":
                    images[::2] &= 0x9F9F9F9F  # no NaN, smaller numbers
            d = _words(rng, (count, 128, kernel.registers), kernel.sums)
            meta = metadata(rng, (count, 128), kernel.a)
            given = _words(rng, (count, 128, 4), kind)
            places = (descriptor(0, 128, 256, 0), descriptor(2048, 128, 512, 0))
            yield Case(
                name=f"{kernel.name}_{selector}", unit="warpgroup",
                kernel=f"{kernel.name}_{selector}", grid=count, block=128, shared=2560 + 1024,
                arguments=(images, np.int32(160), *map(np.uint64, places), meta, given, d),
                kept=(6,),
            )  # fmt: skip


def _bulk(rng: np.random.Generator) -> Iterator[Case]:
    for name in BULK:
        kind = name.split(".")[-1]
        if kind in ("f16", "bf16"):
            a, b = (_halves(rng, (4, 64), kind).view(_WORDS) for _ in "ab")
        elif kind == "f64":
            a, b = (rng.standard_normal(64).view(_WORDS) for _ in "ab")
        elif kind == "f32":
            a, b = (_words(rng, (8, 16), "f32") for _ in "ab")
        else:
            a, b = (rng.integers(0, 1 << 32, 128).astype(_WORDS) for _ in "ab")
        yield Case(name=f"bulk_{name}", unit="bulk", kernel=f"bulk_{plain(name)}", shared=1024,
                   arguments=(a, b), kept=(1,))  # fmt: skip
    for name in BULK_SHARED:
        a, b = (rng.integers(0, 1 << 32, 256).astype(_WORDS) for _ in "ab")
        yield Case(name=f"near_{name}", unit="bulk", kernel=f"near_{plain(name)}", grid=2,
                   cluster=2, shared=2048, arguments=(a, b), kept=(1,))  # fmt: skip


def _packed(rng: np.random.Generator) -> Iterator[Case]:
    edges = {
        "f16": [0, 0x8000, 1, 0x8001, 0x7C00, 0xFC00, 0x7E00, 0xFE00, 0x7C01, 0x3C00,
                0xBC00, 0x7FFF],
        "bf16": [0, 0x8000, 1, 0x8001, 0x7F80, 0xFF80, 0x7FC0, 0xFFC0, 0x7F81,
                 0x3F80, 0xBF80, 0x7FFF],
    }  # fmt: skip
    for op, kind, words in PACKED_FORMS:
        halves = kind[:-2]
        count = 8
        a, b = (_halves(rng, (count * 32, 8), halves) for _ in "ab")
        some = np.array(edges[halves], np.uint16)
        pairs = np.stack(np.meshgrid(some, some), -1).reshape(-1, 2)
        for half in (0, 16):  # both the lanes that use red and those that use atom
            lanes = np.arange(count)[:, None] * 32 + half + np.arange(16)[None]
            places = lanes.reshape(-1)[:36]
            for target, source in ((a, pairs[:, 0]), (b, pairs[:, 1])):
                rows = np.resize(source, (36, 4))
                target[places] = np.concatenate([rows, rows], 1)
        old = np.zeros((count * 32, 4), _WORDS)
        yield Case(name=f"packed_{op}_{kind}_{words}", unit="packed",
                   kernel=f"packed_{op}_{kind}_{words}", grid=count,
                   arguments=(a.view(_WORDS), b.view(_WORDS), old), kept=(1, 2))  # fmt: skip


def _dense(sizes: tuple[int, ...], element: int) -> tuple[int, ...]:
    found, step = [], element
    for size in sizes[:-1]:
        step *= size
        found.append(step)
    return tuple(found)


def _copy(rng: np.random.Generator, name: str, kernel: str, given: Map, at: tuple[int, ...],
          offsets: tuple[int, ...], size: int, stores: bool = False) -> Case:  # fmt: skip
    element = (1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4)[given.kind]
    whole = given.sizes[0] * element
    for n, stride in zip(given.sizes[1:], given.strides, strict=True):
        whole = max(whole, n * stride)
    whole = (whole + 31) // 32 * 32
    data = rng.integers(0, 256, whole, dtype=np.uint8)
    if given.kind in (7, 10, 11, 12):
        data = _words(rng, (3, -(-whole // 12)), "f32").reshape(-1).view(np.uint8)[:whole].copy()
        data.view(_WORDS)[::5] &= 0x807FFFFF  # denormals
        data.view(_WORDS)[::17] |= 0x7F800000  # infinities and NaNs
    c = tuple(np.int32(n) for n in (*at, 0, 0, 0, 0)[:5])
    pieces = -(-size // 2048) * 128 + 128
    if stores:
        source = rng.integers(0, 256, 16 * pieces, dtype=np.uint8)
        return Case(name=name, unit="copies", kernel=kernel, block=128, shared=16 * pieces + 1024,
                    arguments=(given, *c, np.int32(pieces), source), kept=(-1,),
                    hidden={-1: data})  # fmt: skip
    o = tuple(np.int32(n) for n in (*offsets, 0, 0, 0)[:3])
    out = np.zeros(16 * pieces, np.uint8)
    return Case(name=name, unit="copies", kernel=kernel, block=128, shared=16 * pieces + 1024,
                arguments=(given, *c, *o, np.int32(size), np.int32(pieces), out), kept=(11,),
                hidden={-1: data})  # fmt: skip


# sizes (C, W[, H[, D]], N), corners, channels, pixels, swizzle, steps, at, offsets, kind
IM2COL = (
    ((16, 9, 5), ((0,), (0,)), 16, 12, 0, (1, 1, 1), (0, 3, 1), (0,), 6),
    ((16, 9, 5), ((-1,), (-1,)), 16, 32, 0, (1, 1, 1), (0, -1, 0), (2,), 6),
    ((64, 9, 5), ((-2,), (1,)), 32, 24, 2, (1, 1, 1), (32, 0, 1), (3,), 6),
    ((16, 9, 5), ((0,), (0,)), 16, 16, 1, (1, 2, 1), (0, 0, 1), (0,), 6),
    ((32, 7, 6, 3), ((0, 0), (0, 0)), 32, 40, 2, (1, 1, 1, 1), (0, 0, 0, 0), (0, 0), 6),
    ((32, 7, 6, 3), ((-1, -1), (-1, -1)), 32, 64, 2, (1, 1, 1, 1), (0, -1, -1, 0), (0, 0), 6),
    ((32, 7, 6, 3), ((-1, -1), (-1, -1)), 32, 64, 2, (1, 1, 1, 1), (0, -1, -1, 0), (2, 1), 6),
    ((32, 7, 6, 3), ((-1, -1), (-1, -1)), 32, 64, 2, (1, 1, 1, 1), (0, 3, 2, 1), (1, 2), 6),
    ((64, 8, 8, 2), ((-2, -1), (0, 1)), 64, 48, 3, (1, 1, 1, 1), (0, 1, 2, 0), (2, 1), 9),
    ((32, 8, 8, 3), ((-1, -1), (-1, -1)), 32, 30, 0, (1, 2, 2, 1), (0, -1, -1, 0), (1, 2), 6),
    ((32, 8, 8, 3), ((-1, -1), (-1, -1)), 32, 30, 0, (1, 2, 2, 1), (0, 3, 1, 1), (0, 1), 6),
    ((32, 9, 7, 3), ((-1, 0), (-1, 0)), 32, 44, 0, (1, 3, 2, 1), (0, -1, 0, 0), (2, 0), 6),
    ((48, 7, 6, 3), ((-1, -1), (-1, -1)), 32, 40, 2, (1, 1, 1, 1), (32, -1, -1, 1), (1, 1), 6),
    ((16, 5, 4, 3, 2), ((-1, -1, -1), (-1, -1, -1)), 16, 100, 1, (1, 1, 1, 1, 1),
     (0, -1, -1, -1, 0), (1, 2, 0), 6),
    ((16, 5, 4, 3, 2), ((-1, 0, 0), (0, -1, 0)), 16, 64, 0, (1, 1, 1, 1, 1),
     (0, 0, 1, 1, 0), (1, 1, 1), 7),
    ((16, 6, 5, 4, 2), ((0, 0, 0), (0, 0, 0)), 16, 40, 0, (1, 2, 1, 2, 1), (0, 0, 0, 0, 0),
     (0, 0, 0), 6),
    ((32, 7, 6, 2), ((-1, -1), (-1, -1)), 32, 40, 2, (1, 1, 1, 1), (0, 0, 0, 1), (1, 1), 6),
)  # fmt: skip


def _im2col(rng: np.random.Generator) -> Iterator[Case]:
    for i, (sizes, corners, channels, pixels, swizzle, steps, at, o, kind) in enumerate(IM2COL):
        element = 4 if kind == 7 else 2
        for fill in ((0, 1) if i == 5 else (0,)):
            given = Map(array=-1, kind=kind, sizes=sizes, strides=_dense(sizes, element),
                        corners=corners, channels=channels, pixels=pixels, steps=steps,
                        swizzle=swizzle, fill=fill)  # fmt: skip
            size = channels * pixels * element
            yield _copy(rng, f"im2col{i}_{fill}", f"im2col{len(sizes)}", given, at, o, size)
        if i in (0, 4):  # of others the unit refuses stores (an illegal instruction)
            given = Map(array=-1, kind=kind, sizes=sizes, strides=_dense(sizes, element),
                        corners=corners, channels=channels, pixels=pixels, steps=steps,
                        swizzle=swizzle)  # fmt: skip
            yield _copy(rng, f"im2col_store{i}", f"im2col_store{len(sizes)}", given, at, o,
                        channels * pixels * element, stores=True)  # fmt: skip


def _tiles(rng: np.random.Generator) -> Iterator[Case]:
    """Element types that are rounded or flushed."""
    for kind in (7, 10, 11, 12):
        for fill in (0, 1):
            sizes = (40, 12)
            given = Map(array=-1, kind=kind, sizes=sizes, strides=_dense(sizes, 4), box=(32, 8),
                        steps=(1, 1), fill=fill, swizzle=3)  # fmt: skip
            yield _copy(rng, f"kind{kind}_{fill}", "tile2", given, (16, 6), (), 1024)


def cases() -> list[Case]:
    """Every launch, in the order of the recording."""
    rng = np.random.default_rng(20)
    found: list[Case] = []
    for group in (_sparse, _warpgroup, _bulk, _packed, _im2col, _tiles):
        found += group(rng)
    return found
