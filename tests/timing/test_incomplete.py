"""Sectors that stores leave incomplete: how many L2 completes from DRAM, against an H200 (a launch
of `validation/suites/tenth`: DGL's `BackwardSegmentCmpKernel`, in short)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from tests.timing.replayed import CLOCK_MHZ, TIME
from tests.timing.touching import touched
from warplens.timing.added import Grid, completed
from warplens.timing.lsu import WRITE

TENTH = Path(__file__).parents[2] / "validation" / "suites" / "tenth"
CASE = "dgl:segment_cmp_backward/16384x64"
READ, WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
ROWS, COLUMNS, PLACES = 16384, 64, 65536
SOURCE = """
extern "C" __global__ void scattered(const float *in, const long long *row, float *out,
                                     int columns) {
    const int at = blockIdx.x * columns + threadIdx.x;
    if (row[at] >= 0) out[row[at] * columns + threadIdx.x] = in[at];
}
"""


def test_words_all_over_an_array_that_l2_could_hold_are_completed() -> None:
    """A million words of 16.8 MB: as soon as L2 has its fill of incomplete sectors, it reads and
    writes one for each further one (nothing would be written, and half the time be taken, if it
    kept them all)."""
    recorded = json.loads((TENTH / "recorded_h200.json").read_text())["cases"][CASE]["metrics"]
    rng = np.random.default_rng(1)
    words = ROWS * COLUMNS
    arrays = np.zeros(words, np.float32), rng.integers(-1, PLACES, words)
    kernel = wl.Device("H200", clock=CLOCK_MHZ).compile(SOURCE)["scattered"]
    out = np.zeros(PLACES * COLUMNS, np.float32)
    launch = kernel.predict[ROWS, COLUMNS](*arrays, out, np.int32(COLUMNS))
    for name in (READ, WRITTEN):
        assert launch.metric(name) == pytest.approx(recorded[name], rel=0.08), name
    assert launch.metric(TIME) == pytest.approx(recorded[TIME], rel=0.3)


def _part(sectors: list[int], lines: list[int], kept: float, *, blocks: int = 0, hits: int = 0,
          size: int = 4, back: float = 0.0) -> float:  # fmt: skip
    """Of stores of a word of `size` bytes by one block each, of `blocks` of a grid; some of the
    sectors `hits` are known."""
    n = len(lines)
    used = touched(lines, sectors, kind=WRITE, block=np.arange(n), warp=np.arange(n), lanes=1,
                   size=size)  # fmt: skip
    fills, known = np.array(sectors, np.uint8), np.full(n, hits, np.uint8)
    return completed(used, fills, known, kept, back, Grid(blocks or n, n, n, None))


def test_what_l2_keeps_is_not_completed() -> None:
    assert _part([1, 2, 4, 8], [5, 5, 6, 7], kept=4.0) == 0.0
    assert _part([1, 2, 4, 8], [5, 5, 6, 7], kept=1.0) == pytest.approx(0.75)


def test_what_is_known_is_complete() -> None:
    assert _part([0b11] * 8, list(range(8)), kept=2.0, hits=0b10) == pytest.approx(0.75)


def test_blocks_that_were_not_sampled_leave_as_many_incomplete() -> None:
    """Each in lines of its own: 32 blocks of four sectors leave 128."""
    part = _part([0b1111] * 8, list(range(8)), kept=32.0, blocks=32)
    assert part == pytest.approx(0.75)


def test_what_the_grid_stores_as_a_whole_is_completed_by_others() -> None:
    """As far as L2 does not write it back anyway."""
    assert _part([1] * 8, list(range(8)), kept=2.0, size=32, back=0.25) == pytest.approx(0.25)
    assert _part([1] * 8, list(range(8)), kept=2.0, size=24, back=0.25) == pytest.approx(0.5)
