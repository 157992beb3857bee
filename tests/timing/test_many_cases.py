"""Warps that go through cases of 2 KiB of code in orders of their own, against an H200
(`validation/data/many_cases_sm90.json`)."""

from __future__ import annotations

import pytest

from tests.timing.replayed import over_recorded, recording

CASES = {
    case["name"]: case
    for case in recording("many_cases")["cases"]
    if case["name"].split("/")[2] == "64"  # rounds
}


@pytest.mark.parametrize("name", CASES)
def test_warps_of_unlike_places_wait_for_the_large_cache(name: str) -> None:
    """Up to eight times as long as warps that go through the same lines."""
    assert abs(over_recorded("many_cases", CASES[name])) < 0.3
