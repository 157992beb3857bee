"""What loads find in L1 of what was stored, and what stores take of its room, against an H200's
counters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in

VALIDATION = Path(__file__).parents[2] / "validation"
LINES, CAPACITY = (
    json.loads((VALIDATION / "data" / f"{name}_sm90.json").read_text())
    for name in ("stored_lines", "l1_capacity")
)
FOUND = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"
PLACES = 6  # of the arrays: which lines of L1 meet in a set depends on it
ROOM_KIB = 144  # of both arrays together: far from as much as L1 holds (DEVIATIONS.md, row 308)


def _module() -> wl.Module:
    """On a device of its own, so that arrays lie where they do whatever ran before."""
    source = (VALIDATION / "recorder" / "kernels" / "stored_lines.cu").read_text()
    return wl.Device("H200", clock=1980).compile(source)


def _found(kernel: str, first_kib: int, second_kib: int, again: int, shared_kib: int = 0) -> float:
    """Sectors that loads find in L1, on average over places of the arrays."""
    numbers = [np.uint32(n) for n in (256 * first_kib, 256 * second_kib, again)]
    module, found = _module(), []
    for _ in range(PLACES):
        launch = module[kernel].predict[(1,), (256,), 0, shared_kib << 10](
            np.zeros(1024, np.uint32), *(np.zeros(1 << 18, np.uint32) for _ in "ab"), *numbers
        )
        found.append(launch.timing.model.result.sm["l1_found"][0])
    return float(np.mean(found))


def _rows() -> list[dict[str, Any]]:
    rows = [dict(zip(LINES["columns"], row, strict=True)) for row in LINES["rows"]]
    return [row for row in rows if row["first_kib"] + row["second_kib"] <= ROOM_KIB]


@pytest.mark.parametrize(
    "row", _rows(),
    ids=lambda row: f"{row['kernel']}-{row['first_kib']}-{row['second_kib']}-{row['again']}",
)  # fmt: skip
def test_loads_find_what_was_stored_as_counted(row: dict[str, Any]) -> None:
    """All of it where sectors were written as a whole, else nothing; a tenth of the loaded array at
    most lies where others take its place."""
    found = _found(row["kernel"], row["first_kib"], row["second_kib"], row["again"])
    assert found == pytest.approx(row[FOUND], abs=0.1 * row[FOUND])


def test_evict_first_takes_no_room_from_others() -> None:
    """128 KiB loaded, then as much stored: evict-first lines are the ones that go."""
    plain, streaming = (_found(f"stored_{kind}", 128, 128, 1) for kind in ("plain", "streaming"))
    place = LINES["columns"].index(FOUND)
    recorded = {row[0]: row[place] for row in LINES["rows"] if row[1:4] == [128, 128, 1]}
    whole = recorded["stored_streaming"]
    assert recorded["stored_plain"] < 0.1 * whole
    assert streaming > 0.95 * whole
    assert plain < 0.9 * streaming


@pytest.mark.parametrize("shared_kib", [130, 162, 194])
def test_shared_memory_leaves_the_rest_to_l1(shared_kib: int) -> None:
    """Of arrays half as large as what is left all is found, of twice as large ones nothing."""
    room = 256 - (shared_kib + 2)
    counted = {
        row[2]: row[4] / (row[3] / 2) for row in CAPACITY["rows"] if row[:2] == [shared_kib, 256]
    }
    assert all(share == 1.0 for kib, share in counted.items() if kib <= room - 8)
    assert all(share < 0.1 for kib, share in counted.items() if kib >= room + 32)
    for kib, share in ((room // 2, 1.0), (2 * room, 0.0)):
        found = _found("stored_loaded", kib, 0, 1, shared_kib)
        assert found == pytest.approx(share * 32 * kib, abs=0.1 * 32 * kib)


def _capacities() -> list[tuple[int, int, float]]:
    """Shared memory and array in KiB, and what part of the array an H200 finds again."""
    rows = (dict(zip(CAPACITY["columns"], row, strict=True)) for row in CAPACITY["rows"])
    return [
        (row["shared_kib"], row["array_kib"], row[FOUND] / (256 * row["array_kib"] / 8))
        for row in rows if row["threads"] == 256 and row["shared_kib"] < 226
    ]  # fmt: skip


@pytest.mark.parametrize(("shared_kib", "array_kib", "found"), one_in(
    4, _capacities(), lambda case: f"{case[0]}-{case[1]}", several=True,
))  # fmt: skip
def test_what_of_an_array_is_found_again(shared_kib: int, array_kib: int, found: float) -> None:
    """Beside each setting of the carve-out."""
    mine = _found("stored_loaded", array_kib, 0, 1, shared_kib) / (256 * array_kib / 8)
    assert mine == pytest.approx(found, abs=0.13)
