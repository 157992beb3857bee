"""Inner loops of tiled products without global memory: cycles, and what warps wait for, against an
H200's counters; loads of 4, 8 and 16 bytes a lane against its clocks."""

from __future__ import annotations

import json
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in

VALIDATION = Path(__file__).parents[2] / "validation"
TILES, LOADS = (
    json.loads((VALIDATION / "data" / f"{name}_sm90.json").read_text())
    for name in ("tiles", "wide_loads")
)
SMS, ROUNDS, TURNS = 132, 64, 128
STATES = {name: name.split("stalled_")[1][:-4] for name in TILES["columns"] if "stalled" in name}
# Beyond the tolerance (DEVIATIONS.md, row 304)
OTHER_STATES = {"tile_warped1"}
KNOWN = {("tile_small", 1), ("tile_small", 2), ("tile_small_stores", 2)}


@cache
def _module(name: str) -> wl.Module:
    source = (VALIDATION / "recorder" / "kernels" / f"{name}.cu").read_text()
    return wl.Device("H200", clock=1980).compile(source, options=["-std=c++17"])


def _rows() -> list[dict[str, Any]]:
    return [dict(zip(TILES["columns"], row, strict=True)) for row in TILES["rows"]]


@pytest.mark.parametrize("row", one_in(
    5, [row for row in _rows() if (row["kernel"], row["blocks"]) not in KNOWN],
    lambda row: f"{row['kernel']}-{row['blocks']}", first=2,
))  # fmt: skip
def test_cycles_and_states_as_counted(row: dict[str, Any]) -> None:
    """Cycles within 11 %; no more than a fifth of what warps wait for is another state."""
    launch = _module("tiles")[row["kernel"]].predict[(SMS * row["blocks"],), (row["threads"],)](
        np.zeros(1024, np.float32), np.uint32(ROUNDS)
    )
    cycles = float(launch.metric("sm__cycles_active.avg"))
    assert cycles == pytest.approx(row["sm__cycles_active.avg"], rel=0.11)
    mine = dict(launch.timing.answers.stalls)
    recorded = {state: row[name] for name, state in STATES.items()}
    whole = sum(recorded.values()) + row["smsp__inst_issued.sum"]
    apart = sum(abs(mine.get(state, 0.0) - n) for state, n in recorded.items()) / 2
    assert apart / whole < (0.36 if row["kernel"] in OTHER_STATES else 0.2)


@pytest.mark.parametrize("kernel", ["tile_warped4", "tile_warped4_stores"])
def test_a_loop_a_little_larger_than_its_cache_waits_for_code(kernel: str) -> None:
    """34.6 KiB of 32: of all of it a part, which follows from the cache's sets."""
    row = next(row for row in _rows() if (row["kernel"], row["blocks"]) == (kernel, 1))
    launch = _module("tiles")[kernel].predict[(SMS,), (row["threads"],)](
        np.zeros(1024, np.float32), np.uint32(ROUNDS)
    )
    stalls, name = launch.timing.answers.stalls, "no_instruction"
    recorded = {state: row[name] for name, state in STATES.items()}
    whole = sum(recorded.values()) + row["smsp__inst_issued.sum"]
    found = stalls[name] / sum(stalls.values())
    assert found == pytest.approx(recorded[name] / whole, abs=0.04)


def test_blocks_of_an_sm_end_together() -> None:
    """The warp that issued goes on, of whichever block: the older one is not done sooner."""
    launch = _module("tiles")["tile_warped4"].predict[(2 * SMS,), (128,)](
        np.zeros(1024, np.float32), np.uint32(ROUNDS)
    )
    assert float(launch.metric("sm__warps_active.avg.per_cycle_active")) > 7.9


@pytest.mark.parametrize(("parallel", "width"), one_in(
    4, list(product([1, 4], [4, 8, 16])),
    lambda case: "-".join(map(str, case)), several=True,
))
def test_wide_loads_come_as_soon(width: int, parallel: int) -> None:
    """Loads of a warp alone, and of four and eight warps whose lanes share words: the cycles of
    a turn, by two launches of unlike lengths."""
    kernel = _module("wide_loads")[f"loads_{width}_{parallel}"]
    for row in LOADS["rows"]:
        one, four, group, wide, apart, warps, recorded = row
        if (one, four) != (width, parallel) or warps not in (1, 4, 8):
            continue
        if warps > 1 and (group, wide) not in ((16, 2), (4, 8)):
            continue
        found = []
        for turns in (TURNS, 3 * TURNS):
            numbers = (np.uint32(n) for n in (group, wide, apart * width, turns))
            launch = kernel.predict[(1,), (32 * warps,)](np.zeros(128, np.uint32), *numbers)
            found.append(float(launch.metric("sm__cycles_active.max")))
        cycles = (found[1] - found[0]) / (2 * TURNS)
        assert cycles == pytest.approx(recorded, rel=0.07, abs=1.0), row
