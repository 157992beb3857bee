"""CuPy: arithmetic, a sum, a sort, a raw kernel."""

import cupy as cp
import numpy as np

x = np.random.default_rng(1).random(500).astype(np.float32)
d = cp.asarray(x)
assert np.allclose(cp.asnumpy(2 * d + 1), 2 * x + 1)
assert np.isclose(float(d.sum()), x.sum())
assert (cp.asnumpy(cp.sort(d)) == np.sort(x)).all()
SOURCE = 'extern "C" __global__ void negate(float *x) { x[threadIdx.x] *= -1; }'
negate = cp.RawKernel(SOURCE, "negate")
negate((1,), (500,), (d,))
assert (cp.asnumpy(d) == -x).all()
