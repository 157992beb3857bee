"""`warplens validate`: predicted against measured times."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warplens.cli._workers import add_workers, runner_for

if TYPE_CHECKING:
    from warplens.validation.measured import Batch, Comparison
    from warplens.validation.published import Case
    from warplens.workers import Runner

EPILOG = """examples:
  warplens validate                                 all case files of validation/timing
  warplens validate validation/timing/h200.json --part validation
  warplens validate validation/published/*.toml     kernels that others measured
  warplens validate --kernel sgemm
  warplens validate --scheduler tcp://host:8786     on the workers of a Dask cluster
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "validate",
        help="compare predicted with measured durations",
        description="Predicts the duration of every case of the case files and prints it beside "
        "the measured one, with mean, median, 90th percentile and maximum of the error.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = parser.add_argument
    option("files", nargs="*", type=Path, metavar="FILE", default=[],
           help="case files (default: all of validation/timing and "
                "validation/published)")  # fmt: skip
    option("--part", choices=("tuning", "validation", "all"), default="all",
           help="cases that constants were fitted to, cases held out, or all (default: "
                "all)")  # fmt: skip
    option("--kernel", default="", metavar="TEXT", help="cases whose name contains TEXT")
    option("--record", type=Path, metavar="FILE",
           help="write the outcome of each published case to a JSON file")  # fmt: skip
    option("--csv", action="store_true", help="print CSV, without the summary")
    add_workers(option)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Executes the verb; returns the exit status."""
    from warplens.cli import _published
    from warplens.cli._launch_arguments import parse
    from warplens.errors import InputError
    from warplens.validation.measured import batches_of

    files = arguments.files or [
        *sorted(Path("validation/timing").glob("*.json")),
        *sorted(Path("validation/published").glob("*.toml")),
    ]
    if not files:
        raise InputError(
            "no case files", hint="Name some, or run this in a checkout of the sources."
        )
    chosen = {"part": arguments.part, "pattern": arguments.kernel}
    published = [file for file in files if file.suffix == ".toml"]
    batches = [
        batch for file in files if file not in published
        for batch in batches_of(file, parse, **chosen)
    ]  # fmt: skip
    cases = _published.cases_of(published, **chosen)
    runner = runner_for(arguments, len(batches) + len(cases))
    try:
        _run_batches(arguments, runner, batches)
        _run_published(arguments, runner, cases)
    finally:
        runner.close()
    return 0


def _run_batches(arguments: argparse.Namespace, runner: Runner, batches: list[Batch]) -> None:
    from warplens.validation.measured import compare, lost
    from warplens.workers import Lost, in_order

    if arguments.csv:
        print("file,case,part,metric,predicted,measured,error")
    everything: list[Comparison] = []
    done = in_order(runner.results(compare, batches))
    for batch, found in zip(batches, done, strict=True):
        for one in lost(batch, found.problem) if isinstance(found, Lost) else found:
            everything.append(one)
            print(_csv(one) if arguments.csv else _line(one), flush=True)
    if not arguments.csv:
        for part in ("tuning", "validation"):
            _summary(part, [one for one in everything if one.part == part])


def _run_published(arguments: argparse.Namespace, runner: Runner, cases: list[Case]) -> None:
    from warplens.cli import _published as shown
    from warplens.validation.published import Outcome
    from warplens.workers import Lost, in_order

    rows = []
    done = in_order(runner.results(shown.outcome_of, cases))
    for case, found in zip(cases, done, strict=True):
        lost = isinstance(found, Lost)
        one = Outcome(case=case, problem=found.problem) if lost else found
        row = shown.Row.from_outcome(one)
        rows.append(row)
        if arguments.record is not None:
            shown.record(arguments.record, row)
        print(_csv(one.comparison()) if arguments.csv else shown.line(row), flush=True)
    if not arguments.csv:
        for text in (*shown.part_lines(rows), *shown.ladder_lines(rows)):
            print(text)


def _line(one: Comparison) -> str:
    from warplens.validation.measured import DURATION

    start = f"{one.file:<20} {one.name:<32}{one.part:<12}"
    error = one.error()
    if one.problem or error is None:
        return f"{start}{one.problem or 'no duration'}"
    left, right = one.predicted[DURATION], one.measured[DURATION]
    return f"{start}{left:>14,.0f} ns{right:>14,.0f} ns{error:>+9.1%}"


def _csv(one: Comparison) -> str:
    rows = []
    for metric, measured in one.measured.items():
        error = one.error(metric)
        shown = "" if error is None else f"{error:.4f}"
        predicted = one.predicted.get(metric, "")
        rows.append(
            f"{one.file},{one.name},{one.part},{metric},{predicted},{measured},{shown}"
        )
    return "\n".join(rows)


def _summary(part: str, comparisons: list[Comparison]) -> None:
    from warplens.validation.measured import (
        ACTIVE,
        DURATION,
        occupancy_agreement,
        stall_agreement,
        summarise,
    )

    for metric in (DURATION, ACTIVE):
        found = summarise(comparisons, metric)
        if found is None:
            continue
        print(
            f"{part}: {metric} of {found.count} cases: mean {found.mean:.1%}, median "
            f"{found.median:.1%}, 90th percentile {found.p90:.1%}, maximum {found.worst:.1%}, "
            f"rank correlation {found.rank:.2f}"
        )
    for text, (good, of) in (
        ("top stall reason right", stall_agreement(comparisons)),
        ("achieved occupancy within 5 points", occupancy_agreement(comparisons)),
    ):
        if of:
            print(f"{part}: {text}: {good} of {of}")
