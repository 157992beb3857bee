"""Helpers of kernels are compiled apart: once for all kernels that call them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from warplens.lift import jit
from warplens.lift.engines.host import host_features
from warplens.lift.helper_code import divide
from warplens.lift.lifter import lift
from warplens.toolchain.cache import Cache

SOURCE = """
extern "C" __global__ void first(int* x) { x[blockIdx.x * 7 % 5 * 32 + threadIdx.x * 3] += 1; }
extern "C" __global__ void second(int* x) { x[threadIdx.x * 5] = x[threadIdx.x] * 2; }
extern "C" __global__ void shared(int* x) {
    __shared__ int s[64];
    s[threadIdx.x * 2] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[63 - threadIdx.x];
}
"""

_alive: list[object] = []  # code whose addresses kernels may hold until the process ends


def test_kernels_share_helpers_and_hold_none() -> None:
    module = wl.Device("H200").compile(SOURCE)
    found = {}
    for name in ("first", "second", "shared"):
        ir = lift(module[name].sass, host_features(), tier=0).ir
        kernel, units = divide(ir, "")
        assert "define internal" in ir
        assert "define internal" not in kernel
        found[name] = {unit.key for unit in units}
        defined = [n for unit in units for n in unit.names]
        assert len(defined) == len(set(defined))
        assert all(f"@{n}(" in unit.ir for unit in units for n in unit.names)
    assert found["first"] == found["second"]
    assert found["first"] & found["shared"]
    assert found["shared"] - found["first"]


def test_other_processors_have_other_helpers() -> None:
    ir = lift(wl.Device("H200").compile(SOURCE)["first"].sass, host_features(), tier=0).ir
    one, other = (divide(ir, salt)[1] for salt in ("this", "that"))
    assert {u.key for u in one}.isdisjoint(u.key for u in other)


def test_helpers_that_the_cache_has_lost_are_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache(tmp_path)
    monkeypatch.setattr(jit, "default_cache", lambda: cache)
    _alive.extend(({}, {}))
    monkeypatch.setattr(jit, "_helpers", _alive[0])
    lifted = lift(wl.Device("H200").compile(SOURCE)["first"].sass, host_features(), tier=0)
    jit.compile_lifted(lifted, host_features())
    kept = sorted((tmp_path / "helpers").rglob("*"))
    assert kept
    for path in kept:
        if path.is_file():
            path.unlink()
    monkeypatch.setattr(jit, "_helpers", _alive[1])
    assert jit.compile_lifted(lifted, host_features()).addresses[0]
    assert any(path.is_file() for path in (tmp_path / "helpers").rglob("*"))


def test_a_large_first_launch_of_a_short_kernel_runs_fast_code_alone() -> None:
    kernel = wl.Device("H200").compile(SOURCE)["second"]
    x = np.arange(160, dtype=np.int32)
    launch = kernel[30_000, 32]
    launch(x)
    program = launch._code.program
    assert program.has_fast_code
    assert program.code is None


def test_a_short_kernel_gets_fast_code_once_it_has_run_as_long_as_that_takes() -> None:
    kernel = wl.Device("H200").compile(SOURCE)["first"]
    launch = kernel[5, 32]
    launch(np.arange(224, dtype=np.int32))
    program = launch._code.program
    assert not program.is_fast
    program.seconds_run = 0.03
    launch(np.arange(224, dtype=np.int32))
    assert program.is_fast
