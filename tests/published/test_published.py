"""Published cases: the registry, the comparison, and a few cases run."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import ModuleType

import pytest

from tests.in_turn import one_in
from warplens.cli._launch_arguments import parse
from warplens.cli._published import Row, ladder_lines, part_lines
from warplens.validation.published import Case, judge, read_published, run_published

FOLDER = Path(__file__).parent.parent.parent / "validation" / "published"
FILES = sorted(FOLDER.glob("*.toml"))


def module(name: str) -> ModuleType:
    """A script beside the case files."""
    spec = importlib.util.spec_from_file_location(f"published_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def case_of(source: str, name: str) -> Case:
    """One case by name."""
    return next(c for c in read_published(FOLDER / f"{source}.toml") if c.name == name)


def test_half_of_the_sources_is_held_back() -> None:
    held = module("split").validation_sources()
    assert len(held) == len(FILES) // 2
    for path in FILES:
        for case in read_published(path):
            assert case.part == ("validation" if case.source in held else "tuning")


def test_enough_cases_with_times_and_counts() -> None:
    cases = [case for path in FILES for case in read_published(path)]
    assert len({case.title for case in cases}) == len(cases)
    single = [case for case in cases if not case.common_factor]
    assert sum(case.time_ns is not None for case in single) >= 50
    assert sum(bool(case.counters) for case in single) >= 40
    for card in ("A100", "A4000", "A6000"):
        assert sum(case.common_factor and case.ladder == card for case in cases) == 60


def test_every_source_says_where_it_is() -> None:
    for path in FILES:
        text = path.read_text()
        assert all(f"{key} = " in text for key in ("title", "url", "commit", "date", "note")), path


@pytest.mark.parametrize(
    ("ours", "published", "verdict"),
    [(2.6667, "2.67", "equal"), (3.5, "2.67", "differs"), (110, "100", "noise"), (120, "100",
     "differs"), (None, "3", "differs")],
)  # fmt: skip
def test_counts_are_compared_to_the_printed_digits(
    ours: float | None, published: str, verdict: str
) -> None:
    case = replace(case_of("eduardo4jesus", "hw4-row_sums"), noise={"a": 0.1}, causes={"b": "why"})
    assert judge(case, "a", ours, Decimal(published)).verdict == verdict
    if verdict == "differs":
        assert judge(case, "b", ours, Decimal(published)).verdict == "explained"


@pytest.mark.parametrize(("source", "name"), one_in(
    2, [("albresky", "layernorm-bsum"), ("albresky", "batchnorm-mean"),
     ("eduardo4jesus", "hw5-reduce_ws-163840"), ("eduardo4jesus", "hw8-smem-padded")],
    lambda case: "-".join(map(str, case)), first=1, several=True,
))  # fmt: skip
def test_cases_give_what_is_recorded(source: str, name: str) -> None:
    """A few cases are run: counts as on the documentation's page, the time within 2 %."""
    case = case_of(source, name)
    recorded = next(row for row in module("page").rows() if row.case.title == case.title)
    (outcome,) = run_published([case], parse)
    row = Row.from_outcome(outcome)
    assert row.counts == recorded.counts
    assert not case.time_ns or abs(row.predicted / recorded.predicted - 1.0) < 0.02


def test_summaries() -> None:
    case = replace(case_of("leimao", "V00"), counters={}, time_ns=100.0)
    rows = [
        Row(case=case, predicted=p, published=q, counts=(), problem="")
        for p, q in ((50.0, 100.0), (100.0, 200.0), (300.0, 300.0))
    ]
    (text,) = part_lines(rows)
    assert "3 published times: mean error 33.3%, median 50.0%" in text
    assert "Spearman 1.00, Kendall 1.00" in next(ladder_lines(rows))
    scaled = [replace(row, case=replace(case, common_factor=True)) for row in rows]
    assert "factor of 2.00 mean error 33.3%; the predicted best is 0.0%" in next(
        ladder_lines(scaled)
    )


def test_the_page_shows_what_was_recorded() -> None:
    page = FOLDER.parent.parent / "docs" / "published.md"
    assert page.read_text(encoding="utf-8") == module("page").page()
