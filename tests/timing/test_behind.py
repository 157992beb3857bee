"""What waits behind memory instructions: in the queue of a sub-partition, and on the way to L2."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from warplens.cli._launch_arguments import parse
from warplens.validation.measured import DURATION

VALIDATION = Path(__file__).parents[2] / "validation"
KINDS = json.loads((VALIDATION / "data" / "kinds_sm90.json").read_text())["cases"]
# A warp's tile of an integer product, straight from global memory: fragments ask for the lane anew
TILES = """
#include <mma.h>
using namespace nvcuda;
__global__ void tiles(const unsigned char* a, const unsigned char* b, int* c, int size) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 16;
    int column = (blockIdx.y * blockDim.y + threadIdx.y) * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> sum;
    wmma::fill_fragment(sum, 0);
    for (int k = 0; k < size; k += 16) {
        if (row >= size || column >= size || k >= size) continue;
        wmma::fragment<wmma::matrix_a, 16, 16, 16, unsigned char, wmma::row_major> left;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, unsigned char, wmma::col_major> right;
        wmma::load_matrix_sync(left, a + k + row * size, size);
        wmma::load_matrix_sync(right, b + k + column * size, size);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c + column + row * size, sum, size, wmma::mem_row_major);
}
"""


def test_loads_wait_behind_contended_atomics() -> None:
    """Warps that add to one word: recorded as waiting for loads, not for shuffles or the end."""
    (case,) = (one for one in KINDS if one["name"] == "sum_atomic")
    source = (VALIDATION / "recorder" / "kernels" / "kinds.cu").read_text()
    arguments = [parse(text, seed=i) for i, text in enumerate(case["arguments"])]
    kernel = wl.Device("H200", clock=1980).compile(source)[case["kernel"]]
    launch = kernel.predict[tuple(case["grid"]), tuple(case["block"])](*arguments)
    stalls = launch.timing.answers.stalls
    waits = {name: cycles for name, cycles in stalls.items() if name != "selected"}
    assert max(waits, key=lambda name: waits[name]) == case["measured"]["stall"]
    assert launch.metric(DURATION) == pytest.approx(case["measured"][DURATION], rel=0.05)


def test_lane_numbers_wait_in_the_queue_of_memory_instructions() -> None:
    """`S2R` and `LDC` are no accesses, but go through their queue, so their results are late. Of
    such a product of 1,024 columns in cuda-samples (imma-simple) an H200's warps spend 22.7 % of
    their time in `short_scoreboard`, 4.5 % in `mio_throttle` (recorded by CUPTI)."""
    size = 1024
    a, b, c = (np.zeros(size * size, kind) for kind in (np.uint8, np.uint8, np.int32))
    kernel = wl.Device("H200").compile(TILES)["tiles"]
    launch = kernel.predict[(size // 64, size // 64), (128, 4)](a, b, c, np.int32(size))
    stalls = launch.timing.answers.stalls
    share = {name: cycles / sum(stalls.values()) for name, cycles in stalls.items()}
    assert share["short_scoreboard"] == pytest.approx(0.227, abs=0.065)
    assert share["mio_throttle"] == pytest.approx(0.045, abs=0.05)
