"""Lanes that walk along rows of their own, loads and stores of words and halves, against an H200
(`validation/data/row_walks_sm90.json`, `row_walks_few_sm90.json`)."""

from __future__ import annotations

import pytest

from tests.in_turn import one_in
from tests.timing.replayed import CYCLES, over_recorded, recording

# With a store, within 64 bytes of each row, by all SMs
ALL = {
    case["name"]: case
    for case in recording("row_walks")["cases"]
    if case["name"].split("/")[3] == "near" and not case["name"].split("/")[2].endswith("0")
}
FEW = {
    case["name"]: case
    for case in recording("row_walks_few")["cases"]
    if case["name"].endswith("x1")
}


# One in three: of each mix of loads and stores one or two numbers of warps, of all four in turn
@pytest.mark.parametrize("name", one_in(3, list(ALL), str))
def test_stores_of_all_sms_keep_loads_behind_them(name: str) -> None:
    """Up to 1.9 times as long as stores alone."""
    assert abs(over_recorded("row_walks", ALL[name], CYCLES)) < 0.18


@pytest.mark.parametrize("name", FEW)
def test_one_sm_stores_two_cycles_a_line(name: str) -> None:
    """One load more behind a store takes 20 cycles, a second one twice its passes."""
    assert abs(over_recorded("row_walks", FEW[name], CYCLES)) < 0.14


def test_the_second_load_was_recorded_to_take_longer() -> None:
    """Of eight warps, words: what the first load of a step adds to a store, and the second."""
    store, one, two = (FEW[f"walk/4/{mix}/8x1"]["measured"][CYCLES] for mix in ("01", "11", "21"))
    assert 0.2 < (one - store) / store < 0.4
    assert (two - one) > 2.5 * (one - store)
