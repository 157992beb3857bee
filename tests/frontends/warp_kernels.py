"""Warp's kernels: Warp reads their source, so they stand in a file of their own."""

import warp as wp


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    """y = a * x + y."""
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def lengths(points: wp.array(dtype=wp.vec3), total: wp.array(dtype=float)):
    """Adds up the points' distances from the origin."""
    i = wp.tid()
    wp.atomic_add(total, 0, wp.length(points[i]))
