"""Events of the default stream beside other streams, as CUDA's guide orders their work: the legacy
default stream comes after all blocking streams, and before their later work."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.driver.calls import Api

BLOCKING, NON_BLOCKING = 0, 1


def elapsed_ms(api: Api, flags: int) -> tuple[float, float]:
    """A copy of 16 MiB in a stream, timed by the default stream's events and by its own."""
    size = 1 << 24
    host = np.zeros(size, np.uint8)
    address, stream = api.value("cuMemAlloc_v2", size), api.value("cuStreamCreate", flags)
    first, last, begin, end = (api.value("cuEventCreate", 0) for _ in range(4))
    api("cuEventRecord", first, 0)
    api("cuEventRecord", begin, stream)
    api("cuMemcpyHtoDAsync_v2", address, host.ctypes.data, size, stream)
    api("cuEventRecord", end, stream)
    api("cuEventRecord", last, 0)
    api("cuCtxSynchronize")
    outside: float = api.value("cuEventElapsedTime", first, last, kind=ctypes.c_float)
    inside: float = api.value("cuEventElapsedTime", begin, end, kind=ctypes.c_float)
    return outside, inside


def test_an_event_comes_after_blocking_streams(api: Api) -> None:
    """Its time holds their work."""
    outside, inside = elapsed_ms(api, BLOCKING)

    assert inside > 0.1  # 16 MiB over PCIe 4.0 x8, 15.8 GB/s at most
    assert outside >= inside


def test_an_event_does_not_wait_for_others(api: Api) -> None:
    """A stream made with CU_STREAM_NON_BLOCKING goes on beside the default stream."""
    outside, inside = elapsed_ms(api, NON_BLOCKING)

    assert inside > 0.1
    assert outside == pytest.approx(0, abs=0.01)
