"""What the kernels of gemm_kernels.py are given: a small launch, kept bit for bit, and a large one
whose time counts. Which of the large ones may be tuned on is settled here."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gemm_kernels import BYTES, GEMMS, Gemm
from hopper_cases import Case, Map

Array = npt.NDArray[Any]
KINDS = {"f16": 6, "bf16": 9, "tf32": 7, "e4m3": 0, "e5m2": 0, "s8": 0}
SWIZZLES = {32: 1, 64: 2, 128: 3}
TUNING = frozenset({
    "gemm_f16_128", "gemm_f16_64", "gemm_tf32", "gemm_e4m3", "gemm_producer", "gemm_cooperative",
    "gemm_split", "gemm_scaled",
})  # fmt: skip


def numbers(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> Array:
    """Random operands as bytes."""
    if kind == "s8":
        return rng.integers(-128, 128, shape).astype(np.int8).view(np.uint8)
    if kind in ("e4m3", "e5m2"):
        most = 0x5F if kind == "e4m3" else 0x47
        return (rng.integers(0, most, shape) | rng.integers(0, 2, shape) << 7).astype(np.uint8)
    values = rng.standard_normal(shape).astype(np.float32)
    if kind == "f16":
        return values.astype(np.float16).view(np.uint8)
    if kind == "bf16":
        return (values.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
    return values.view(np.uint8)


def plane(kind: int, element: int, rows: int, columns: int, box: tuple[int, int], swizzle: int,
          array: int) -> Map:  # fmt: skip
    """The map of a matrix, row after row; the box is columns by rows."""
    return Map(array=array, kind=kind, sizes=(columns, rows), strides=(columns * element,), box=box,
               steps=(1, 1), swizzle=swizzle)  # fmt: skip


def gemm_case(g: Gemm, m: int, n: int, steps: int, grid: int, name: str, unit: str) -> Case:
    """One launch of a product of m x n numbers."""
    rng = np.random.default_rng(len(g.name) + m)
    element, kind = BYTES[g.kind], KINDS[g.kind]
    depth = steps * g.step
    a, b = (numbers(rng, g.kind, (rows, depth)) for rows in (m, n))
    tiles = (m // g.rows) * (n // g.columns)
    maps = [
        plane(kind, element, m, depth, (g.step, g.rows), SWIZZLES[g.pitch], -1),
        plane(kind, element, n, depth, (g.step, g.columns // (2 if g.multicast else 1)),
              SWIZZLES[g.pitch], -2),
    ]  # fmt: skip
    hidden: dict[int, Array] = {-1: a, -2: b}
    out = np.zeros(m * n // (2 if g.sums == "f16" else 1), np.uint32)
    if g.stores:
        hidden[-3] = out
        maps.append(plane(7, 4, m, n, (g.columns, 64), 0, -3))
    across = m // g.rows if g.multicast else n // g.columns
    plain: list[Any] = [np.int32(steps), np.int32(tiles), np.int32(across), out, np.int32(n)]
    if g.scaled:
        plain += [rng.uniform(0.5, 2, (steps, n)).astype(np.float32) for _ in "ab"]
    if g.stream:
        plain += [np.zeros(grid * 64 * g.columns, np.float32), np.zeros(grid, np.int32)]
    return Case(
        name=name, unit=unit, kernel=g.name, grid=grid or tiles * g.split, block=g.threads,
        shared=g.shared, cluster=2 if g.multicast else g.split,
        arguments=(*maps, *plain), kept=(-3 if g.stores else len(maps) + 3,), hidden=hidden,
    )  # fmt: skip


def _others(queries: int, images: int, name: str) -> list[Case]:
    rng = np.random.default_rng(7)
    q, k, v = (numbers(rng, "f16", (queries, 64)) for _ in "qkv")
    maps = [plane(6, 2, queries, 64, (64, 64), 3, -1 - i) for i in range(3)]
    found = [Case(
        name=f"attention{name}", unit="others", kernel="attention", grid=queries // 64, block=128,
        shared=8192 + 2 * 16384 + 1024, hidden={-1: q, -2: k, -3: v}, kept=(5,),
        arguments=(*maps, np.int32(queries // 64), np.float32(0.18033688),
                   np.zeros(queries * 64, np.float32)),
    )]  # fmt: skip
    size, width = 16 * 16 * images, 16
    x, w = numbers(rng, "f16", (size, 64)), numbers(rng, "f16", (9 * 64, 64))
    pixels = Map(array=-1, kind=6, sizes=(64, width, width, images),
                 strides=(128, 128 * width, 128 * width * width), steps=(1, 1, 1, 1), swizzle=3,
                 corners=((-1, -1), (-1, -1)), channels=64, pixels=64)  # fmt: skip
    found.append(Case(
        name=f"convolution{name}", unit="others", kernel="convolution", grid=size // 64, block=128,
        shared=2 * 16384 + 1024, hidden={-1: x, -2: w}, kept=(4,),
        arguments=(pixels, plane(6, 2, 9 * 64, 64, (64, 64), 3, -2), np.int32(width),
                   np.int32(width), np.zeros(size * 64, np.float32)),
    ))  # fmt: skip
    return found


def _unit(name: str) -> str:
    return "gemms" if list(GEMMS).index(name) < len(GEMMS) // 2 else "gemms2"


def small() -> list[Case]:
    """Launches whose results are kept."""
    found = []
    for g in GEMMS.values():
        persistent = g.stores or g.pingpong or g.stream
        n = 2 * g.columns
        m = 2 * g.rows if not g.pingpong else 4 * g.rows
        if g.scaled or g.stream:
            m = n = max(m, n)
        grid = 3 if persistent else 0
        found.append(gemm_case(g, m, n, 7, grid, g.name, _unit(g.name)))
    return found + _others(256, 1, "")


def large() -> list[Case]:
    """Launches whose times are kept: about one block for each of 132 multiprocessors, or more."""
    found = []
    for g in GEMMS.values():
        n = 12 * g.columns
        m = 11 * g.rows
        if g.multicast:
            m = 22 * g.rows
        if g.pingpong:
            m = 22 * g.rows
        if g.stores:
            m = 33 * g.rows
        if g.split > 1:
            n = 3 * g.columns
        if g.scaled:
            m = n
        if g.stream:
            m, n = 10 * g.rows, 7 * g.columns
        persistent = g.stores or g.pingpong or g.stream
        found.append(gemm_case(g, m, n, 16 if g.split == 1 else 32, 132 if persistent else 0,
                               f"{g.name}+", _unit(g.name)))  # fmt: skip
    return found + _others(132 * 64, 33, "+")
