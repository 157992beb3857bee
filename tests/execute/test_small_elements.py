"""Bytes and halfwords that lie apart, loaded by whole warps and by parts of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warplens as wl
from warplens.api import LaunchOptions

SOURCE = """
template <class T> __device__ void taken(const T* in, const int* index, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[index[i]];
}
extern "C" __global__ void i8(const signed char* in, const int* index, int* out, int n) {
    taken(in, index, out, n);
}
extern "C" __global__ void u8(const unsigned char* in, const int* index, int* out, int n) {
    taken(in, index, out, n);
}
extern "C" __global__ void i16(const short* in, const int* index, int* out, int n) {
    taken(in, index, out, n);
}
"""


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("type", [np.int8, np.uint8, np.int16])
def test_elements_apart(type: Any, fast: bool) -> None:
    """Three apart, in any order, and all from one place; the last warp is not full."""
    n = 1024 + 21
    kernel = wl.Device("H200", options=LaunchOptions(timing=False)).compile(SOURCE)[
        {np.int8: "i8", np.uint8: "u8", np.int16: "i16"}[type]
    ]
    if fast:
        kernel.code.program.make_fast()
    rng = np.random.default_rng(1)
    data = rng.integers(np.iinfo(type).min, np.iinfo(type).max, 3 * n, dtype=type)
    for index in (3 * np.arange(n), rng.permutation(3 * n)[:n], np.full(n, 3 * n - 1)):
        out = np.zeros(n, np.int32)

        kernel[-(-n // 128), 128](data, index.astype(np.int32), out, n)

        np.testing.assert_array_equal(out, data[index])
