"""Which requests of SMs for the same lines L2 serves at once, against an H200's counters."""

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
RECORDED = json.loads((VALIDATION / "data" / "put_together_sm90.json").read_text())
STEPS = 64
ASKED, SERVED = "l1tex__m_xbar2l1tex_read_sectors.sum", "lts__t_sectors_srcunit_tex.sum"


def _rows() -> list[dict[str, Any]]:
    """Blocks one after another that begin nearly together, and blocks of unlike GPCs; not pairs,
    of which others of the GPC are taken to be (DEVIATIONS.md, row 318)."""
    rows = (dict(zip(RECORDED["columns"], row, strict=True)) for row in RECORDED["rows"])
    return [
        row for row in rows
        if row["apart"] == 20 and row["lines"] <= 4 and 2 < row["sharers"] <= 16
        and row["stride"] in (1, 33, 66) and row["kernel"] == "together_waiting"
    ]  # fmt: skip


@cache
def _module() -> wl.Module:
    source = (VALIDATION / "recorder" / "kernels" / "put_together.cu").read_text()
    return wl.Device("H200", clock=1980).compile(source)


@pytest.mark.parametrize("row", one_in(
    2, _rows(), lambda row: "-".join(str(row[n]) for n in ("sharers", "stride", "lines", "warps")),
))  # fmt: skip
def test_requests_are_put_together_as_counted(row: dict[str, Any]) -> None:
    """Of as many as ask for a line in a GPC; those of other GPCs are served on their own."""
    words = 132 * STEPS * 32 * row["lines"] * row["warps"]
    numbers = (STEPS, row["lines"], row["sharers"], row["apart"], row["stride"])
    launch = _module()["together_waiting"].predict[(132,), (32 * row["warps"],)](
        np.zeros(1024, np.uint32), np.zeros(words, np.uint32), *map(np.uint32, numbers)
    )
    mine = float(launch.metric(SERVED)) / float(launch.metric(ASKED))
    assert mine == pytest.approx(row[SERVED] / row[ASKED], abs=0.16)
