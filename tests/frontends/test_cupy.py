"""CuPy as it is on PyPI: its own kernels and a user's, beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warplens

pytest.importorskip("cupy_backends")
pytestmark = pytest.mark.long
ADD = """
extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
"""


@pytest.fixture(scope="module")
def cp(gpu: Any) -> Any:
    """CuPy, imported when the GPU is in place."""
    return pytest.importorskip("cupy")


def test_raw_kernel(cp: Any, gpu: Any) -> None:
    """A kernel from source; its launch is reported."""
    a, b = cp.arange(1000, dtype=np.float32), cp.full(1000, 2, np.float32)
    c = cp.empty_like(a)
    with gpu:
        cp.RawKernel(ADD, "add")((8,), (128,), (a, b, c, np.int32(1000)))
        launched = gpu.launches[-1]
        assert launched.metric("gpu__time_duration.sum") > 0
    assert np.array_equal(cp.asnumpy(c), np.arange(1000, dtype=np.float32) + 2)
    assert launched.function_name == "add"


def test_raw_module_with_a_template(cp: Any) -> None:
    """A template's instance by its expression."""
    source = "template<typename T> __global__ void twice(T* a) { a[threadIdx.x] *= 2; }"
    module = cp.RawModule(code=source, name_expressions=["twice<double>"])
    a = cp.arange(32, dtype=np.float64)
    module.get_function("twice<double>")((1,), (32,), (a,))
    assert np.array_equal(cp.asnumpy(a), 2.0 * np.arange(32))


def test_elementwise_and_reduction_kernels(cp: Any) -> None:
    """Kernels that CuPy writes around an expression."""
    squared = cp.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared")
    norm = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2")
    host = np.random.default_rng(1).standard_normal((37, 50))
    x = cp.asarray(host)
    assert np.allclose(cp.asnumpy(squared(x, x.T.ravel()[0])), (host - host[0, 0]) ** 2)
    assert np.allclose(cp.asnumpy(norm(x, axis=1)), np.linalg.norm(host, axis=1))


def test_arrays_reduce_broadcast_and_index(cp: Any) -> None:
    """CuPy's own kernels: arithmetic, sums, where, fancy indices, fusion."""
    host = np.random.default_rng(2).integers(-9, 9, (20, 30))
    x = cp.asarray(host)
    assert int(x.sum()) == host.sum() and int(x.max()) == host.max()
    assert np.array_equal(cp.asnumpy(cp.where(x > 0, x, -x)), np.abs(host))
    assert np.array_equal(cp.asnumpy(x[[3, 1], :] + x[0]), host[[3, 1], :] + host[0])
    assert np.array_equal(cp.asnumpy(cp.cumsum(x, axis=1)), np.cumsum(host, axis=1))


def test_streams_and_events(cp: Any) -> None:
    """Events tell modelled time."""
    first, last = cp.cuda.Event(), cp.cuda.Event()
    with cp.cuda.Stream() as stream:
        first.record(stream)
        y = cp.arange(1 << 16) * 2
        last.record(stream)
    stream.synchronize()
    assert 0 < cp.cuda.get_elapsed_time(first, last) < 1
    assert int(y[-1]) == 2 * ((1 << 16) - 1)


def test_arrays_are_shared_with_numba_and_by_dlpack(cp: Any) -> None:
    """Both frameworks see one memory, by `__cuda_array_interface__` and by DLPack."""
    from numba import cuda

    x = cp.zeros(64, np.float32)
    view = cuda.as_cuda_array(x)
    view[5] = 7
    again = cp.from_dlpack(x)
    again[6] = 8
    assert again.data.ptr == x.data.ptr == view.device_ctypes_pointer.value
    assert cp.asnumpy(x)[4:8].tolist() == [0, 7, 8, 0]


def test_a_fault_names_line_and_argument(cp: Any, gpu: Any) -> None:
    """An access out of bounds raises with the line of the source; the GPU stays usable."""
    kernel = cp.RawKernel(ADD, "add", options=("-lineinfo",))
    a = cp.ones(1 << 10, np.float32)
    c = cp.zeros(1 << 10, np.float32)
    with pytest.raises(warplens.MemoryFault, match=r"argument \d \(4,096 bytes(?s:.)*:4\): "), gpu:
        kernel((1 << 14,), (1024,), (a, a, c, np.int32(1 << 24)))
        cp.cuda.Device().synchronize()
    kernel((1,), (1024,), (a, a, c, np.int32(1 << 10)))
    assert np.array_equal(cp.asnumpy(c), np.full(1 << 10, 2))


def test_memory_is_shared_with_cuda_core(cp: Any) -> None:
    """cuda.core sees CuPy's array, and CuPy what cuda.core allocated."""
    from cuda.core import Device
    from cuda.core.utils import StridedMemoryView

    device = Device()
    device.set_current()
    x = cp.arange(16, dtype=np.float32)
    view = StridedMemoryView.from_any_interface(x, stream_ptr=-1)
    assert (view.ptr, view.shape, view.is_device_accessible) == (x.data.ptr, (16,), True)
    buffer = device.allocate(64, stream=device.create_stream())
    theirs = cp.from_dlpack(buffer)
    theirs[:] = 3
    assert theirs.data.ptr == int(buffer.handle)
    assert bytes(cp.asnumpy(theirs).tobytes()) == b"\3" * 64


def test_what_is_not_served_is_refused(cp: Any, capfd: Any) -> None:
    """A texture is an error of CuPy's, and its function is named."""
    channel = cp.cuda.texture.ChannelFormatDescriptor(32, 0, 0, 0, cp.cuda.runtime.
                                                      cudaChannelFormatKindFloat)  # fmt: skip
    with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="NotSupported"):
        cp.cuda.texture.CUDAarray(channel, 16, 16)
    assert "cudaMalloc3DArray is not supported" in capfd.readouterr().err


def test_kernels_of_its_modules(cp: Any) -> None:
    """Sorts are Thrust's, generators of random numbers a module's own: compiled code in CuPy."""
    host = np.random.default_rng(2).random(500).astype(np.float32)
    x = cp.asarray(host)
    values, counts = cp.unique(cp.asarray((host * 9).astype(np.int32)), return_counts=True)
    drawn = cp.asnumpy(cp.random.default_rng(1).random(2000))

    assert np.array_equal(cp.asnumpy(cp.sort(x)), np.sort(host))
    assert np.array_equal(cp.asnumpy(cp.argsort(x)), np.argsort(host, kind="stable"))
    expected = np.unique((host * 9).astype(np.int32), return_counts=True)
    assert np.array_equal(cp.asnumpy(values), expected[0])
    assert np.array_equal(cp.asnumpy(counts), expected[1])
    assert drawn.min() >= 0 and drawn.max() < 1
    assert len(np.unique(drawn)) > 1900
    assert abs(drawn.mean() - 0.5) < 0.03
