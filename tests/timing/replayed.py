"""What a replay did, cycle by cycle, for comparison with clocks that hardware recorded."""

from __future__ import annotations

import base64
import importlib
import json
import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from warplens.session.written_arguments import parse
from warplens.timing.launch_timing import LaunchTiming
from warplens.timing.question import Replay
from warplens.timing.ranges import Range
from warplens.timing.stall import SELECTED

VALIDATION = Path(__file__).parents[2] / "validation"
RECORDER = VALIDATION / "recorder"
GPU, CLOCK_MHZ = "H100 SXM5", 1980  # of the recordings that do not say another
CYCLES, TIME = "sm__cycles_active.avg", "gpu__time_duration.sum"


@contextmanager
def recorder_script(name: str) -> Iterator[Any]:
    """A module of validation/recorder, which finds its neighbours by their names alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(RECORDER))
        yield importlib.import_module(name)


def recording(name: str) -> dict[str, Any]:
    """What validation/data/NAME_sm90.json holds."""
    found: dict[str, Any] = json.loads((VALIDATION / "data" / f"{name}_sm90.json").read_text())
    return found


def recorded_rows(name: str, keys: int) -> dict[tuple[Any, ...], dict[str, float]]:
    """A recording's rows by their first `keys` columns."""
    data = recording(name)
    return {tuple(row[:keys]): dict(zip(data["columns"], row, strict=True)) for row in data["rows"]}


def recorded_module(data: dict[str, Any]) -> wl.Module:
    """The machine code that a recording has kept."""
    cubin = lzma.decompress(base64.b64decode(data["cubin_xz_base64"]))
    return wl.Device(GPU, clock=CLOCK_MHZ).load(cubin)


@cache
def recorder_kernels(name: str, gpu: str = GPU) -> wl.Module:
    """A recorder's own kernels, compiled."""
    source = (RECORDER / "kernels" / f"{name}.cu").read_text()
    return wl.Device(gpu, clock=CLOCK_MHZ).compile(source)


def over_recorded(name: str, case: dict[str, Any], metric: str = TIME) -> float:
    """The predicted time of a recorded launch of a recorder's kernels over the H200's, less 1; or
    another metric."""
    kernel = recorder_kernels(name, "H200")[case["kernel"]]
    given = [parse(text, seed=index) for index, text in enumerate(case["arguments"])]
    launch = kernel.predict[tuple(case["grid"]), tuple(case["block"])](*given)
    return float(launch.metric(metric)) / case["measured"][metric] - 1.0


def waits_of(launch: Any, recorded: dict[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """What warps wait for, as replayed and as recorded."""
    waits = {name: value for name, value in recorded.items() if "issue_stalled" in name}
    return {name: float(launch.metric(name)) for name in waits}, waits


def assert_as_counted(
    launch: Any, recorded: dict[str, float], *, cycles: float, states: float
) -> None:
    """Cycles within a part of those recorded, each state within a share of all waits."""
    assert float(launch.metric(CYCLES)) == pytest.approx(recorded[CYCLES], rel=cycles)
    here, waits = waits_of(launch, recorded)
    for name, value in waits.items():
        share = here[name] / sum(here.values())
        assert share == pytest.approx(value / sum(waits.values()), abs=states), name


def behind_itself(launch: Any) -> LaunchTiming:
    """The timing of a launch whose lines L2 holds, since the same launch has been before it."""
    timing = launch.timing
    assert isinstance(timing, LaunchTiming)
    question = replace(timing.question, held=(Range(0, 1 << 62, near=True),))
    return LaunchTiming(question, timing.sample, timing._unlimited_blocks)


def events_of(timing: Any, limit: int) -> Any:
    """Rows (slot of a warp, begin, end, reason, pc, warp of the sample) of one SM, fewer than the
    limit; `timing` is a launch's."""
    assert isinstance(timing, LaunchTiming)
    replay: Replay = timing.model.replay(events=limit)
    known = replay.counts.events[: int(replay.sm["n_events"])]
    assert 0 < len(known) < limit
    return known


def clock_reads(kernel: wl.Kernel, warps: int, *arguments: Any) -> Any:
    """Per warp of one block the cycles in which it reads the clock, ascending."""
    events = events_of(kernel.predict[1, 32 * warps](*arguments)._timing, 1_000_000)
    reads = [i for i, one in enumerate(kernel.sass.instructions) if "SR_CLOCK" in one.text]
    mine = events[(events[:, 3] == SELECTED) & np.isin(events[:, 4], reads)]
    return np.array([np.sort(mine[mine[:, 5] == w, 1]) for w in range(warps)])


def waits_between(launch: wl.Launch, kernel: wl.Kernel, first: int, rounds: int) -> Any:
    """Cycles from the kernel's `first` place that reads the clock to the next such place, (warp of
    one SM, round), of the first rounds."""
    events = events_of(launch._timing, 3_000_000)
    places = [i for i, one in enumerate(kernel.sass.instructions) if "SR_CLOCK" in one.text]
    issued = events[events[:, 3] == SELECTED]
    return np.array([
        np.diff([np.sort(issued[(issued[:, 4] == place) & (issued[:, 5] == warp), 1])[:rounds]
                 for place in places[first : first + 2]], axis=0)[0]
        for warp in np.unique(issued[:, 5])
    ])  # fmt: skip
