"""Formatted writes and reductions of surfaces, clmad, %pm and HSETP2.H_AND equal an H100's bits.

The recorder itself runs here, on the simulated driver (`validation/recorder/surface_cases.py`).
"""

from __future__ import annotations

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

ROOT = Path(__file__).parents[2] / "validation"
with (
    recorder_script("texture_cases"), recorder_script("build"),
    recorder_script("surface_cases") as CASES, recorder_script("textures") as RECORDER,
):  # fmt: skip
    ALL = CASES.cases()
# Texels that are not one integer: refused.
OTHER = [case for case in ALL if case.name.split("/")[1] == "p"
         and case.name.endswith(("b32/u4x2", "b32/i2x1"))]  # fmt: skip
SERVED = [case for case in ALL if case not in OTHER]


@cache
def recorded() -> dict[str, npt.NDArray[np.uint8]]:
    """The recording."""
    return dict(np.load(ROOT / "data" / "surfaces_sm90.npz"))


@pytest.fixture(scope="module")
def machine() -> Iterator[Any]:
    """The recorder's driver calls over a simulated H200."""
    with wl.cuda("H200"):
        yield RECORDER.Machine(CASES.cubin())


def run(machine: Any, case: Any) -> npt.NDArray[np.uint8]:
    """What the recorder finds here."""
    data = [level.tobytes() for level in case.texels]
    found = RECORDER.run(machine, RECORDER.described(case), data, case.coordinates.tobytes())
    return np.frombuffer(found, np.uint8)


@pytest.mark.parametrize("case", one_in(18, SERVED, lambda case: str(case.name)))
def test_bits_are_an_h100s(machine: Any, case: Any) -> None:
    """Ranges, cut halves, NaNs, missing components, places outside; sums, minima, maxima."""
    found, known = run(machine, case), recorded()[case.name]
    if "l/clamp" in case.name:
        # Layers have no sign, so those below 0 come to the last one, where lanes clash.
        per_layer = found.size // case.texels[0].shape[0]
        found, known = found[:-per_layer], known[:-per_layer]

    assert np.array_equal(found, known)


def test_the_recording_tells_forms_apart() -> None:
    """Writes with other numbers of components, and other reductions, left other bytes."""
    known = recorded()
    for shape in ("u1x4", "f2x4", "f4x4"):
        assert len({known[f"put/2d/zero/{shape}/{n}"].tobytes() for n in (1, 2, 4)}) == 3
    every = [known[name].tobytes() for name in known if name.startswith("red/b/2d/zero")]
    assert len(set(every)) == len(every)


def test_the_recorded_products_do_not_carry() -> None:
    """clmad against Python's whole numbers."""
    case = next(case for case in ALL if case.name == "plain/product")
    table = case.coordinates.astype(object)
    a, b, c = (table[2 * k] | table[2 * k + 1] << 32 for k in range(3))
    for number, words in enumerate(recorded()[case.name].view(np.uint64).reshape(-1, 2)):
        product = 0
        for k in range(64):
            product ^= (int(a[number]) << k) * (int(b[number]) >> k & 1)
        low, high = product % 2**64, product >> 64
        assert words.tolist() == [low ^ int(c[number]), high ^ int(c[number])]


def test_reductions_of_other_texels_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    """Where a texel is no integer of the operation's size."""
    with wl.cuda("H200"):
        machine = RECORDER.Machine(CASES.cubin())
        with pytest.raises(RECORDER.CudaError):
            run(machine, OTHER[0])

    assert "a reduction of texels (sured.p) of another size" in capfd.readouterr().err
