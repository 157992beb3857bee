"""cuda.core and cuda.bindings run unmodified on the simulated driver."""

from __future__ import annotations

from typing import Any

import numpy as np
from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SAXPY = """
extern "C" __global__ void saxpy(float a, const float *x, float *y, unsigned long n) {
    unsigned long step = gridDim.x * blockDim.x;
    for (unsigned long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        y[i] = a * x[i] + y[i];
}
"""


def test_compile_and_launch(gpu: Any) -> None:
    """A program compiled by NVRTC is launched in a stream; the result equals NumPy's."""
    device = Device()
    device.set_current()
    stream = device.create_stream()
    options = ProgramOptions(arch=f"sm_{device.arch}")
    kernel = Program(SAXPY, "c++", options).compile("cubin").get_kernel("saxpy")
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    at_x, at_y = (device.allocate(4000, stream=stream) for _ in range(2))
    for buffer, array in ((at_x, x), (at_y, y)):
        assert driver.cuMemcpyHtoD(int(buffer.handle), array.ctypes.data, 4000)[0] == 0
    with gpu:
        config = LaunchConfig(grid=4, block=128)
        launch(stream, config, kernel, np.float32(3), at_x, at_y, np.uint64(1000))
        stream.sync()
        seen = gpu.launches[-1].block
    found = np.empty_like(y)
    assert driver.cuMemcpyDtoH(found.ctypes.data, int(at_y.handle), 4000)[0] == 0

    assert np.array_equal(found, 3 * x + 1)
    assert seen == (128, 1, 1)
    assert device.name.endswith("(warplens)")
