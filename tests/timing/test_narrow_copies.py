"""Lanes that copy a row each, against an H200 (`validation/data/narrow_copies_sm90.json`)."""

from __future__ import annotations

import pytest

from tests.timing.replayed import over_recorded, recording

CASES = {case["name"]: case for case in recording("narrow_copies")["cases"]}
READ = "dram__bytes_read.sum"


@pytest.mark.parametrize("name", ["copy/2/1/2048/264x256", "copy/1/1/1536/264x256"])
def test_rows_that_lie_apart_do_not_meet_in_l2(name: str) -> None:
    """The lines in use are 12 or 16 apart, and L2 has sets enough for all of them: DRAM is read
    once, not for every element."""
    assert over_recorded("narrow_copies", CASES[name]) == pytest.approx(0.0, abs=0.12)
    assert over_recorded("narrow_copies", CASES[name], READ) == pytest.approx(0.0, abs=0.25)
