"""The hottest source lines: shares of columns whose sums are known."""

from __future__ import annotations

from dataclasses import replace

from tests.report.results import launch
from warplens.report.hot_lines import cells, hot_lines
from warplens.result import LaunchResult, LineTable, SourceColumn, SourceTable


def _column(metric: str, *values: int) -> SourceColumn:
    return SourceColumn(heading=metric, metric=metric, unit="", basis="exact", values=values)


def _launch(*columns: SourceColumn) -> LaunchResult:
    lines = LineTable(files=("a/k.cu",) * 3, lines=(2, 3, 9), columns=columns)
    source = SourceTable(addresses=(), sass=(), files=(), lines=(), columns=(),
                         sources={"a/k.cu": "\n  one;\n\ttwo;\n"})  # fmt: skip
    return replace(launch(), by_line=lines, source=source)


def test_by_time() -> None:
    """The line with most warp cycles comes first, with its shares and its most frequent state."""
    one = _launch(
        _column("inst_executed", 50, 30, 20),
        _column("memory_l2_theoretical_sectors_global", 0, 12, 4),
        _column("warp_stall_cycles", 10, 80, 10),
        _column("warp_stall_cycles_wait", 10, 20, 0),
        _column("warp_stall_cycles_long_scoreboard", 0, 60, 10),
    )
    first, second, third = hot_lines(one)

    assert cells(first) == ("80.0%", "30.0%", "75.0%", "long_scoreboard", "k.cu:3", "two;")
    assert (second.line, second.stall, second.text) == (2, "wait", "one;")
    assert (third.line, third.text) == (9, "")
    assert [line.line for line in hot_lines(one, 1)] == [3]


def test_without_a_time() -> None:
    """Without a timing model instructions decide; lines that never ran are left out."""
    one = _launch(_column("inst_executed", 10, 0, 30))
    found = hot_lines(one)

    assert [(line.line, line.time, line.sectors) for line in found] == [
        (9, None, None), (2, None, None),
    ]  # fmt: skip
    assert cells(found[0])[:4] == ("-", "75.0%", "-", "-")
