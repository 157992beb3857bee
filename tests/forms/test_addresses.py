"""Addresses of variables: in debug code (`32@lo(...)`), and of constant memory in bank 0."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in

SOURCE = """
__device__ int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ int zeros[8];
__constant__ int constants[4] = {10, 20, 30, 40};
__device__ __noinline__ int entry(int i) { return table[i & 7] + zeros[i & 7]; }
__device__ __noinline__ int through(const int* p, int i) { return p[i & 3]; }
extern "C" __global__ void gather(int* out) {
    __shared__ int staged[64];
    int i = threadIdx.x;
    staged[i] = entry(i) + through(constants, i);
    __syncthreads();
    out[i] = staged[63 - i];
    zeros[i & 7] = 100 * (i & 7);
}
"""


@pytest.mark.parametrize(("architecture", "options"), one_in(
    6, list(product((75, 80, 89, 90, 100, 120), ((), ("-G",)))),
    lambda case: "-".join(map(str, (case[0], *case[1]))), several=True,
))
def test_variables_of_a_module(architecture: int, options: tuple[str, ...]) -> None:
    """Code that holds their addresses and code that loads them read and write the same."""
    kernel = wl.Device(f"sm_{architecture}").compile(SOURCE, options=options)["gather"]
    lanes = np.arange(63, -1, -1)
    first = (lanes & 7) + 1 + 10 * ((lanes & 3) + 1)
    for expected in (first, first + 100 * (lanes & 7)):
        out = np.zeros(64, np.int32)
        kernel[1, 64](out)
        np.testing.assert_array_equal(out, expected)
