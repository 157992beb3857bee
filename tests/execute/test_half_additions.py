"""Atomic additions of halves where the processor has no arithmetic in half precision."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import warplens as wl

SOURCE = r"""
#include <cuda_fp16.h>
extern "C" __global__ void add(__half2* to, const __half2* by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(to + i, by[i]);
}
"""
# No compiler in this process: functions that one would bring along are missing.
PROGRAM = r"""
import sys
from pathlib import Path
import numpy as np
import warplens as wl
every = np.arange(1 << 16, dtype=np.uint16)
left = every.view(np.float16)
right = np.random.default_rng(1).permutation(every).view(np.float16)
with np.errstate(all="ignore"):
    wanted = (left.astype(np.float64) + right.astype(np.float64)).astype(np.float16)
found = left.copy()
kernel = wl.Device("H200").load(Path(sys.argv[1]).read_bytes())["add"]
kernel[128, 256](found, right)
is_nan = np.isnan(wanted)
assert (found.view(np.uint16)[is_nan] == 0x7FFF).all()
assert (found[~is_nan].view(np.uint16) == wanted[~is_nan].view(np.uint16)).all()
print("as NumPy")
"""


def test_sums_are_rounded_once_without_a_compiler_in_the_process(tmp_path: Path) -> None:
    cubin = tmp_path / "add.cubin"
    cubin.write_bytes(wl.Device("H200").compile(SOURCE).images[0].kernels.cubin.data)
    environment = {**os.environ, "WARPLENS_HOST": "avx2", "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(cubin)], env=environment, text=True, capture_output=True
    )
    assert done.stdout == "as NumPy\n", done.stderr
