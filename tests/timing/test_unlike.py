"""Which blocks of a grid come to the same SM, against an H200
(`validation/data/unlike_sm90.json`)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.timing.replayed import recording
from warplens.gpus import find_gpu
from warplens.timing.placement import first_turns

SMS = 132
H200 = find_gpu("H200")
EARLY = tuple(int(H200.value(f"launch.early_{name}")) for name in ("sms", "every"))
RECORDED = recording("unlike")
ROWS = [dict(zip(RECORDED["columns"], row, strict=True)) for row in RECORDED["rows"]]
HELD = 8  # blocks of an SM, if they have 256 threads


def pairs(sms: np.ndarray) -> set[tuple[int, int]]:
    """Blocks that share an SM."""
    same = np.triu(sms[:, None] == sms, 1)
    return set(zip(*(one.tolist() for one in np.nonzero(same)), strict=True))


def of_kind(kind: str) -> list[np.ndarray]:
    return [np.array(row["sms"]) for row in ROWS
            if row["kind"] == kind and row["blocks_an_sm"] == HELD]  # fmt: skip


@pytest.mark.parametrize(("kind", "agree"), [("all", 0.75), ("drawn", 0.65), ("attention", 0.38)])
def test_more_blocks_share_their_sm_as_recorded_than_if_they_came_in_turn(kind: str,
                                                                          agree: float) -> None:
    for sms in of_kind(kind):
        blocks = min(len(sms), SMS * HELD)
        recorded = pairs(sms[:blocks])
        found = pairs(first_turns(len(sms), SMS, HELD, EARLY))
        in_turn = pairs(first_turns(len(sms), SMS, HELD, (0, 0)))
        assert len(found & recorded) > agree * len(recorded)
        assert len(found & recorded) > 1.3 * len(in_turn & recorded)


def test_as_many_long_blocks_of_attention_share_an_sm() -> None:
    """Four of 32 blocks of a row are long, the others end at once: in a first wave of 384 some SMs
    get two of them; here one more, since clusters are not all of the same size."""
    long = np.arange(384) % 32 < 4
    for sms in of_kind("attention"):
        assert (np.bincount(sms[long]) == 2).sum() == 4
    found = first_turns(384, SMS, HELD, EARLY)
    assert (np.bincount(found[long]) == 2).sum() == 5


def test_what_is_left_of_a_grid_comes_to_one_sm_of_each_pair_first() -> None:
    """216 blocks: 84 SMs take a second one, 24 of them beside another that does."""
    found = first_turns(216, SMS, HELD, EARLY)
    assert found[:SMS].tolist() == list(range(SMS))
    ours = pairs(found)
    for sms in of_kind("triangles"):
        recorded = pairs(sms)
        assert len(set(sms[:SMS].tolist())) == SMS
        assert len(ours & recorded) > 0.4 * len(recorded)


@pytest.mark.parametrize("slots", [1, 2, 3, 8])
@pytest.mark.parametrize("total", [100, 264, 400, 1000, 5000])
def test_every_place_is_taken_once(total: int, slots: int) -> None:
    found = np.bincount(first_turns(total, SMS, slots, EARLY), minlength=SMS)
    assert found.sum() == min(total, SMS * slots)
    assert found.max() <= slots
