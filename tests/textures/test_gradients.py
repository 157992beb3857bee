"""Levels of detail by gradients equal an H100's (`validation/recorder/gradient_cases.py`).

Images whose sides are powers of two and others, with a bias and without; lines. What a sum or a
difference of two vectors decides is refused: its rounding is not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
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

ROOT = Path(__file__).parents[2] / "validation"
with recorder_script("gradient_cases") as CASES, recorder_script("textures") as RECORDER:
    ALL = list(CASES.cases())
ODD = 36  # samples whose gradients are infinite, no numbers, or nearly nothing


@cache
def recorded() -> dict[str, npt.NDArray[np.uint8]]:
    """The recording."""
    return dict(np.load(ROOT / "data" / "gradients_sm90.npz"))


@pytest.fixture(scope="module")
def machine() -> Iterator[Any]:
    """The recorder's driver calls over a simulated GPU."""
    text = (ROOT / "recorder" / "kernels" / "textures.cu").read_text()
    with wl.cuda("H200"):
        yield RECORDER.Machine(compile_source(text, sm=90).cubin)


def sampled(machine: Any, case: Any, mine: npt.NDArray[np.bool_]) -> tuple[Any, Any]:
    """Some of a case's samples, and an H100's."""
    some = np.ascontiguousarray(case.coordinates[:, mine])
    data = [level.tobytes() for level in case.texels]
    plain = RECORDER.described(replace(case, coordinates=some))
    found = np.frombuffer(RECORDER.run(machine, plain, data, some.tobytes()), np.float32)
    return found, recorded()[case.name].view(np.float32)[mine]


@pytest.mark.parametrize("case", one_in(3, ALL, lambda case: str(case.name)))
def test_levels_are_an_h100s(machine: Any, case: Any) -> None:
    """Every sample of a line; along the axes, of one vector, of one component."""
    numbers = np.arange(case.coordinates.shape[1])
    mine = numbers >= ODD
    if not case.name.endswith("line"):
        mine &= np.isin(numbers % 8, (0, 1, 4))

    found, known = sampled(machine, case, mine)

    assert np.array_equal(found, known)


def test_askew_vectors_of_like_length_are_refused(machine: Any) -> None:
    """Two vectors that are equal: their sum decides."""
    case = next(one for one in ALL if one.name == "gradients/64x64/0.0")
    numbers = np.arange(case.coordinates.shape[1])
    with pytest.raises(RECORDER.CudaError):
        sampled(machine, case, (numbers >= ODD) & (numbers % 8 == 2))
