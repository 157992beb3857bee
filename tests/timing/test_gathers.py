"""Loads of single sectors strewn over what L2 holds, against an H200
(`validation/data/kinds_sm90.json`)."""

from __future__ import annotations

from tests.timing.replayed import over_recorded, recording

CASES = {case["name"]: case for case in recording("kinds")["cases"]}


def test_slices_send_sectors_while_dram_fills_them() -> None:
    assert abs(over_recorded("kinds", CASES["gather/4194304"])) < 0.06
