"""What a replay did, cycle by cycle, for comparison with clocks that hardware recorded."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from warplens.timing.launch_timing import LaunchTiming
from warplens.timing.question import Replay
from warplens.timing.ranges import Range
from warplens.timing.stall import SELECTED


@contextmanager
def recorder_script(name: str) -> Iterator[Any]:
    """A module of validation/recorder, which finds its neighbours by their names alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[2] / "validation" / "recorder"))
        yield importlib.import_module(name)


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
