"""Lanes that store a byte each and leave, some at a time: what of the stores L1 sends on together,
against an H200 (`validation/data/leaving_lanes_sm90.json`)."""

from __future__ import annotations

import pytest

from tests.in_turn import one_in
from tests.timing.replayed import over_recorded, recording

CASES = {case["name"]: case for case in recording("leaving_lanes")["cases"]}
SECTORS = "lts__t_sectors_srcunit_tex.sum"


@pytest.mark.parametrize("name", one_in(
    3, [
        "1/32/132x512", "8/32/132x512", "1/32/1056x512", "8/32/1056x512", "1/32/1056x32",
        "8/32/1056x32", "1/512/1056x512", "32/32/132x512",
    ], str, first=1,
))  # fmt: skip
def test_stores_that_follow_those_of_other_warps_are_sent_on_their_own(name: str) -> None:
    """Warps of a block store to the same lines in turn: a line that one has stored to leaves no
    later for what the others store to it, nor for stores that pass L1's data."""
    over = over_recorded("leaving_lanes", CASES[f"store_and_leave/{name}"], SECTORS)
    assert over == pytest.approx(0.0, abs=0.2)
