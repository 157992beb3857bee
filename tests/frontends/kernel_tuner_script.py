"""A script for Kernel Tuner as its users write them: nothing in it knows of warplens."""

from __future__ import annotations

from typing import Any

import kernel_tuner
import numpy as np

SOURCE = """
__constant__ float scale[2];
__global__ void scaled(float* out, const float* in, int n) {
    extern __shared__ float staged[];
    int i = blockIdx.x * block_size_x * PER + threadIdx.x;
    for (int k = 0; k < PER; k++, i += block_size_x) {
        staged[threadIdx.x] = i < n ? in[i] : 0;
        if (i < n) out[i] = scale[0] * staged[threadIdx.x] + (PER == WRONG ? 9 : scale[1]);
    }
}
"""
N = 3000
SPACE = {"block_size_x": [32, 128, 512, 4096], "PER": [1, 4]}


def tuned(wrong: int = 0, **options: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """All configurations, compared with NumPy."""
    values = np.arange(N, dtype=np.float32)
    arguments = [np.zeros_like(values), values, np.int32(N)]
    answer = [2 * values + 1, None, None]
    found: tuple[list[dict[str, Any]], dict[str, Any]] = kernel_tuner.tune_kernel(
        "scaled", SOURCE, N, arguments, SPACE, answer=answer, grid_div_x=["block_size_x", "PER"],
        cmem_args={"scale": np.array([2, 1], np.float32)},
        smem_args={"size": "block_size_x * 4"}, defines={"WRONG": wrong, **_values(SPACE)},
        quiet=True, **options,
    )  # fmt: skip
    return found


def _values(space: dict[str, Any]) -> dict[str, Any]:
    """Kernel Tuner defines all parameters unless a script says which."""
    return {name: name for name in space}
