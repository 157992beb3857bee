"""Samples where warps wait, instruction by instruction, with CUPTI's PC sampling (samples.cpp)."""

from __future__ import annotations

import ctypes as ct
from collections import Counter
from collections.abc import Callable
from typing import Any

from counters import build_library, cupti_library

_STATE = "issue_stalled_"  # in the names of what CUPTI samples, before the state's own


class Samples:
    """Sampling of one context, in which no counters are measured meanwhile. A warp of each
    sub-partition is looked at once in 2^`log2_period` cycles, 5 to 31."""

    def __init__(self, context: ct.c_void_p, log2_period: int, library: str | None = None) -> None:
        ct.CDLL(cupti_library(), mode=ct.RTLD_GLOBAL)
        self._lib = ct.CDLL(library or build_library("samples.cpp"))
        for name in ("samples_failure", "samples_reason", "samples_row"):
            getattr(self._lib, name).restype = ct.c_char_p
        self._lib.samples_lost.restype = ct.c_uint64
        count = self._check(self._lib.samples_open(context, ct.c_uint32(log2_period)))
        self._names = [self._lib.samples_reason(ct.c_size_t(i)).decode() for i in range(count)]

    def _check(self, status: int) -> int:
        if status < 0:
            raise RuntimeError(self._lib.samples_failure().decode())
        return status

    def of(self, kernel: str, launch: Callable[[], None],
           synchronize: Callable[[], None]) -> Counter[tuple[int, str]]:  # fmt: skip
        """How often warps of a launch were found at (byte offset, state), issuing or not.

        Raises:
            RuntimeError: CUPTI failed, or had no room for some of the samples.
        """
        synchronize()
        self._check(self._lib.samples_collect())
        launch()
        synchronize()
        found: Counter[tuple[int, str]] = Counter()
        offset, reason, samples = ct.c_uint64(), ct.c_uint32(), ct.c_uint32()
        places = ct.byref(offset), ct.byref(reason), ct.byref(samples)
        rows = self._check(self._lib.samples_collect())
        if lost := self._lib.samples_lost():
            raise RuntimeError(f"{lost} samples of {kernel} are lost: the period is too short")
        for row in range(rows):
            name = self._lib.samples_row(ct.c_size_t(row), *places).decode()
            state = self._names[reason.value].partition(_STATE)[2]
            if name == kernel and state and not state.endswith("_not_issued"):
                found[offset.value, state] += samples.value
        return found


def sampler_of(session: Any, log2_period: int) -> Callable[..., list[tuple[int, str, int]]]:
    """What samples a launch behind one that is not sampled: rows (byte offset, state, samples),
    none in a dry run."""
    samples = None if session.dry_run else Samples(session.driver.context, log2_period)

    def sampled(kernel: str, launch: Callable[[], None]) -> list[tuple[int, str, int]]:
        launch()
        if samples is None:
            return []
        found = samples.of(kernel, launch, session.driver.synchronize)
        return [(*key, count) for key, count in sorted(found.items())]

    return sampled
