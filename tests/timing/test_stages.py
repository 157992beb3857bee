"""Single stages of the timing model, uncompiled, against what can be counted by hand."""

from __future__ import annotations

import json
from collections import OrderedDict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.timing.touching import accesses, touched
from warplens.execute.trace import ELSEWHERE
from warplens.gpus import find_gpu
from warplens.timing import data_path, dram, fetch, l1, l2_answer, queue, rows, scoreboard, shared
from warplens.timing.lsu import ATOMIC, READ
from warplens.timing.sharing import Sharing
from warplens.timing.spec import Machine
from warplens.timing.state import (
    CODE,
    LINE,
    MEMORY,
    N_SCOREBOARDS,
    RECENT_LINES,
    SM,
    SPEC,
    SUB,
    WARP,
    empty_l1,
)
from warplens.timing.touched import Touched

DATA = Path(__file__).parents[2] / "validation" / "data"
LOADED: list[dict[str, Any]] = json.loads((DATA / "loaded_sm90.json").read_text())["loads"]


def _spec(**values: float) -> np.void:
    spec = np.zeros(1, SPEC).view(np.recarray)[0]
    for name, value in values.items():
        setattr(spec, name, value)
    return spec


def _one(dtype: np.dtype) -> np.void:
    return np.zeros(1, dtype).view(np.recarray)[0]


def _line(lot: float = 1.0, piece: float = 0.0) -> Any:
    """A trace of one line, which lies in a piece of a row of so many bytes."""
    return SimpleNamespace(lots=np.array([lot]), pieces=np.array([piece]))


def test_a_scoreboard_waits_for_its_last_release() -> None:
    warp, inst = _one(WARP), _one(CODE)
    scoreboard.hold.py_func(warp, 2, 50, 3)
    scoreboard.hold.py_func(warp, 2, 40, 4)
    inst.wait, inst.depth = 1 << 2, -1
    assert scoreboard.waits.py_func(warp, inst) == (50, 3)
    inst.wait = 1 << 1
    assert scoreboard.waits.py_func(warp, inst)[0] == 0


@pytest.mark.parametrize(("allowed", "when"), [(0, 30), (1, 20), (2, 10), (3, 0)])
def test_depbar_waits_for_all_but_the_last(allowed: int, when: int) -> None:
    warp = _one(WARP)
    for until in (10, 20, 30):
        scoreboard.hold.py_func(warp, 0, until, 3)
    assert scoreboard.after.py_func(warp, 0, allowed) == when


def test_seven_is_no_scoreboard() -> None:
    warp = _one(WARP)
    scoreboard.hold.py_func(warp, 7, 100, 3)
    assert not any(warp.release[i] for i in range(N_SCOREBOARDS))


@pytest.mark.parametrize("interval", [1, 2])
@pytest.mark.parametrize("passes", [1, 2, 4, 32])
@pytest.mark.usefixtures("plain_data_path")
def test_conflicts_hold_the_data_path(passes: int, interval: int) -> None:
    sm, spec = _one(SM), _spec(shared_latency=23.5, shared_interval=interval, shared_held=16)
    shared.access.py_func(sm, _one(WARP), _one(SUB), spec, passes, 32, 4, False, False, 100.0)
    assert sm.shared_free == 100 + passes * interval


@pytest.mark.usefixtures("plain_data_path")
def test_ideal_banks_need_the_passes_of_the_bytes() -> None:
    sm, spec = _one(SM), _spec(shared_interval=1, ideal=shared.IDEAL_BANKS, shared_held=16)
    shared.access.py_func(sm, _one(WARP), _one(SUB), spec, 32, 32, 8, False, False, 0.0)
    assert sm.shared_free == 2


@pytest.mark.usefixtures("plain_data_path")
def test_passes_of_one_warp_return_one_by_one() -> None:
    """Those of two warps of a sub-partition do not wait for each other, but for their bytes."""
    sm, warp, other, sub = _one(SM), _one(WARP), _one(WARP), _one(SUB)
    spec = _spec(shared_latency=23, shared_interval=1, return_interval=2, shared_held=16)
    access = shared.access.py_func
    assert access(sm, warp, sub, spec, 32, 32, 4, False, False, 0.0) == 23 + 2 * 31
    assert access(sm, warp, sub, spec, 32, 32, 4, False, False, 32.0) == 23 + 2 * 63
    assert access(sm, other, sub, spec, 32, 32, 4, False, False, 64.0) == 87 + 2 * 31


def _path() -> tuple[Any, Any]:
    return _one(SM), _spec(shared_held=16)


@pytest.mark.usefixtures("plain_data_path")
def test_shared_accesses_wait_for_one_load_only() -> None:
    """Of those in front of the banks; these are that much later, and no pass is taken twice."""
    sm, spec = _path()
    for _ in range(4):
        data_path.pass_loaded.py_func(sm, 8.0, 0.0)
    assert data_path.pass_shared.py_func(sm, spec, 1.0, 0.0) == 8.0
    assert (sm.shared_free, sm.data_free) == (9.0, 33.0)
    assert data_path.pass_loaded.py_func(sm, 8.0, 0.0) == 33.0


@pytest.mark.usefixtures("plain_data_path")
def test_loads_that_find_their_lines_wait_for_shared_accesses() -> None:
    sm, spec = _path()
    for _ in range(4):
        data_path.pass_shared.py_func(sm, spec, 4.0, 0.0)
    assert data_path.pass_loaded.py_func(sm, 1.0, 0.0) == 16.0


@pytest.mark.usefixtures("plain_data_path")
def test_what_comes_from_l2_takes_cycles_that_are_left_and_its_turns() -> None:
    sm, _ = _path()
    assert data_path.pass_arrived.py_func(sm, 40.0, 1024.0) == 1024.0
    assert data_path.pass_arrived.py_func(sm, 8.0, 1024.0) == 1064.0  # behind it
    assert data_path.pass_arrived.py_func(sm, 8.0, 500.0) == 500.0  # long before it
    # Loads with lines that are there go on at half their rate while it waits for its turns.
    starts = [data_path.pass_loaded.py_func(sm, 8.0, 0.0) for _ in range(9)]
    assert np.diff(starts).tolist() == [16.0] * 7 + [8.0]


def test_sub_partitions_take_turns_at_the_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked for by a sub-partition alone goes before most of what the others wait for."""
    for name in ("_take_place", "_share_before", "_waiting"):
        monkeypatch.setattr(queue, name, getattr(queue, name).py_func)
    spec = _spec(
        sub_partitions=4, agu_interval=4, agu_turn=2, lsu_interval=8, queue_entries=5,
        queue_held=6, units_held=5,
    )  # fmt: skip
    state = SimpleNamespace(
        sm=[_one(SM)], subs=[_one(SUB) for _ in range(4)], warps=[_one(WARP) for _ in range(64)]
    )
    for n in range(10):
        for sub in (1, 2, 3):
            queue.enter.py_func(state, spec, sub + 4 * n, 0, 0.0, MEMORY)
    last = state.sm[0].lsu_free
    start = queue.enter.py_func(state, spec, 0, 0, 0.0, MEMORY)[1]
    assert start == pytest.approx(8 * 8, abs=16)  # five that have left, three turns
    assert state.sm[0].gain == pytest.approx(last - start)
    assert state.sm[0].lsu_free == last + 8  # all in all it takes as long


@pytest.fixture
def plain_data_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same of the data path."""
    for module, name in (
        (data_path, "_book"), (data_path, "_turn"), (shared, "pass_shared"), (shared, "back"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, getattr(module, name).py_func)


@pytest.fixture
def plain_dram(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stage of DRAM calls others, which have no entry for Python when compiled."""
    for name in ("_catch_up", "_stretch", "_take", "_queue", "_write", "_write_cost"):
        monkeypatch.setattr(dram, name, getattr(dram, name).py_func)


@pytest.mark.usefixtures("plain_dram")
def test_writes_wait_for_gaps_between_reads() -> None:
    sm = _one(SM)
    spec = _spec(
        dram_rate=32.0, port_rate=64.0, dram_write_cost=1.0, dram_write_alone=1.0,
        dram_backlog=100.0,
    )  # fmt: skip
    dram.write.py_func(sm, spec, _line(), 0, 60.0, 0.0)
    assert (sm.dram_free, sm.dram_owed) == (0.0, 60.0)
    assert dram.read.py_func(sm, spec, _line(), 0, 10, 0.0) == 10.0  # before what is owed
    dram.read.py_func(sm, spec, _line(), 0, 10, 40.0)  # 30 idle cycles were used for writing
    assert (sm.dram_free, sm.dram_owed) == (50.0, 30.0)
    dram.write.py_func(sm, spec, _line(), 0, 90.0, 50.0)  # more than may be put off
    assert (sm.dram_free, sm.dram_owed) == (70.0, 100.0)


@pytest.mark.usefixtures("plain_dram")
def test_writes_cost_more_beside_reads() -> None:
    """Nothing is read before the first 100 sectors are written; then half as much as is."""
    sm = _one(SM)
    spec = _spec(dram_rate=32.0, dram_write_cost=1.2, dram_write_alone=1.0, dram_backlog=1e6)
    dram.write.py_func(sm, spec, _line(), 0, 100.0, 0.0)
    assert sm.dram_owed == 100.0
    sm.dram_read = 100.0
    dram.write.py_func(sm, spec, _line(), 0, 100.0, 0.0)
    assert sm.dram_owed == pytest.approx(100.0 + 110.0)


@pytest.mark.usefixtures("plain_dram")
def test_dram_serves_at_its_rate() -> None:
    sm, spec = _one(SM), _spec(dram_rate=16.0, port_rate=64.0, dram_latency=600.0)
    times = [dram.read.py_func(sm, spec, _line(), 0, 4, 0.0) for _ in range(3)]
    assert np.diff(times).tolist() == [8.0, 8.0]  # 4 sectors of 32 bytes at 16 bytes per cycle
    assert sm.dram_read == 12


@pytest.mark.usefixtures("plain_dram")
def test_bandwidth_left_unused_is_used_later() -> None:
    """After 1,000 idle cycles a burst comes as fast as L2 gives it, until those are used up."""
    sm, spec = _one(SM), _spec(dram_rate=16.0, port_rate=64.0, apart=2000.0)
    # Nobody left anything before that.
    assert dram.read.py_func(sm, spec, _line(), 0, 4, 0.0) == 8.0
    times = [dram.read.py_func(sm, spec, _line(), 0, 4, 1000.0) for _ in range(150)]
    assert times[0] == times[100] == 1002.0
    assert times[-1] == 151 * 8.0


def _h200() -> Any:
    machine = Machine(
        gpu=find_gpu("H200"), clock_mhz=1980.0, resident=1, warps_per_block=1, carveout_bytes=0,
        active_sms=132,
    )  # fmt: skip
    return machine.spec().view(np.recarray)[0]


def _lots(lines: Any) -> Any:
    return rows.lots(Touched.of(accesses(len(lines)), lines))


def _latencies(read: float, written: float) -> Any:
    """Of reads of lines far apart, while so many bytes per second are read and written."""
    sm, spec, begin = _one(SM), _h200(), 1e6
    peak = spec.dram_rate * 132 * 1.98e9
    sm.dram_write_busy = written / peak * begin
    sm.dram_busy = (read + written * spec.dram_write_cost) / peak * begin
    times = []
    for lot in _lots(np.arange(2000) << 16 | 0b0011):
        sm.dram_free = 0.0  # this SM asks for nothing else
        times.append(dram.read.py_func(sm, spec, _line(lot), 0, 2, begin) - begin)
    return np.array(times)


@pytest.mark.usefixtures("plain_dram")
def test_latencies_vary_as_recorded() -> None:
    """Cycles from the shortest latency to quantiles, over those to the mean; idle H200."""
    times = _latencies(0.0, 0.0)
    assert times.mean() == pytest.approx(_h200().dram_latency, rel=0.02)
    idle = next(row for row in LOADED if row["kernel"] == "loaded_copy" and not row["warps"])
    shortest = idle["below"]["5"]
    for share in (50, 75, 90, 95):
        recorded = (idle["below"][str(share)] - shortest) / (idle["mean"] - shortest)
        ours = np.percentile(times, share) - np.percentile(times, 5)
        assert ours / (times.mean() - np.percentile(times, 5)) == pytest.approx(recorded, rel=0.35)


@pytest.mark.usefixtures("plain_dram")
@pytest.mark.parametrize("row", one_in(
    9, [one for one in LOADED if one["bytes_per_second"] < 2.5e12],
    lambda one: f"{one['kernel']}-{one['warps']}-{one['pause']}",
))
def test_latency_grows_with_load_as_recorded(row: dict[str, Any]) -> None:
    """Cycles that a load takes longer, on average, than on an idle chip."""
    idle = np.mean([one["mean"] for one in LOADED if not one["warps"]])
    moved = row["bytes_per_second"]
    written = moved / 2 if row["kernel"] == "loaded_copy" else 0.0
    ours = _latencies(moved - written, written).mean() - _latencies(0.0, 0.0).mean()
    assert ours == pytest.approx(row["mean"] - idle, abs=60.0)


def test_l1_gives_up_the_line_that_was_not_used_for_longest() -> None:
    lines = empty_l1(4, sets=1).view(np.recarray)
    for line in (10, 20, 30, 40):
        place = l1.look_up.py_func(lines, line, 0)
        assert place < 0
        l1.fill.py_func(lines, -1 - place, line, 0b0011, 0, 100)
    assert l1.look_up.py_func(lines, 10, 0) >= 0
    victim = -1 - l1.look_up.py_func(lines, 50, 0)
    assert lines[victim].tag == 20 + 1  # 10 was used since
    l1.fill.py_func(lines, victim, 50, 0b0011, 0, 106)
    assert l1.look_up.py_func(lines, 20, 0) < 0


def test_l1_gives_up_lines_of_evict_first_before_all_others() -> None:
    lines = empty_l1(4, sets=1).view(np.recarray)
    for line, passing in ((10, 0), (20, 1), (30, 0), (40, 1)):
        place = -1 - l1.look_up.py_func(lines, line, passing)
        l1.fill.py_func(lines, place, line, 15, passing, 0)
    for line, gone in ((50, 20), (60, 40), (70, 10)):
        victim = -1 - l1.look_up.py_func(lines, line, 0)
        assert lines[victim].tag == gone + 1
        l1.fill.py_func(lines, victim, line, 15, 0, 0)


def test_l1_keeps_lines_as_a_list_of_them_would() -> None:
    """Against Python's own ordered dictionary, with 300 lines that come in no order."""
    lines, kept = empty_l1(100, sets=1).view(np.recarray), OrderedDict[int, None]()
    for line in np.random.default_rng(1).integers(0, 300, 5000).tolist():
        place = l1.look_up.py_func(lines, line, 0)
        assert (place >= 0) == (line in kept)
        if place < 0:
            l1.fill.py_func(lines, -1 - place, line, 15, 0, 0)
            if len(kept) == 100:
                kept.popitem(last=False)
        kept[line] = None
        kept.move_to_end(line)


def test_the_memory_queue_fills_and_drains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five instructions wait for their addresses, of which one of a warp is done every fourth
    cycle; ten more for units that are busy."""
    for name in ("_take_place", "_share_before", "_waiting"):
        monkeypatch.setattr(queue, name, getattr(queue, name).py_func)
    spec = _spec(sub_partitions=1, agu_interval=4, agu_turn=2, lsu_interval=1, queue_entries=5,
                 queue_held=10, units_held=32)  # fmt: skip
    enter, room_at = queue.enter.py_func, queue.room_at.py_func

    def idle() -> tuple[SimpleNamespace, Any]:
        state = SimpleNamespace(sm=[_one(SM)], subs=[_one(SUB)], warps=[_one(WARP)])
        return state, state.subs[0]

    for busy_until, accepted in ((0, 5), (10_000, 5)):
        state, sub = idle()
        state.sm[0].lsu_free = busy_until
        n = 0
        while room_at(sub) <= 0:
            enter(state, spec, 0, 0, 0.0, MEMORY)
            n += 1
        assert n == accepted
        assert room_at(sub) == 4
    n, now = 0, 0
    state, sub = idle()
    state.sm[0].lsu_free = 10_000
    while room_at(sub) < 10_000:
        now = max(now, int(room_at(sub)))
        enter(state, spec, 0, now, 0.0, MEMORY)
        n += 1
    assert n == 15


def _caches_of_code() -> SimpleNamespace:
    """Empty ones of 32 and 128 KiB."""
    empty = {
        "subs": np.zeros(4, SUB), "recent_lines": np.zeros((4, RECENT_LINES), LINE),
        "sm": np.zeros(1, SM), "l0": np.zeros(256, LINE), "l1i": np.zeros(1024, LINE),
        "brought": np.zeros(1, np.uint8),
    }  # fmt: skip
    return SimpleNamespace(**{name: one.view(np.recarray) for name, one in empty.items()})


def test_instructions_of_one_line_are_fetched_once() -> None:
    spec = _spec(l0_miss=20, l1i_miss=64, jump_far=13)
    state = _caches_of_code()
    first = fetch.ready.py_func(state, spec, 0, 100, 8 * 200, 10)
    assert first == 74
    assert fetch.ready.py_func(state, spec, 0, 100, 8 * 200 + 1, 80) == 80
    assert fetch.ready.py_func(state, spec, 1, 100, 8 * 200, 80) == 93  # brought by part 0


def _lines_late(lines: range) -> list[int]:
    """Cycles that a warp waits for each of some lines of straight code, the first time."""
    spec = _spec(l0_miss=38, l1i_miss=200, l1i_line=45, l0_line=18)
    state = _caches_of_code()
    now, found = 0, []
    for line in range(lines.stop):
        ready = fetch.ready.py_func(state, spec, 0, line * 8 - 1, line * 8, now)
        found.append(ready - now)
        now = ready
    return found[lines.start :]


def test_what_a_launch_does_not_bring_is_fetched_line_by_line() -> None:
    """Beyond 64 KB, as straight code launched again, whose first part is there (recorded)."""
    rows = json.loads((DATA / "gaps_sm90.json").read_text())["rows"]
    again = {tuple(row[:4]): row[5][0] for row in rows}
    recorded = (again[9216, 0, 1, 1] - again[4096, 0, 1, 1]) / ((9216 - 4096) / 8)
    late = _lines_late(range(512, 700))
    assert late == pytest.approx([recorded] * len(late), rel=0.05)


def test_lots_do_not_depend_on_where_arrays_lie() -> None:
    lines = np.arange(64) << 4 | 0b1111
    ours = _lots(lines)
    np.testing.assert_array_equal(ours, _lots(lines + (12345 << 8)))
    assert ours[0] == pytest.approx(1.0)
    assert len(np.unique(ours)) == 64
    assert _lots(np.arange(1 << 16) << 8).mean() == pytest.approx(1.0, rel=0.01)


def test_l2_holds_lines_up_to_its_size() -> None:
    """Blocks read the same 64 lines twice; an L2 of 256 lines keeps them, one of 16 does not."""
    used = touched(np.tile(np.arange(64), 2), 0b1111, kind=READ)
    large = l2_answer.answer(used, 1, 256 * 128, 1, Sharing())
    assert large.hits[:64].tolist() == [0] * 64
    assert (large.hits[64:] & 15 == 15).all()
    assert np.array_equal(large.fetches[:64], large.fetches[64:])
    assert (large.arrivals[large.fetches] == -1).all()  # nobody else makes these fetches
    small = l2_answer.answer(used, 1, 16 * 128, 1, Sharing())
    assert small.hits.max() == 0
    assert not np.array_equal(small.fetches[:64], small.fetches[64:])
    assert large.footprint == 64 * 128


def test_atomics_on_lines_of_a_slice_are_shared_by_their_blocks() -> None:
    """Of eight neighbouring lines 0, 1, 4 and 5 are in one slice, 2, 3, 6 and 7 in another; what is
    in one sector is told from that."""
    used = touched([5, 5, 9, 11, 17, 21], 1, block=[0, 1, 0, 1, 0, 1], kind=ATOMIC)
    shares = l2_answer.answer(used, 2, 1 << 20, 1, Sharing()).shares
    assert shares.tolist() == [1.0, 1.0, 0.0, 0.0, 1.0, 1.0]


def test_few_atomics_on_one_sector_are_taken_for_chance() -> None:
    """Of eight blocks two meet by chance, so that any two do so as seldom; six meet for sure."""
    used = touched([4, 4, 14, 24, 34, 44], 1, block=[0, 1, 2, 3, 4, 5], kind=ATOMIC)
    passes = l2_answer.answer(used, 6, 1 << 20, 1, Sharing()).passes
    np.testing.assert_allclose(passes[:, 3], (2 / 6 - 1 / 6) * 2 / 6, rtol=1e-6)
    used = touched([4] * 6, 1, block=range(6), kind=ATOMIC)
    passes = l2_answer.answer(used, 6, 1 << 20, 1, Sharing()).passes
    assert passes[:, 3].tolist() == [1.0] * 6


@pytest.mark.parametrize("sms", [1, 4])
def test_a_fetch_that_several_sms_use_falls_to_one_of_them(sms: int) -> None:
    n = 4000
    block = np.repeat(np.arange(sms), n)
    whose = np.where(block == 0, 0, ELSEWHERE)
    used = touched(np.tile(np.arange(n), sms), 0b0011, block=block, kind=READ, entry=whose)
    found = l2_answer.answer(used, sms, 1 << 20, sms, Sharing())
    assert np.count_nonzero(found.arrivals == -1) == pytest.approx(n / sms, rel=0.1)
