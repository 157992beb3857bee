"""Lanes come by the places of random programs in the order, and in the company, of an H200.

The programs (validation/recorder/paths.py) are control flow only: nested branches, loops that lanes
leave at different times, jumps through registers to several places, calls, early ends.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from warplens.api import LaunchOptions

VALIDATION = Path(__file__).parents[2] / "validation"
DATA = VALIDATION / "data" / "paths_sm90.npz"
OFTEN = 1  # programs of an ordinary run, all with -m long


@pytest.fixture(scope="module")
def recorder() -> Iterator[tuple[Any, ...]]:
    """The recorder's modules, whose `build` must come before the package of that name."""
    sys.path.insert(0, str(VALIDATION / "recorder"))
    known = sys.modules.pop("build", None)
    try:
        names = ("build", "assembler", "fuzz", "paths", "slots")
        build, assembler, fuzz, paths, slots = (importlib.import_module(name) for name in names)
        source = (build.KERNELS / "carrier.cu").read_text()
        carrier = build.Nvrtc().compile(source, "carrier.cu", ("-arch=sm_90", "--std=c++17"))
        yield assembler, fuzz, paths, slots, carrier
    finally:
        sys.path.remove(str(VALIDATION / "recorder"))
        sys.modules.pop("build", None)
        if known is not None:
            sys.modules["build"] = known


@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=[pytest.mark.long] * (n >= OFTEN)) for n in range(24)]
)
def test_paths(recorder: tuple[Any, ...], number: int) -> None:
    """Lanes and places in order, as recorded, of both warps."""
    assembler, fuzz, paths, slots, carrier = recorder
    with np.load(DATA) as data:
        kernel, keys, rows = fuzz.as_kernels(data)[number], data["keys"], data["rows"]
    ends = np.cumsum(keys[:, 2])
    recorded = [rows[end - n : end, 1:].tolist() for (i, _, n, _), end in
                zip(keys, ends, strict=True) if i == number]  # fmt: skip

    cubin = assembler.carried(carrier, kernel.code, 64, kernel.targets)
    cubin = assembler.trimmed(cubin, len(kernel.code))
    module = wl.Device("H200", options=LaunchOptions(timing=False, workers=1)).load(cubin)
    out = np.full((64, paths.ROOM, 4), paths.UNWRITTEN, np.uint32)
    module[assembler.CARRIER][1, 64](
        slots.pool(), out, np.zeros(4, np.uint32), bytes(slots.constants_cell())
    )

    assert [own[:, 1:].tolist() for own in paths.joined(out)] == recorded
