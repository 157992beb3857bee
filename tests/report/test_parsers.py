"""What two public parsers of Nsight Compute's CSV expect, met by our pages.

brycelelbach/nsightful turns the details page into Markdown. VerticalResearchGroup/casio reads raw
pages into numeric tables. Their expectations are restated here; none of their code is.
"""

from __future__ import annotations

import csv
import io

import pytest

from tests.report.results import RESULT, launch
from warplens.metrics.registry import all_sections
from warplens.report.csv import details_csv, raw_csv
from warplens.report.options import PrintOptions
from warplens.result import Result

# Section names that nsightful knows: titles of metric rows, identifiers of rules.
NSIGHTFUL = frozenset({
    "GPU Speed Of Light Throughput", "SpeedOfLight", "SpeedOfLight_RooflineChart",
    "Memory Workload Analysis", "MemoryWorkloadAnalysis", "MemoryWorkloadAnalysis_Chart",
    "MemoryWorkloadAnalysis_Tables", "Compute Workload Analysis", "ComputeWorkloadAnalysis",
    "GPU and Memory Workload Distribution", "Scheduler Statistics", "SchedulerStats",
    "Warp State Statistics", "WarpStateStats", "Instruction Statistics", "Launch Statistics",
    "PM Sampling", "Occupancy", "Source Counters", "SourceCounters",
})  # fmt: skip
CASIO_HEAD = '"ID","Process ID","Process Name",'


@pytest.mark.parametrize("separators", [False, True])
def test_nsightful(separators: bool) -> None:
    """A DictReader from the first line on; every row has a string for section, metric and rule.

    It strips the metric's name and the rule's name of every row, so neither may be missing: a
    metric row needs the comma at its end. It groups by what stands before the parameter list.
    """
    options = PrintOptions(units="base", separators=separators)
    metrics: dict[tuple[str, str], str] = {}
    rules: list[tuple[str, str, str, str, str]] = []
    for row in csv.DictReader(io.StringIO(details_csv(RESULT, options))):
        assert row["Kernel Name"].split("(")[0].split("[")[0].strip() == "void k<float>"
        section = row["Section Name"]
        assert section in NSIGHTFUL
        if row["Metric Name"].strip():
            metrics[section, row["Metric Name"]] = row["Metric Value"].strip()
            assert row["Metric Unit"].strip() == row["Metric Unit"]
        if row["Rule Name"].strip():
            names = ("Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type",
                     "Estimated Speedup")  # fmt: skip
            name, tag, text, kind, speedup = (row[column].strip() for column in names)
            rules.append((name, tag, text, kind, speedup))

    elapsed = metrics["GPU Speed Of Light Throughput", "Elapsed Cycles"]
    assert float(elapsed.replace(",", "")) == 51058
    assert rules[0] == ("SOLBottleneck", "OPT", 'Look at "DRAM" first.', "global", "98.86")
    assert rules[1][1] == "INF" and rules[1][4] == ""


def test_nsightful_knows_our_sections() -> None:
    """Every section of ncu's `full` set that nsightful files has the same name here."""
    ours = {name for spec in all_sections() for name in (spec.identifier, spec.title)}

    assert ours >= NSIGHTFUL


@pytest.mark.parametrize("separators", [False, True])
def test_casio(separators: bool) -> None:
    """The heading begins with three known columns; the row of units follows; then numbers.

    Lines before the heading are skipped, the one after it too; commas inside numbers are removed.
    """
    result = Result(launches=(launch(0), launch(1)))
    text = "==PROF== Connected to process 1\nhello\n" + raw_csv(
        result, PrintOptions(units="base", separators=separators)
    )
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(CASIO_HEAD))
    table = list(csv.DictReader([lines[first], *lines[first + 2 :]]))

    assert [row["Kernel Name"] for row in table] == ["void k<float>(T1 *, int)"] * 2
    for name in ("gpu__time_duration.sum", "gpc__cycles_elapsed.max", "launch__grid_size"):
        assert all(float(row[name].replace(",", "")) > 0 for row in table)
