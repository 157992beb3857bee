"""numba-cuda runs unmodified on the simulated driver; results beside NumPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numba import cuda, float32, vectorize

import warplens


@cuda.jit
def _add(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] + y[i]


@cuda.jit
def _matmul(a, b, c):
    left = cuda.shared.array((16, 16), float32)
    right = cuda.shared.array((16, 16), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for tile in range(a.shape[1] // 16):
        left[tx, ty] = a[x, ty + tile * 16]
        right[tx, ty] = b[tx + tile * 16, y]
        cuda.syncthreads()
        for k in range(16):
            total += left[tx, k] * right[k, ty]
        cuda.syncthreads()
    c[x, y] = total


@cuda.jit
def _histogram(values, counts):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(counts, values[i], 1)


@cuda.jit(lineinfo=True)
def _beyond(x, n):
    x[cuda.grid(1) + n] = 1.0  # the line that must be named


LINE = _beyond.py_func.__code__.co_firstlineno + 2


def test_vector_add(gpu: Any) -> None:
    """Host arrays go there and back; the launch is seen with its counters."""
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    out = np.zeros_like(x)
    with gpu:
        _add[4, 256](x, y, out)
        launch = gpu.launches[-1]

    assert np.array_equal(out, x + y)
    assert launch.metric("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum") == 125
    assert cuda.get_current_device().name.endswith("(warplens)")


def test_shared_memory_matmul(gpu: Any) -> None:
    """A tiled product of matrices equals NumPy's."""
    random = np.random.default_rng(1)
    a = random.integers(-4, 5, (64, 32)).astype(np.float32)
    b = random.integers(-4, 5, (32, 48)).astype(np.float32)
    c = cuda.device_array((64, 48), np.float32)
    _matmul[(4, 3), (16, 16)](cuda.to_device(a), cuda.to_device(b), c)

    assert np.array_equal(c.copy_to_host(), a @ b)


def test_atomics(gpu: Any) -> None:
    """Atomic additions count as numpy.bincount does."""
    values = np.random.default_rng(2).integers(0, 10, 5000).astype(np.int32)
    counts = cuda.to_device(np.zeros(10, np.int64))
    _histogram[20, 256](values, counts)

    assert np.array_equal(counts.copy_to_host(), np.bincount(values, minlength=10))


def test_ufunc(gpu: Any) -> None:
    """A vectorised function equals the same in NumPy."""

    @vectorize(["float64(float64, float64)"], target="cuda")
    def hypotenuse(x, y):
        return math.sqrt(x * x + y * y)

    x = np.arange(100.0)

    assert np.array_equal(hypotenuse(x, x + 1), np.sqrt(x * x + (x + 1) * (x + 1)))


def test_streams_and_events(gpu: Any) -> None:
    """Work in a stream between two events takes modelled time."""
    stream = cuda.stream()
    first, last = cuda.event(), cuda.event()
    x = cuda.to_device(np.ones(4096, np.float32), stream=stream)
    out = cuda.device_array_like(x)
    first.record(stream)
    _add[16, 256, stream](x, x, out)
    last.record(stream)
    last.synchronize()

    assert 0 < cuda.event_elapsed_time(first, last) < 1
    assert np.array_equal(out.copy_to_host(stream=stream), np.full(4096, 2))


def test_fault_names_the_line(gpu: Any) -> None:
    """An access out of bounds raises the typed error with the Python line; the GPU stays usable."""
    x = cuda.device_array(32, np.float32)
    with pytest.raises(warplens.MemoryFault, match=rf"test_numba\.py:{LINE}\b"), gpu:
        _beyond[1, 32](x, 1 << 20)
    _beyond[1, 32](x, 0)

    assert np.array_equal(x.copy_to_host(), np.ones(32))


def test_another_gpu_is_refused(gpu: Any) -> None:
    """A process keeps its GPU."""
    with pytest.raises(warplens.InputError, match="a process keeps its GPUs"):
        warplens.cuda("A100")
