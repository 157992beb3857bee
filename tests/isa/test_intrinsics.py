"""Integer intrinsics compiled for every architecture give what an H200 gave."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.isa import record

ARCHITECTURES = (75, 80, 86, 89, 90, 100, 103, 120)


@pytest.fixture(scope="module")
def recorded() -> dict[str, record.Array]:
    """The hardware's outputs by kernel name."""
    with np.load(record.RECORD) as data:
        return {name: data[name] for name in data.files}


@cache
def module(architecture: int) -> wl.Module:
    """The intrinsics compiled for one architecture."""
    return wl.Device(f"sm_{architecture}").compile(str(record.SOURCE))


@pytest.mark.parametrize(("architecture", "name"), one_in(
    9, list(product(ARCHITECTURES, record.kernels())), lambda case: f"{case[0]}-{case[1]}",
    several=True,
))
def test_intrinsics_equal_hardware(
    architecture: int, name: str, recorded: dict[str, record.Array]
) -> None:
    """Every slot of every thread is the recorded word."""
    compiled = module(architecture)
    words, wide = record.outputs()
    in32, in64 = record.inputs()
    compiled[name][record.N_BLOCKS, record.BLOCK](words, wide, in32, in64)

    assert_slots(name, words, recorded[name], architecture)
    assert_slots(name, wide, recorded[f"{name}_wide"], architecture)


def assert_slots(name: str, actual: record.Array, expected: record.Array, sm: int) -> None:
    """Compares slot by slot; slots that an architecture cannot compute stay unwritten."""
    rows = actual.reshape(record.N_SLOTS, -1)
    wanted = expected.reshape(record.N_SLOTS, -1)
    for slot in np.flatnonzero((rows != wanted).any(axis=1)):
        if sm == 75 and (rows[slot] == record.FILL).all():
            continue
        lane = int(np.flatnonzero(rows[slot] != wanted[slot])[0])
        pytest.fail(
            f"sm_{sm} {name} slot {slot} thread {lane}: "
            f"hardware {int(wanted[slot][lane]):#x}, here {int(rows[slot][lane]):#x}"
        )
