"""numba-cuda runs unmodified on the simulated driver; results beside NumPy's."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import warplens


@pytest.fixture
def kernels(gpu: Any) -> Any:
    """The kernels of a file of their own, imported when the GPU is in place."""
    from tests.frontends import numba_kernels

    return numba_kernels


def test_vector_add(gpu: Any, kernels: Any) -> None:
    """Host arrays go there and back; the launch is seen with its counters."""
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    out = np.zeros_like(x)
    with gpu:
        kernels.add[4, 256](x, y, out)
        launch = gpu.launches[-1]

    assert np.array_equal(out, x + y)
    assert launch.metric("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum") == 125
    assert kernels.cuda.get_current_device().name.endswith("(warplens)")


def test_shared_memory_matmul(gpu: Any, kernels: Any) -> None:
    """A tiled product of matrices equals NumPy's."""
    random = np.random.default_rng(1)
    a = random.integers(-4, 5, (64, 32)).astype(np.float32)
    b = random.integers(-4, 5, (32, 48)).astype(np.float32)
    c = kernels.cuda.device_array((64, 48), np.float32)
    kernels.matmul[(4, 3), (16, 16)](kernels.cuda.to_device(a), kernels.cuda.to_device(b), c)

    assert np.array_equal(c.copy_to_host(), a @ b)


def test_atomics(gpu: Any, kernels: Any) -> None:
    """Atomic additions count as numpy.bincount does."""
    values = np.random.default_rng(2).integers(0, 10, 5000).astype(np.int32)
    counts = kernels.cuda.to_device(np.zeros(10, np.int64))
    kernels.histogram[20, 256](values, counts)

    assert np.array_equal(counts.copy_to_host(), np.bincount(values, minlength=10))


def test_ufunc(gpu: Any, kernels: Any) -> None:
    """A vectorised function equals the same in NumPy."""
    x = np.arange(100.0)

    assert np.array_equal(kernels.hypotenuse(x, x + 1), np.sqrt(x * x + (x + 1) * (x + 1)))


def test_streams_and_events(gpu: Any, kernels: Any) -> None:
    """Work in a stream between two events takes modelled time."""
    stream = kernels.cuda.stream()
    first, last = kernels.cuda.event(), kernels.cuda.event()
    x = kernels.cuda.to_device(np.ones(4096, np.float32), stream=stream)
    out = kernels.cuda.device_array_like(x)
    first.record(stream)
    kernels.add[16, 256, stream](x, x, out)
    last.record(stream)
    last.synchronize()

    assert 0 < kernels.cuda.event_elapsed_time(first, last) < 1
    assert np.array_equal(out.copy_to_host(stream=stream), np.full(4096, 2))


def test_fault_names_line_and_array(gpu: Any, kernels: Any) -> None:
    """An access out of bounds raises with the Python line and argument; the GPU stays usable."""
    x = kernels.cuda.device_array(32, np.float32)
    where = rf"numba_kernels\.py:{kernels.LINE}\b"
    with pytest.raises(warplens.MemoryFault, match=where) as caught, gpu:
        kernels.beyond[1, 32](x, 1 << 20)
    kernels.beyond[1, 32](x, 0)

    assert "after the nearest allocation, argument x (128 bytes" in str(caught.value)

    assert np.array_equal(x.copy_to_host(), np.ones(32))


def test_profile_decorates_and_metrics_are_asserted(
    gpu: Any, kernels: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """`@warplens.profile()` prints the details; the hottest line is the Python file's."""
    from warplens.report.hot_lines import hot_lines
    from warplens.testing import assert_metric

    x = kernels.cuda.to_device(np.zeros(64, np.float32))

    @warplens.profile()
    def step() -> None:
        kernels.beyond[2, 32](x, 0)

    step()
    with warplens.profile() as profile:
        kernels.beyond[2, 32](x, 0)
    launch = profile.launches[-1]

    assert capsys.readouterr().out.count("Section: Launch Statistics") == 2
    assert_metric(launch, "smsp__warps_launched.sum", "==", 2)
    assert_metric(launch, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "==", 8)
    assert {one.where for one in hot_lines(launch.result())} >= {f"numba_kernels.py:{kernels.LINE}"}


def test_another_gpu_is_refused(gpu: Any) -> None:
    """A process keeps its GPU."""
    with pytest.raises(warplens.InputError, match="a process keeps its GPUs"):
        warplens.cuda("A100")


def test_memory_is_shared_with_other_packages(gpu: Any, kernels: Any) -> None:
    """numba writes into memory that cuda.bindings allocated, by `__cuda_array_interface__`."""
    from tests.frontends.device_arrays import Shown, make_current

    make_current()
    x = np.arange(64, dtype=np.float32)
    shared = Shown(x)
    kernels.add[1, 64](shared, shared, shared)

    assert np.array_equal(shared.read(), 2 * x)


def test_a_child_by_fork_is_told_so(gpu: Any, kernels: Any) -> None:
    """A process made by fork after the driver started works on its own copy; the parent's stays."""
    x = kernels.cuda.to_device(np.ones(32, np.float32))
    child = os.fork()
    if child == 0:
        try:
            kernels.add[1, 32](x, x, x)
            os._exit(0 if np.array_equal(x.copy_to_host(), np.full(32, 2)) else 1)
        finally:
            os._exit(2)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert np.array_equal(x.copy_to_host(), np.ones(32))
