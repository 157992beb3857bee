"""Kernels of Hopper that nothing is tuned on and whose errors are looked at last.

Other tiles, types and stages than those of `gemm_cases.py`, other shapes than those of
`further_cases.py`.

`python held_cases.py --build CUBINS` compiles; `python held_cases.py CUBINS OUT` needs a GPU.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from further_cases import _attention, _filters, _products
from further_kernels import sources as further
from gemm_cases import gemm_case, numbers
from gemm_kernels import Gemm, gemm
from gemm_preamble import PREAMBLE
from gemm_times import Bench
from hopper_cases import Case, Map
from session import Session
from triton_cases import READER

from hopper import build

GEMMS = {
    g.name: g
    for g in (
        Gemm(name="held_bf16_192", kind="bf16", columns=192),
        Gemm(name="held_f16_96", columns=96, stages=4),
        Gemm(name="held_tf32_32", kind="tf32", columns=128, pitch=32, stages=4),
        Gemm(name="held_s8_64", kind="s8", sums="s32", columns=64),
        Gemm(name="held_producer_e5m2", kind="e5m2", consumers=1, columns=192, stages=4),
        Gemm(name="held_cooperative", consumers=2, stages=3, columns=192),
        Gemm(name="held_pingpong", kind="bf16", consumers=2, stages=3, columns=192, pingpong=True),
        Gemm(name="held_stored", consumers=1, stages=4, columns=64, stores=True),
        Gemm(name="held_multicast", consumers=2, stages=3, columns=192, multicast=True),
        Gemm(name="held_split", stages=3, split=2, columns=128),
        Gemm(name="held_stream", consumers=1, stages=3, columns=96, stream=True),
        Gemm(name="held_scaled", kind="e4m3", scaled=True, columns=96, consumers=1),
    )
}
# rank -> kind, bytes of an element, box, swizzle, boxes in each dimension, of the tensors copied
_COPIES = {
    1: (0, 1, (256,), 0, (40_000,)),
    2: (7, 4, (16, 128), 2, (20, 40)),
    3: (6, 2, (32, 16, 16), 0, (8, 12, 14)),
    4: (7, 4, (8, 16, 8, 4), 0, (10, 6, 9, 4)),
    5: (6, 2, (32, 2, 8, 4, 4), 2, (3, 10, 6, 5, 3)),
}


def _gemms() -> list[Case]:
    found = []
    for g in GEMMS.values():
        m, n, steps = 11 * g.rows, 12 * g.columns, 24
        if g.pingpong or g.multicast:
            m = 22 * g.rows
        if g.stores:
            m = 40 * g.rows
        if g.split > 1:
            n = 6 * g.columns
        if g.scaled:
            m = n = 1152
        if g.stream:
            m, n = 9 * g.rows, 9 * g.columns
        persistent = g.stores or g.pingpong or g.stream
        found.append(gemm_case(g, m, n, steps, 132 if persistent else 0, g.name, "held"))
    return found


def copy_case(part: str, rank: int, action: str, shape: Any) -> Case:
    """Boxes of a tensor of some rank, loaded and stored or added; `shape` as in _COPIES."""
    kind, element, box, swizzle, counts = shape
    sizes = tuple(n * b for n, b in zip(counts, box, strict=True))
    strides, step = [], element
    for size in sizes[:-1]:
        step *= size
        strides.append(step)
    data = numbers(np.random.default_rng(rank), "f16" if element == 2 else "f32", (prod(sizes),))
    data = data[: prod(sizes) * element].copy()
    common = dict(kind=kind, sizes=sizes, strides=tuple(strides), box=box, steps=(1,) * rank,
                  swizzle=swizzle)  # fmt: skip
    places = [*counts, *[1] * 4][:4], [*box, *[0] * 5][:5]
    numbers_ = (prod(box) * element, prod(counts), *places[0], *places[1], 0)
    kernel = f"{'copy' if action == 'store' else 'reduce'}_rank{rank}"
    return Case(
        name=f"{part}_{kernel}", unit="further", kernel=kernel, grid=4 * 132, block=32,
        shared=2 * 16384 + 1024, hidden={-1: data, -2: data[::-1].copy()}, kept=(-2,),
        arguments=(Map(array=-1, **common), Map(array=-2, **common), *map(np.int32, numbers_)),
    )  # fmt: skip


def _streams() -> list[Case]:
    rng = np.random.default_rng(6)
    pieces, blocks, rows, columns = 16, 3 * 132, 700, 12 * 1024
    x = rng.standard_normal(pieces * blocks * 1024).astype(np.float32)
    table = (4 * rng.standard_normal((rows, columns))).astype(np.float32)
    return [
        Case(name="held_bulk_scale", unit="further", kernel="bulk_scale", grid=blocks, block=256,
             arguments=(x, np.zeros_like(x), np.float32(1.75), np.int32(pieces)), kept=(1,)),
        Case(name="held_softmax_cluster", unit="further", kernel="softmax_cluster", grid=8 * rows,
             block=256, cluster=8, kept=(1,),
             arguments=(table, np.zeros_like(table), np.int32(columns))),
    ]  # fmt: skip


def cases() -> list[Case]:
    """Every launch."""
    products = [replace(one, name=f"held_{one.name}")
                for one in _products(64 * 44, 128 * 6, 20, "")]  # fmt: skip
    found = [*_gemms(), replace(_attention(132 * 128, 1024, ""), name="held_attention"), *products]
    found += [copy_case("held", rank, "store", _COPIES[rank]) for rank in range(1, 6)]
    found.append(copy_case("held", 3, "add", _COPIES[3]))
    filters = [replace(one, name=f"held_{one.name}") for one in _filters(False)]
    return [*found, *_streams(), *filters]


def sources() -> dict[str, str]:
    """Translation units by name."""
    return {"held": PREAMBLE + "".join(map(gemm, GEMMS.values())), **further()}


def record(units: dict[str, str], every: list[Case], name: str) -> None:
    """Compiles, or records times and counters."""
    if sys.argv[1] == "--build":
        build(Path(sys.argv[2]), {**units, "reader": READER})
        return
    session = Session.of_command_line(__doc__)
    bench, counters, times = Bench(session), None, {}
    if not session.dry_run:
        from counters import Counters

        counters = Counters(bench.driver.context)
    for case in every:
        print(case.name, flush=True)
        times[case.name] = bench.time(case, counters)
        told = {"metadata": session.metadata(), "clocks": session.clocks(), "rows": times}
        (session.out / f"{name}.json").write_text(json.dumps(told))


if __name__ == "__main__":
    record(sources(), cases(), "held_times_sm90")
