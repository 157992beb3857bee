"""Measures hardware counters of launches with CUPTI (see counters.cpp)."""

from __future__ import annotations

import ctypes as ct
import glob
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from build import toolkit

_SMS = 132


def _first(*patterns: str) -> str:
    for pattern in patterns:
        found = sorted(glob.glob(pattern))
        if found:
            return found[0]
    raise FileNotFoundError(" or ".join(patterns))


def cupti_library() -> str:
    """The path of libcupti, from the pip package or the toolkit."""
    places = [os.path.join(p, "nvidia", "*", "lib", "libcupti.so*") for p in sys.path if p]
    for folder in toolkit():
        places += [f"{folder}/lib64/libcupti.so*", f"{folder}/extras/CUPTI/lib64/libcupti.so*"]
    return _first(*places)


def build_library(name: str = "counters.cpp") -> str:
    """Compiles a library against CUPTI's headers with the host's C++ compiler."""
    source = Path(__file__).with_name(name)
    target = str(Path(tempfile.mkdtemp()) / f"{source.stem}.so")
    headers = [os.path.join(p, "nvidia", "*", "include") for p in sys.path if p]
    folders = [d for h in headers for d in sorted(glob.glob(h))]
    folders += [f"{d}/{sub}" for d in toolkit() for sub in ("include", "extras/CUPTI/include")]
    includes = [f"-I{d}" for d in folders if os.path.isdir(d)]
    command = ["g++", "-shared", "-fPIC", "-O1", str(source), *includes, "-o", target]
    subprocess.run(command, check=True)
    return target


class Counters:
    """A CUPTI range-profiling session factory for one context."""

    def __init__(self, context: ct.c_void_p, library: str | None = None) -> None:
        ct.CDLL(cupti_library(), mode=ct.RTLD_GLOBAL)
        self._lib = ct.CDLL(library or build_library())
        self._lib.counters_failure.restype = ct.c_char_p
        self._context = context
        chip = ct.create_string_buffer(64)
        self._check(self._lib.counters_open(context, chip, ct.c_size_t(64)))
        self.chip = chip.value.decode()

    def _check(self, status: int) -> int:
        if status < 0:
            raise RuntimeError(self._lib.counters_failure().decode())
        return status

    def per_instruction(
        self,
        metrics: Sequence[str],
        runs: Sequence[tuple[str, Callable[[], None]]],
        synchronize: Callable[[], None],
    ) -> list[list[list[int]]]:
        """For each (kernel name, launch): rows of (byte offset, value of each metric)."""
        names = (ct.c_char_p * len(metrics))(*[m.encode() for m in metrics])
        count = ct.c_size_t(len(metrics))
        self._lib.sass_record.restype = ct.c_char_p
        found = []
        try:
            self._check(self._lib.sass_start(self._context, self.chip.encode(), names, count))
            for kernel, launch in runs:
                launch()
                synchronize()
                rows: dict[int, list[int]] = {}
                for i in range(self._check(self._lib.sass_collect(self._context))):
                    offset, values = ct.c_uint32(), (ct.c_uint64 * len(metrics))()
                    name = self._lib.sass_record(ct.c_size_t(i), ct.byref(offset), values)
                    if name.decode() == kernel:
                        row = rows.setdefault(offset.value, [0] * len(metrics))
                        row[:] = [a + b for a, b in zip(row, values, strict=True)]
                found.append([[offset, *row] for offset, row in sorted(rows.items())])
        finally:
            self._lib.sass_stop(self._context)
        return found

    def configure(self, metrics: Sequence[str]) -> None:
        """Schedules the metrics for the following calls of `measure`."""
        self._lib.counters_stop()
        self._metrics = tuple(metrics)
        self._names = (ct.c_char_p * len(metrics))(*[m.encode() for m in metrics])
        self._passes = self._check(
            self._lib.counters_start(
                self._context, self.chip.encode(), self._names, ct.c_size_t(len(metrics))
            )
        )

    def measure(
        self,
        launch: Callable[[], None],
        prepare: Callable[[], None],
        synchronize: Callable[[], None],
    ) -> dict[str, float]:
        """Values of the configured metrics for one launch.

        `prepare` runs before every pass, outside the measured range: it restores memory and puts
        the caches into the wanted state.
        """
        self._check(self._lib.counters_reset(ct.c_int(1)))
        for _ in range(self._passes + 1):
            prepare()
            synchronize()
            self._check(self._lib.counters_pass_begin())
            launch()
            synchronize()
            if self._check(self._lib.counters_pass_end()):
                break
        values = (ct.c_double * len(self._metrics))()
        count = ct.c_size_t(len(self._metrics))
        self._check(self._lib.counters_values(self._names, count, values))
        return dict(zip(self._metrics, values, strict=True))

    def close(self) -> None:
        """Ends profiling."""
        self._lib.counters_stop()


def counter_of(session: Any, metrics: Sequence[str]) -> Callable[..., list[float]]:
    """What counts a launch behind one that is not counted, and behind what else is given: its
    metrics, zeros in a dry run."""
    driver = session.driver
    counters = None if session.dry_run else Counters(driver.context)
    if counters is not None:
        counters.configure(metrics)

    def counted(
        launch: Callable[[], None], before: Callable[[], None] = lambda: None
    ) -> list[float]:
        launch()
        if counters is None:
            return [0.0] * len(metrics)
        found = counters.measure(launch, before, driver.synchronize)
        return [round(found[name], 1) for name in metrics]

    return counted


def counter_on_all_sms(session: Any, metrics: Sequence[str]) -> Callable[..., list[float]]:
    """What counts, as `counter_of`, a kernel's launch with a block (or more) of so many warps for
    each of an H100's or H200's SMs."""
    counted = counter_of(session, metrics)

    def of_warps(function: Any, warps: int, given: tuple[Any, ...], blocks: int = 1) -> list[float]:
        grid = (_SMS * blocks,)
        return counted(partial(session.driver.launch, function, grid, (32 * warps,), given))

    return of_warps
