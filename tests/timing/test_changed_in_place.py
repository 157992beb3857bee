"""Lines of which several SMs change a part each, in place, against an H200: launches of
`validation/suites` (swapGrid of ace, k_subtractPSF of hogbom, in short)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from tests.timing.touching import touched
from warplens.timing.rows import changed_in_place

RECORDED = Path(__file__).parents[2] / "validation" / "suites" / "recorded_h200.json"
DURATION = "gpu__time_duration.sum"
SOURCE = """
extern "C" __global__ void swap(double *a, double *b, int n) {
    const int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    const long long i = ((long long)(blockIdx.z * 4 + threadIdx.z) * n + y) * n + x;
    const double first = a[i];
    a[i] = b[i];
    b[i] = first;
}
extern "C" __global__ void subtract(const float *__restrict__ from, float *__restrict__ a, int n) {
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    a[y * n + x] -= 0.2f * from[y * n + x];
}
"""


def _nanoseconds(kernel: str, grid: tuple[int, ...], block: tuple[int, ...], n: int,
                 words: int, kind: type) -> float:  # fmt: skip
    module = wl.Device("H200", clock=1980).compile(SOURCE)
    launch = module[kernel].predict[grid, block](
        np.ones(words, kind), np.ones(words, kind), np.int32(n)
    )
    return float(launch.metric(DURATION) or 0)


@pytest.mark.parametrize(("key", "given", "error"), [
    ("hecbench3:ace-swap/200", ("swap", (25, 25, 50), (8, 8, 4), 200, 200**3, np.float64), 0.25),
    ("hecbench2:hogbom-subtract/2048",
     ("subtract", (128, 128), (16, 16), 2048, 1 << 22, np.float32), 0.1),
])  # fmt: skip
def test_halves_of_lines_change_as_slowly_as_recorded(
    key: str, given: tuple[object, ...], error: float
) -> None:
    """A swap of grids took less than half of its time before."""
    recorded = json.loads(RECORDED.read_text())["cases"][key]["metrics"][DURATION]
    assert _nanoseconds(*given) == pytest.approx(recorded, rel=error)  # type: ignore[arg-type]


def test_lines_that_two_blocks_read_and_store_to_are_written_in_pieces() -> None:
    """Line 7 is read and written by two blocks, line 9 by one, line 6 only written."""
    lines = np.array([7, 9, 7, 9, 6, 7, 7, 6])
    kind = np.array([1, 1, 2, 2, 2, 1, 2, 2])
    block = np.array([0, 0, 0, 0, 0, 1, 1, 1])
    used = touched(lines, 0b0011, block=block, kind=kind, entry=np.where(block == 0, 0, -2))
    pieces = np.zeros(len(lines), np.float32)
    changed_in_place(used, 132, np.array([[6, 7], [7, 8], [9, 10]]), pieces)
    assert np.flatnonzero(pieces).tolist() == [2]
