"""cuda.core and cuda.bindings run unmodified on the simulated driver."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda.bindings import driver, runtime
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch, system

from warplens import MemoryFault, WarplensError

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


BEYOND = """
extern "C" __global__ void beyond(int unused, float *x, int n) {
    if (n < 0) __trap();
    x[threadIdx.x + n] = 1;
}
"""


def test_faults(gpu: Any) -> None:
    """An access out of bounds and a trap raise with line and argument; the GPU stays usable."""
    device = Device()
    device.set_current()
    stream = device.create_stream()
    options = ProgramOptions(arch=f"sm_{device.arch}", lineinfo=True)
    kernel = Program(BEYOND, "c++", options).compile("cubin").get_kernel("beyond")
    x, config = device.allocate(128, stream=stream), LaunchConfig(grid=1, block=32)

    def run(n: int) -> None:
        launch(stream, config, kernel, np.int32(0), x, np.int32(n))
        stream.sync()

    with pytest.raises(MemoryFault, match=r"argument 1 \(128 bytes(?s:.)*:4\): ST"), gpu:
        run(1 << 20)
    with pytest.raises(WarplensError, match=r":3\)"), gpu:
        run(-1)
    run(0)
    found = np.empty(32, np.float32)
    assert driver.cuMemcpyDtoH(found.ctypes.data, int(x.handle), 128)[0] == 0
    assert np.array_equal(found, np.ones(32))


def test_runtime(gpu: Any) -> None:
    """cuda.bindings.runtime sees the same GPU and memory; errors are its own."""
    device = Device()
    device.set_current()
    device.sync()
    error, address = runtime.cudaMalloc(64)
    values, found = np.arange(16, dtype=np.int32), np.zeros(16, np.int32)
    kind = runtime.cudaMemcpyKind.cudaMemcpyHostToDevice
    (copied,) = runtime.cudaMemcpy(address, values.ctypes.data, 64, kind)
    driver.cuMemcpyDtoH(found.ctypes.data, address, 64)

    assert error == copied == runtime.cudaError_t.cudaSuccess
    assert np.array_equal(found, values)
    assert runtime.cudaGetDeviceProperties(0)[1].name.decode() == device.name
    assert runtime.cudaSetDevice(7) == (runtime.cudaError_t.cudaErrorInvalidDevice,)
    # Kept until it is asked for; CuPy's sums would take it for an error of their own.
    assert runtime.cudaGetLastError() == (runtime.cudaError_t.cudaErrorInvalidDevice,)
    assert runtime.cudaGetLastError() == (runtime.cudaError_t.cudaSuccess,)
    assert runtime.cudaFree(address) == (runtime.cudaError_t.cudaSuccess,)


def test_system(gpu: Any) -> None:
    """The management library counts and names the GPUs that the driver has."""
    assert system.get_num_devices() == 1
    assert system.Device(index=0).name == Device().name
    assert system.get_user_mode_driver_version()[0] == 13


def test_several_gpus(tmp_path: Path) -> None:
    """A script has as many GPUs as `--gpu` is given."""
    script = tmp_path / "count.py"
    script.write_text(
        "from cuda.core import Device, system\n"
        "print(system.get_num_devices(), *(d.compute_capability for d in Device.get_all_devices()))"
    )
    words = ["-m", "warplens.cli.main", "run", "--gpu", "H200", "--gpu", "A100", str(script)]
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False
    )

    assert done.stdout == (
        "2 ComputeCapability(major=9, minor=0) ComputeCapability(major=8, minor=0)\n"
    ), done.stderr


def test_graph_keeps_its_arguments(gpu: Any) -> None:
    """What a graph holds is given back with the last graph made of it."""
    ended: list[int] = []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ended.append)
    at = ctypes.cast(function, ctypes.c_void_p).value
    Device().set_current()
    error, held = driver.cuUserObjectCreate(
        5, driver.CUhostFn(at), 1, driver.CUuserObject_flags.CU_USER_OBJECT_NO_DESTRUCTOR_SYNC
    )
    _, graph = driver.cuGraphCreate(0)
    move = driver.CUuserObjectRetain_flags.CU_GRAPH_USER_OBJECT_MOVE
    moved = driver.cuGraphRetainUserObject(graph, held, 1, move)
    _, executable = driver.cuGraphInstantiate(graph, 0)
    driver.cuGraphDestroy(graph)
    before = list(ended)
    driver.cuGraphExecDestroy(executable)

    assert (error, moved) == (driver.CUresult.CUDA_SUCCESS, (driver.CUresult.CUDA_SUCCESS,))
    assert (before, ended) == ([], [5])
