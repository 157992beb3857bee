"""Warp as it is on PyPI, its library stripped: a user's kernels and its own, beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def wp(gpu: Any) -> Any:
    """Warp, imported when the GPU is in place, its device 0 the default one."""
    found = pytest.importorskip("warp")
    found.config.quiet = True
    found.set_device("cuda:0")
    return found


@pytest.fixture(scope="module")
def kernels(wp: Any) -> Any:
    """The kernels; Warp reads their source when they are declared."""
    from tests.frontends import warp_kernels

    return warp_kernels


def test_kernels(wp: Any, kernels: Any, gpu: Any) -> None:
    """Arrays of numbers and vectors, atomics; the launch is reported."""
    x = wp.array(np.arange(1000, dtype=np.float32))
    y = wp.ones(1000, dtype=float)
    points = np.random.default_rng(0).random((500, 3), np.float32)
    total = wp.zeros(1, dtype=float)
    with gpu:
        wp.launch(kernels.saxpy, dim=1000, inputs=[2.0, x, y])
        wp.launch(kernels.lengths, dim=500, inputs=[wp.array(points, dtype=wp.vec3), total])
        launched = gpu.launches[-1]
        assert launched.metric("gpu__time_duration.sum") > 0
    assert np.array_equal(y.numpy(), 2 * np.arange(1000, dtype=np.float32) + 1)
    assert np.allclose(total.numpy()[0], np.linalg.norm(points, axis=1).sum())


def test_kernels_of_its_library(wp: Any) -> None:
    """Fills, a scan, a sort and a sum are compiled code inside its library."""
    values = np.random.default_rng(1).integers(0, 100, 300).astype(np.int32)
    given = wp.array(values)
    scanned = wp.zeros_like(given)
    wp.utils.array_scan(given, scanned, inclusive=True)
    keys = wp.array(np.concatenate([values, np.zeros(300, np.int32)]))
    places = wp.array(np.arange(600, dtype=np.int32))
    wp.utils.radix_sort_pairs(keys, places, 300)

    assert np.array_equal(wp.full(77, 3.25, dtype=float).numpy(), np.full(77, 3.25))
    assert np.array_equal(scanned.numpy(), np.cumsum(values))
    assert np.array_equal(keys.numpy()[:300], np.sort(values))
    assert np.array_equal(places.numpy()[:300], np.argsort(values, kind="stable"))
    assert wp.utils.array_sum(wp.array(np.arange(999, dtype=np.float32))) == 998 * 999 / 2


def test_gradients_streams_and_graphs(wp: Any, kernels: Any) -> None:
    """A tape's backward pass, events of a stream, and a captured graph launched twice."""
    x = wp.array(np.arange(8, dtype=np.float32), requires_grad=True)
    y = wp.zeros(8, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernels.saxpy, dim=8, inputs=[3.0, x, y])
    tape.backward(grads={y: wp.ones(8, dtype=float)})
    begin, end = wp.Event(enable_timing=True), wp.Event(enable_timing=True)
    with wp.ScopedStream(wp.Stream()):
        wp.record_event(begin)
        wp.launch(kernels.saxpy, dim=8, inputs=[1.0, x, y])
        wp.record_event(end)
    with wp.ScopedCapture() as capture:
        wp.launch(kernels.saxpy, dim=8, inputs=[1.0, x, y])
    for _ in range(2):
        wp.capture_launch(capture.graph)

    assert np.array_equal(x.grad.numpy(), np.full(8, 3, np.float32))
    assert 0 < wp.get_event_elapsed_time(begin, end) < 1
    assert np.array_equal(y.numpy(), (3 + 1 + 2) * np.arange(8, dtype=np.float32))
