"""`warplens compare`: what changed between two result files, and by how much."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

EPILOG = """examples:
  warplens compare before after
  warplens compare before after --all
  warplens compare before after --format html -o change.html
  warplens compare before after --fail 'l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum:5%'
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "compare",
        help="compare two results",
        description="Pairs the launches of two results, by kernel name and order, and shows the "
        "metrics that differ. --fail turns an increase into exit status 1.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = parser.add_argument
    option("before", type=Path, metavar="A")
    option("after", type=Path, metavar="B")
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
    comparison = compare(load(arguments.before), load(arguments.after), metrics=names)
    failed = failures(comparison, limits)
    if arguments.format == "html":
        from warplens.report.comparison_html import comparison_html

        text = comparison_html(comparison, failed, show_all=arguments.all)
    elif arguments.json or arguments.format == "json":
        document = {"comparison": to_plain(comparison), "failures": list(failed)}
        text = json.dumps(document, indent=1) + "\n"
    else:
        text = comparison_page(comparison, failed, show_all=arguments.all)
    write_text(text, arguments.output, overwrite=arguments.force_overwrite)
    return 1 if failed else 0
