"""NVTX ranges: filters, and a program's ranges in its timeline."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.programs.conftest import HERE, WARPLENS
from warplens.errors import InputError
from warplens.programs.ranges import Active, RangeFilter

_INSIDE = Active({"": ("a", "b", "c"), "lib": ("x",)}, {"": frozenset({"one", "two"})})


@pytest.mark.parametrize(("text", "keeps"), [
    ("a/", True), ("b/", True), ("d/", False), ("[a", True), ("[b", False), ("c]", True),
    ("b]", False), ("a/b", True), ("a/c", False), ("a/+/c", True), ("a/*/c", True),
    ("[a/*/c]", True), ("[a/c]", False), ("b/*/a", False), ("regex:^[bd]$/", True),
    ("lib@x/", True), ("lib@a/", False), ("one", True), ("one,two", True), ("one,three", False),
    ("x", False), ("lib@one", False), ("regex:t.o", True),
])  # fmt: skip
def test_filters(text: str, keeps: bool) -> None:
    """Delimiters, ends of the stack and quantifiers mean what Nsight Compute documents."""
    assert RangeFilter.of(text).keeps(_INSIDE) is keeps


@pytest.mark.parametrize("text", ["", "lib@", "/", "regex:(/"])
def test_broken_filters(text: str) -> None:
    """An expression without a range or with a broken pattern is refused."""
    with pytest.raises(InputError):
        RangeFilter.of(text)


@pytest.mark.long
def test_a_program(tmp_path: Path) -> None:
    """A program with NVTX's headers: its ranges are summed, and choose its launches."""
    path = tmp_path / "ranges"
    subprocess.run([*WARPLENS, "build", str(HERE / "ranges.cu"), "-o", str(path)], check=True)
    profile = [*WARPLENS, "profile"]

    done = subprocess.run([*profile, "--report", "nvtx_sum", "--json", str(path)], check=True,
                          capture_output=True, text=True)  # fmt: skip
    table = json.loads(done.stdout)["nvtx_sum"]
    shown = subprocess.run(
        [*profile, "--nvtx-include", "outer/", "--nvtx-include", "solver@step]", "--timing", "off",
         str(path)], capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip

    assert {(row["Style"], row["Range"]) for row in table} == {
        ("PushPop", ":outer"), ("PushPop", ":inner \u00e9"), ("PushPop", "solver:step"),
        ("StartEnd", ":whole"),
    }  # fmt: skip
    assert "levels 0 1, cudaSuccess" in done.stderr
    assert [name for name in ("alone", "in_outer", "in_inner", "in_domain", "in_started")
            if f"{name}(int*)" in shown] == ["in_outer", "in_inner", "in_domain"]  # fmt: skip
