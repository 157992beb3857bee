"""Lanes that walk through more pages of memory than a GPU can translate addresses of at once,
against an H200 (`validation/data/pages_sm90.json`)."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.timing.replayed import CYCLES, recorded_rows, recorder_kernels, recorder_script
from warplens.execute.buffers import sparse

RECORDED = recorded_rows("pages", 4)
with recorder_script("pages") as recorder:
    TURNS, PAGE_BYTES = recorder.TURNS, recorder.PAGE_BYTES
FEW, MANY = 4, 12  # 2 to these pages


@cache
def replayed(kind: str, pages: int, blocks: int, threads: int) -> float:
    data, out = sparse(PAGE_BYTES << pages, np.uint8), np.zeros(1024, np.uint32)
    kernel = recorder_kernels("pages", "H200")[f"pages_{kind}"]
    launch = kernel.predict[blocks, threads](out, data, pages, TURNS[kind])
    return float(launch.metric(CYCLES))


@pytest.mark.parametrize("pages", [9, MANY])
@pytest.mark.parametrize("shape", [(132, 256), (528, 256)])
def test_gathers_from_many_pages_take_as_many_times_as_long(shape: tuple[int, int],
                                                            pages: int) -> None:  # fmt: skip
    few, many = (RECORDED["gather", n, *shape][CYCLES] for n in (FEW, pages))
    assert many > 3.0 * few
    here = replayed("gather", pages, *shape) / replayed("gather", FEW, *shape)
    assert here == pytest.approx(many / few, rel=0.35)


@pytest.mark.parametrize("kind", ["chase", "load", "store"])
def test_rows_do_not_wait_for_pages(kind: str) -> None:
    shape = (132, 256)
    few, many = (RECORDED[kind, n, *shape][CYCLES] for n in (FEW, MANY))
    assert many / few == pytest.approx(1.0, rel=0.1)
    here = replayed(kind, MANY, *shape) / replayed(kind, FEW, *shape)
    assert here == pytest.approx(many / few, rel=0.1)
