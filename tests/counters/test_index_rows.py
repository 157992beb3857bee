"""Accesses through a row of indices: the next row's places are asked for, nothing else changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warplens as wl
from warplens.execute import program
from warplens.lift.engines.host import host_features
from warplens.lift.lifter import lift

SOURCE = """
extern "C" __global__ void gather(const int* in, const int* at, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[at[i]];
}
extern "C" __global__ void scatter(const int* in, const int* at, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[at[i]] = in[i];
}
extern "C" __global__ void copy(const int* in, const int* at, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] + at[i];
}
"""


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """All launches run fast code from the start."""
    monkeypatch.setattr("warplens.execute.grid._FAST_FROM_WARPS", 0)
    make = program.Program.make_fast
    monkeypatch.setattr(program.Program, "make_fast", lambda self, wait: make(self, wait=True))


@pytest.mark.parametrize(("name", "kind"), [("gather", "load"), ("scatter", "store"), ("copy", "")])
def test_who_asks(name: str, kind: str) -> None:
    """For half of the lanes behind the access, for the others where the next row is loaded."""
    kernel = wl.Device("H200").compile(SOURCE)[name]
    calls = [
        line.split("(")[0].split("@wl.ahead.")[1]
        for line in lift(kernel.sass, host_features(), tier=1).ir.splitlines()
        if line.startswith("call void @wl.ahead.")
    ]
    assert calls == ([f"{kind}.rest", kind] if kind else [])


@pytest.mark.parametrize("kind", ["anywhere", "one place", "falling"])
@pytest.mark.parametrize("n", [1, 31, 1000, 4096])
def test_results_and_counters(kind: str, n: int) -> None:
    rng = np.random.default_rng(n)
    kinds = {
        "anywhere": rng.permutation(n),
        "one place": np.full(n, n // 2),
        "falling": np.arange(n)[::-1],
    }
    at: Any = kinds[kind].astype(np.int32)
    data = rng.integers(0, 1 << 30, n, dtype=np.int32)
    module = wl.Device("H200").compile(SOURCE)
    out = np.zeros(n, np.int32)
    run = module["gather"][-(-n // 128), 128](data, at, out, n)
    assert np.array_equal(out, data[at])
    places = np.append(at.astype(np.int64), [-(1 << 20)] * (-n % 32)).reshape(-1, 32) // 8
    sectors = sum(len(set(row[row >= 0].tolist())) for row in places)
    rows = -(-n // 32) * 4 - (-n % 32) // 8
    assert run.metric("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum") == sectors + rows
    if kind != "one place":
        out = np.zeros(n, np.int32)
        module["scatter"][-(-n // 128), 128](data, at, out, n)
        wanted = np.zeros(n, np.int32)
        wanted[at] = data
        assert np.array_equal(out, wanted)
