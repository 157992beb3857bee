"""Memory instructions that wait, and the ends of blocks: the replay against an H200.

The recorder's own kernels (`validation/recorder/kernels/queues.cu`) run here; when a warp reads the
clock is when the replay issues that instruction.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import clock_reads
from warplens.cli._launch_arguments import parse
from warplens.validation.measured import DURATION, OCCUPANCY, compare_file

VALIDATION = Path(__file__).parents[2] / "validation"
RECORDED = json.loads((VALIDATION / "data" / "queues_sm90.json").read_text())
CLOCKS = {(kernel, warps, apart): np.array(t) for kernel, warps, apart, t in RECORDED["rows"]}
PASSES = {16: 4, 32: 8, 64: 16, 128: 32}  # of a shared access, by the bytes between its lanes


@pytest.fixture(scope="module")
def module() -> wl.Module:
    source = (VALIDATION / "recorder" / "kernels" / "queues.cu").read_text()
    return wl.Device("H200").compile(source)


def _replayed(kernel: wl.Kernel, warps: int, apart: int) -> Any:
    """Per warp when it reads the clock, from the first reading on."""
    clocks, data = np.zeros(32 * 17, np.uint32), np.zeros(34 * 8192, np.uint8)
    found = clock_reads(kernel, warps, clocks, data, np.uint32(apart))
    return found - found.min()


@pytest.mark.parametrize("kernel", ["load_shared_4", "load_shared_16", "store_shared_4"])
@pytest.mark.parametrize("apart", [64, 128])
@pytest.mark.parametrize("warps", [8, 16])
def test_sixty_instructions_wait_on_the_hardware(kernel: str, warps: int, apart: int) -> None:
    """Those that have been issued and not served: a pass takes a cycle."""
    issued = np.sort(CLOCKS[kernel, warps, apart][:, 1:].ravel())
    served = np.maximum(0, issued - issued[0]) / PASSES[apart]
    assert 58 <= (np.arange(1, len(issued) + 1) - served).max() <= 62


def _waiting(clocks: Any, passes: int) -> float:
    """How many have been issued and not served at most, if a pass takes a cycle."""
    issued = np.sort(np.asarray(clocks)[:, 1:].ravel())
    served = np.maximum(0, issued - issued[0]) / passes
    return float((np.arange(1, len(issued) + 1) - served).max())


@pytest.mark.parametrize("kernel", ["load_shared_4", "store_shared_4"])
@pytest.mark.parametrize(("apart", "fewer"), [(16, 4), (32, 2), (64, 1), (128, 0)])
def test_accesses_keep_their_places_while_they_are_served(module: wl.Module, kernel: str,
                                                          apart: int, fewer: int) -> None:
    """The quicker each of them is, the fewer of the sixty are seen to wait."""
    recorded = _waiting(CLOCKS[kernel, 8, apart], PASSES[apart])
    assert recorded == pytest.approx(60.3 - fewer, abs=1.5)
    assert _waiting(_replayed(module[kernel], 8, apart), PASSES[apart]) == pytest.approx(
        recorded, abs=1.1
    )


@pytest.mark.parametrize("kernel", ["load_shared_4", "store_shared_4", "store_shared_16"])
@pytest.mark.parametrize("apart", [16, 64, 128])
@pytest.mark.parametrize("warps", [1, 4, 8, 16])
def test_warps_wait_for_the_queue_as_recorded(module: wl.Module, kernel: str, warps: int,
                                              apart: int) -> None:  # fmt: skip
    """The last of sixteen instructions of every warp, and the one in the middle."""
    recorded = CLOCKS[kernel, warps, apart]
    replayed = _replayed(module[kernel], warps, apart)
    assert replayed.shape == recorded.shape
    assert replayed.max() == pytest.approx(recorded.max(), rel=0.1, abs=50)
    assert np.median(replayed) == pytest.approx(np.median(recorded), rel=0.07, abs=40)


@pytest.mark.parametrize("apart", [16, 64, 128])
def test_conflicts_of_one_warp_do_not_hold_back_its_loads(module: wl.Module,
                                                          apart: int) -> None:  # fmt: skip
    """A load behind eight shared ones has its data when these have gone through the banks, long
    before the last of them has returned; all in all they take two cycles a pass."""
    (_, _, there, done), = CLOCKS["load_shared_then_global", 1, apart]
    (replayed,) = _replayed(module["load_shared_then_global"], 1, apart)
    assert replayed[2] == pytest.approx(there, abs=12)
    assert replayed[3] == pytest.approx(done, rel=0.02, abs=15)


@pytest.mark.parametrize("case", one_in(
    2, ["ends/0/32/8/1", "ends/1/8/8/all", "ends/4/32/8/1"], str,
))
def test_an_sm_is_not_active_between_blocks(case: str) -> None:
    """Blocks of about 1,200 to 2,700 cycles, one of an SM or all that fit."""
    path = VALIDATION / "timing" / "h200_ends.json"
    (found,) = [c for c in compare_file(path, parse, pattern=case) if c.name == case]
    for metric in (DURATION, "sm__cycles_active.avg"):
        assert found.predicted[metric] == pytest.approx(found.measured[metric], rel=0.08)
    assert found.predicted[OCCUPANCY] == pytest.approx(found.measured[OCCUPANCY], abs=9)


@pytest.mark.parametrize("entries", [0, 33])
def test_queues_have_so_many_entries_at_most(entries: int) -> None:
    gpu = wl.override(wl.find_gpu("H200"), {"issue.memory_held": entries})
    kernel = wl.Device(gpu).compile('extern "C" __global__ void k(int* p) { p[threadIdx.x] = 1; }')
    with pytest.raises(wl.InputError, match="memory_held"):
        float(kernel["k"].predict[1, 32](np.zeros(32, np.int32))[DURATION])
