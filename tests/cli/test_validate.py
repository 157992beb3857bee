"""`warplens validate` by one process and by two: the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from warplens.cli.main import main

CASES = Path(__file__).parents[2] / "validation" / "timing" / "h200_ends.json"


def lines(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """What it prints."""
    assert main(["validate", *options]) == 0
    return capsys.readouterr().out


def test_a_case(capsys: pytest.CaptureFixture[str]) -> None:
    """A line beside the measured time, and the summary."""
    name = json.loads(CASES.read_text())["cases"][0]["name"]
    text = lines(capsys, str(CASES), "--kernel", name, "--processes", "1")

    assert text.startswith("h200_ends") and name in text
    assert "gpu__time_duration.sum of 1 cases" in text


@pytest.mark.long
def test_two_processes_print_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """Cases of other kernels are on a device of their own, whoever predicts them."""
    options = (str(CASES), "--kernel", "8/8", "--csv")

    one, two = (lines(capsys, *options, "--processes", number) for number in "12")

    assert one == two
