"""NANOSLEEP beside an H100: when warps wake, and launches that sleep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.timing.replayed import clock_reads
from warplens.timing import sleep

DATA = Path(__file__).parents[2] / "validation" / "data"
RECORDED = np.load(DATA / "sleeps_sm90.npz")
CASES = {c["name"]: c for c in json.loads(str(RECORDED["described"]))["cases"]}
_WHOLE = json.loads((DATA / "sleep_launches_sm90.json").read_text())
LAUNCHES: dict[str, dict[str, Any]] = {row["name"]: row for row in _WHOLE["launches"]}
SOURCE = (DATA.parent / "recorder" / "kernels" / "sleeps.cu").read_text()
PER_NS = 1.98  # cycles of the SM, whose clock was 1980 MHz


def _steps(name: str) -> np.ndarray[Any, Any]:
    """Cycles from one sleep's begin to the next one's, by warp; the first sleep left out."""
    begins = RECORDED[name][:, 1:, 0, 0].astype(np.int64)
    return np.diff(begins, axis=1) & 0xFFFFFFFF


def test_the_timer_wakes_warps() -> None:
    """Every sleep of 64 ns and more ends where the timer is a multiple of the period, to the 32 ns
    in which it counts."""
    seen = 0
    for name, case in CASES.items():
        every = sleep.period.py_func(case["times"][0])
        if name.startswith("timer/") and every:
            assert not (RECORDED[name][0, :, 0, 1].astype(np.int64) % every).any(), name
            seen += 1
    assert seen > 35


@pytest.mark.parametrize("kind", ["one", "four", "many"])
def test_sleeps_one_after_the_other(kind: str) -> None:
    """As long as a period each, where that is longer than what is between them."""
    for name, case in CASES.items():
        if not name.startswith(f"{kind}/") or case["turns"] < 4:
            continue
        every = sleep.period.py_func(case["times"][0])
        longest = {"one": 0, "four": 0, "many": 256}[kind]
        if every > longest:
            assert float(_steps(name).mean()) == pytest.approx(PER_NS * every, rel=0.01), name


def test_lanes_of_a_warp_wake_together() -> None:
    """With the one that wants the least; with `.WARP` the one that wants the most, as a rule: now
    and then such a warp wakes earlier."""
    for name, case in CASES.items():
        times = [t for k, t in enumerate(case["times"]) if case["active"] >> k & 1]
        is_warp = name.startswith("form/warp/lanes")
        if not is_warp and not (name.startswith("lanes/") and name.endswith("/32")):
            continue
        assert np.ptp(RECORDED[name][0, :, :, 1].astype(np.int64), axis=1).max() == 0
        wanted = max(times) if is_warp else min(times)
        every = sleep.period.py_func(wanted)
        if every > 64 + 20 / PER_NS * len(set(times)):
            assert float(np.median(_steps(name))) == pytest.approx(PER_NS * every, rel=0.02), name


@pytest.fixture(scope="module")
def module() -> wl.Module:
    return wl.Device("H100", clock="boost").compile(SOURCE)


@pytest.mark.parametrize("name", ["one/0", "one/50", "immediate/1", "active/10001/own",
                                  "active/ff/own", "active/55555555/own", "lanes/rising/32",
                                  "lanes/wide/32"])  # fmt: skip
def test_warps_that_do_not_sleep(module: wl.Module, name: str) -> None:
    """What an instruction takes without a sleep, by how many unlike times its lanes name."""
    case = CASES[name]
    times = np.resize(np.array(case["times"], np.uint32), 32)
    kernel = module[case["kernel"]]
    reads = clock_reads(kernel, 1, times, np.zeros(4096, np.uint64), case["turns"], 32,
                        np.uint32(case["active"]), np.uint32(case["noted"]))[0]  # fmt: skip
    found = reads[3::2] - reads[2::2]
    known = RECORDED[name][0, 1:, 0, 1].astype(np.int64) - RECORDED[name][0, 1:, 0, 0]
    assert len(found) == len(known)
    assert found.mean() == pytest.approx(known.mean(), abs=4)


def _predicted(module: wl.Module, name: str) -> Any:
    kind, *numbers = name.split("/")
    given = [int(n) for n in numbers]
    if kind == "nap":
        blocks, threads, ns = given
        out = np.zeros(4096, np.uint32)
        return module["nap"].predict[blocks, threads](out, 20, np.uint32(ns))
    ns, work = given
    return module["nap_and_work"].predict[132, 512](np.zeros(132 * 512, np.float32), 20,
                                                    np.uint32(ns), work)  # fmt: skip


@pytest.mark.parametrize("name", [n for n in LAUNCHES if n.startswith("nap")])
def test_launches_that_sleep(module: wl.Module, name: str) -> None:
    """Cycles within 3 % but for a sleep, since nobody knows what the timer was at the beginning;
    and the share of them that warps sleep."""
    counters = LAUNCHES[name]["counters"]
    ns = int(name.split("/")[-1 if name.startswith("nap/") else 1])
    apart = PER_NS * max(64, sleep.period.py_func(ns)) + 100
    launch = _predicted(module, name)
    known = counters["sm__cycles_active.max"]
    assert abs(launch.metric("sm__cycles_active.max") - known) < 0.03 * known + apart
    share = (launch.metric("smsp__warps_issue_stalled_sleeping.sum")
             / launch.metric("smsp__warps_active.sum"))  # fmt: skip
    known = (counters["smsp__warps_issue_stalled_sleeping.sum"]
             / counters["smsp__warps_active.sum"])  # fmt: skip
    assert share == pytest.approx(known, abs=0.07)
    assert launch.metric("smsp__inst_executed.sum") == counters["smsp__inst_executed.sum"]


def test_times_that_memory_holds() -> None:
    """Two launches that differ in nothing but the times that an array holds."""
    kernel = wl.Device("H100").compile("""
        extern "C" __global__ void wait(const unsigned* times, unsigned* out) {
            __nanosleep(times[threadIdx.x]);
            out[threadIdx.x] = times[threadIdx.x];
        }""")["wait"]
    out = np.zeros(32, np.uint32)
    taken = [kernel[1, 32](np.full(32, ns, np.uint32), out).metric("gpu__time_duration.sum")
             for ns in (100, 10_000, 100)]  # fmt: skip
    assert taken[1] - taken[0] > 4000
    assert taken[2] == taken[0]


def test_back_off_under_a_lock_ends(module: wl.Module) -> None:
    """Threads that take a lock in turn, and threads that wait for a flag: replayed to their end."""
    lock, total = np.zeros(4, np.int32), np.zeros(4, np.int32)
    launch = module["lock_backoff"][32, 32](lock, total, 8, np.uint32(8), np.uint32(256))
    assert total[0] == 256
    assert 0 < launch.metric("gpu__time_duration.sum") < 1e6
    flag, seen = np.zeros(4, np.int32), np.zeros(4, np.int32)
    launch = module["flag_wait"][64, 32](flag, seen, 2000, np.uint32(1000))
    assert flag[0] == 1
    assert 0 < launch.metric("gpu__time_duration.sum") < 1e6
