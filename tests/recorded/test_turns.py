"""Parts of diverged warps run in an H200's order: small programs with YIELD and BREAK.

They are drawn so that parts wait, rest and leave barriers much more often than in compiled code
(validation/recorder/turns.py).
"""

from __future__ import annotations

import importlib
import io
import lzma
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from warplens.api import LaunchOptions

VALIDATION = Path(__file__).parents[2] / "validation"
DATA = VALIDATION / "data" / "turns_sm90.npz.xz"
OFTEN = 1


@pytest.fixture(scope="module")
def recorder() -> Iterator[tuple[Any, ...]]:
    """The recorder's modules, whose `build` must come before the package of that name."""
    sys.path.insert(0, str(VALIDATION / "recorder"))
    known = sys.modules.pop("build", None)
    try:
        names = ("build", "assembler", "turns", "slots")
        build, assembler, turns, slots = (importlib.import_module(name) for name in names)
        source = (build.KERNELS / "carrier.cu").read_text()
        carrier = build.Nvrtc().compile(source, "carrier.cu", ("-arch=sm_90", "--std=c++17"))
        yield assembler, turns, slots, carrier
    finally:
        sys.path.remove(str(VALIDATION / "recorder"))
        sys.modules.pop("build", None)
        if known is not None:
            sys.modules["build"] = known


@lru_cache(maxsize=1)
def recorded() -> list[list[list[int]]]:
    """Of each program lanes, place and number of every note, in order."""
    with np.load(io.BytesIO(lzma.decompress(DATA.read_bytes()))) as data:
        counts, rows = data["plain_counts"], data["plain_rows"]
    ends = np.cumsum(counts, dtype=np.int64)
    return [rows[end - n : end, 1:].tolist() for end, n in zip(ends, counts, strict=True)]


@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=[pytest.mark.long] * (n >= OFTEN)) for n in range(24)]
)
def test_turns(recorder: tuple[Any, ...], number: int) -> None:
    """Which lanes come by which place, in order, in eight programs."""
    assembler, turns, slots, carrier = recorder
    kernel = turns.kernel(number)
    cubin = assembler.carried(carrier, kernel.code, turns.REGISTERS, kernel.targets)
    cubin = assembler.trimmed(cubin, len(kernel.code))
    module = wl.Device("H200", options=LaunchOptions(timing=False, workers=1)).load(cubin)
    out = np.full((turns.PROGRAMS, turns.ROOM, turns.WORDS), turns.UNWRITTEN, np.uint32)
    module[assembler.CARRIER][turns.PROGRAMS, 32](
        slots.pool(), out, np.zeros(4, np.uint32), bytes(slots.constants_cell())
    )

    own = [rows[:, 1:3].tolist() for rows in turns.noted(out)]
    first = turns.PROGRAMS * number
    different = [p for p in range(turns.PROGRAMS) if own[p] != recorded()[first + p]]
    assert different == []
