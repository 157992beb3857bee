"""Cube maps and mipmap levels: other sizes and types, odd numbers, against an H100's samples.

The recorder itself runs here, on the simulated driver (`validation/recorder/level_cases.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import recorder_script
from warplens.toolchain.nvrtc import compile_source

ROOT = Path(__file__).parents[2] / "validation"
with (
    recorder_script("texture_cases"), recorder_script("level_cases") as CASES,
    recorder_script("textures") as RECORDER,
):  # fmt: skip
    ALL = CASES.cases()


@cache
def recorded() -> dict[str, Any]:
    """The recording (2026-11-26)."""
    return dict(np.load(ROOT / "data" / "levels_sm90.npz"))


@pytest.fixture(scope="module")
def machine() -> Iterator[Any]:
    """The recorder's driver calls over a simulated H200."""
    text = (ROOT / "recorder" / "kernels" / "textures.cu").read_text()
    with wl.cuda("H200"):
        yield RECORDER.Machine(compile_source(text, sm=90).cubin)


@pytest.mark.parametrize("case", one_in(4, ALL, lambda case: str(case.name)))
def test_one_colour_stays_one(machine: Any, case: Any) -> None:
    """Where all texels of all levels are alike, so is every sample: weights sum to one."""
    value = 51 if case.texels[0].dtype == np.uint8 else 0.3125
    data = [np.full_like(level, value).tobytes() for level in case.texels]
    found = RECORDER.run(machine, RECORDER.described(case), data, case.coordinates.tobytes())
    expected = np.float32(51 / 255) if value == 51 else np.float32(value)

    assert set(np.frombuffer(found, np.float32).tolist()) == {float(expected)}


@pytest.mark.parametrize("case", one_in(6, ALL, lambda case: str(case.name)))
def test_samples_are_an_h100s(machine: Any, case: Any) -> None:
    """Faces, edges and corners; levels, blends, limits and biases; numbers that are no places. Of
    floats between two levels a few differ in the last bits (row 264)."""
    data = [level.tobytes() for level in case.texels]
    found = RECORDER.run(machine, RECORDER.described(case), data, case.coordinates.tobytes())
    words = np.frombuffer(found, np.uint32)
    apart = np.flatnonzero(words != recorded()[case.name].view(np.uint32))

    assert len(apart) <= (2 if case.name.startswith("detail/") else 0)
    here, there = (found.view(np.float32)[apart] for found in (words, recorded()[case.name]))
    assert np.allclose(here, there, rtol=0, atol=2.0**-20)
