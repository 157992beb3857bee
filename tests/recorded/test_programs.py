"""Random programs of machine code give an H200's registers, shared memory and order of lanes."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.in_turn import one_in

VALIDATION = Path(__file__).parents[2] / "validation"
# 2,000 short programs, fifty in a kernel (recorder/pick.py), and 2,000 of every length.
SHORT, ALL = (VALIDATION / "data" / f"{name}_sm90.npz" for name in ("short_programs", "programs"))
# Twelve with YIELD in a loop that looks at shared memory and counts.
COUNTED = VALIDATION / "data" / "counted_looks_sm90.npz"
# Seventeen whose lanes wait at one barrier in two places while others are put aside.
ELSEWHERE = VALIDATION / "data" / "waiting_elsewhere_sm90.npz"
KERNELS, ALL_KERNELS = 40, 125
# Of the others, what an ordinary run takes.
OFTEN = (16,)


@pytest.fixture(scope="module")
def recorder() -> Iterator[tuple[Any, ...]]:
    """The recorder's modules, whose `build` must come before the package of that name."""
    sys.path.insert(0, str(VALIDATION / "recorder"))
    known = sys.modules.pop("build", None)
    try:
        names = ("build", "fuzz", "replay", "orders", "slots")
        build, fuzz, replay, orders, slots = (importlib.import_module(name) for name in names)
        source = (build.KERNELS / "carrier.cu").read_text()
        carrier = build.Nvrtc().compile(source, "carrier.cu", ("-arch=sm_90", "--std=c++17"))
        yield replay, fuzz, orders, carrier, slots.pool()
    finally:
        sys.path.remove(str(VALIDATION / "recorder"))
        sys.modules.pop("build", None)
        if known is not None:
            sys.modules["build"] = known


@lru_cache(maxsize=2)
def recording(path: Path) -> dict[str, Any]:
    """The arrays of a recording."""
    with np.load(path) as data:
        return {name: data[name] for name in data}


def differing(recorder: tuple[Any, ...], path: Path, number: int) -> list[int]:
    """Programs of a kernel that differ under the usual order of a warp's parts."""
    replay, fuzz, _, carrier, inputs = recorder
    data = recording(path)
    kernel, recorded = fuzz.as_kernels(data)[number], data["digests"][number]
    results, _ = replay.executed(kernel, carrier, inputs)
    return np.flatnonzero((fuzz.digests(results) != recorded).any(axis=1)).tolist()


@pytest.mark.parametrize("number", one_in(40, range(KERNELS), str))
def test_short_programs(recorder: tuple[Any, ...], number: int) -> None:
    """Data, path, lanes that met, shared memory and early ends of 64 threads, as recorded."""
    assert not differing(recorder, SHORT, number)


@pytest.mark.parametrize(
    "number",
    [pytest.param(n, marks=[pytest.mark.long] * (n not in OFTEN)) for n in range(ALL_KERNELS)],
)
def test_programs_of_any_length(recorder: tuple[Any, ...], number: int) -> None:
    """As the short ones."""
    assert not differing(recorder, ALL, number)


def test_loops_that_yield_and_count(recorder: tuple[Any, ...]) -> None:
    """Lanes in a loop that looks at shared memory, yields and counts are not put aside."""
    assert not differing(recorder, COUNTED, 0)


def test_one_barrier_in_two_places(recorder: tuple[Any, ...]) -> None:
    """Its mask loses those that wait elsewhere only where nobody else is put aside."""
    assert not differing(recorder, ELSEWHERE, 0)
