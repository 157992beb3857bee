"""Additions to few words, and loops that keep the most or sum, as recorded on an H200."""

from __future__ import annotations

import re
import statistics

import numpy as np
import pytest

import warplens as wl
from tests.timing.replayed import CYCLES, TIME, over_recorded, recorder_kernels, recording
from warplens.timing.retries import retries
from warplens.timing.state import KEEPS, SEEKS

KERNELS = "scattered_adds"
CASES = {case["name"]: case for case in recording("kept_most")["cases"]}
TWO_WORDS = {case["name"]: case for case in recording("waves")["cases"]}
SUMS = {case["name"]: case for case in recording("summed_in_loops")["cases"]}


@pytest.mark.parametrize("kernel", ["add_int", "add_float", "add_long", "add_double"])
def test_few_words_are_added_to_as_quickly(kernel: str) -> None:
    """384 bytes a third quicker than 256, 512 twice as quick: two slices of L2 take turns."""
    words = (1, 6, 32, 64, 128) if kernel in ("add_int", "add_float") else (1, 4, 16, 48, 64)
    errors = [over_recorded(KERNELS, CASES[f"{kernel}/{n}/132x256/64"]) for n in words]
    assert max(map(abs, errors)) < 0.15, errors


@pytest.mark.parametrize("kernel", ["add_float", "add_double"])
def test_single_lanes_wait_for_those_of_their_sector(kernel: str) -> None:
    errors = [over_recorded(KERNELS, CASES[f"{kernel}/{n}/1056x1/64"]) for n in (1, 16, 32)]
    assert max(map(abs, errors)) < 0.15, errors


@pytest.mark.parametrize("kernel", ["add_int", "add_float"])
@pytest.mark.parametrize("shape", ["132x1", "1056x1", "132x256"])
def test_sms_end_before_the_slice_that_they_add_to(kernel: str, shape: str) -> None:
    """After a quarter of the time where all that they add waits outside, a half, nearly all."""
    error = over_recorded(KERNELS, CASES[f"{kernel}/1/{shape}/64"], CYCLES)
    assert abs(error) < 0.1, error


@pytest.mark.parametrize("case", ["8/132x256", "256/1056x32", "4096/325x256"])
def test_sms_end_before_whole_warps_have_added(case: str) -> None:
    """The last ones of a grid that some SMs have more blocks of end with it."""
    for metric, most in ((TIME, 0.06), (CYCLES, 0.1)):
        error = over_recorded("waves", TWO_WORDS[f"add/{case}"], metric)
        assert abs(error) < most, (metric, error)


def test_loops_that_keep_the_most_are_told() -> None:
    kernels = recorder_kernels("scattered_adds", "H200")
    found = {name: retries(kernels.sass(name)) for name in ("keep_float", "keep_double")}
    assert set(found.values()) == {KEEPS}
    assert retries(kernels.sass("seek_float")) == SEEKS


@pytest.mark.parametrize("shape", ["16x256/16", "132x256/16", "1056x32/1"])
def test_the_most_is_kept_as_quickly(shape: str) -> None:
    """Predicted as if each lane failed as often as there are others, they took 40 to 300 times as
    long."""
    error = over_recorded(KERNELS, CASES[f"keep_float/1/{shape}"])
    assert abs(error) < 0.4, error


@pytest.mark.parametrize("case", ["1/1/16x256", "1/1/132x256", "1/4/132x256", "1/32/1056x256"])
def test_sums_take_as_long_however_many_lanes_add(case: str) -> None:
    """4,096 to 33,792 lanes on a word, all of a warp's or one of them."""
    error = over_recorded(KERNELS, SUMS[f"sum_float/{case}"])
    assert abs(error) < 0.25, error


@pytest.mark.parametrize(
    "case", ["1/1/1x256", "1/256/1056x32", "64/32/132x256", "64/32/1056x32", "1/32/4096x256"]
)
def test_lanes_that_contend_are_those_of_a_word(case: str) -> None:
    """Of one block, of every eighth one, on 64 words, and of blocks that follow others: they took
    from 0.2 to 9 times as long."""
    error = over_recorded(KERNELS, SUMS[f"sum_float/{case}"])
    assert abs(error) < 0.3, error


ADDS = """
extern "C" __global__ void adds(float* word, float more) {
    unsigned *at = (unsigned*)word, old = *at, expected;
    do {
        expected = old;
        old = atomicCAS(at, expected, __float_as_uint(__uint_as_float(expected) + more));
    } while (expected != old);
}
"""


def test_lanes_that_leave_a_word_as_it_was_make_none_try_again() -> None:
    adds = wl.Device("H200").compile(ADDS)["adds"].predict[132, 256]
    of_none, of_ones = (
        adds(np.zeros(1, np.float32), np.float32(more)).metric("gpu__time_duration.sum")
        for more in (0, 1)
    )
    assert of_none < 0.05 * of_ones


@pytest.mark.long
def test_most_of_them_are_close() -> None:
    errors = {name: over_recorded(KERNELS, case) for name, case in CASES.items()}
    added = [abs(error) for name, error in errors.items() if name.startswith("add_")]
    kept = [abs(error) for name, error in errors.items() if re.match("keep|seek", name)]
    assert statistics.mean(added) < 0.1
    assert statistics.mean(kept) < 0.4
