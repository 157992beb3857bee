"""Every command of docs/errata.md runs and prints what the page says."""

from __future__ import annotations

import contextlib
import io
import pathlib
import re
import shlex

import pytest

from warplens.cli.main import main

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "errata.md"
ROW = re.compile(r"^\| (\d+) \| .* \| `(.+)` → `(.+)` \|$")
ROWS = [match.groups() for line in PAGE.read_text().splitlines() if (match := ROW.match(line))]
ARTICLES = {
    "execution-model article",
    "occupancy chapter",
    "reduction article",
    "tuning article",
    "SM chapter",
}


@pytest.mark.parametrize(("number", "command", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_the_command_prints_what_the_page_says(number: str, command: str, expected: str) -> None:
    """The command is a `warplens` call or a Python one-liner; it prints that."""
    program, *words = shlex.split(command)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        if program == "warplens":
            assert main(words) == 0
        else:
            option, code = words
            assert (program, option) == ("python", "-c")
            exec(compile(code, f"errata row {number}", "exec"), {"__name__": "__main__"})

    lines = output.getvalue().splitlines()
    assert expected in (output.getvalue() if program == "warplens" else lines)


def test_rows_are_numbered_and_name_their_article() -> None:
    """At least 86 claims, numbered without gaps, each with one of the five articles."""
    lines = [line for line in PAGE.read_text().splitlines() if re.match(r"^\| \d+ \|", line)]

    assert len(lines) == len(ROWS) >= 86
    assert [int(row[0]) for row in ROWS] == list(range(1, len(ROWS) + 1))
    assert all(line.split(" | ")[1] in ARTICLES for line in lines)
