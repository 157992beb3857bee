"""Comparisons: why two launches differ, and the HTML page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.html import checks
from tests.html.axe import findings
from tests.html.browser import CHROMIUM
from tests.report.results import SOURCE, launch
from warplens.analysis.compare import compare
from warplens.cli.main import main
from warplens.report.comparison_html import comparison_html
from warplens.result import Result, SourceColumn, Value, save


def result(time: float, sectors: int, excess: int, **changes: object) -> Result:
    """A launch with a time, sectors and an excess at its first instruction."""
    metrics = {
        "gpu__time_duration.sum": Value(time, "ns", "model"),
        "memory_l2_theoretical_sectors_global": Value(sectors, "sector", "exact"),
        "smsp__inst_executed.sum": Value(100, "inst", "exact"),
    }
    column = SourceColumn(heading="L2 Theoretical Sectors Global Excessive", metric="e",
                          unit="sector", basis="exact", values=(excess, 0))  # fmt: skip
    source = replace(SOURCE, columns=(*SOURCE.columns, column))
    return Result(launches=(launch(metrics=metrics, source=source, **changes),))


FAST, SLOW = result(2000, 1024, 0), result(6000, 4096, 3072)


def test_reasons() -> None:
    """Time, the counts behind it, and the source line that changed; nothing about what is equal."""
    (pair,) = compare(SLOW, FAST).launches

    assert pair.reasons == (
        "3.00 times as fast (modelled duration 6.00 us -> 2.00 us).",
        "sectors of global accesses: 4,096 -> 1,024 (-75 %).",
        "L2 Theoretical Sectors Global Excessive: 3,072 -> 0, mostly at k.cu:4.",
    )
    assert compare(FAST, SLOW).launches[0].reasons[0].startswith("3.00 times as slow")
    (same,) = compare(FAST, FAST).launches
    assert same.reasons == ("Modelled duration about equal: 2.00 us -> 2.00 us.",)


def test_other_names_and_gpus() -> None:
    """Two single launches are a pair even if the kernel was renamed, and the GPU is told."""
    (pair,) = compare(SLOW, result(6000, 4096, 3072, function_name="other", gpu="H200")).launches

    assert pair.before and pair.after
    assert pair.reasons[0] == "Different GPUs: RTX 4060 -> H200."


def test_html() -> None:
    """The page is well-formed, self-contained and escaped."""
    evil = result(1, 2, 0, kernel_name="<script>alert(1)</script>")
    page = comparison_html(compare(SLOW, evil), ("<b>failed</b>",))
    tree = checks.Tree(page)

    assert tree.problems == [] and checks.outside(page) == []
    assert "script" not in {tag for tag, _, _ in tree.elements}
    assert "&lt;b&gt;failed" in page and "-75.0 %" not in page
    assert "-99.95" in page or "-100.0 %" in page


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_axe(tmp_path: Path) -> None:
    """The accessibility checker finds nothing on the page."""
    assert findings(comparison_html(compare(SLOW, FAST)), tmp_path) == []


def test_command(tmp_path: Path) -> None:
    """The verb writes text, JSON and HTML; a limit is exit status 1."""
    for name, one in (("a", FAST), ("b", SLOW)):
        save(one, tmp_path / name)
    sides = [str(tmp_path / "a"), str(tmp_path / "b")]

    assert main(["compare", *sides, "--format", "html", "-o", str(tmp_path / "c.html")]) == 0
    assert "3.00 times as slow" in (tmp_path / "c.html").read_text()
    assert main(["compare", *sides, "--format", "json"]) == 0
    assert main(["compare", *sides, "--fail", "smsp__inst_executed.sum:1%"]) == 0
    assert main(["compare", *sides, "--fail", "gpu__time_duration.sum:5%"]) == 1
