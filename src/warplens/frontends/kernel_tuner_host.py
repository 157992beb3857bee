"""Host functions for Kernel Tuner (`lang="C"`) that launch kernels: built by nvcc as a library,
whose CUDA runtime is replaced by ours. Functions without device code are Kernel Tuner's own matter.

The first call of a function runs in full. While Kernel Tuner times it, launches are predicted from
sampled blocks, and one call stands for all iterations, since the same call has the same modelled
time.
"""

from __future__ import annotations

import ctypes
import importlib
import re
import tempfile
from pathlib import Path
from typing import Any

from warplens.errors import CompileError
from warplens.frontends.frontend import GiveDriver
from warplens.frontends.runtime_inside import take_over
from warplens.programs.library import libraries
from warplens.toolchain import nvcc

_DEVICE_CODE = re.compile(r"__global|__syncthreads\(\)|threadIdx|#include <cuda|cudaMemcpy")
_LIBRARY = ("-shared", "-Xcompiler", "-fPIC", "-cudart", "static", "-I.")


def host_class(give_driver: GiveDriver) -> type:
    """Kernel Tuner's class for compiled functions, which has nvcc and the simulated GPU."""
    base: Any = importlib.import_module("kernel_tuner.backends.compiler").CompilerFunctions

    class Functions(HostFunctions, base):  # type: ignore[misc]
        """Kernel Tuner's own, where no device code is involved."""

        _driver = staticmethod(give_driver)

    return Functions


class HostFunctions:
    """What differs from Kernel Tuner's class, which is to be the base beside this one."""

    _sm, _is_timed, _on_gpu = 0, False, False
    _timed: Any = None  # the function that `last_result` is the time of
    _driver: GiveDriver
    last_result: float | None
    max_threads: int

    def compile(self, kernel_instance: Any) -> Any:
        """The function of a configuration.

        Raises:
            CompileError: in nvcc's words.
        """
        base: Any = super()
        suffix = kernel_instance.kernel_source.get_user_suffix()
        text = kernel_instance.kernel_string
        self._on_gpu = suffix == ".cu" or _DEVICE_CODE.search(text) is not None
        self._timed = None
        if not self._on_gpu:
            return base.compile(kernel_instance)
        gpu = self._driver().gpu(0)
        self.max_threads = gpu.spec.max_threads_per_block
        if 'extern "C"' not in text:
            text = f'extern "C" {{\n{text}\n}}'
        options: Any = getattr(self, "compiler_options", None)
        function = getattr(_library(text, list(options or ()), gpu.spec.sm), kernel_instance.name)
        function.restype = ctypes.c_float
        return function

    def start_event(self) -> None:
        """What is called from here on is timed."""
        self._is_timed = True

    def stop_event(self) -> None:
        """What is called from here on runs in full."""
        self._is_timed = False

    def run_kernel(
        self, func: Any, c_args: Any, threads: Any, grid: Any, stream: Any = None
    ) -> float:
        """Calls the function, or tells the time of its first timed call again."""
        base: Any = super()
        if not self._on_gpu:
            return float(base.run_kernel(func, c_args, threads, grid, stream))
        if self._is_timed and func is self._timed and self.last_result is not None:
            return self.last_result
        driver = self._driver()
        driver.keep_times()
        driver.samples = self._is_timed
        try:
            found = float(func(*[one.ctypes for one in c_args]))
        finally:
            driver.samples = False
        if self._is_timed:
            self._timed = func
        self.last_result = found
        return found


def _library(text: str, options: list[str], sm: int) -> ctypes.CDLL:
    """The text as a library that is loaded, with our runtime in it."""
    with tempfile.TemporaryDirectory(prefix="warplens-host-") as folder:
        source, library = Path(folder) / "host.cu", Path(folder) / "host.so"
        source.write_text(text)
        words = nvcc.architectures(options, sm=sm, must_run=True, says=False)
        words = [*_LIBRARY, *words, str(source)]
        try:
            nvcc.run(nvcc.command(words, sm=sm, libraries=libraries(), output=library), shows=False)
        except CompileError as error:
            raise RuntimeError(str(error)) from error
        take_over(library)
        return ctypes.CDLL(str(library))
