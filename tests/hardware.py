"""Runs the kernel corpus on a real GPU, to check the references themselves.

`python -m tests.hardware` needs an NVIDIA driver; nothing else in the project does. With
`--features` the kernels of tests/breadth and tests/cub run too. With `--cubins DIR` it takes
`NAME.cu.cubin` and `NAME.cu.json` (name expression -> mangled name) from a folder instead of
compiling, for GPU machines that lack the compiler packages; `--write DIR` compiles them for there.
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
_COOPERATIVE = frozenset({"grid_sync"})  # kernels whose blocks all meet


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
        if kernel in _COOPERATIVE:
            self.check("cuLaunchCooperativeKernel", function, *dims, pointers)
        else:
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


def _compiled(case: Case, cases: Sequence[Case], sm: int) -> tuple[bytes, dict[str, str]]:
    from warplens.toolchain.nvrtc import compile_source

    kernels = {c.kernel for c in cases if c.source == case.source and "<" in c.kernel}
    path = case.path if case.path.exists() else Path(__file__).parent / case.source
    compiled = compile_source(
        path.read_text(),
        name=case.source,
        sm=sm,
        options=case.options,
        name_expressions=sorted(kernels),
    )
    return compiled.cubin, compiled.lowered_names


def _cubin(
    case: Case, cases: Sequence[Case], gpu: Gpu, folder: Path | None
) -> tuple[bytes, dict[str, str]]:
    if folder is not None:
        names = json.loads((folder / f"{case.source}.json").read_text())
        return (folder / f"{case.source}.cubin").read_bytes(), names
    return _compiled(case, cases, int(gpu.architecture[3:]))


def _write(cases: Sequence[Case], sm: int, folder: Path) -> None:
    """Compiles every source once."""
    for case in {c.source: c for c in cases}.values():
        cubin, names = _compiled(case, cases, sm)
        place = folder / f"{case.source}.cubin"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(cubin)
        place.with_suffix(".json").write_text(json.dumps(names))


def _cases(features: bool, sm: int) -> list[Case]:
    import tests.kernels.every

    if not features:
        return CASES
    import tests.breadth.every  # noqa: F401
    from tests.breadth.model import FEATURES

    return [*CASES, *(f.case for f in FEATURES if f.first <= sm <= f.last)]


def main() -> int:
    """Runs every case, or those whose name contains the argument; returns the number that fail."""
    parser = argparse.ArgumentParser(description="Run the kernel corpus on a real GPU.")
    parser.add_argument("--cubins", type=Path, help="folder with compiled files")
    parser.add_argument("--features", action="store_true", help="tests/breadth and tests/cub too")
    parser.add_argument("--write", type=Path, metavar="DIR", help="only compile, into this folder")
    parser.add_argument("--sm", type=int, default=90, help="architecture for --write (90)")
    parser.add_argument("names", nargs="*", help="only cases whose name contains one of these")
    options = parser.parse_args()
    if options.write is not None:
        _write(_cases(options.features, options.sm), options.sm, options.write)
        return 0
    gpu = Gpu()
    cases = _cases(options.features, int(gpu.architecture[3:]))
    failed = 0
    modules: dict[str, tuple[ctypes.c_void_p, dict[str, str]]] = {}
    for case in cases:
        if options.names and not any(name in case.name for name in options.names):
            continue
        print(case.name, end=" ", flush=True)
        if case.source not in modules:
            cubin, names = _cubin(case, cases, gpu, options.cubins)
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
    print(f"{failed} of {len(cases)} cases failed on {gpu.architecture}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
