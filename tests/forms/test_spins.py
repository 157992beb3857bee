"""ATOMS.CAST.SPIN exchanges where it does on an H200: in the lanes of one pass over the banks."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from warplens.api import LaunchOptions

VALIDATION = Path(__file__).parents[2] / "validation"


@pytest.fixture(scope="module")
def recorder() -> Iterator[tuple[Any, ...]]:
    """The recorder's modules, whose `build` must come before the package of that name."""
    sys.path.insert(0, str(VALIDATION / "recorder"))
    known = sys.modules.pop("build", None)
    try:
        names = ("build", "assembler", "spins", "slots")
        build, assembler, spins, slots = (importlib.import_module(name) for name in names)
        source = (build.KERNELS / "carrier.cu").read_text()
        carrier = build.Nvrtc().compile(source, "carrier.cu", ("-arch=sm_90", "--std=c++17"))
        yield assembler, spins, slots, carrier
    finally:
        sys.path.remove(str(VALIDATION / "recorder"))
        sys.modules.pop("build", None)
        if known is not None:
            sys.modules["build"] = known


@pytest.mark.parametrize(("name", "is_wide"), one_in(
    2, [("narrow", False), ("wide", True)],
    lambda case: "-".join(map(str, case)), first=1, several=True,
))
def test_lanes_of_one_pass_exchange(
    recorder: tuple[Any, ...], name: str, is_wide: bool
) -> None:
    """Results of two exchanges one after another and the words behind them, of 256 patterns."""
    assembler, spins, slots, carrier = recorder
    with np.load(VALIDATION / "data" / "spins_sm90.npz") as data:
        rows, recorded = data["rows"].astype(np.uint32), data[name]
    code = spins.code(is_wide)
    cubin = assembler.carried(carrier, code, spins.REGISTER_COUNT, {})
    device = wl.Device("H200", options=LaunchOptions(timing=False, workers=1))
    module = device.load(assembler.trimmed(cubin, len(code)))
    found = np.zeros(rows.shape, np.uint32)

    module[assembler.CARRIER][len(rows), 32](
        rows, found, np.zeros(4, np.uint32), bytes(slots.constants_cell())
    )

    assert np.array_equal(found, recorded)
    lost = (rows[..., 1] == 5) & (rows[..., 3] != 0) & (recorded[..., 0] == 0)
    assert lost.sum() > 2000  # lanes whose word was as expected
