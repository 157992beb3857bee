"""Special functions stay within the documented errors, and division is exact with any of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.isa_float.operands import Array, floats, run_llvm

N = 4096
Function = Callable[[Array], Any]


def spread(low: float, high: float, seed: int) -> Array:
    """Numbers spread over sizes as well as within a range, both signs if `low` is negative."""
    rng = np.random.default_rng(seed)
    sizes = np.exp2(rng.uniform(-30, 0, N // 2)) * high * np.where(rng.random(N // 2) < 0.5, 1, -1)
    near = rng.uniform(low, high, N // 2)
    return np.clip(np.concatenate((sizes, near)), low, high).astype(np.float32)


def ulps(actual: Array, exact: Array) -> Array:
    """Errors in units of the last place of the nearest single."""
    unit = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
    return np.abs(actual.astype(np.float64) - exact) / unit


@pytest.mark.parametrize(
    ("name", "function", "low", "high", "bound"),
    [
        ("RCP", lambda v: 1 / v, 1e-30, 1e30, 1.0),
        ("RSQ", lambda v: 1 / np.sqrt(v), 1e-30, 1e30, 2.0),
        ("SQRT", np.sqrt, 1e-30, 1e30, 2.0),
        ("EX2", np.exp2, -126.0, 127.0, 2.0),
    ],
)
def test_relative_error_is_within_the_guide(
    name: str, function: Function, low: float, high: float, bound: float
) -> None:
    """RCP, RSQ, SQRT and EX2 in units of the last place."""
    a = spread(low, high, 1)

    actual = run_llvm(f"MUFU.{name}", a)[0].view(np.float32)

    assert ulps(actual, function(a.astype(np.float64))).max() <= bound


@pytest.mark.parametrize(
    ("name", "function", "low", "high", "bound"),
    [
        ("LG2", np.log2, 0.5, 2.0, 2.0**-22),
        ("SIN", lambda t: np.sin(2 * np.pi * t), -0.5, 0.5, 2.0**-20.9),
        ("COS", lambda t: np.cos(2 * np.pi * t), -0.5, 0.5, 2.0**-20.9),
    ],
)
def test_absolute_error_is_within_the_guide(
    name: str, function: Function, low: float, high: float, bound: float
) -> None:
    """LG2 near 1, SIN and COS within half a turn, as absolute errors."""
    a = spread(low, high, 2)

    actual = run_llvm(f"MUFU.{name}", a)[0].view(np.float32)

    assert np.abs(actual.astype(np.float64) - function(a.astype(np.float64))).max() <= bound


def test_hyperbolic_tangent_is_within_the_guide() -> None:
    """TANH has a relative error of at most 2**-11."""
    a = spread(-12.0, 12.0, 3)
    exact = np.tanh(a.astype(np.float64))

    actual = run_llvm("MUFU.TANH", a)[0].view(np.float32)

    assert (np.abs(actual.astype(np.float64) - exact) <= 2.0**-11 * np.abs(exact)).all()


INF, NAN, TINY = float("inf"), float("nan"), 1e-40
EDGES = {
    "RCP": [(0.0, INF), (-0.0, -INF), (INF, 0.0), (-INF, -0.0), (TINY, INF), (2.0**127, 0.0)],
    "RSQ": [(0.0, INF), (-0.0, -INF), (INF, 0.0), (-1.0, NAN), (TINY, INF), (-TINY, -INF)],
    "SQRT": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-1.0, NAN), (TINY, 0.0), (4.0, 2.0)],
    "EX2": [(0.0, 1.0), (-INF, 0.0), (INF, INF), (128.0, INF), (-127.0, 0.0), (TINY, 1.0)],
    "LG2": [(0.0, -INF), (-0.0, -INF), (INF, INF), (-1.0, NAN), (1.0, 0.0), (TINY, -INF)],
    "SIN": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (0.25, 1.0), (-0.25, -1.0), (7.0, 0.0)],
    "COS": [(0.0, 1.0), (-0.0, 1.0), (-INF, NAN), (0.5, -1.0), (0.25, -0.0), (TINY, 1.0)],
    "TANH": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (40.0, 1.0), (TINY, TINY)],
}


@pytest.mark.parametrize("name", EDGES)
def test_edges_of_special_functions(name: str) -> None:
    """Zeros, infinities, negative numbers, NaN and flushed denormals."""
    pairs = [*EDGES[name], (NAN, NAN)]
    a = np.resize(np.array([p[0] for p in pairs], np.float32), 32)
    expected = np.resize(np.array([p[1] for p in pairs], np.float32), 32)

    actual = run_llvm(f"MUFU.{name}", a)[0].view(np.float32)

    same = (expected.view(np.uint32) == actual.view(np.uint32)) | (
        np.isnan(expected) & (actual.view(np.uint32) == 0x7FFFFFFF)
    )
    assert same.all(), list(zip(a[~same], actual[~same], strict=True))


@pytest.mark.parametrize("towards", ["nearest", "other", "unit"])
def test_division_is_exact_with_any_seed(towards: str) -> None:
    """Where FCHK is false, compiled division equals the host's from either neighbour of 1/b."""
    a, b = floats("f32", N, 4), floats("f32", N, 5)
    usable = ~run_llvm("FCHK", a, b)[0]
    a, b = a[usable], b[usable]
    a, b = a[: len(a) // 32 * 32], b[: len(b) // 32 * 32]
    exact = 1 / b.astype(np.float64)
    seed = exact.astype(np.float32)
    if towards == "unit":
        seed = run_llvm("MUFU.RCP", b)[0].view(np.float32)
    elif towards == "other":
        beyond = np.where(seed < exact, np.float32(np.inf), np.float32(-np.inf))
        # With a fraction of ones the smaller neighbour is the known exception to this algorithm.
        keep = (seed == exact) | (b.view(np.uint32) & 0x7FFFFF == 0x7FFFFF)
        seed = np.where(keep, seed, np.nextafter(seed, beyond))

    def fma(p: Array, q: Array, r: Array) -> Array:
        return run_llvm("FFMA", p, q, r)[0].view(np.float32)

    error = fma(-b, seed, np.ones_like(a))
    reciprocal = fma(seed, error, seed)
    quotient = fma(a, reciprocal, np.zeros_like(a))
    rest = fma(-b, quotient, a)
    actual = fma(reciprocal, rest, quotient)

    assert len(a) > 500
    assert np.array_equal(a / b, actual), np.flatnonzero(a / b != actual)
