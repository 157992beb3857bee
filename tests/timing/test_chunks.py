"""What the warps of a block wait for that load a piece of an array together, against an H200."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import waits_between

VALIDATION = Path(__file__).parents[2] / "validation"
RECORDED = {
    tuple(row["case"]): row
    for row in json.loads((VALIDATION / "data" / "chunks_sm90.json").read_text())["cases"]
}
ROUNDS, SKIPPED = 24, 4


@pytest.fixture(scope="module")
def module() -> wl.Module:
    source = (VALIDATION / "recorder" / "kernels" / "chunks.cu").read_text()
    return wl.Device("H200", clock=1980).compile(source)


def _waits(module: wl.Module, case: tuple[int, ...]) -> Any:
    """Cycles by block, warp and round, of the blocks of one SM."""
    size, blocks, warps, loads, apart, alike, pause = case
    kernel = module[f"chunks_{loads}"]
    out = np.zeros(132 * blocks * ROUNDS * warps, np.uint32)
    numbers = [np.uint32(n) for n in (size << 13, apart, alike, ROUNDS, pause)]
    run = kernel.predict[132 * blocks, 32 * warps](out, np.zeros(size << 20, np.uint8), *numbers)
    return waits_between(run, kernel, 0, ROUNDS).reshape(-1, warps, ROUNDS)[:, :, SKIPPED:]


@pytest.mark.parametrize("blocks, warps, loads, pause", one_in(
    2, [(1, 8, 4, 0), (1, 8, 8, 0), (2, 8, 4, 3000)],
    lambda case: "-".join(map(str, case)), several=True,
))
def test_warps_and_their_slowest_wait_as_long(module: wl.Module, blocks: int, warps: int,
                                              loads: int, pause: int) -> None:  # fmt: skip
    """Pieces of a gigabyte, which L2 does not hold."""
    case = (1024, blocks, warps, loads, 1, 1, pause)
    waits = _waits(module, case)
    assert waits.mean() == pytest.approx(RECORDED[case]["mean"], rel=0.1)
    assert waits.max(axis=1).mean() == pytest.approx(RECORDED[case]["last"], rel=0.1)


def test_warps_come_back_nearly_together_from_l2() -> None:
    """The slowest of eight warps waits hardly longer than the mean one for what L2 holds: it is not
    the way to L2 that parts the warps of a block."""
    held = [row for case, row in RECORDED.items() if case[0] == 8 and case[2] == 8]
    assert len(held) == 30
    assert max(row["last"] / row["mean"] for row in held) < 1.12
