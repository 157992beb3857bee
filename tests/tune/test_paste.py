"""The winning launch as code: pasted into a program, nvcc builds it and computes what it must."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from warplens.tune.paste import parameters

WARPLENS = (sys.executable, "-m", "warplens.cli.main")
N = 1 << 12
A = np.arange(N, dtype=np.float32)
SOURCE = """
#include <cooperative_groups.h>
// __global__ void twice(int not_this_one) {
template <typename T, int EACH> __global__ void __launch_bounds__(256)
twice(const T* __restrict__ in, /* all */ T out[], int n) {
    extern __shared__ T s[];
    int i = blockIdx.x * blockDim.x * EACH + threadIdx.x;
    for (int k = 0; k < EACH; k++, i += blockDim.x) {
        s[threadIdx.x + SKIP] = in[i];
        if (i < n) out[i] = 2 * s[threadIdx.x + SKIP] * CLUSTERS;
    }
}
__global__ void by_cluster(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * in[i] * cooperative_groups::this_cluster().num_blocks();
}
"""
PROGRAM = """
#include <cstdio>
#include "kernel.cu"
int main() {
    float *in, *out;
    int n = %d;
    cudaMallocManaged(&in, n * sizeof(float));
    cudaMallocManaged(&out, n * sizeof(float));
    for (int i = 0; i < n; i++) in[i] = i;
    %s
    cudaError_t error = cudaDeviceSynchronize();
    int right = 0;
    for (int i = 0; i < n; i++) right += out[i] == %d * in[i];
    printf("%%s, %%d right\\n", cudaGetErrorName(error), right);
}
"""


def test_names_of_parameters() -> None:
    """As declared, whatever stands around them; none where the source does not show them."""
    assert parameters(SOURCE, "twice<float, 4>") == ("in", "out", "n")
    assert parameters(SOURCE, "by_cluster") == ("in", "out", "n")
    assert parameters(SOURCE, "another") == ()
    assert parameters(Path("nowhere.cu"), "twice") == ()
    pairs = "__global__ void k(Map<int, 4> map, float* a[2]) { }"
    assert parameters(pairs, "space::k") == ("map", "a")


@pytest.mark.long
@pytest.mark.parametrize(("kernel", "cluster", "factor"), [
    ("twice<float, {PER}>", None, 2), ("by_cluster", "CLUSTERS", 4)])  # fmt: skip
def test_pasted_into_a_program(tmp_path: Path, kernel: str, cluster: str | None,
                               factor: int) -> None:  # fmt: skip
    """More shared memory than a launch gets without leave, and a launch in clusters."""
    file = tmp_path / "kernel.cu"
    file.write_text(SOURCE)
    is_plain = cluster is None
    found = wl.tune(
        file, kernel=kernel, space={"PER": [4 if is_plain else 1], "SKIP": [15000 * is_plain],
                                    "CLUSTERS": [1 if is_plain else 2]},
        grid=f"{N} // (128 * PER)", block=128, shared="4 * (128 + SKIP)", cluster=cluster,
        args=[A, np.zeros(N, np.float32), N], reference={1: factor * A}, processes=1, confirm=1,
    )  # fmt: skip
    assert found.best is not None, found.failures()
    first, *code = found.best.code.splitlines()
    words = first.removeprefix("// nvcc ").split()
    main = tmp_path / "main.cu"
    main.write_text(PROGRAM % (N, "\n    ".join(code), factor))

    assert words[0] == "-arch=sm_90" and words[-1] == str(file)
    command = [*WARPLENS, "build", str(main), *words[1:-1], "-o", str(tmp_path / "main")]
    subprocess.run(command, check=True)
    ran = subprocess.run([*WARPLENS, "run", "--gpu", "H200", str(tmp_path / "main")],
                         capture_output=True, text=True, check=False)  # fmt: skip
    assert f"cudaSuccess, {N} right" in ran.stdout, ran.stdout + ran.stderr
