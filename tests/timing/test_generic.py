"""Loads and stores whose lanes lie in rows, by generic addresses and by others, and constants by
registers: the replay against cycles and states that an H200 counted."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import recorder_script

VALIDATION = Path(__file__).parents[2] / "validation"
RECORDER = VALIDATION / "recorder"
CYCLES = "sm__cycles_active.avg"
ROUNDS, TURNS, SMS = 64, 256, 132


def _rows(name: str) -> list[dict[str, Any]]:
    data = json.loads((VALIDATION / "data" / f"{name}_sm90.json").read_text())
    return [dict(zip(data["columns"], row, strict=True)) for row in data["rows"]]


GENERIC = {(row["kernel"], row["pattern"], row["warps"]): row for row in _rows("generic")}
CONSTANTS = {(row["kernel"], row["groups"], row["warps"]): row for row in _rows("constant_states")}


@cache
def _module(name: str) -> wl.Module:
    source = (RECORDER / "kernels" / f"{name}.cu").read_text()
    return wl.Device("H200", clock=1980).compile(source, options=["-std=c++17"])


def _patterns(size: int) -> dict[str, Any]:
    with recorder_script("generic") as generic:
        return dict(generic.patterns(size))


def _share(row: dict[str, Any], state: str) -> float:
    """A state's part of what warps were counted to wait for."""
    waits = {name: value for name, value in row.items() if "issue_stalled" in name}
    return float(waits[f"smsp__warps_issue_stalled_{state}.sum"] / sum(waits.values()))


def _launch(kernel: str, pattern: str, warps: int) -> wl.Launch:
    offsets = _patterns(int(kernel.rpartition("_")[2]))[pattern].astype(np.uint32)
    words = np.zeros(1 << 14, np.uint32), np.zeros(1 << 14, np.uint32)
    shape = (SMS,), (32 * warps,)
    return _module("generic")[kernel].predict[shape](*words, offsets, np.uint32(ROUNDS))


@pytest.mark.parametrize(("kernel", "pattern", "warps"), one_in(
    3, [
    ("store_generic_4", "row", 32), ("store_generic_16", "row", 32),
    ("store_generic_4", "rows_32_528", 8), ("generic_4", "rows_8_272", 32),
    ("generic_16", "quads", 8), ("global_4", "rows_8_272", 32), ("global_4", "rows_16_144", 32),
    ("chain_global_4", "rows_8_272", 32), ("global_8", "rows_32_528", 32),
], lambda case: "-".join(map(str, case)), first=1, several=True,
))  # fmt: skip
def test_rows_take_their_cycles(kernel: str, pattern: str, warps: int) -> None:
    recorded = GENERIC[kernel, pattern, warps][CYCLES]
    found = float(_launch(kernel, pattern, warps).metric(CYCLES))
    assert found == pytest.approx(recorded, rel=0.08)


@pytest.mark.parametrize(("kernel", "within"), one_in(
    2, [("global_8", 0.07), ("global_16", 0.07)],
    lambda case: "-".join(map(str, case)), several=True,
))
def test_wide_loads_that_hit_wait_in_the_queue(kernel: str, within: float) -> None:
    """Where each was counted as one in L1's queue, 30 % of the time was `lg_throttle`, not 55 %."""
    stalls = _launch(kernel, "row", 32).timing.answers.stalls
    here = stalls["lg_throttle"] / (sum(stalls.values()) - stalls["selected"])
    assert here == pytest.approx(_share(GENERIC[kernel, "row", 32], "lg_throttle"), abs=within)


@pytest.mark.parametrize(("kernel", "groups", "warps"), [
    ("chase", 4, 32), ("four", 4, 8), ("four", 4, 16), ("four", 8, 32), ("mixed", 8, 32),
])  # fmt: skip
def test_constants_by_registers_wait_seven_deep(kernel: str, groups: int, warps: int) -> None:
    """What waits is `short_scoreboard`; what finds no place `mio_throttle`."""
    row = CONSTANTS[kernel, groups, warps]
    given = np.zeros(32, np.uint64), *(np.uint32(n) for n in (6 - groups.bit_length(), 1, TURNS))
    launch = _module("constants")[kernel].predict[(SMS,), (32 * warps,)](*given)
    assert float(launch.metric(CYCLES)) == pytest.approx(row[CYCLES], rel=0.04)
    stalls = launch.timing.answers.stalls
    waiting = sum(stalls.values()) - stalls["selected"]
    for state in ("short_scoreboard", "mio_throttle"):
        here = stalls.get(state, 0.0) / waiting
        assert here == pytest.approx(_share(row, state), abs=0.1), state


@pytest.mark.parametrize("name", one_in(
    3, ["store_global", "store_generic", "store_shared"], str, first=2,
))
def test_stores_that_no_lane_makes_take_a_pass(name: str) -> None:
    """Of the data banks, as an H100 counts them; nothing else of L1 counts them."""
    rows = {(row["kernel"], row["warps"]): row for row in _rows("idle_accesses")}
    metric = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
    assert rows[name, 8][metric] - rows["nothing", 8][metric] == SMS * 8 * 256
    if name == "store_generic":  # DEVIATIONS 303
        return
    arguments = np.zeros(64, np.uint32), np.zeros(64, np.uint32), np.uint32(256)
    launch = _module("idle_accesses")[name][(SMS,), (256,)](*arguments)
    assert int(launch.metric(metric)) == rows[name, 8][metric]
