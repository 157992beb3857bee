"""Comparing results."""

from __future__ import annotations

import pytest

from tests.report.results import launch
from warplens.analysis.compare import compare, failures, threshold
from warplens.errors import InputError
from warplens.report.comparison import comparison_page
from warplens.result import Result, Value


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
