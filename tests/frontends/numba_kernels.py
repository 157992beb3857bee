"""numba-cuda's kernels for the tests: decorating them needs a driver already."""

import math

from numba import cuda, float32, vectorize


@cuda.jit
def add(x, y, out):
    """out = x + y."""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] + y[i]


@cuda.jit
def matmul(a, b, c):
    """c = a @ b by tiles of 16 x 16."""
    left = cuda.shared.array((16, 16), float32)
    right = cuda.shared.array((16, 16), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for tile in range(a.shape[1] // 16):
        left[tx, ty] = a[x, ty + tile * 16]
        right[tx, ty] = b[tx + tile * 16, y]
        cuda.syncthreads()
        for k in range(16):
            total += left[tx, k] * right[k, ty]
        cuda.syncthreads()
    c[x, y] = total


@cuda.jit
def histogram(values, counts):
    """How often each value comes."""
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(counts, values[i], 1)


@cuda.jit(lineinfo=True)
def beyond(x, n):
    """Writes n elements behind its own."""
    x[cuda.grid(1) + n] = 1.0  # the line that must be named


LINE = beyond.py_func.__code__.co_firstlineno + 3


@vectorize(["float64(float64, float64)"], target="cuda")
def hypotenuse(x, y):
    """The length of (x, y)."""
    return math.sqrt(x * x + y * y)
