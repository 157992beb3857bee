"""Blocks whose lanes load and store words in lines of their own, and whose neighbours use the words
beside them, against an H200: a launch of `validation/suites/ninth` (`rmsNormGammaBetaNCHWKernel` of
KataGo, in short)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from tests.timing.replayed import CLOCK_MHZ, CYCLES, TIME

NINTH = Path(__file__).parents[2] / "validation" / "suites" / "ninth"
CASE = "katago:rms_norm-NCHW/16x256x361"
IMAGES, CHANNELS, PLACES = 16, 256, 361
SOURCE = """
extern "C" __global__ void normalised(const float *in, float *out, const float *gamma,
                                      const float *beta, int channels, int places) {
    extern __shared__ float sums[];
    const int lane = threadIdx.x, n = blockIdx.x / places, place = blockIdx.x % places;
    float sum = 0.0f;
    for (int c = lane; c < channels; c += blockDim.x) {
        float value = in[(n * channels + c) * places + place];
        sum += value * value;
    }
    sums[lane] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (lane < s) sums[lane] += sums[lane + s];
        __syncthreads();
    }
    float factor = rsqrtf(sums[0] / (float)channels + 1e-6f);
    for (int c = lane; c < channels; c += blockDim.x) {
        int at = (n * channels + c) * places + place;
        out[at] = fmaxf(in[at] * factor * gamma[c] + beta[c], 0.0f);
    }
}
"""


def test_what_is_stored_in_part_is_looked_up_again() -> None:
    """While a slice does so it answers no load: without, the launch is a quarter too quick."""
    recorded = json.loads((NINTH / "recorded_h200.json").read_text())["cases"][CASE]["metrics"]
    words = IMAGES * CHANNELS * PLACES
    arrays = [np.zeros(size, np.float32) for size in (words, words, CHANNELS, CHANNELS)]
    kernel = wl.Device("H200", clock=CLOCK_MHZ).compile(SOURCE)["normalised"]
    launch = kernel.predict[IMAGES * PLACES, CHANNELS, 0, 4 * CHANNELS](
        *arrays, np.int32(CHANNELS), np.int32(PLACES)
    )
    assert launch.metric(TIME) == pytest.approx(recorded[TIME], rel=0.1)
    assert launch.metric(CYCLES) == pytest.approx(recorded[CYCLES], rel=0.1)
