"""64-bit operands whose words the text does not show: immediates' high words, uniform extremes."""

from __future__ import annotations

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.kernels.model import ARCHITECTURES

# The intrinsics keep the front end from folding the constants; ptxas folds them into immediates.
SOURCE = """
extern "C" __global__ void convert(double *out) {
    out[0] = (float)__brevll(32ull);
    out[1] = (double)__brevll(32ull);
    out[2] = (float)__double2ll_rn(-4294967296.0);
    out[3] = (double)__double2ll_rn(-4294967296.0);
}
extern "C" __global__ void high(unsigned long long *out, unsigned x) {
    out[threadIdx.x] = min((unsigned long long)(x * (threadIdx.x + 1)) << 32, 0xff2d7154ull);
}
extern "C" __global__ void extremes(long long *out, long long a, long long b,
                                    unsigned long long c, unsigned long long d) {
    out[0] = min(a, b), out[1] = max(a, b);
    out[2] = (long long)min(c, d), out[3] = (long long)max(c, d);
}
"""


@pytest.mark.parametrize("architecture", one_in(4, ARCHITECTURES, str))
def test_immediate_of_a_wide_conversion_is_the_high_word(architecture: str) -> None:
    out = np.zeros(4)
    wl.Device(architecture).compile(SOURCE)["convert"][1, 1](out)
    assert out.tolist() == [2.0**58, 2.0**58, -(2.0**32), -(2.0**32)]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_comparison_of_high_words_where_the_low_ones_are_known(architecture: str) -> None:
    kernel = wl.Device(architecture).compile(SOURCE)["high"]
    for x in (0, 1, 1 << 31):
        out = np.zeros(4, np.uint64)
        kernel[1, 4](out, x)
        high = np.arange(1, 5, dtype=np.uint64) * np.uint64(x) & np.uint64(0xFFFFFFFF)
        assert out.tolist() == [min(int(h) << 32, 0xFF2D7154) for h in high]


@pytest.mark.parametrize("architecture", ["sm_90", "sm_100", "sm_120"])
def test_extremes_of_uniform_64_bit_integers(architecture: str) -> None:
    kernel = wl.Device(architecture).compile(SOURCE)["extremes"]
    for a, b in [(-5, 3), (1 << 40, -(1 << 40)), (7, 7), (1 << 32, 1)]:
        c, d = a & (1 << 64) - 1, b & (1 << 64) - 1
        out = np.zeros(4, np.int64)
        kernel[1, 1](out, a, b, c, d)
        wanted = np.array([min(c, d), max(c, d)], np.uint64)
        assert out[:2].tolist() == [min(a, b), max(a, b)]
        assert (out[2:].view(np.uint64) == wanted).all()
