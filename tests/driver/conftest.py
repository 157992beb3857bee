"""The driver of the tests."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pytest

from tests.driver.calls import COMPILED, Api


@pytest.fixture
def api() -> Iterator[Api]:
    """A driver with a current context and the module loaded."""
    api = Api()
    context = api.value("cuDevicePrimaryCtxRetain", 0)
    api("cuCtxSetCurrent", context)
    cubin = ctypes.create_string_buffer(COMPILED.cubin, len(COMPILED.cubin))
    api.module = api.value("cuModuleLoadData", ctypes.addressof(cubin))
    yield api
