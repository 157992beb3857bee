"""What the kernels of further_kernels.py are given: a small launch, kept bit for bit, and a large
one whose time and counters count. None of them is for tuning; their errors have been looked
at, though (DEVIATIONS.md, row 187)."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from gemm_cases import numbers, plane
from hopper_cases import Case, Filter, Map

Array = npt.NDArray[Any]


def _attention(queries: int, keys: int, name: str) -> Case:
    rng = np.random.default_rng(3)
    q, k, v = (numbers(rng, "f16", (n, 64)) for n in (queries, keys, keys))
    boxes = ((queries, 128), (keys, 128), (keys, 128))
    maps = [plane(6, 2, n, 64, (64, rows), 3, -1 - i) for i, (n, rows) in enumerate(boxes)]
    return Case(
        name=f"attention_special{name}", unit="further", kernel="attention_special",
        grid=queries // 128, block=384, shared=16384 + 4 * 16384 + 1024,
        hidden={-1: q, -2: k, -3: v}, kept=(5,),
        arguments=(*maps, np.int32(keys // 128), np.float32(0.18033688),
                   np.zeros(queries * 64, np.float32)),
    )  # fmt: skip


def _products(m: int, n: int, steps: int, name: str) -> list[Case]:
    rng = np.random.default_rng(4)
    depth = 64 * steps
    bytes_, a = numbers(rng, "s8", (m, depth)), numbers(rng, "f16", (m, depth))
    b, across = numbers(rng, "f16", (n, depth)), numbers(rng, "f16", (depth, n))
    mixed = (plane(0, 1, m, depth, (64, 64), 0, -1), plane(6, 2, n, depth, (64, 128), 3, -2))
    turned = (plane(6, 2, m, depth, (64, 64), 3, -1), plane(6, 2, depth, n, (64, 64), 3, -2))

    def case(kernel: str, maps: tuple[Map, Map], columns: int, given: tuple[Array, Array],
             shared: int) -> Case:  # fmt: skip
        return Case(
            name=kernel + name, unit="further", kernel=kernel, grid=m // 64 * (n // columns),
            block=128, shared=shared + 1024, hidden={-1: given[0], -2: given[1]}, kept=(4,),
            arguments=(*maps, np.int32(steps), np.int32(n // columns),
                       np.zeros(m * n, np.float32), np.int32(n)),
        )  # fmt: skip

    return [
        case("gemm_mixed", mixed, 128, (bytes_, b), 4 * (4096 + 16384)),
        case("gemm_transposed", turned, 64, (a, across), 3 * 16384),
    ]


# rank -> kind, bytes, box, swizzle, of the tensors that are copied; boxes in each dimension of a
# small and a large launch
_COPIES = {
    1: (7, 4, (256,), 0, (9,), (66 * 256,)),
    2: (6, 2, (64, 64), 3, (3, 3), (32, 66)),
    3: (0, 1, (64, 16, 8), 2, (2, 2, 3), (16, 16, 16)),
    4: (9, 2, (16, 8, 8, 8), 1, (2, 2, 2, 2), (8, 8, 8, 8)),
    5: (7, 4, (8, 4, 4, 4, 4), 0, (2, 2, 2, 2, 2), (4, 8, 8, 8, 2)),
}


def _copy(rank: int, is_large: bool, action: str) -> Case:
    kind, element, box, swizzle, few, many = _COPIES[rank]
    if action == "add":
        kind, element, box, swizzle = 2, 4, (32, 8, 8), 0
    counts = many if is_large else few
    # the last box of each dimension lies partly outside
    sizes = tuple(n * b - (b // 4 if n > 1 else 0) for n, b in zip(counts, box, strict=True))
    if sizes[0] * element % 16:
        sizes = (counts[0] * box[0], *sizes[1:])
    strides, step = [], element
    for size in sizes[:-1]:
        step *= size
        strides.append(step)
    rng = np.random.default_rng(rank)
    size = prod(sizes) * element
    data = rng.integers(0, 256, size, dtype=np.uint8)
    if kind in (7, 9):
        data = numbers(rng, {7: "f32", 9: "bf16"}[kind], (prod(sizes),))
    common = dict(kind=kind, sizes=sizes, strides=tuple(strides), box=box, steps=(1,) * rank,
                  swizzle=swizzle)  # fmt: skip
    total = prod(counts)
    to = np.zeros(size, np.uint8) if action == "store" else data[::-1].copy()
    places = [*counts, *[1] * 4][:4], [*box, *[0] * 5][:5]
    shift = 0 if action == "add" else box[0] // 2
    numbers_ = (prod(box) * element, total, *places[0], *places[1], shift)
    return Case(
        name=f"{'copy' if action == 'store' else 'reduce'}_rank{rank}{'+' if is_large else ''}",
        unit="further", kernel=f"{'copy' if action == 'store' else 'reduce'}_rank{rank}",
        grid=4 * 132 if is_large else 5, block=32, shared=2 * 16384 + 1024,
        hidden={-1: data, -2: to}, kept=(-2,),
        arguments=(Map(array=-1, **common), Map(array=-2, **common), *map(np.int32, numbers_)),
    )  # fmt: skip


def _streams(is_large: bool) -> list[Case]:
    rng = np.random.default_rng(6)
    pieces, blocks = (24, 4 * 132) if is_large else (6, 3)
    x = rng.standard_normal(pieces * blocks * 1024).astype(np.float32)
    rows, columns = (512, 16384) if is_large else (2, 8 * 1000)
    table = (4 * rng.standard_normal((rows, columns))).astype(np.float32)
    end = "+" if is_large else ""
    return [
        Case(name=f"bulk_scale{end}", unit="further", kernel="bulk_scale", grid=blocks, block=256,
             arguments=(x, np.zeros_like(x), np.float32(1.75), np.int32(pieces)), kept=(1,)),
        Case(name=f"softmax_cluster{end}", unit="further", kernel="softmax_cluster",
             grid=8 * rows, block=256, cluster=8,
             arguments=(table, np.zeros_like(table), np.int32(columns)), kept=(1,)),
    ]  # fmt: skip


def _filters(is_large: bool) -> list[Case]:
    rng = np.random.default_rng(8)
    width, height = (1024, 1024) if is_large else (128, 48)
    wide, high = (2048, 1536) if is_large else (200, 75)
    texels = rng.standard_normal((height, width)).astype(np.float32)
    pixels = rng.integers(0, 256, (height, 4 * width), dtype=np.uint8)
    end = "+" if is_large else ""
    linear = Filter(array=-1, width=width, height=height, format=0x20, channels=1, texel_bytes=4,
                    mode=1, is_linear=True, flags=2)  # fmt: skip
    nearest = Filter(array=-1, width=width, height=height, format=1, channels=4, texel_bytes=4,
                     mode=1, is_linear=False, flags=0)  # fmt: skip

    def case(kernel: str, texture: Filter, data: Array, shape: tuple[int, int]) -> Case:
        across = -(-shape[0] // 32)
        grid = (across, -(-shape[1] // 8))
        return Case(name=kernel + end, unit="filters", kernel=kernel, grid=grid, block=256,
                    hidden={-1: data}, kept=(1,),
                    arguments=(texture, np.zeros(prod(shape), np.float32),
                               *map(np.int32, shape)))  # fmt: skip

    return [case("texture_bilinear", linear, texels, (wide, high)),
            case("texture_bytes", nearest, pixels, (width, height))]  # fmt: skip


def _every(is_large: bool) -> list[Case]:
    end = "+" if is_large else ""
    attention = _attention(132 * 128, 2048, end) if is_large else _attention(256, 512, end)
    products = _products(64 * 33, 128 * 8, 24, end) if is_large else _products(128, 256, 7, end)
    copies = [_copy(rank, is_large, "store") for rank in range(1, 6)]
    return [attention, *products, *copies, _copy(3, is_large, "add"), *_streams(is_large),
            *_filters(is_large)]  # fmt: skip


def small() -> list[Case]:
    """Launches whose results are kept."""
    return _every(False)


def large() -> list[Case]:
    """Launches whose times are kept."""
    return _every(True)
