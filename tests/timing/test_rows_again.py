"""What blocks find in L1 of rows that they go through again and again, against an H200."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in

VALIDATION = Path(__file__).parents[2] / "validation"
RECORDED = json.loads((VALIDATION / "data" / "rows_again_sm90.json").read_text())
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
# Of the sectors of a walk (of rows that stores take L1 from more: DEVIATIONS.md, row 308)
MOST = {"rows_loaded": 0.3, "rows_back": 0.3, "rows_streamed": 0.45, "rows_stored": 0.35}


def _rows() -> list[dict[str, Any]]:
    """Rows of several blocks of an SM, which lie apart, that are gone through more than once."""
    rows = (dict(zip(RECORDED["columns"], row, strict=True)) for row in RECORDED["rows"])
    return [row for row in rows if row["blocks"] > 1 and row["steps"] > 1]


def _name(row: dict[str, Any]) -> str:
    names = "kernel", "steps", "threads", "blocks", "shared_bytes", "kib"
    return "-".join(str(row[name]) for name in names)


@cache
def _module() -> wl.Module:
    source = (VALIDATION / "recorder" / "kernels" / "rows_again.cu").read_text()
    return wl.Device("H200", clock=1980).compile(source)


@cache
def _arrays() -> tuple[Any, ...]:
    """As large as the recorded ones: which lines meet depends on where they lie."""
    words = 132 * (224 << 10) // 4
    return tuple(np.zeros(words, np.float32) for _ in range(3))


@cache
def _found(name: str) -> tuple[float, float]:
    """The part of all sectors that loads find, here and there."""
    row = next(row for row in _rows() if _name(row) == name)
    blocks = row["sms"] * row["blocks"]
    launch = _module()[row["kernel"]].predict[
        (blocks,), (row["threads"],), 0, row["shared_bytes"]
    ](*_arrays(), np.uint32(row["words"]), np.uint32(row["steps"]))
    sm = launch.timing.model.result.sm
    there = row[f"{SECTORS[:-4]}_lookup_hit.sum"] / row[SECTORS]
    return float(sm["l1_found"][0] / sm["l1_looked"][0]), float(there)


@pytest.mark.parametrize(
    "row", one_in(9, [row for row in _rows() if row["steps"] == 2], _name, first=4)
)
def test_blocks_find_their_rows_as_counted(row: dict[str, Any]) -> None:
    """Rows that lie apart meet in some sets before L1 is full; how much is lost falls as slowly."""
    mine, there = _found(_name(row))
    assert mine * row["steps"] == pytest.approx(there * row["steps"], abs=MOST[row["kernel"]])


@pytest.mark.long
@pytest.mark.parametrize(("kernel", "steps", "most"), [
    ("rows_loaded", 2, 0.05), ("rows_back", 2, 0.05), ("rows_streamed", 2, 0.12),
    ("rows_stored", 2, 0.12), ("rows_stored", 3, 0.3), ("rows_stored", 4, 0.4),
])  # fmt: skip
def test_all_rows_together(kernel: str, steps: int, most: float) -> None:
    """The mean error of all, of the sectors of a walk."""
    errors = []
    for row in _rows():
        if row["kernel"] == kernel and row["steps"] == steps:
            mine, there = _found(_name(row))
            errors.append(abs(mine - there) * steps)
    assert np.mean(errors) < most
