"""When memory instructions have their registers read: what warps wait for that write there next,
and what those of SMs with unlike numbers of blocks do, against what an H100 counted."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.timing.replayed import (
    assert_as_counted,
    recorded_rows,
    recorder_kernels,
    recorder_script,
    waits_of,
)

ROWS = recorded_rows("sources", 4)


def _compare(kernel: str, warps: int, apart: int, blocks: int, within: float) -> None:
    with recorder_script("sources") as recorder:
        step, size = recorder.STEP, blocks * recorder.OWN
    arrays = np.zeros(1024, np.uint32), np.zeros(size, np.uint8)
    shape = (blocks,), (32 * warps,)
    compiled = recorder_kernels("sources")[kernel]
    launch = compiled.predict[shape](*arrays, np.uint32(apart), np.uint32(step))
    recorded = ROWS[kernel, warps, apart, blocks]
    assert_as_counted(launch, recorded, cycles=0.02, states=within)
    _, waits = waits_of(launch, recorded)
    warps_there = sum(waits.values()) + recorded["smsp__inst_issued.sum"]
    resident = float(launch.metric("smsp__warps_active.sum"))
    assert resident == pytest.approx(warps_there, rel=0.05 if within < 0.1 else 0.07)


@pytest.mark.parametrize("kernel", ["store_shared", "data_shared"])
@pytest.mark.parametrize(("warps", "apart"), [(4, 128), (8, 128), (16, 32), (16, 128), (32, 32)])
def test_five_stores_wait_with_their_registers_read(kernel: str, warps: int, apart: int) -> None:
    """Of the fifteen of a sub-partition: warps wait for these registers, not for a place in the
    queue, until a store is one of five."""
    _compare(kernel, warps, apart, 132, 0.04)


@pytest.mark.parametrize(("warps", "apart"), one_in(
    4, [(16, 32), (16, 128), (32, 32), (32, 128)],
    lambda case: "-".join(map(str, case)), several=True,
))
def test_loads_wait_with_their_registers_read(warps: int, apart: int) -> None:
    """All but the five whose addresses are still to be made: warps go on and wait for places, here
    too long (row 327 of DEVIATIONS)."""
    _compare("load_global", warps, apart, 132, 0.24)


@pytest.mark.parametrize(("blocks", "kernel"), one_in(
    3, list(product([198, 264], ["load_global", "data_shared"])),
    lambda case: "-".join(map(str, case)), several=True,
))
def test_states_are_of_sms_with_one_block_and_with_two(kernel: str, blocks: int) -> None:
    """198 blocks: two on every other SM."""
    _compare(kernel, 8, 128, blocks, 0.24 if kernel == "load_global" else 0.04)
