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


# bytes a cycle of an SM by GPU and words of a load: 9,352 GB/s of 84 SMs at 1,740 MHz (github
# te42kyfo/gpu-benches, gpu-cache), and 8 bytes a load (github YKTian-x2b/
# AmpereArchViaMicroBenchMark, L1_DataCache_Bandwidth: 63.6 and 124.7)
MEASURED = {("A40", 1): 9352 / 84 / 1.74, ("RTX 3060", 2): 124.7}


@pytest.mark.parametrize(("gpu", "words"), one_in(2, list(MEASURED), str, several=True))
def test_l1_of_ampere_gives_two_words_as_fast_as_one(gpu: str, words: int) -> None:
    """Its 16 load/store units take two cycles for a warp; L1 gives 128 bytes a cycle."""
    kind = {1: "float", 2: "float2"}[words]
    name, rounds = f"again<{kind}>", 300
    device = wl.Device(gpu, clock=1740)
    kernel = device.compile(SOURCE, name_expressions=[name])[name]
    n_sms = device.gpu.sm_count
    arrays = np.zeros(2048 * words, np.float32), np.zeros(n_sms * 256, np.float32)
    launch = kernel[n_sms, 256](*arrays, np.int32(rounds), np.int32(0))
    cycles = float(launch.metric("sm__cycles_active.avg"))
    assert rounds * arrays[0].nbytes / cycles == pytest.approx(MEASURED[gpu, words], rel=0.12)
