"""Instructions of one form share machine code, which is copied with other registers filled in."""

from __future__ import annotations

import gc
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tests.kernels.every  # noqa: F401
from tests.in_turn import one_in
from tests.kernels.model import CASES, FOLDER, Case, assert_results

import warplens as wl
from warplens.lift import jit, kept, stencils
from warplens.lift.engines.host import host_features
from warplens.lift.lifter import lift
from warplens.lift.regions import forms
from warplens.toolchain.cache import Cache

STEPS = 300
SOURCE = f"""
extern "C" __global__ void straight(unsigned* x, unsigned n) {{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned a = x[i], b = i;
    if (a & 1) {{
#pragma unroll
        for (int k = 0; k < {STEPS}; ++k) {{
            a = a * b + 0x9e3779b9u * k;
            b = (b ^ a) - (a >> 5);
        }}
    }}
    x[i] = a ^ b;
}}
"""
FILES = ("arithmetic.cu", "control.cu", "numeric.cu", "predicates.cu", "warp.cu")
_alive: list[object] = []  # code whose addresses kernels may hold until the process ends


def straight(a: np.ndarray[tuple[int], np.dtype[np.uint32]]) -> Any:
    """What the kernel computes."""
    x, b = a.copy(), np.arange(len(a), dtype=np.uint32)
    for k in range(STEPS):
        x = x * b + np.uint32(0x9E3779B9 * k & 0xFFFFFFFF)
        b = (b ^ x) - (x >> np.uint32(5))
    return np.where(a & 1, x ^ b, a ^ np.arange(len(a), dtype=np.uint32))


def chosen() -> list[Any]:
    """Cases of these files with all of the processor and without AVX-512, some in every run."""
    cases = sorted((c for c in CASES if c.source in FILES), key=lambda c: (c.source, c.name))
    both = list(product(("native", "avx2"), cases))
    return one_in(18, both, lambda one: f"{one[1].name}-{one[0]}", several=True)


def use_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """All instructions that have a form are executed by it."""
    for name in ("_LEAST_IN_KERNEL", "_LEAST_IN_RUN", "_LEAST_IN_ALL"):
        monkeypatch.setattr(forms, name, 1)
    monkeypatch.setattr(kept, "KIND", "lifted-with-forms")


def agree(case: Case, architecture: str) -> None:
    """A case's result is the reference's and its counters are those of tier 1."""
    kernel = wl.Device(architecture).compile(FOLDER / case.source, options=case.options)[
        case.kernel
    ]
    assert lift(kernel.sass, host_features(), tier=0).runs
    counts = []
    for is_fast in (False, True):
        if is_fast:
            kernel.code.program.make_fast()
        arguments, expected = case.problem()
        run = kernel[case.grid, case.block, 0, case.shared](*arguments)
        assert_results(case, arguments, expected, architecture)
        counts.append(run.execution.columns)
    for name, column in counts[0].items():
        np.testing.assert_array_equal(counts[1][name], column, err_msg=name)


@pytest.mark.parametrize(("host", "case"), chosen())
def test_forms_alone(host: str, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPLENS_HOST", host)
    use_everywhere(monkeypatch)
    agree(case, "sm_90")


def test_constants_beside_immediates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shuffles have instructions that read a constant and end in an immediate."""
    use_everywhere(monkeypatch)
    agree(next(case for case in CASES if case.name == "shuffles"), "sm_90")


@pytest.mark.parametrize("is_fast", [False, True])
def test_parts_of_warps(is_fast: bool) -> None:
    """Runs change the registers of those lanes only that execute them."""
    kernel = wl.Device("H200").compile(SOURCE)["straight"]
    program = kernel.code.program
    runs = lift(kernel.sass, host_features(), tier=0).runs
    in_runs = sum(len(run.steps) for run in runs)
    assert in_runs > 0.9 * len(kernel.sass.instructions)
    if is_fast:
        program.make_fast()
    x = np.random.default_rng(3).integers(0, 1 << 32, 500, dtype=np.uint32)
    expected = straight(x)
    kernel[4, 128](x, 500)
    np.testing.assert_array_equal(x, expected)


def test_small_kernels_and_fast_code_have_none() -> None:
    source = 'extern "C" __global__ void one(int* x) { x[threadIdx.x] += 1; }'
    assert not lift(wl.Device("H200").compile(source)["one"].sass, host_features(), tier=0).runs
    kernel = wl.Device("H200").compile(SOURCE)["straight"].sass
    assert not lift(kernel, host_features(), tier=1).runs


def test_forms_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process compiles no form that the cache has, even of a kernel that it has not."""
    cache = Cache(tmp_path)
    monkeypatch.setattr(jit, "default_cache", lambda: cache)
    compiled = []
    monkeypatch.setattr(
        jit, "stencils_of", lambda data, of=jit.stencils_of: compiled.append(data) or of(data)
    )
    lifted = lift(wl.Device("H200").compile(SOURCE)["straight"].sass, host_features(), tier=0)
    for expected in (1, 1):
        monkeypatch.setattr(jit, "_stencils", {})
        _alive.append(jit.compile_lifted(lifted, host_features()))
        assert len(compiled) == expected
        for path in (tmp_path / "object").rglob("*"):
            if path.is_file():
                path.unlink()


def test_collector_is_on_after_lifting() -> None:
    kernel = wl.Device("H200").compile(SOURCE)["straight"].sass
    assert gc.isenabled()
    lift(kernel, host_features())
    assert gc.isenabled()


def test_code_that_cannot_be_copied_is_compiled_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler that makes something unknown of forms costs time, not the launch."""
    cache = Cache(tmp_path)
    monkeypatch.setattr(jit, "default_cache", lambda: cache)
    monkeypatch.setattr(jit, "_stencils", {})
    monkeypatch.setattr(stencils, "_32", -1)
    monkeypatch.setattr(stencils, "_32S", -1)
    kernel = wl.Device("H200").compile(SOURCE)["straight"]
    with pytest.raises(stencils.UnusableCode):
        jit.compile_lifted(lift(kernel.sass, host_features(), tier=0), host_features())
    x = np.random.default_rng(4).integers(0, 1 << 32, 500, dtype=np.uint32)
    expected = straight(x)
    kernel[4, 128](x, 500)
    np.testing.assert_array_equal(x, expected)
