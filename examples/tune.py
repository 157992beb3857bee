"""Finds the block and the tile of four kernels for five cards, none of which need be there.

    warplens tune examples/tune.py           (or: python examples/tune.py)

Three matrix multiplications, from one element a thread to a tile in registers, and a reduction.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import warplens as wl

CARDS = ("H200", "A100", "RTX 4090", "RTX 4060", "T4")
N, WORDS = 1024, 1 << 24

ONE_EACH = """
__global__ void one_each(const float* a, const float* b, float* c, int n) {
    int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}"""
TILED = """
__global__ void tiled(const float* a, const float* b, float* c, int n) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * TILE + tx, y = blockIdx.y * TILE + ty;
    float sum = 0;
    for (int k0 = 0; k0 < n; k0 += TILE) {
        as[ty][tx] = a[y * n + k0 + tx];
        bs[ty][tx] = b[(k0 + ty) * n + x];
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    c[y * n + x] = sum;
}"""
REGISTERS = """
__global__ void registers(const float* a, const float* b, float* c, int n) {
    constexpr int SIDE = TILE / EACH, DEPTH = 16, THREADS = SIDE * SIDE;
    __shared__ float as[DEPTH][TILE + 1], bs[DEPTH][TILE];
    int t = threadIdx.x, tx = t % SIDE, ty = t / SIDE;
    float sum[EACH][EACH] = {};
    for (int k0 = 0; k0 < n; k0 += DEPTH) {
        for (int i = t; i < TILE * DEPTH; i += THREADS) {
            as[i % DEPTH][i / DEPTH] = a[(blockIdx.y * TILE + i / DEPTH) * n + k0 + i % DEPTH];
            bs[i / TILE][i % TILE] = b[(k0 + i / TILE) * n + blockIdx.x * TILE + i % TILE];
        }
        __syncthreads();
        for (int k = 0; k < DEPTH; k++)
            for (int p = 0; p < EACH; p++)
                for (int q = 0; q < EACH; q++)
                    sum[p][q] += as[k][ty * EACH + p] * bs[k][tx + q * SIDE];
        __syncthreads();
    }
    for (int p = 0; p < EACH; p++)
        for (int q = 0; q < EACH; q++)
            c[(blockIdx.y * TILE + ty * EACH + p) * n + blockIdx.x * TILE + tx + q * SIDE]
                = sum[p][q];
}"""
REDUCTION = """
__global__ void reduction(const float* in, float* out) {
    __shared__ float part[BLOCK / 32];
    int t = threadIdx.x;
    float sum = 0;
    for (int i = 0; i < PER; i++) sum += in[(blockIdx.x * PER + i) * BLOCK + t];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(~0u, sum, s);
    if (t % 32 == 0) part[t / 32] = sum;
    __syncthreads();
    if (t < 32) {
        sum = t < BLOCK / 32 ? part[t] : 0;
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(~0u, sum, s);
        if (t == 0) out[blockIdx.x] = sum;
    }
}"""


def searches() -> dict[str, dict[str, Any]]:
    """What is searched, by the kernel's name: arguments of `warplens.tune`."""
    rng = np.random.default_rng(0)
    a, b = (rng.random(N * N, np.float32) for _ in range(2))
    product = [a, b, np.zeros(N * N, np.float32), N]
    words = rng.random(WORDS, np.float32)
    return {
        "one_each": {
            "source": ONE_EACH, "block": "(BX, BY)", "grid": f"({N} // BX, {N} // BY)",
            "space": {"BX": [8, 16, 32, 64, 128], "BY": [1, 2, 4, 8, 16]},
            "restrictions": ["64 <= BX * BY <= 1024"], "args": product,
        },
        "tiled": {
            "source": TILED, "block": "(TILE, TILE)", "grid": f"({N} // TILE, {N} // TILE)",
            "space": {"TILE": [8, 16, 32]}, "args": product,
        },
        "registers": {
            "source": REGISTERS, "block": "(TILE // EACH) ** 2",
            "grid": f"({N} // TILE, {N} // TILE)",
            "space": {"TILE": [32, 64, 128], "EACH": [2, 4, 8]},
            "restrictions": ["64 <= (TILE // EACH) ** 2 <= 1024"], "args": product,
        },
        "reduction": {
            "source": REDUCTION, "block": "BLOCK", "grid": f"{WORDS} // (BLOCK * PER)",
            "space": {"BLOCK": [128, 256, 512, 1024], "PER": [1, 4, 16, 64]},
            "args": lambda c: [words, np.zeros(WORDS // (c["BLOCK"] * c["PER"]), np.float32)],
        },
    }  # fmt: skip


def main() -> None:
    """Four searches."""
    for kernel, told in searches().items():
        wl.tune(**told, kernel=kernel, gpus=CARDS, confirm=0)


if __name__ == "__main__":
    main()
