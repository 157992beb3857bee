"""numba-cuda: a reduction in shared memory, an atomic, a ufunc."""

import numpy as np
from numba import cuda, float32, vectorize


@cuda.jit
def total(x, out):
    """Adds up an array."""
    shared = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    step = 64
    while step:
        if t < step:
            shared[t] += shared[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(out, 0, shared[0])


@vectorize(["float64(float64, float64)"], target="cuda")
def longer(a, b):
    """The root of the sum of squares."""
    return (a * a + b * b) ** 0.5


x, out = np.arange(1000, dtype=np.float32), np.zeros(1, np.float32)
total[8, 128](x, out)
assert out[0] == x.sum()
assert np.allclose(longer(x.astype(np.float64), 3.0), np.hypot(x, 3))
