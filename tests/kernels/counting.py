"""References of counting.cu."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests import exact
from tests.kernels.model import Problem, case

Array = npt.NDArray[Any]


def _bytes(rng: np.random.Generator, n: int) -> Problem:
    data = (rng.integers(0, 16, n) ** 2).astype(np.uint8)
    expected = np.bincount(data, minlength=256).astype(np.uint32)
    return (data, np.zeros(256, np.uint32), n), {1: expected}


@case("counting.cu", grid=3, block=70)
def histogram_global(rng: np.random.Generator) -> Problem:
    return _bytes(rng, 999)


@case("counting.cu", grid=4, block=96)
def histogram_shared(rng: np.random.Generator) -> Problem:
    return _bytes(rng, 2000)


@case("counting.cu", grid=5, block=64)
def histogram_match(rng: np.random.Generator) -> Problem:
    return _bytes(rng, 301)


def _rows(rng: np.random.Generator, rows: int, columns: int) -> tuple[Array, Array]:
    lengths = rng.integers(0, 60, rows)
    lengths[rows // 2] = 0
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return start, rng.integers(0, columns, start[-1], dtype=np.int32)


@case("counting.cu", grid=2, block=40)
def spmv_scalar(rng: np.random.Generator) -> Problem:
    start, column = _rows(rng, 77, 50)
    value, x = (rng.standard_normal(n).astype(np.float32) for n in (len(column), 50))
    y = np.zeros(77, np.float32)
    for r in range(77):
        for i in range(start[r], start[r + 1]):
            y[r : r + 1] = exact.fma(value[i : i + 1], x[column[i]][None], y[r : r + 1])
    return (start, column, value, x, np.zeros(77, np.float32), 77), {4: y}


@case("counting.cu", grid=5, block=64)
def spmv_vector(rng: np.random.Generator) -> Problem:
    start, column = _rows(rng, 9, 70)
    value, x = rng.standard_normal(len(column)), rng.standard_normal(70)
    y = np.zeros(9)
    for r in range(9):
        lanes = np.zeros(32)
        for i in range(start[r], start[r + 1], 32):
            part = slice(i, min(i + 32, start[r + 1]))
            lanes[: part.stop - i] += value[part] * x[column[part]]
        for d in (16, 8, 4, 2, 1):
            lanes = lanes[:d] + lanes[d : 2 * d]
        y[r] = lanes[0]
    return (start, column, value, x, np.zeros(9), 9), {4: y}


@case("counting.cu", grid=1, block=96)
def bfs_queue(rng: np.random.Generator) -> Problem:
    n = 200
    edges = [sorted(set(rng.integers(0, n - 20, 3).tolist())) for _ in range(n)]
    start = np.cumsum([0, *map(len, edges)]).astype(np.int32)
    depth = np.full(n, -1, np.int32)
    depth[7], front = 0, [7]
    while front:
        front = sorted({w for v in front for w in edges[v] if depth[w] == -1})
        depth[front] = depth.max() + 1
    flat = np.array([w for row in edges for w in row], np.int32)
    arguments = start, flat, np.full(n, -1, np.int32), np.zeros(n, np.int32), 7
    return arguments, {2: depth}


def _components(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    edges = rng.integers(0, 300, (2, 220), dtype=np.uint32)
    label = np.arange(300, dtype=np.uint32)
    for _ in range(300):
        low = np.minimum(label[edges[0]], label[edges[1]])
        before = label.copy()
        np.minimum.at(label, edges[0], low)
        np.minimum.at(label, edges[1], low)
        if (before == label).all():
            break
    return edges[0].copy(), edges[1].copy(), label


@case("counting.cu", grid=4, block=64)
def components(rng: np.random.Generator) -> Problem:
    a, b, label = _components(rng)

    def check(parent: Array) -> None:
        for _ in range(300):
            parent = parent[parent]
        assert (parent == label).all()

    return (a, b, np.arange(300, dtype=np.uint32), 220), {2: check}


@case("counting.cu", grid=3, block=100)
def components_flatten(rng: np.random.Generator) -> Problem:
    parent = np.arange(300, dtype=np.uint32)
    parent[1:] = rng.integers(0, np.arange(1, 300))
    roots = parent.copy()
    for _ in range(300):
        roots = roots[roots]
    return (parent, 300), {0: roots}


@case("counting.cu", grid=2, block=50)
def monte_carlo(rng: np.random.Generator) -> Problem:
    s = (12345 + 977 * np.arange(100)).astype(np.uint32)
    hits = 0
    for _ in range(60):
        for left, by in ((True, 13), (False, 17), (True, 5)):
            s ^= s << np.uint32(by) if left else s >> np.uint32(by)
        x, y = (s & np.uint32(0xFFFF)).astype(np.uint64), (s >> np.uint32(16)).astype(np.uint64)
        hits += int((x * x + y * y < 2**32).sum())
    return (np.zeros(1, np.uint64), 60), {0: np.array([hits], np.uint64)}


@case("counting.cu", grid=3, block=33)
def work_queue(rng: np.random.Generator) -> Problem:
    work = rng.integers(0, 30, 170, dtype=np.int32)
    done = np.zeros(170, np.int64)
    for i, steps in enumerate(work):
        v = 1
        for _ in range(steps):
            v = v * 3 + i
        done[i] = v
    arguments = np.zeros(1, np.int32), work, np.zeros(170, np.int64), 170
    return arguments, {0: np.array([170 + 99], np.int32), 2: done}
