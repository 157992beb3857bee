"""What a corpus case is, how it is declared, and how results are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
OTHERS = ("sm_87", "sm_103", "sm_110", "sm_121")
FOLDER = Path(__file__).parent

Array = npt.NDArray[Any]
Check = Callable[[Array], None]
Expected = Mapping[int, "Array | Check"]
Problem = tuple[Sequence[Any], Expected]
Dims = int | tuple[int, ...]
Make = Callable[[np.random.Generator], Problem]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One launch with a reference computed by NumPy or plain Python.

    Attributes:
        make: random generator -> (arguments, expected), where `expected` maps an argument's index
            to the array it must equal after the launch, or to a function that asserts on it.
        ulp: allowed distance in units in the last place; 0 means equal bits (NaN as a class).
    """

    name: str
    source: str
    kernel: str
    grid: Dims
    block: Dims
    shared: int
    ulp: int
    options: tuple[str, ...]
    make: Make

    @property
    def path(self) -> Path:
        """The CUDA file."""
        return FOLDER / self.source

    def problem(self) -> Problem:
        """The arguments and what is expected of them, the same at every call."""
        return self.make(np.random.default_rng(sum(map(ord, self.name))))


CASES: list[Case] = []


def in_turn(
    file: int, architecture: str, among: Sequence[str] = ARCHITECTURES
) -> tuple[pytest.MarkDecorator, ...]:
    """Marks for a file's cases on an architecture: each file is run on one always, every second one
    on sm_90 and the others on the other architectures in turn, on the rest with `-m long`. `among`:
    the architectures that have the case; sm_90, else the first, stands in for a missing one."""
    others = [one for one in ARCHITECTURES if one != "sm_90"]
    chosen = others[file // 2 % len(others)] if file % 2 else "sm_90"
    if chosen not in among:
        chosen = "sm_90" if "sm_90" in among else among[0]
    return () if architecture == chosen else (pytest.mark.long,)


def case(
    source: str,
    *,
    grid: Dims,
    block: Dims,
    kernel: str | None = None,
    shared: int = 0,
    ulp: int = 0,
    options: tuple[str, ...] = ("-fmad=false",),
) -> Callable[[Make], Make]:
    """Declares a case; the decorated function's name is the case's and usually the kernel's."""

    def register(make: Make) -> Make:
        name = make.__name__
        CASES.append(
            Case(
                name=name,
                source=source,
                kernel=kernel or name,
                grid=grid,
                block=block,
                shared=shared,
                ulp=ulp,
                options=options,
                make=make,
            )
        )
        return make

    return register


def ordered_bits(values: Array) -> Array:
    """Floats as integers whose difference is the distance in units in the last place."""
    kind = {2: np.int16, 4: np.int32, 8: np.int64}[values.dtype.itemsize]
    bits = values.view(kind).astype(np.int64)
    lowest = np.int64(np.iinfo(kind).min)
    return np.where(bits < 0, lowest - bits, bits)


def assert_equal(expected: Array, actual: Array, ulp: int, what: str) -> None:
    """Fails with the first differing elements unless `actual` is within `ulp` of `expected`."""
    assert actual.dtype == expected.dtype, f"{what}: reference has {expected.dtype}"
    expected, actual = expected.ravel(), actual.ravel()
    if np.issubdtype(expected.dtype, np.floating):
        distance = np.abs(ordered_bits(expected) - ordered_bits(actual))
        wrong = np.where(np.isnan(expected) | np.isnan(actual), 0, distance) > ulp
        wrong |= np.isnan(expected) != np.isnan(actual)
        if ulp == 0:
            wrong |= np.signbit(expected) != np.signbit(actual)
            wrong &= ~(np.isnan(expected) & np.isnan(actual))
    else:
        wrong = expected != actual
    if wrong.any():
        places = np.flatnonzero(wrong)
        rows = [f"  [{i}] expected {expected[i]!r}, got {actual[i]!r}" for i in places[:8]]
        count = f"{len(places)} of {len(expected)} elements differ"
        raise AssertionError("\n".join([f"{what}: {count}", *rows]))


def assert_results(case: Case, arguments: Sequence[Any], expected: Expected, where: str) -> None:
    """Compares every expected argument after a launch."""
    for index, reference in expected.items():
        actual = arguments[index]
        if callable(reference):
            reference(actual)
        else:
            assert_equal(reference, actual, case.ulp, f"{case.name} on {where}, argument {index}")
