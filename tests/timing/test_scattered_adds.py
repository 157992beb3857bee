"""Lanes that add to words drawn by lot, or exchange them, against an H200
(`validation/data/scattered_adds_sm90.json`)."""

from __future__ import annotations

import statistics

import pytest

from tests.timing.replayed import over_recorded, recording

KERNELS = "scattered_adds"
CASES = {case["name"]: case for case in recording("scattered_adds")["cases"]}
SIZES = (256, 1024, 2048, 65536, 262144)  # words; between, times there differ by place


@pytest.mark.parametrize("kernel", ["add_int", "add_float", "ask_int"])
def test_all_sms_add_as_quickly(kernel: str) -> None:
    errors = [over_recorded(KERNELS, CASES[f"{kernel}/{words}/132x256"]) for words in SIZES]
    assert max(map(abs, errors)) < 0.12, errors


def test_doubles_on_a_word_take_longer() -> None:
    names = [f"add_double/{words}/132x256" for words in (16, 1024, 65536)]
    errors = [over_recorded(KERNELS, CASES[name]) for name in names]
    assert max(map(abs, errors)) < 0.12, errors


def test_four_lines_lie_in_two_slices() -> None:
    """64 doubles; two lines, 64 floats, in one."""
    for kernel in ("add_double", "add_float"):
        error = over_recorded(KERNELS, CASES[f"{kernel}/64/132x256"])
        assert abs(error) < 0.12, (kernel, error)


@pytest.mark.parametrize("kernel", ["add_int", "ask_int"])
def test_changed_lines_go_back_to_dram(kernel: str) -> None:
    """32 to 96 MB, of which L2 keeps 27 MB changed: 42 to 87 % of what is added goes back."""
    for words in (8388608, 12582912, 25165824):
        error = over_recorded(KERNELS, CASES[f"{kernel}/{words}/264x1024"])
        assert abs(error) < 0.17, (words, error)


@pytest.mark.long
def test_most_additions_and_exchanges_are_close() -> None:
    errors = {name: over_recorded(KERNELS, case) for name, case in CASES.items()}
    assert statistics.mean(map(abs, errors.values())) < 0.14, errors
