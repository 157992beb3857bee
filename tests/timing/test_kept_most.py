"""Additions to few words, and loops that keep the most, as recorded on an H200."""

from __future__ import annotations

import re
import statistics
from typing import Any

import pytest

from tests.timing.replayed import recorder_kernels, recording
from warplens.session.written_arguments import parse
from warplens.timing.retries import retries
from warplens.timing.state import KEEPS, SEEKS

TIME = "gpu__time_duration.sum"
CASES = {case["name"]: case for case in recording("kept_most")["cases"]}


def over_recorded(case: dict[str, Any]) -> float:
    """The predicted time over the recorded one, less 1."""
    kernel = recorder_kernels("scattered_adds", "H200")[case["kernel"]]
    given = [parse(text, seed=index) for index, text in enumerate(case["arguments"])]
    launch = kernel.predict[tuple(case["grid"]), tuple(case["block"])](*given)
    return float(launch.metric(TIME)) / case["measured"][TIME] - 1.0


@pytest.mark.parametrize("kernel", ["add_int", "add_float", "add_long", "add_double"])
def test_few_words_are_added_to_as_quickly(kernel: str) -> None:
    """384 bytes a third quicker than 256, 512 twice as quick: two slices of L2 take turns."""
    words = (1, 6, 32, 64, 128) if kernel in ("add_int", "add_float") else (1, 4, 16, 48, 64)
    errors = [over_recorded(CASES[f"{kernel}/{n}/132x256/64"]) for n in words]
    assert max(map(abs, errors)) < 0.15, errors


@pytest.mark.parametrize("kernel", ["add_float", "add_double"])
def test_single_lanes_wait_for_those_of_their_sector(kernel: str) -> None:
    errors = [over_recorded(CASES[f"{kernel}/{n}/1056x1/64"]) for n in (1, 16, 32)]
    assert max(map(abs, errors)) < 0.15, errors


def test_loops_that_keep_the_most_are_told() -> None:
    kernels = recorder_kernels("scattered_adds", "H200")
    found = {name: retries(kernels.sass(name)) for name in ("keep_float", "keep_double")}
    assert set(found.values()) == {KEEPS}
    assert retries(kernels.sass("seek_float")) == SEEKS


@pytest.mark.parametrize("shape", ["16x256/16", "132x256/16", "1056x32/1"])
def test_the_most_is_kept_as_quickly(shape: str) -> None:
    """Predicted as if each lane failed as often as there are others, they took 40 to 300 times as
    long."""
    error = over_recorded(CASES[f"keep_float/1/{shape}"])
    assert abs(error) < 0.4, error


@pytest.mark.long
def test_most_of_them_are_close() -> None:
    errors = {name: over_recorded(case) for name, case in CASES.items()}
    added = [abs(error) for name, error in errors.items() if name.startswith("add_")]
    kept = [abs(error) for name, error in errors.items() if re.match("keep|seek", name)]
    assert statistics.mean(added) < 0.1
    assert statistics.mean(kept) < 0.4
