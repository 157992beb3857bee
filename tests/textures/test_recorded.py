"""Samples of textures and accesses of surfaces equal an H200 bit for bit.

The recorder itself runs here, on the simulated driver; of long tables the first 512 rows.
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
ROWS = 512
with recorder_script("texture_cases") as CASES, recorder_script("textures") as RECORDER:
    ALL = CASES.cases()
with recorder_script("filter_cases") as OTHERS:
    FILTERS = list(OTHERS.cases())
# sums of two planes whose numbers differ by 2**10 and more: 2 to 7 of 3,072 samples
_WIDE = ("arithmetic/tex3/f4/10", "arithmetic/tex3/f4/40", "arithmetic/tex3/f4/140",
         "arithmetic/tex3/f2/24", "arithmetic/tex3/f4/special",
         "arithmetic/tex3/f2/special")  # fmt: skip


def is_served(case: Any) -> bool:
    """What is not refused by name, and no clock."""
    return not case.name.startswith(("clocks", "trap", "grad/levels", "grad/flat"))


SERVED = [case for case in ALL if is_served(case)]


@cache
def recorded() -> dict[str, npt.NDArray[np.uint8]]:
    """The recording."""
    return dict(np.load(ROOT / "data" / "textures_sm90.npz"))


@pytest.fixture(scope="module")
def machine() -> Iterator[Any]:
    """The recorder's driver calls over a simulated H200."""
    text = (ROOT / "recorder" / "kernels" / "textures.cu").read_text()
    with wl.cuda("H200"):
        yield RECORDER.Machine(compile_source(text, sm=90).cubin)


@pytest.mark.parametrize("case", FILTERS, ids=lambda case: str(case.name))
def test_filters_of_signed_bytes_and_srgb(machine: Any, case: Any) -> None:
    """Every value beside 0, pairs of values, planes: one sample in 41 of an H100's."""
    known = np.load(ROOT / "data" / "filters_sm90.npz")[case.name].view(np.uint32)[::41]
    where = np.ascontiguousarray(case.coordinates[:, ::41])
    data = [level.tobytes() for level in case.texels]
    found = RECORDER.run(machine, RECORDER.described(replace(case, coordinates=where)), data,
                         where.tobytes())  # fmt: skip

    assert np.array_equal(np.frombuffer(found, np.uint32), known)


@pytest.mark.parametrize("case", one_in(12, SERVED, lambda case: str(case.name)))
def test_samples_and_accesses_are_an_h200s(machine: Any, case: Any) -> None:
    """Fractions, address modes, filters' sums, types, borders, layers, gathers, surfaces."""
    if not case.whole:
        case.coordinates = np.ascontiguousarray(case.coordinates[:, :ROWS])
    data = [level.tobytes() for level in case.texels]
    found = RECORDER.run(machine, RECORDER.described(case), data, case.coordinates.tobytes())
    known = recorded()[case.name]
    differ = np.frombuffer(found, np.uint32) != known.view(np.uint32)

    assert differ.sum() <= (7 if case.name in _WIDE else 0)


@pytest.mark.parametrize("name", ["levels", "flat"])
def test_gradients_along_the_axes(machine: Any, name: str) -> None:
    """Over several levels: of the first 256 samples, whose gradients have one component each, all
    are an H200's; what has more is refused by name."""
    case = next(one for one in ALL if one.name == f"grad/{name}/0")
    data = [level.tobytes() for level in case.texels]
    plain = RECORDER.described(case)
    some = np.ascontiguousarray(case.coordinates[:, :256])
    found = RECORDER.run(machine, plain | {"n": 256}, data, some.tobytes())

    words = recorded()[case.name].view(np.uint32)[:256]
    assert np.array_equal(np.frombuffer(found, np.uint32), words)
