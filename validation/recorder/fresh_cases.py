"""A second set of Hopper's kernels that nothing is tuned on, chosen and recorded before the model
was changed for what those of `held_cases.py` showed, and predicted once afterwards.

One or two of each kind: products in all types and ways, attention, convolution, tensor copies of
every rank and by addition, bulk copies, clusters, filters; other shapes than everywhere else.

`python fresh_cases.py --build CUBINS` compiles; `python fresh_cases.py CUBINS OUT` needs a GPU.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from further_cases import _attention, _filters, _products
from further_kernels import sources as further
from gemm_cases import _others, gemm_case
from gemm_kernels import Gemm, gemm
from gemm_kernels import sources as gemms
from gemm_preamble import PREAMBLE
from held_cases import copy_case, record
from hopper_cases import Case, Filter

GEMMS = {
    g.name: g
    for g in (
        Gemm(name="fresh_f16_192", columns=192, stages=4),
        Gemm(name="fresh_bf16_64", kind="bf16", pitch=64, columns=128, stages=4),
        Gemm(name="fresh_tf32_192", kind="tf32", columns=192),
        Gemm(name="fresh_e4m3_32", kind="e4m3", columns=96, pitch=32, stages=6),
        Gemm(name="fresh_s8_192", kind="s8", sums="s32", columns=192),
        Gemm(name="fresh_f16_f16", sums="f16", columns=192, stages=3),
        Gemm(name="fresh_producer", kind="bf16", consumers=1, columns=256, stages=4),
        Gemm(name="fresh_cooperative", kind="e5m2", consumers=2, columns=128, stages=4),
        Gemm(name="fresh_pingpong", kind="tf32", consumers=2, columns=128, stages=4, pingpong=True),
        Gemm(name="fresh_stored", kind="bf16", consumers=1, columns=128, stages=4, stores=True),
        Gemm(name="fresh_multicast", kind="bf16", consumers=2, columns=128, stages=4,
             multicast=True),
        Gemm(name="fresh_split", kind="bf16", columns=96, stages=4, split=4),
        Gemm(name="fresh_stream", kind="bf16", consumers=1, columns=128, stages=3, stream=True),
        Gemm(name="fresh_scaled", kind="e4m3", consumers=1, columns=128, scaled=True),
    )
}
# rank -> as held_cases._COPIES
_COPIES = {
    1: (6, 2, (128,), 0, (30_000,)),
    2: (6, 2, (64, 96), 3, (24, 60)),
    3: (7, 4, (16, 8, 16), 2, (10, 14, 18)),
    4: (6, 2, (32, 4, 8, 4), 0, (8, 10, 6, 9)),
    5: (0, 1, (64, 4, 4, 4, 2), 2, (6, 8, 7, 5, 4)),
}


def _gemms() -> list[Case]:
    found = []
    for g in GEMMS.values():
        m, n, steps = 12 * g.rows, 11 * g.columns, 40
        if g.pingpong or g.multicast:
            m = 24 * g.rows
        if g.stores:
            m = 48 * g.rows
        if g.split > 1:
            m, n = 8 * g.rows, 4 * g.columns
        if g.scaled:
            m = n = 1536
        if g.stream:
            m = n = 1280
        persistent = g.stores or g.pingpong or g.stream
        found.append(gemm_case(g, m, n, steps, 132 if persistent else 0, g.name, "fresh"))
    return found


def _streams() -> list[Case]:
    rng = np.random.default_rng(16)
    pieces, blocks, rows, columns = 40, 2 * 132, 900, 10 * 1024
    x = rng.standard_normal(pieces * blocks * 1024).astype(np.float32)
    table = (4 * rng.standard_normal((rows, columns))).astype(np.float32)
    return [
        Case(name="fresh_bulk_scale", unit="further", kernel="bulk_scale", grid=blocks, block=256,
             arguments=(x, np.zeros_like(x), np.float32(0.75), np.int32(pieces)), kept=(1,)),
        Case(name="fresh_softmax_cluster", unit="further", kernel="softmax_cluster", grid=8 * rows,
             block=256, cluster=8, kept=(1,),
             arguments=(table, np.zeros_like(table), np.int32(columns))),
    ]  # fmt: skip


def _pictures() -> list[Case]:
    """Filters of a picture of 640 by 512, to one of 800 by 600."""
    rng = np.random.default_rng(18)
    width, height, wide, high = 640, 512, 800, 600
    arrays = {
        "texture_bilinear": rng.standard_normal((height, width)).astype(np.float32),
        "texture_bytes": rng.integers(0, 256, (height, 4 * width), dtype=np.uint8),
    }
    found = []
    for case in _filters(False):
        shape = (wide, high) if case.kernel == "texture_bilinear" else (width, height)
        filter_ = case.arguments[0]
        assert isinstance(filter_, Filter)
        given = (replace(filter_, width=width, height=height),
                 np.zeros(shape[0] * shape[1], np.float32), *map(np.int32, shape))  # fmt: skip
        found.append(replace(case, name=f"fresh_{case.kernel}", hidden={-1: arrays[case.kernel]},
                             grid=(-(-shape[0] // 32), -(-shape[1] // 8)),
                             arguments=given))  # fmt: skip
    return found


def cases() -> list[Case]:
    """Every launch."""
    attention, convolution = _others(132 * 64, 60, "")
    plain = [replace(one, name=f"fresh_{one.name}")
             for one in (replace(attention, grid=100), convolution,
                         _attention(132 * 128, 1536, ""), *_products(64 * 24, 128 * 10, 36, ""))]
    copies = [copy_case("fresh", rank, "store", _COPIES[rank]) for rank in range(1, 6)]
    copies.append(copy_case("fresh", 3, "add", (7, 4, (32, 8, 8), 3, (6, 14, 18))))
    return [*_gemms(), *plain, *copies, *_streams(), *_pictures()]


def sources() -> dict[str, str]:
    """Translation units by name."""
    return {"fresh": PREAMBLE + "".join(map(gemm, GEMMS.values())), **further(),
            "others": gemms()["others"]}  # fmt: skip


if __name__ == "__main__":
    record(sources(), cases(), "fresh_times_sm90")
