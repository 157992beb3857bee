"""Everything that can be a parameter, each seen in what is compiled and launched."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import warplens as wl
from warplens.errors import InputError
from warplens.tune import Tuned

N = 1 << 12
A = np.arange(N, dtype=np.float32)
HEAVY = """
#if LEAST
#define BOUNDS __launch_bounds__(BLOCK, LEAST)
#else
#define BOUNDS  // a cap counts only where a kernel has no bounds
#endif
__global__ void BOUNDS heavy(const float* a, float* b) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float v[48];
    for (int k = 0; k < 48; k++) v[k] = a[(i + k) % 4096];
    for (int k = 0; k < 48; k++) b[i] = v[k] * v[47 - k] + (k ? b[i] : 0);
}"""
STAGED = """
#include <cooperative_groups.h>
__global__ void staged(const float* a, float* b) {
    extern __shared__ float s[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = a[i];
    __syncthreads();
    b[i] = s[threadIdx.x] * cooperative_groups::this_cluster().num_blocks();
}"""
PLAIN = "__global__ void plain(const float* a, float* b) { %s }"
AT = "int i = blockIdx.x * blockDim.x + threadIdx.x;"


def facts(found: Tuned, name: str, fact: str) -> float:
    """A compiled fact of a row."""
    (row,) = (row for row in found.rows if row.name == name)
    return row.facts[fact]


def test_register_caps_and_launch_bounds() -> None:
    """A cap from the options and one from `__launch_bounds__`: registers stay within."""
    found = wl.tune(
        HEAVY, kernel="heavy", space={"BLOCK": [256], "LEAST": [0, 6], "CAP": [32, 255]},
        options=["-maxrregcount={CAP}"], grid=f"{N} // BLOCK", block="BLOCK",
        args=[A, np.zeros(N, np.float32)], processes=1, confirm=0, gpus=["RTX 4060"],
    )  # fmt: skip
    registers = {name: facts(found, f"BLOCK=256 {name}", "registers") for name in
                 ("LEAST=0 CAP=32", "LEAST=0 CAP=255", "LEAST=6 CAP=255")}  # fmt: skip

    assert registers["LEAST=0 CAP=32"] <= 32
    assert registers["LEAST=6 CAP=255"] <= 40  # 65,536 registers for 1,536 threads
    assert registers["LEAST=0 CAP=255"] > 40


def test_cluster_and_dynamic_shared_memory() -> None:
    """The kernel sees how many blocks its cluster has; what does not fit fails by name."""
    wanted: dict[int, np.ndarray] = {1: 4 * A}
    found = wl.tune(
        STAGED, kernel="staged", space={"CLUSTER": [4], "EXTRA": [0, 1 << 10, 1 << 20]},
        grid=N // 128, block=128, shared="128 * 4 + EXTRA", cluster="CLUSTER",
        args=[A, np.zeros(N, np.float32)], reference=wanted, processes=1, confirm=2,
        gpus=["H200"],
    )  # fmt: skip
    launches = {row.name: row.launch for row in found.rows}

    assert {row.status for row in found.of()} == {"confirmed"} and len(found.of()) == 2
    assert launches["CLUSTER=4 EXTRA=1024"] == "staged<<<32, 128, 1536>>>"
    assert facts(found, "CLUSTER=4 EXTRA=1024", "shared_bytes") == 1536
    [failure] = found.failures()
    assert failure.name.endswith("EXTRA=1048576") and "shared memory" in failure.problem


def test_several_sources(tmp_path: Path) -> None:
    """As texts and as files; the wrong one is found out."""
    right = tmp_path / "right.cu"
    right.write_text(PLAIN % f"{AT} b[i] = 2 * a[i];")
    sources = {"file": right, "text": PLAIN % f"{AT} b[i] = a[i] + a[i];",
               "wrong": PLAIN % f"{AT} b[i] = a[i];"}  # fmt: skip
    found = wl.tune(
        sources, kernel="plain", space={"SOURCE": list(sources), "BLOCK": [64, 128]},
        grid=f"{N} // BLOCK", block="BLOCK", args=[A, np.zeros(N, np.float32)],
        reference={1: 2 * A}, processes=1, confirm=4, gpus=["H200"],
    )  # fmt: skip

    assert {row.configuration["SOURCE"] for row in found.of()} == {"file", "text"}
    assert {row.problem for row in found.failures()} == {"wrong result in argument 1"}
    try:
        wl.tune(sources, kernel="plain", space={"BLOCK": [64]}, grid=64, block="BLOCK", args=[])
    except InputError as error:
        assert "SOURCE" in str(error)
    else:
        raise AssertionError("several sources without a parameter are refused")
