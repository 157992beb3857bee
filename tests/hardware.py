"""Runs the kernel corpus on a real GPU, to check the references themselves.

`python -m tests.hardware` needs an NVIDIA driver; nothing else in the project does. With
`--cubins DIR` it takes `NAME.cu.cubin` and `NAME.cu.json` (name expression -> mangled name) from a
folder instead of compiling, for GPU machines that lack the compiler packages.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.kernels.model import CASES, Case, assert_results

Dims = int | tuple[int, ...]


class Gpu:
    """The first GPU, through the CUDA driver's C interface."""

    def __init__(self) -> None:
        self.driver = ctypes.CDLL("libcuda.so.1")
        device = ctypes.c_int()
        self.context = ctypes.c_void_p()
        self.check("cuInit", 0)
        self.check("cuDeviceGet", ctypes.byref(device), 0)
        self.check("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.check("cuCtxSetCurrent", self.context)
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.check("cuDeviceGetAttribute", ctypes.byref(major), 75, device)
        self.check("cuDeviceGetAttribute", ctypes.byref(minor), 76, device)
        self.architecture = f"sm_{major.value}{minor.value}"

    def check(self, name: str, *arguments: Any) -> None:
        """Calls a driver function and raises its error's name."""
        status = getattr(self.driver, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.driver.cuGetErrorName(status, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'?').decode()}")

    def load(self, cubin: bytes) -> ctypes.c_void_p:
        """A module."""
        module = ctypes.c_void_p()
        self.check("cuModuleLoadData", ctypes.byref(module), cubin)
        return module

    def launch(
        self,
        module: ctypes.c_void_p,
        kernel: str,
        shape: tuple[Dims, Dims, int],
        arguments: Sequence[Any],
    ) -> None:
        """Runs a kernel; arrays are copied to the GPU and back, scalars passed by value."""
        function = ctypes.c_void_p()
        self.check("cuModuleGetFunction", ctypes.byref(function), module, kernel.encode())
        buffers: list[tuple[ctypes.c_uint64, np.ndarray[Any, Any]]] = []
        values: list[Any] = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                pointer = ctypes.c_uint64()
                self.check("cuMemAlloc_v2", ctypes.byref(pointer), max(argument.nbytes, 1))
                data = argument.ctypes.data_as(ctypes.c_void_p)
                self.check("cuMemcpyHtoD_v2", pointer, data, argument.nbytes)
                buffers.append((pointer, argument))
                values.append(pointer)
            elif isinstance(argument, int):
                values.append(ctypes.c_int64(argument))
            else:
                values.append(ctypes.create_string_buffer(np.asarray(argument).tobytes()))
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        grid, block, shared = shape
        dims = [*_three(grid), *_three(block), shared, None]
        self.check("cuLaunchKernel", function, *dims, pointers, None)
        self.check("cuCtxSynchronize")
        for pointer, array in buffers:
            data = array.ctypes.data_as(ctypes.c_void_p)
            self.check("cuMemcpyDtoH_v2", data, pointer, array.nbytes)
            self.check("cuMemFree_v2", pointer)


def _three(dims: Dims) -> tuple[int, int, int]:
    given = (dims,) if isinstance(dims, int) else tuple(dims)
    x, y, z = (*given, 1, 1)[:3]
    return x, y, z


def _cubin(case: Case, gpu: Gpu, folder: Path | None) -> tuple[bytes, dict[str, str]]:
    if folder is not None:
        names = json.loads((folder / f"{case.source}.json").read_text())
        return (folder / f"{case.source}.cubin").read_bytes(), names
    from warplens.toolchain.nvrtc import compile_source

    kernels = {c.kernel for c in CASES if c.source == case.source and "<" in c.kernel}
    compiled = compile_source(
        case.path.read_text(),
        name=case.source,
        sm=int(gpu.architecture[3:]),
        options=case.options,
        name_expressions=sorted(kernels),
    )
    return compiled.cubin, compiled.lowered_names


def main() -> int:
    """Runs every case, or those whose name contains the argument; returns the number that fail."""
    parser = argparse.ArgumentParser(description="Run the kernel corpus on a real GPU.")
    parser.add_argument("--cubins", type=Path, help="folder with compiled files")
    parser.add_argument("names", nargs="*", help="only cases whose name contains one of these")
    options = parser.parse_args()
    import tests.kernels.every  # noqa: F401

    gpu = Gpu()
    failed = 0
    modules: dict[str, tuple[ctypes.c_void_p, dict[str, str]]] = {}
    for case in CASES:
        if options.names and not any(name in case.name for name in options.names):
            continue
        print(case.name, end=" ", flush=True)
        if case.source not in modules:
            cubin, names = _cubin(case, gpu, options.cubins)
            modules[case.source] = gpu.load(cubin), names
        module, names = modules[case.source]
        arguments, expected = case.problem()
        try:
            kernel = names.get(case.kernel, case.kernel)
            gpu.launch(module, kernel, (case.grid, case.block, case.shared), arguments)
            assert_results(case, arguments, expected, gpu.architecture)
            print("ok", flush=True)
        except AssertionError as error:
            failed += 1
            print(f"FAILED\n{error}", flush=True)
    print(f"{failed} of {len(CASES)} cases failed on {gpu.architecture}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
