"""Warp: a kernel, a fill and a scan of its library."""

import numpy as np
import warp as wp


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    """y = a * x + y."""
    i = wp.tid()
    y[i] = a * x[i] + y[i]


with wp.ScopedDevice("cuda:0"):
    x = wp.array(np.arange(100, dtype=np.float32))
    y = wp.ones(100, dtype=float)
    wp.launch(saxpy, dim=100, inputs=[2.0, x, y])
    assert (y.numpy() == 2 * np.arange(100) + 1).all()
    ones, sums = wp.full(100, 1, dtype=int), wp.zeros(100, dtype=int)
    wp.utils.array_scan(ones, sums, inclusive=True)
    assert (sums.numpy() == np.arange(1, 101)).all()
