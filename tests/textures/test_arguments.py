"""Textures and surfaces of NumPy arrays as arguments of kernels."""

from __future__ import annotations

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in

SOURCE = r"""
extern "C" __global__ void turn(cudaTextureObject_t t, cudaSurfaceObject_t s, int n) {
    int x = threadIdx.x, y = blockIdx.x;
    surf2Dwrite(2 * tex2D<float>(t, y + 0.5f, x + 0.5f), s, x * 4, y);
}
extern "C" __global__ void beside(cudaSurfaceObject_t s) { surf2Dwrite(1.0f, s, 400, 0); }
extern "C" __global__ void volume(cudaTextureObject_t t, float* out) {
    out[threadIdx.x] = tex3D<float>(t, 0.5f, 0.5f, threadIdx.x + 0.5f);
}
"""


@pytest.mark.parametrize("sm", one_in(3, [75, 90, 120], str, first=1))
def test_a_transpose_through_a_texture_and_a_surface(sm: int) -> None:
    """What is read and written is NumPy's."""
    gpu = {75: "T4", 90: "H200", 120: "RTX 5090"}[sm]
    kernel = wl.Device(gpu).compile(SOURCE)["turn"]
    image = np.random.default_rng(1).random((32, 32), np.float32)
    out = np.zeros_like(image)

    kernel[32, 32](wl.Texture(image), wl.Surface(out), 32)

    assert np.array_equal(out, 2 * image.T)


def test_the_wrong_dimension_is_named() -> None:
    """A volume's sample of an image is refused."""
    kernel = wl.Device("H200").compile(SOURCE)["volume"]
    with pytest.raises(wl.WarplensError, match="another shape"):
        kernel[1, 32](wl.Texture(np.zeros((4, 4), np.float32)), np.zeros(32, np.float32))


def test_a_write_beside_a_surface_traps() -> None:
    """The default boundary mode is a fault, with the place."""
    kernel = wl.Device("H200").compile(SOURCE)["beside"]
    with pytest.raises(wl.WarplensError, match="outside of its array"):
        kernel[1, 32](wl.Surface(np.zeros((4, 4), np.float32)))
