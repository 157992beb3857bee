"""Compiles our own functions once for an installation, on all cores, for `warplens cache prepare`.

What a first launch, its time and the sanitizers need is compiled by using them, each in a process
of its own, and kept in the package, where every user's processes find it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from warplens.compiled.build import KIND
from warplens.toolchain.cache import SHIPPED

_BEGIN = """
import numpy as np, warplens as wl
source = '''
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int part[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    part[t] = i < n ? in[i] : 0;
    __syncthreads();
    atomicAdd(&out[part[63 - t] & 7], 1);
}'''
kernel = wl.Device("H200").compile(source)["k"]
given = np.arange(4096, dtype=np.int32), np.zeros(8, np.int32), 4096
"""
# The longest first.
_TASKS = (
    "run = kernel[64, 64](*given); run.metric('gpu__time_duration.sum')",
    "kernel.sanitize[64, 64](*given, tools='all')",
    "import warplens.timing.view, warplens.timing.sample as s\n"
    "s.REPLAYED = s.BUDGET = 100\nrun = kernel[640, 64](*given); run.timing.sample\n"
    "run.step(block=0, warp=0)",
)


def prepare(target: Path = SHIPPED) -> int:
    """Compiles into a directory; returns the number of functions that are ready there.

    Raises:
        OSError: the directory cannot be written.
    """
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "WARPLENS_CACHE_DIR": folder, "WARPLENS_SHIPPED": "off"}
        running = [
            subprocess.Popen([sys.executable, "-c", _BEGIN + task], env=environment,
                             stdout=subprocess.DEVNULL)
            for task in _TASKS
        ]  # fmt: skip
        failed = [process.wait() for process in running]
        if any(failed):
            raise OSError(f"{sum(map(bool, failed))} of {len(failed)} preparations failed")
        shutil.rmtree(target / KIND, ignore_errors=True)
        shutil.copytree(Path(folder) / KIND, target / KIND)
    return sum(path.is_file() for path in (target / KIND).rglob("*"))
