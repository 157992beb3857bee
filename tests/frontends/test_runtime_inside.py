"""A stripped library with NVIDIA's runtime inside: its functions are found, and it runs.

What is found is compared with the symbol table that nvcc's linker wrote before it was stripped.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from warplens.frontends import runtime_names
from warplens.toolchain.elf import ElfFile
from warplens.toolchain.nvcc import command

LIBRARY = r"""
__constant__ int factor = 3;
__global__ void scale(int *x, int n, short more) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = factor * x[i] + more;
}
extern "C" int run(int *host, int n) {
    int *x = 0, five = 5;
    cudaMalloc(&x, n * sizeof *x);
    cudaMemcpy(x, host, n * sizeof *x, cudaMemcpyHostToDevice);
    scale<<<(n + 63) / 64, 64>>>(x, n, 7);
    cudaMemcpyToSymbol(factor, &five, sizeof five);
    scale<<<(n + 63) / 64, 64>>>(x, n, -1);
    cudaMemcpy(host, x, n * sizeof *x, cudaMemcpyDeviceToHost);
    cudaFree(x);
    return cudaGetLastError();
}
extern "C" int bad(void) { scale<<<1, 5000>>>(0, 0, 0); return cudaGetLastError(); }
"""
CALL = """
import ctypes, sys, warplens.cuda
from pathlib import Path
from warplens.frontends.runtime_inside import take_over
take_over(Path(sys.argv[1]))
library = ctypes.CDLL(sys.argv[1])
x = (ctypes.c_int * 100)(*range(100))
assert library.run(x, 100) == 0
print(list(x) == [5 * (3 * i + 7) - 1 for i in range(100)], library.bad())
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library as the linker leaves it."""
    folder = tmp_path_factory.mktemp("inside")
    (folder / "inside.cu").write_text(LIBRARY)
    words = ["-shared", "-Xcompiler", "-fPIC", "-cudart", "static", "-o",
             str(folder / "inside.so"), str(folder / "inside.cu")]  # fmt: skip
    subprocess.run(command(words, sm=90), check=True, capture_output=True)
    return folder / "inside.so"


@pytest.fixture(scope="module")
def stripped(built: Path) -> Path:
    """The library without its symbol table."""
    path = built.with_name("stripped.so")
    subprocess.run(["strip", "--strip-all", "-o", str(path), str(built)], check=True)
    return path


def test_functions_are_found(built: Path, stripped: Path) -> None:
    """Every one that is found is where the symbol table has it; all but tables and helpers are."""
    real = {one.name: one.value for one in ElfFile(built.read_bytes()).symbols}
    assert not ElfFile(stripped.read_bytes()).symbols

    found = runtime_names.find_runtime(stripped, runtime_names.read_library(stripped)).functions

    assert {name: real[name] for name in found} == found
    public = {name for name in real if name.startswith("cuda") and name[4].isupper()}
    assert public - found.keys() <= {"cudaGetExportTable"}
    assert len(found) > 400


def test_it_runs(stripped: Path) -> None:
    """Its kernel and its constant, and an error with CUDA 13's code, through its host code."""
    done = subprocess.run([sys.executable, "-c", CALL, str(stripped)], capture_output=True,
                          text=True, check=False)  # fmt: skip

    assert (done.returncode, done.stdout) == (0, "True 1\n"), done.stderr
