"""Settings that hold for all tests, and what test processes let go."""

from __future__ import annotations

import ctypes
import functools
import gc
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Compiling a kernel on a busy machine takes longer than hypothesis' 200 ms, and a run that fails
# must fail again: examples come from the test's name, not from the clock.
settings.register_profile("warplens", deadline=None, derandomize=True)
settings.load_profile("warplens")

# Young objects before Python looks for circles among them, and how many such looks before it looks
# at older ones: its own numbers cost a fifth of what tests written in Python take.
_COLLECTED_AFTER = 20_000, 20, 20
_LARGE = 800 << 20  # bytes of a process above which memory is given back to the system


def pytest_collection_finish() -> None:
    """The collected tests and their modules stay: collections need not go through them again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTED_AFTER)


@pytest.fixture(scope="module", autouse=True)
def _lets_go(request: pytest.FixtureRequest) -> Iterator[None]:
    """Kernels that a file's cached functions hold go with its last test; a process that has become
    large gives back what the allocator keeps."""
    yield
    for value in vars(request.module).values():
        is_own = getattr(value, "__module__", None) == request.module.__name__
        if is_own and isinstance(value, functools._lru_cache_wrapper):
            value.cache_clear()
    if _resident() > _LARGE:
        gc.collect()
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:  # glibc keeps what was freed between small blocks that are in use
            trim(0)


def _resident() -> int:
    """Bytes of this process in memory; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * resource.getpagesize()
