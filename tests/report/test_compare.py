"""Comparing results."""

from __future__ import annotations

import pytest

from tests.report.results import launch
from warplens.analysis.compare import compare, failures, threshold
from warplens.errors import InputError
from warplens.report.comparison import comparison_page, several_page
from warplens.report.sass_diff import aligned
from warplens.result import LaunchResult, Result, SourceTable, Value


def result(**values: int | float | None) -> Result:
    """A result with these metrics."""
    metrics = {name: Value(number, "inst", "exact") for name, number in values.items()}
    return Result(launches=(launch(metrics=metrics),))


def test_changes_in_percent() -> None:
    """Growth and shrinking are given in percent of the first."""
    (pair,) = compare(result(a=100, b=5, c=0), result(a=125, b=4, c=0)).launches

    assert {c.metric: c.percent for c in pair.changes} == {"a": 25.0, "b": -20.0, "c": 0.0}


def test_page_shows_only_changes() -> None:
    """Unchanged metrics are left out unless asked for."""
    both = compare(result(same=1, other=2), result(same=1, other=3))

    assert "same" not in comparison_page(both)
    assert "+50.00 %" in comparison_page(both)
    assert "same" in comparison_page(both, show_all=True)
    assert "no difference" in comparison_page(compare(result(a=1), result(a=1)))


def test_launch_on_one_side_only() -> None:
    """A launch without partner is shown, not dropped."""
    page = comparison_page(compare(result(a=1), Result(launches=())))

    assert "(no such launch)" in page


def test_limits() -> None:
    """A limit fails on more growth, on growth from nothing, and when it cannot be checked."""
    both = compare(result(a=100, z=0), result(a=106, z=1))

    assert failures(both, [threshold("a:6%")]) == ()
    assert len(failures(both, [threshold("a:5%")])) == 1
    assert len(failures(both, [threshold("z:5")])) == 1
    assert len(failures(both, [threshold("q:5%")])) == 1


@pytest.mark.parametrize("text", ["a", "a:", "a:x%", ":5%", "a:-5%"])
def test_bad_limit(text: str) -> None:
    """A malformed limit is a typed error."""
    with pytest.raises(InputError):
        threshold(text)


def test_unknown_metric() -> None:
    """Asking for a metric that neither side has is a typed error."""
    with pytest.raises(InputError):
        compare(result(a=1), result(a=1), metrics=["b"])


def test_what_matters_comes_first() -> None:
    """The time leads, then what changed most; a change too small to be shown is left out."""
    before = result(**{"zz": 100, "aa": 100, "gpu__time_duration.sum": 50, "tiny": 1_000_000})
    after = result(**{"zz": 300, "aa": 110, "gpu__time_duration.sum": 51, "tiny": 999_999})
    both = compare(before, after)
    shown = [line.split()[0] for line in comparison_page(both).splitlines() if "00 %" in line]

    assert [c.metric for c in both.launches[0].changes] == [
        "gpu__time_duration.sum", "zz", "aa", "tiny",
    ]  # fmt: skip
    assert shown == ["gpu__time_duration.sum", "zz", "aa"]
    assert "tiny" in comparison_page(both, show_all=True)


@pytest.mark.parametrize(
    ("metric", "grows"),
    [("gpu__time_duration.sum", False), ("l1tex__t_sector_hit_rate.pct", True),
     ("smsp__inst_executed.sum", False), ("launch__grid_size", None),
     ("sm__warps_active.avg.pct_of_peak_sustained_active", True),
     ("smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", False),
     ("smsp__average_warp_latency_per_inst_issued.ratio", False),
     ("smsp__average_warps_active_per_inst_executed.ratio", False),
     ("smsp__issue_active.avg.per_cycle_active", True),
     ("dram__bytes.sum.per_second", True),
     ("dram__bytes.sum", False),
     ("sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active", None),
     ("profiler__pmsampler_buffer_size_bytes", None)],
)  # fmt: skip
def test_better_or_worse(metric: str, grows: bool | None) -> None:
    """A growing time is worse, a growing hit rate better, a larger grid neither."""
    (pair,) = compare(result(**{metric: 1}), result(**{metric: 2})).launches
    (back,) = compare(result(**{metric: 2}), result(**{metric: 1})).launches

    assert pair.changes[0].is_better is grows
    assert back.changes[0].is_better is (None if grows is None else not grows)


def test_several_results() -> None:
    """Three results give a column each and their change against the first."""
    page = several_page(
        [compare(result(a=100, b=1), result(a=150, b=1)),
         compare(result(a=100, b=1), result(a=50, b=1))], ["x", "y", "z"],
    )  # fmt: skip
    row = next(line for line in page.splitlines() if line.startswith("a "))

    assert row.split() == ["a", "inst", "100", "150", "+50.00", "%", "50", "-50.00", "%"]
    assert not any(line.startswith("b ") for line in page.splitlines())


def test_machine_code_side_by_side() -> None:
    """Instructions that differ in registers only stand side by side; others are marked."""

    def code(*sass: str) -> LaunchResult:
        n = len(sass)
        table = SourceTable(addresses=tuple(range(n)), sass=sass, files=(None,) * n,
                            lines=(None,) * n, columns=())  # fmt: skip
        return launch(source=table)

    pairs = aligned(
        code("MOV R1, R2", "FADD R3, R4, R5", "EXIT"),
        code("MOV R7, R8", "FFMA R3, R4, R5, R6", "NOP", "EXIT"),
    )

    assert [pair.mark for pair in pairs] == [" ", "|", ">", " "]
    assert pairs[0].after is not None and pairs[0].after.text == "MOV R7, R8"
