"""Hopper's instructions one by one, and whole kernels made of them, equal an H200 bit for bit.

The recorder itself runs here, on the simulated driver.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import recorder_script
from warplens.toolchain.nvrtc import compile_source

DATA = Path(__file__).parents[2] / "validation" / "data"
with recorder_script("hopper") as HOPPER, recorder_script("gemm_cases") as GEMMS:
    CASES = HOPPER.cases()
    with recorder_script("further_cases") as FURTHER:
        KERNELS = GEMMS.small() + FURTHER.small()
    with recorder_script("hopper_units") as UNITS, recorder_script("gemm_kernels") as SOURCES:
        TEXTS = {**UNITS.sources(), **SOURCES.sources()}
    with recorder_script("further_kernels") as SOURCES:
        TEXTS |= SOURCES.sources()
    with recorder_script("cuda_driver") as CUDA:
        DRIVER = CUDA.Driver


@cache
def recorded(name: str) -> dict[str, npt.NDArray[Any]]:
    """A recording."""
    return dict(np.load(DATA / f"{name}.npz"))


@cache
def cubin(unit: str) -> bytes:
    """A compiled unit."""
    return compile_source(TEXTS[unit], sm=90).cubin


@pytest.fixture
def driver() -> Iterator[Any]:
    """The recorder's driver, over a simulated H200."""
    with wl.cuda("H200"):
        yield DRIVER()


def run(driver: Any, case: Any) -> list[npt.NDArray[Any]]:
    """What a launch leaves."""
    found: list[npt.NDArray[Any]] = HOPPER.run(driver, driver.load(cubin(case.unit)), case)
    return found


@pytest.mark.parametrize("case", one_in(48, CASES, lambda case: str(case.name)))
def test_instructions_are_an_h200s(driver: Any, case: Any) -> None:
    """Sparse products, bulk reductions, packed atomics, copies by im2col and of every type."""
    for i, found in enumerate(run(driver, case)):
        assert np.array_equal(found, recorded("hopper_sm90")[f"{case.name}/{i}"])


@pytest.mark.parametrize("case", one_in(32, KERNELS, lambda case: str(case.name), first=19))
def test_kernels_are_an_h200s(driver: Any, case: Any) -> None:
    """Products of matrices by type, swizzle and division of labour; attention, convolution; copies
    of every rank, bulk copies, clusters, filters of textures."""
    known = recorded("gemms_sm90") | recorded("further_sm90")
    for i, found in enumerate(run(driver, case)):
        words = found.view(np.uint32).reshape(-1)
        digest = np.frombuffer(hashlib.sha256(words.tobytes()).digest(), np.uint8)

        assert np.array_equal(words[::61], known[f"{case.name}/{i}/some"])
        assert np.array_equal(digest, known[f"{case.name}/{i}/sha256"])
