"""Times that launches share: only launches that do the same have the same."""

from __future__ import annotations

import gc

import numpy as np

import warplens as wl

SOURCE = """
__global__ void turns(float* a) {
    float x = a[threadIdx.x];
    for (int k = 0; k < %d; k++) x = x * x + 0.25f;
    a[threadIdx.x] = x;
}
"""


def _time(turns: int) -> tuple[wl.Launch, float]:
    kernel = wl.Device("H200").compile(SOURCE % turns)["turns"]
    launch = kernel[4, 64](np.ones(64, np.float32))
    return launch, float(launch["gpu__time_duration.sum"])


def test_a_kernel_that_is_gone_lends_no_time() -> None:
    """Kernels that come after one was forgotten get times of their own, longer with the work."""
    times, kept = [], []
    for turns in (100, 400, 1600, 6400):
        launch, time = _time(turns)
        times.append(time)
        if turns != 100:
            kept.append(launch)  # the first one and its kernel go
        gc.collect()

    assert times == sorted(set(times))
    assert times[3] > 2 * times[2] > 2 * times[1]
