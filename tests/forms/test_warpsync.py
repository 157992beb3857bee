"""`__syncwarp()` with a mask that names lanes which never come: what numba's reductions do."""

from __future__ import annotations

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in

# The last step of numba.cuda.reduce: two lanes say that they synchronise with the whole warp.
SOURCE = """
extern "C" __global__ void reduce(const int* in, int* out) {
    __shared__ int partial[4][32];
    int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    partial[warp][lane] = in[blockIdx.x * 128 + tid];
    __syncwarp();
    for (int width = 16; width; width /= 2) {
        if (lane < width) partial[warp][lane] += partial[warp][lane + width];
        __syncwarp();
    }
    __syncthreads();
    if (tid < 2) {
        partial[tid][0] += partial[tid + 2][0];
        __syncwarp();
    }
    if (tid == 0) out[blockIdx.x] = partial[0][0] + partial[1][0];
}
"""


@pytest.mark.parametrize("architecture", one_in(4, [75, 80, 86, 89, 90, 100, 120], str))
def test_reduction_of_numba_ends(architecture: int) -> None:
    """Up to sm_89 the other lanes wait behind the branch; later they have ended."""
    values = np.random.default_rng(5).integers(-1000, 1000, 512, dtype=np.int32)
    sums = np.zeros(4, np.int32)
    wl.Device(f"sm_{architecture}").compile(SOURCE)["reduce"][4, 128](values, sums)
    np.testing.assert_array_equal(sums, values.reshape(4, 128).sum(1))
