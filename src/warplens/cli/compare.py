"""`warplens compare`: what changed between two result files, and by how much."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warplens.result import Result

EPILOG = """examples:
  warplens compare before after
  warplens compare before after --all
  warplens compare before after --sass           machine code side by side
  warplens compare tile8 tile16 tile32           one column each, the change against the first
  warplens compare before after --format html -o change.html
  warplens compare before after --fail 'l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum:5%'
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "compare",
        help="compare two results",
        description="Pairs the launches of results, by kernel name and order, and shows the "
        "metrics that differ, the most telling first. --fail turns an increase into exit status 1.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = parser.add_argument
    option("before", type=Path, metavar="A")
    option("after", type=Path, metavar="B", nargs="+")
    option("--sass", action="store_true", help="also show both machine codes, aligned")
    option("--all", action="store_true", help="show unchanged metrics too")
    option("--metrics", metavar="A,B", help="compare these metrics only")
    option("--fail", action="append", default=[], metavar="METRIC:PERCENT%",
           help="exit with status 1 if the metric increases by more (repeatable)")  # fmt: skip
    option("--format", choices=("text", "json", "html"), help="output format (default: text)")
    option("--json", action="store_true", help="same as --format json")
    option("-o", "--output", type=Path, metavar="OUT", help="write the output to this file")
    option("-f", "--force-overwrite", action="store_true", help="overwrite an existing OUT")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Executes the verb; returns the exit status."""
    from warplens.analysis.compare import compare, failures, threshold
    from warplens.cli._printing import write_text
    from warplens.report.comparison import comparison_page
    from warplens.result import load, to_plain

    limits = [threshold(text) for text in arguments.fail]
    names = [name.strip() for name in (arguments.metrics or "").split(",") if name.strip()]
    if len(arguments.after) > 1:
        return _several(arguments, names)
    before, after = load(arguments.before), load(arguments.after[0])
    comparison = compare(before, after, metrics=names)
    failed = failures(comparison, limits)
    if arguments.format == "html":
        from warplens.report.comparison_html import comparison_html

        text = comparison_html(comparison, failed, show_all=arguments.all)
    elif arguments.json or arguments.format == "json":
        document = {"comparison": to_plain(comparison), "failures": list(failed)}
        text = json.dumps(document, indent=1) + "\n"
    else:
        text = comparison_page(comparison, failed, show_all=arguments.all)
        if arguments.sass:
            text += "\n".join(["", *_sass(before, after), ""])
    write_text(text, arguments.output, overwrite=arguments.force_overwrite)
    return 1 if failed else 0


def _sass(before: Result, after: Result) -> list[str]:
    """The machine code of every pair of launches."""
    from warplens.analysis.compare import paired
    from warplens.report.sass_diff import sass_page

    lines: list[str] = []
    for old, new in paired(before, after):
        if old is not None and new is not None:
            lines += [f"SASS of {old.kernel_name} | {new.kernel_name}", *sass_page(old, new), ""]
    return lines


def _several(arguments: argparse.Namespace, names: list[str]) -> int:
    """Three and more results: a column each."""
    from warplens.analysis.compare import compare
    from warplens.cli._printing import write_text
    from warplens.errors import InputError
    from warplens.report.comparison import several_page
    from warplens.result import load, to_plain

    for option in ("fail", "sass"):
        if getattr(arguments, option):
            raise InputError(f"--{option} compares two results")
    if arguments.format == "html":
        raise InputError("--format html compares two results")
    files = [arguments.before, *arguments.after]
    results = [load(file) for file in files]
    comparisons = [compare(results[0], other, metrics=names) for other in results[1:]]
    if arguments.json or arguments.format == "json":
        text = json.dumps({"comparisons": [to_plain(one) for one in comparisons]}, indent=1) + "\n"
    else:
        labels = [file.name.removesuffix(".wlens") for file in files]
        text = several_page(comparisons, labels, show_all=arguments.all)
    write_text(text, arguments.output, overwrite=arguments.force_overwrite)
    return 0
