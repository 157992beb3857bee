"""Calls of the driver's entries as a C program makes them, and a module to call with."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from warplens.driver.entries import served
from warplens.driver.machine import Driver
from warplens.toolchain.nvrtc import compile_source

SOURCE = """
extern "C" __constant__ float factor[4] = {2, 3, 4, 5};
extern "C" __device__ int counter = 7;
extern "C" __global__ void scale(float *x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = a * x[i] + factor[0];
}
extern "C" __global__ void follow(float **rows, float *out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = rows[i][i];
}
extern "C" __global__ void beyond(float *x, int n) { x[n + threadIdx.x] = 1; }
extern "C" __global__ void stage(float *out) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
"""
CALLS = served()
COMPILED = compile_source(SOURCE, sm=89)


class Api:
    """Calls entries as a C program would."""

    def __init__(self) -> None:
        self.driver = Driver(("RTX 4060",))

    def status(self, name: str, *values: Any) -> int:
        """The code that a call gives."""
        words = [
            value if isinstance(value, int) else ctypes.addressof(value) for value in values
        ]
        return CALLS[name].call(self.driver, *words)

    def __call__(self, name: str, *values: Any) -> None:
        """A call that must succeed."""
        assert self.status(name, *values) == 0, name

    def value(self, name: str, *values: Any, kind: Any = ctypes.c_uint64) -> Any:
        """A call whose first parameter is where the result goes."""
        cell = kind()
        self(name, cell, *values)
        return cell.value

    def array(self, values: np.ndarray) -> int:
        """A copy of an array on the device."""
        address: int = self.value("cuMemAlloc_v2", values.nbytes)
        self("cuMemcpyHtoD_v2", address, values.ctypes.data, values.nbytes)
        return address

    def read(self, address: int, like: np.ndarray) -> np.ndarray:
        """An array back from the device."""
        found = np.empty_like(like)
        self("cuMemcpyDtoH_v2", found.ctypes.data, address, found.nbytes)
        return found

    def launch(self, name: str, grid: int, block: int, *values: Any, shared: int = 0,
               stream: int = 0) -> int:  # fmt: skip
        """Launches a kernel of the module; gives the code."""
        cells = (ctypes.c_uint64 * len(values))(*(ctypes.addressof(value) for value in values))
        return self.status("cuLaunchKernel", self.function(name), grid, 1, 1, block, 1, 1, shared,
                           stream, cells, 0)  # fmt: skip

    def function(self, name: str) -> int:
        """A kernel of the module."""
        text = ctypes.create_string_buffer(name.encode())
        found: int = self.value("cuModuleGetFunction", self.module, ctypes.addressof(text))
        return found

    module = 0


def pointer(address: int) -> Any:
    """A pointer argument."""
    return ctypes.c_uint64(address)
