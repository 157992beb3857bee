"""The `warplens occupancy` verb, its sweeps and plots, and the recompiling sweep."""

from __future__ import annotations

import argparse
import json
import pathlib
from dataclasses import dataclass, replace

import pytest

from warplens.cli import occupancy as verb
from warplens.errors import InputError
from warplens.gpus import find_gpu
from warplens.occupancy_calculator.curve import curve
from warplens.occupancy_calculator.occupancy import occupancy
from warplens.occupancy_calculator.sweep import sweep


def call(*words: str) -> int:
    """Parses and runs the verb as the command does."""
    parser = argparse.ArgumentParser(prog="warplens")
    verb.add_parser(parser.add_subparsers())
    return verb.run(parser.parse_args(["occupancy", *words]))


def test_by_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    """The text names blocks, warps, the limiter and the next step."""
    code = call(*"--gpu H100 --threads 256 --registers 40 --static-shared 8192".split())
    text = capsys.readouterr().out

    assert code == 0
    assert "6 blocks, 48 of 64 warps per SM, occupancy 75 %" in text
    assert "8 fewer registers (32): 75 % -> 100 %" in text


def test_json_is_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """--json prints what `occupancy` returns, the steps and the sweep."""
    call(*"--gpu A100 --threads 16,32 --registers 33 --json --sweep registers".split())
    (entry,) = json.loads(capsys.readouterr().out)

    assert (entry["blocks"], entry["occupancy"], entry["limiters"]) == (3, 0.75, ["registers"])
    assert entry["limit_barriers"] is None
    assert entry["up"][0]["value"] == 32
    assert [r["first"] for r in entry["sweep"]["ranges"]] == [1, 33, 41, 65, 129]


def test_several_gpus_are_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """One row per GPU with its occupancy and its next step."""
    call(*"--gpu A100 --gpu H200 --gpu 4090 --block 256 --registers 70".split())
    head, *rows = capsys.readouterr().out.splitlines()

    assert "occupancy" in head and len(rows) == 3
    assert "RTX 4090" in rows[2] and "50.0 %" in rows[2] and "6 fewer registers" in rows[2]


@pytest.mark.parametrize("axis", ["block", "registers", "shared"])
def test_sweeps_mark_the_present_point(axis: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The terminal shows the plot, the marked value and the ranges with exactly one marked."""
    options = "--gpu H200 --block 96 --registers 50 --dynamic-shared 9000 --cluster 4 --sweep"
    call(*options.split(), axis)
    text = capsys.readouterr().out
    present = {"block": 96, "registers": 50, "shared": 9000}[axis]

    assert f"^ {present} (" in text and text.count("<- here") == 1 and "█" in text


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_plot_files(ending: str, tmp_path: pathlib.Path) -> None:
    """A picture with axis titles is written once and overwritten only with -f."""
    pytest.importorskip("matplotlib")
    file = tmp_path / f"cliff.{ending}"
    words = f"--block 128 --registers 40 --sweep registers --plot {file}".split()

    assert call(*words) == 0 and file.stat().st_size > 1000
    with pytest.raises(InputError, match="exists"):
        call(*words)
    assert call(*words, "-f") == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--block 96", "--registers is missing"),
        ("--block 0,x --registers 3", "--block"),
        ("--block 2000 --registers 30", "threads per block"),
        ("--block 64 --registers 30 --plot a.svg", "--plot needs --sweep"),
        ("--block 64 --registers 30 --sweep block --plot a.gif", "a plot is a .svg or .png"),
        ("k.cu --block 64", "-k is missing"),
        ("k.cu -k scale --block 64 --registers 30", "contradicts k.cu"),
        ("--block 64 --registers 30 --gpu nosuch", "no GPU named"),
    ],
)
def test_bad_calls_say_what_to_do(words: str, message: str) -> None:
    """Each is a typed error."""
    from warplens.errors import WarplensError

    with pytest.raises(WarplensError, match=message):
        call(*words.split())


def test_curve_ranges_are_exact() -> None:
    """The ends of every range really have its occupancy, and the next value has not."""
    point = {"threads": 128, "registers": 40, "static_shared": 1000, "dynamic_shared": 20000}
    found = curve("RTX 4090", "shared", **point)

    assert sum(entry.is_present for entry in found.ranges) == 1
    for entry, following in zip(found.ranges, found.ranges[1:], strict=False):
        assert following.first == entry.last + 1
        assert following.occupancy != entry.occupancy
        for value, expected in ((entry.last, entry), (following.first, following)):
            answer = occupancy("RTX 4090", **{**point, "dynamic_shared": value})
            assert answer.blocks == expected.blocks


@dataclass(frozen=True)
class Line:
    """One instruction."""

    opcode: str


@dataclass(frozen=True)
class Compiled:
    """A kernel as a compiler would return it."""

    name: str = "k"
    registers: int = 80
    static_shared: int = 0
    n_barriers: int = 1
    local_bytes: int = 0
    instructions: tuple[Line, ...] = (Line("FFMA"), Line("EXIT"))


def test_the_recompiling_sweep_shows_spills_and_occupancy() -> None:
    """Each cap is compiled once; the best variant spills least, then holds most warps."""
    asked: list[int | None] = []

    def compile_variant(cap: int | None) -> Compiled:
        asked.append(cap)
        if cap is None or cap >= 80:
            return Compiled()
        spills = (Line("STL"), Line("LDL"), Line("LDL"))
        return replace(Compiled(), registers=cap, local_bytes=16, instructions=spills)

    table = sweep(
        compile_variant, find_gpu("H200"), maxrregcount=(None, 64, 32), block=(128, (32, 8))
    )
    rows = table.rows()

    assert asked == [None, 64, 32] and len(table) == 6
    assert [row["registers"] for row in rows[::2]] == [80, 64, 32]
    assert [row["occupancy"] for row in rows[::2]] == [0.375, 0.5, 1.0]
    assert (rows[2]["local_loads"], rows[2]["local_stores"], rows[2]["stack_bytes"]) == (2, 1, 16)
    assert table.best.maxrregcount is None and "32x8" in str(table)
    with pytest.raises(InputError):
        sweep(compile_variant, find_gpu("H200"), maxrregcount=(8,))
