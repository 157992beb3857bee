"""Kernel Tuner's parts of their own: host functions, counters, sensors, PyCUDA's stand-in."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import numpy as np
import pytest

kernel_tuner = pytest.importorskip("kernel_tuner")
pytestmark = pytest.mark.long

DEVICE = 'extern "C" __global__ void add(float* c, const float* a, int n) {' """
    int i = blockIdx.x * block_size_x + threadIdx.x;
    if (i < n) c[i] = a[i] + 1;
}
"""
HOST = """
#include <cuda_runtime.h>
""" + DEVICE + """
extern "C" float run(float* c, const float* a, int n) {
    float *x, *y, ms = 0;
    cudaEvent_t first, last;
    cudaEventCreate(&first); cudaEventCreate(&last);
    cudaMalloc(&x, n * 4); cudaMalloc(&y, n * 4);
    cudaMemcpy(x, a, n * 4, cudaMemcpyHostToDevice);
    cudaEventRecord(first);
    add<<<(n + block_size_x - 1) / block_size_x, block_size_x>>>(y, x, n);
    cudaEventRecord(last); cudaEventSynchronize(last);
    cudaEventElapsedTime(&ms, first, last);
    cudaMemcpy(c, y, n * 4, cudaMemcpyDeviceToHost);
    cudaFree(x); cudaFree(y);
    return ms;
}
"""
N = 1 << 12


@pytest.fixture(autouse=True)
def _place(gpu: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def tuned(name: str, source: str, sizes: list[int], wrong: float = 0, **options: Any) -> Any:
    """All sizes, verified by Kernel Tuner against NumPy."""
    a = np.arange(N, dtype=np.float32)
    return kernel_tuner.tune_kernel(
        name, source, N, [np.zeros_like(a), a, np.int32(N)], {"block_size_x": sizes},
        answer=[a + 1 + np.float32(wrong), None, None], quiet=True, **options,
    )  # fmt: skip


def test_a_host_function() -> None:
    """Its answer is compared, its time is the launch's between its events."""
    found, _ = tuned("run", HOST, [64, 256], lang="C")

    assert len(found) == 2 and all(0 < row["time"] < 1 for row in found)


def test_a_host_function_with_a_wrong_answer() -> None:
    """The comparison sees what the function has written."""
    with pytest.raises(RuntimeError, match="verification failed"):
        tuned("run", HOST, [64], wrong=1, lang="C")


def test_counters() -> None:
    """NCUObserver: the threads' instructions, one FADD for each element."""
    from kernel_tuner.observers.ncu import NCUObserver

    name = "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"
    found, _ = tuned("add", DEVICE, [128], observers=[NCUObserver(metrics=[name])], lang="CUDA")

    assert found[0][name] == N


def test_sensors_are_refused() -> None:
    """By name."""
    from kernel_tuner.observers.nvml import NVMLObserver

    with pytest.raises(Exception, match="NVMLObserver reads the sensors"):
        NVMLObserver(["nvml_energy"])
    with pytest.raises(Exception, match="get_nvml_gr_clocks reads the sensors"):
        importlib.import_module("kernel_tuner.observers.nvml").get_nvml_gr_clocks(0)


def test_pycuda_may_be_imported_first(tmp_path: Path) -> None:
    """A script of its own process, as an example of Kernel Tuner's has it."""
    if PathFinder.find_spec("pycuda") is not None:
        pytest.skip("PyCUDA is installed")
    script = tmp_path / "first.py"
    script.write_text(
        "from pycuda import driver as drv\nimport kernel_tuner\ndrv.init()\n"
        "print(drv.Device(0).get_attribute(drv.device_attribute.MULTIPROCESSOR_COUNT))\n"
    )
    words = [sys.executable, "-m", "warplens.cli.main", "run", "--gpu", "A100", str(script)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stderr
    assert "108" in ran.stdout.split()


def test_pinned_arrays() -> None:
    """Those of PyCUDA's stand-in are zeros of shape and type; the rest is refused by name."""
    driver = pytest.importorskip("pycuda.driver")

    driver.init()
    context = driver.Device(0).make_context()
    values = driver.pagelocked_zeros((3, 5), np.float32)
    context.pop()

    assert values.shape == (3, 5) and values.dtype == np.float32 and not values.any()
    with pytest.raises(Exception, match="to_device"):
        driver.to_device(values)
