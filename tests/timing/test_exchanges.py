"""Loops of compare and exchange of many blocks against recorded times."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from warplens.timing.retries import retries
from warplens.timing.state import LOCKS, TRIES

ROOT = Path(__file__).parents[2] / "validation"
RECORDED = json.loads((ROOT / "data" / "exchanges_sm90.json").read_text())
SOURCE = (ROOT / "recorder" / "kernels" / "exchanges.cu").read_text()
TIMES = {tuple(row[:5]): row[5] for row in RECORDED["rows"]}
# What a launch takes between two events: that of a kernel of one warp, less its own time
BETWEEN_EVENTS_US = min(TIMES.values()) - 2.0


@pytest.fixture(scope="module")
def module() -> wl.Module:
    return wl.Device("H200", clock=1980).compile(SOURCE)


@pytest.mark.parametrize(
    ("blocks", "threads", "words", "within"),
    [
        (132, 128, 32, 0.35), (264, 128, 32, 0.25), (528, 128, 32, 0.25),
        (264, 128, 384, 0.25), (264, 512, 384, 0.25), (528, 512, 384, 0.3),
    ],
)  # fmt: skip
def test_time_grows_with_the_square_of_the_contenders(
    module: wl.Module, blocks: int, threads: int, words: int, within: float
) -> None:
    recorded = TIMES["exchange", blocks, threads, words, 1] - BETWEEN_EVENTS_US
    data, tries = np.zeros(1 << 18, np.uint32), np.zeros(blocks * threads, np.uint32)
    launch = module["exchange"].predict[(blocks,), (threads,)](
        data, tries, np.uint32(words), np.uint32(1)
    )
    predicted = launch.metric("gpu__time_duration.sum") / 1e3
    assert predicted == pytest.approx(recorded, rel=within)


ONCE = """
__global__ void once(unsigned* data, int n) {
    for (int i = 0; i < n; i++) data[32 + threadIdx.x] += atomicCAS(data, threadIdx.x, blockIdx.x);
}
__global__ void unseen(unsigned* data, int n) {
    for (int i = 0; i < n; i++) atomicCAS(data, threadIdx.x, blockIdx.x);
}
__global__ void locked(unsigned* lock, unsigned* data, unsigned more) {
    while (atomicCAS(lock, 0u, 1u)) {}
    *(volatile unsigned*)data += more;
    atomicExch(lock, 0u);
}
__global__ void again(double* data) {
    unsigned long long* at = (unsigned long long*)data;
    unsigned long long old = *at, seen;
    do {
        seen = old;
        old = atomicCAS(at, seen, __double_as_longlong(1.5 * __longlong_as_double(seen)));
    } while (old != seen);
}
"""


def test_only_loops_that_look_at_what_they_found_try_again() -> None:
    module = wl.Device("H200", clock=1980).compile(ONCE)
    again = {name: retries(module[name].sass) for name in ("once", "unseen", "locked", "again")}
    assert again == {"once": 0, "unseen": 0, "locked": LOCKS, "again": TRIES}
