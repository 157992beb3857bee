"""How fast L1 gives what it holds, against what others measured."""

from __future__ import annotations

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in

SOURCE = """
__device__ float all(float v) { return v; }
__device__ float all(float2 v) { return v.x + v.y; }
template <class T> __global__ void again(const T* in, float* out, int rounds, int zero) {
    float sum = 0;
    for (int r = 0; r < rounds; r++, in += zero)
#pragma unroll
        for (int i = 0; i < 8; i++) sum += all(in[i * 256 + threadIdx.x]);
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}
"""


@pytest.mark.parametrize("words", one_in(2, [1, 2], str))
def test_l1_of_an_a40_gives_64_bytes_a_cycle(words: int) -> None:
    """github te42kyfo/gpu-benches, gpu-cache: 9,352 GB/s of 84 SMs at 1,740 MHz, one block of 256
    threads on each, with loads of 4 bytes; with 8 bytes 64 a cycle as well."""
    kind = {1: "float", 2: "float2"}[words]
    name, rounds = f"again<{kind}>", 300
    kernel = wl.Device("A40", clock=1740).compile(SOURCE, name_expressions=[name])[name]
    arrays = np.zeros(2048 * words, np.float32), np.zeros(84 * 256, np.float32)
    launch = kernel[84, 256](*arrays, np.int32(rounds), np.int32(0))
    cycles = float(launch.metric("sm__cycles_active.avg"))
    assert rounds * arrays[0].nbytes / cycles == pytest.approx(9352 / 84 / 1.74, rel=0.12)
