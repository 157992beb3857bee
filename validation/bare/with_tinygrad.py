"""tinygrad: a product and a softmax on its CUDA device."""

import numpy as np
from tinygrad import Tensor

a = np.random.default_rng(1).random((16, 24), np.float32)
x = Tensor(a, device="CUDA")
assert np.allclose((x @ x.T).numpy(), a @ a.T, rtol=1e-4)
e = np.exp(a - a.max(1, keepdims=True))
assert np.allclose(x.softmax().numpy(), e / e.sum(1, keepdims=True), rtol=1e-4)
