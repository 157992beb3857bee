"""What warps wait for: the replay against states that GPUs counted, per issued instruction.

Launches of the tuning half of `validation/data/counters_sm90.npz` (H200), and loops of a few
instructions to which nothing was fitted (`validation/data/states_sm90.json`, H100).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in

VALIDATION = Path(__file__).parents[2] / "validation"
STATES = json.loads((VALIDATION / "data" / "states_sm90.json").read_text())
LOOPS = {(row[0], row[1]): dict(zip(STATES["columns"][2:], row[2:], strict=True))
         for row in STATES["rows"]}  # fmt: skip
SMS, ROUNDS = 132, 256
LANES = (0, 0xFFFFFFFF, 1, 1)  # arguments: every lane adds to a word of its own


@pytest.fixture(scope="module")
def module() -> wl.Module:
    source = (VALIDATION / "recorder" / "kernels" / "counters.cu").read_text()
    return wl.Device("H200", clock=1980).compile(source)


@pytest.fixture(scope="module")
def counted() -> dict[tuple[str, str], float]:
    """Recorded counters by launch and name."""
    with np.load(VALIDATION / "data" / "counters_sm90.npz") as file:
        names, metrics, cold = file["cases"], file["metrics"], file["cold"]
    return {(str(case), str(metric)): float(value)
            for case, row in zip(names, cold, strict=True)
            for metric, value in zip(metrics, row, strict=True)}  # fmt: skip


def _state(name: str) -> str:
    return f"smsp__warps_issue_stalled_{name}.sum"


def _both(module: wl.Module, counted: dict[tuple[str, str], float], case: str, kernel: str,
          shape: tuple[tuple[int, ...], tuple[int, ...]],
          arguments: tuple[int, ...]) -> dict[str, tuple[float, float]]:  # fmt: skip
    """Per state its cycles for each instruction, here and there."""
    words = np.arange(1 << 20, dtype=np.uint32), np.zeros(1 << 20, np.uint32)
    given = [np.uint32(one) for one in arguments]
    launch = module[kernel].predict[shape](*words, *given)
    issued = counted[case, "smsp__inst_issued.sum"]
    found = {}
    for state in ("wait", "short_scoreboard", "barrier", "lg_throttle", "not_selected"):
        here = float(launch.metric(_state(state))) / float(launch.metric("smsp__inst_issued.sum"))
        found[state] = here, counted[case, _state(state)] / issued
    return found


@pytest.mark.parametrize("kind", ["atomic_shared", "atomic_shared_return", "atomic_shared_cas"])
def test_behind_a_barrier_a_warp_waits_for_its_own_first(
    module: wl.Module, counted: dict[tuple[str, str], float], kind: str
) -> None:
    """A barrier's fixed cycles and the scoreboards of what follows are not `barrier`."""
    found = _both(module, counted, f"{kind}/lanes", kind, ((16,), (256,)), LANES)
    for state, within in (("wait", 0.2), ("barrier", 0.4), ("short_scoreboard", 0.8)):
        here, there = found[state]
        assert here == pytest.approx(there, abs=within), state


def test_loads_of_lines_on_their_way_do_not_fill_the_queue(
    module: wl.Module, counted: dict[tuple[str, str], float]
) -> None:
    """A product whose loads find lines that others have asked for: those within sectors take no
    longer than where the lines are there, and no warp waits for the queue."""
    case = "sgemm_naive/1024"
    found = _both(module, counted, case, "sgemm_naive", ((64, 64), (16, 16)), (1024, 0, 0, 0))
    assert found["lg_throttle"][1] < 0.2
    assert found["lg_throttle"][0] < 0.3
    assert found["not_selected"][0] == pytest.approx(found["not_selected"][1], abs=1.6)


@pytest.fixture(scope="module")
def loops() -> wl.Module:
    source = (VALIDATION / "recorder" / "kernels" / "states.cu").read_text()
    return wl.Device("H100 SXM5", clock=1980).compile(source)


@pytest.mark.parametrize("warps", [1, 8, 32])
@pytest.mark.parametrize("kernel", ["load_chain", "barrier_load", "barrier_store_load"])
def test_loops_with_barriers_wait_as_counted(loops: wl.Module, kernel: str, warps: int) -> None:
    """Loads of shared memory and barriers: cycles of a round, and which of both warps wait for."""
    recorded = LOOPS[kernel, warps]
    arrays = np.zeros(1 << 14, np.uint32), np.zeros(1 << 14, np.uint32)
    launch = loops[kernel].predict[(SMS,), (32 * warps,)](*arrays, np.uint32(ROUNDS))
    cycles, issued = "sm__cycles_active.avg", "smsp__inst_issued.sum"
    assert float(launch.metric(cycles)) == pytest.approx(recorded[cycles], rel=0.07)
    for state in ("barrier", "wait", "short_scoreboard"):
        here = float(launch.metric(_state(state))) / float(launch.metric(issued))
        there = recorded[_state(state)] / recorded[issued]
        assert here == pytest.approx(there, rel=0.11, abs=0.4), state


@pytest.mark.parametrize("warps", one_in(3, [1, 8, 32], str, first=1))
def test_stores_keep_their_registers_until_they_leave_the_queue(loops: wl.Module,
                                                                warps: int) -> None:  # fmt: skip
    """Where stores wait for L2, warps wait for their sources, not for places in the queue, and for
    what comes behind the stores as long as two of these take."""
    recorded = LOOPS["scattered_then_shared", warps]
    arrays = np.zeros(1 << 14, np.uint32), np.zeros(1 << 24, np.uint32)
    launch = loops["scattered_then_shared"].predict[(SMS,), (32 * warps,)](
        *arrays, np.uint32(ROUNDS)
    )
    issued = "smsp__inst_issued.sum"
    for state, within in (("long_scoreboard", 0.3), ("short_scoreboard", 13), ("lg_throttle", 0.5)):
        here = float(launch.metric(_state(state))) / float(launch.metric(issued))
        there = recorded[_state(state)] / recorded[issued]
        # At 32 warps a quarter less waits for sources, more for the queue: row 327 of DEVIATIONS
        assert here == pytest.approx(there, rel=0.27, abs=within), state
