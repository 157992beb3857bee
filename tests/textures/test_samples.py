"""Samples of textures through the driver API, against NumPy alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import warplens as wl
from tests.timing.replayed import recorder_script
from warplens.toolchain.nvrtc import compile_source

with recorder_script("texture_cases") as CASES, recorder_script("textures") as RECORDER:
    Case = CASES.Case

SOURCE = r"""
extern "C" __global__ void tex2(cudaTextureObject_t t, const float* c, uint4* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2D<uint4>(t, c[i], c[n + i]);
}
"""


@pytest.fixture(scope="module")
def machine() -> Iterator[Any]:
    """The recorder's driver calls over a simulated H200."""
    with wl.cuda("H200"):
        yield RECORDER.Machine(compile_source(SOURCE, sm=90).cubin)


def samples(machine: Any, case: Any) -> npt.NDArray[np.float32]:
    """What a case gives."""
    data = [level.tobytes() for level in case.texels]
    found = RECORDER.run(machine, RECORDER.described(case), data, case.coordinates.tobytes())
    return np.frombuffer(found, np.float32)


def grid() -> npt.NDArray[np.float32]:
    """An image whose texels are sums of powers of two."""
    y, x = np.mgrid[0:6, 0:9]
    return (x + 16.0 * y).astype(np.float32)


def test_a_linear_filter_of_a_plane_is_the_plane(machine: Any) -> None:
    """Between texel centres the filter of a linear function is that function, in 1/256."""
    rng = np.random.default_rng(3)
    x = (rng.integers(128, 256 * 9 - 128, 500) / 256).astype(np.float32)
    y = (rng.integers(128, 256 * 6 - 128, 500) / 256).astype(np.float32)
    case = Case("plane", "tex2", [grid()[None, :, :, None]], np.stack([x, y]), filter=1, flags=0,
                channels=1)  # fmt: skip

    assert np.array_equal(samples(machine, case), (x - 0.5) + 16 * (y - 0.5))


@pytest.mark.parametrize("mode", ["wrap", "clamp", "mirror", "border"])
def test_address_modes_are_numpys(machine: Any, mode: str) -> None:
    """What lies beside the image, from np.pad."""
    number = ["wrap", "clamp", "mirror", "border"].index(mode)
    named = {"wrap": "wrap", "clamp": "edge", "mirror": "symmetric", "border": "constant"}[mode]
    image = np.random.default_rng(4).random((8, 16), np.float32)
    padded = np.pad(image, ((8, 8), (16, 16)), named)  # type: ignore[call-overload]
    j, i = np.mgrid[-8:16, -16:32]
    where = np.stack([(i.ravel() + 0.5) / 16, (j.ravel() + 0.5) / 8]).astype(np.float32)
    case = Case("modes", "tex2", [image[None, :, :, None]], where, flags=3, mode=(number,) * 3,
                channels=1)  # fmt: skip

    assert np.array_equal(samples(machine, case), padded.ravel())
