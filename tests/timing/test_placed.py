"""Which SM gets which block, against an H200 (`validation/data/placed_sm90.json`)."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tests.timing.replayed import recording
from warplens.timing.placement import place, speeds_of

ROWS = recording("placed")["rows"]
SMS = 132
LAG = 8  # blocks, as many as the smallest cluster has SMs
SMALLEST = 124  # its first SM


@functools.cache
def placed(blocks: int, held: int) -> np.ndarray:
    """Our SMs of blocks that all take as long."""
    lengths, loads = np.full(blocks, 200_000.0), np.full(blocks, 1e-3)
    found: np.ndarray = place(lengths, loads, SMS, held, (0.0, 0.0), speeds_of(4.0)).sm_of
    return found


@pytest.mark.parametrize("row", ROWS[::3], ids=lambda row: f"{row[0]}-{row[2]}-{len(row[3])}")
def test_sms_hold_as_many_blocks_of_a_first_wave(row: list) -> None:
    """So do the fullest and the emptiest SM on the hardware."""
    held, sms = row[2], row[3]
    ours = np.bincount(placed(len(sms), held), minlength=SMS)
    theirs = np.bincount(sms, minlength=SMS)
    assert sorted(ours) == sorted(theirs)


def test_the_next_block_of_an_sm_is_132_further() -> None:
    """Here always; on the hardware half the time, else eight blocks sooner or later, but for the
    eight SMs of the smallest cluster, which get theirs 26 to 52 sooner."""
    found = []
    for _, _, held, sms in ROWS:
        if len(sms) < held * SMS or held == 1:
            continue
        for sm in range(SMS):
            assert set(np.diff(np.flatnonzero(placed(len(sms), held) == sm))) == {SMS}
            steps = np.diff(np.flatnonzero(np.array(sms) == sm))
            if sm < SMALLEST:
                found.append(steps)
            else:
                assert set(steps) <= {80, 98, 100, 106}
    steps = np.concatenate(found)
    assert set(steps) == {SMS - LAG, SMS, SMS + LAG}
    assert (steps == SMS).mean() > 0.5
