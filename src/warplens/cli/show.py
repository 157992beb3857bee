"""`warplens show`: prints a result file again, in any form."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warplens.cli._printing import add_filter_options, add_print_options
from warplens.cli._system import add_system_options

if TYPE_CHECKING:
    from warplens.result import LaunchResult, Result

EPILOG = """examples:
  warplens show first
  warplens show first --page source --csv -o source.csv
  warplens show first --format json --page raw
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "show",
        help="print a result file as text, CSV, JSON or HTML",
        description="Prints a result that `warplens profile -o` wrote.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = parser.add_argument
    option("file", type=Path, metavar="FILE", help="result file; the ending .wlens may be omitted")
    option("--format", choices=_formats(), help="output format (default: text)")
    option("-o", "--output", type=Path, metavar="OUT", help="write the output to this file")
    option("-f", "--force-overwrite", action="store_true", help="overwrite it")
    option("--section", action="append", default=[], help="print this section only (repeatable)")
    option("--metrics", metavar="A,B", help="print these metrics of the file only")
    add_filter_options(parser)
    add_print_options(parser)
    add_system_options(parser)
    return parser


def _formats() -> tuple[str, ...]:
    from importlib.util import find_spec

    with_html = find_spec("warplens.report.html") is not None
    return ("text", "csv", "json", *(("html",) if with_html else ()))


def run(arguments: argparse.Namespace) -> int:
    """Executes the verb; returns the exit status."""
    from warplens.cli._printing import rendered, write_text

    if arguments.stats or arguments.report or arguments.perfetto:
        return _show_timeline(arguments)
    metrics = [name.strip() for name in (arguments.metrics or "").split(",") if name.strip()]
    shown = selection(arguments.file, arguments, metrics)
    if shown is None:
        return 0
    if arguments.format == "html":
        text = _html(shown)
    else:
        arguments.csv = arguments.csv or arguments.format == "csv"
        arguments.json = arguments.json or arguments.format == "json"
        text = rendered(shown, arguments)
    write_text(text, arguments.output, overwrite=arguments.force_overwrite)
    return 0


def _show_timeline(arguments: argparse.Namespace) -> int:
    """What a program did over time."""
    from warplens.cli._system import write_timeline
    from warplens.errors import ReportError
    from warplens.result import load

    timeline = load(arguments.file).timeline
    if timeline is None:
        raise ReportError(f"{arguments.file} is of no whole program")
    arguments.log_file = arguments.output
    write_timeline(arguments, timeline)
    return 0


def selection(file: Path, arguments: argparse.Namespace, metrics: list[str]) -> Result | None:
    """The launches of a file that the filters leave, with what was asked for; None if none is."""
    from warplens.cli._printing import LaunchFilter, names_of, nothing_matched
    from warplens.result import Result, load

    result = load(file)
    chosen = LaunchFilter(arguments, kernel=arguments.kernel_name)
    kept = tuple(launch for launch in result.launches if chosen.keeps(names_of(launch)))
    if not kept:
        nothing_matched(chosen.seen)
        return None
    return Result(
        launches=tuple(_selected(launch, arguments.section, metrics) for launch in kept),
        writer=result.writer,
        timeline=result.timeline,
    )


def _html(result: Result) -> str:
    import importlib

    return str(importlib.import_module("warplens.report.html").html_page(result))


def _selected(launch: LaunchResult, wanted: list[str], metrics: list[str]) -> LaunchResult:
    """The launch with only the sections and metrics asked for."""
    from dataclasses import replace

    from warplens.errors import UnknownMetric
    from warplens.report.rows import COMMAND_LINE_SECTION
    from warplens.result import MetricRow, Section

    sections = launch.sections
    if wanted:
        have = {name for s in sections for name in (s.identifier, s.title)}
        for name in wanted:
            if name not in have:
                raise UnknownMetric(
                    f"the file has no section {name!r}", hint=f"It has {', '.join(sorted(have))}."
                )
        sections = tuple(s for s in sections if {*wanted} & {s.identifier, s.title})
    if not metrics:
        return replace(launch, sections=sections)
    for name in metrics:
        if name not in launch.metrics:
            raise UnknownMetric(
                f"the file has no metric {name!r}",
                hint="`warplens show FILE --page raw` lists those it has.",
            )
    rows = tuple(MetricRow(name=n, label=n, value=launch.metrics[n]) for n in metrics)
    section = Section(identifier="CommandLine", title=COMMAND_LINE_SECTION, order=0, rows=rows)
    return replace(
        launch,
        sections=(section, *(sections if wanted else ())),
        metrics={name: launch.metrics[name] for name in metrics},
    )
