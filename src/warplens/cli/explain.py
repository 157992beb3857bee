"""`warplens explain`: the meaning of a name in a report."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warplens.reference import Page

EPILOG = """examples:
  warplens explain UncoalescedGlobalAccess           an advice rule, with an example and its fix
  warplens explain smsp__inst_executed.sum           a metric
  warplens explain Occupancy                         a section
  warplens explain shared-write-race                 a sanitizer check
  warplens explain HMMA                              an instruction
  warplens explain --list | grep stalled             every name
  warplens explain UncoalescedGlobalAccess --examples .
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "explain",
        help="explain a rule, metric, section, check or opcode",
        description="Explains a name that appears in reports.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = parser.add_argument
    option("name", nargs="?", metavar="RULE|METRIC|SECTION|CHECK|OPCODE",
           help="name as printed in reports, or a title")  # fmt: skip
    option("--list", action="store_true", help="print every name with its kind")
    option("--examples", type=Path, metavar="FOLDER",
           help="write the example kernels of a rule to this directory")  # fmt: skip
    option("-f", "--force-overwrite", action="store_true", help="overwrite existing files")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Executes the verb; returns the exit status."""
    from warplens.errors import InputError
    from warplens.reference import find, pages

    if arguments.list == (arguments.name is not None):
        raise InputError("give a name, or --list for all of them")
    if arguments.list:
        for page in pages():
            print(f"{page.kind:<8} {page.name}")
        return 0
    found = find(arguments.name)
    if arguments.examples is None:
        _print("\n".join(page.markdown for page in found))
    else:
        _write_examples(found, arguments)
    return 0


def _print(text: str) -> None:
    """Laid out on a terminal; Markdown as it is for files and pipes."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(text))
    else:
        print(text, end="")


def _write_examples(found: tuple[Page, ...], arguments: argparse.Namespace) -> None:
    from warplens.cli._printing import write_text
    from warplens.errors import InputError
    from warplens.reference.examples import examples_of

    examples = [one for page in found if page.kind == "rule" for one in examples_of(page.name)]
    if not examples:
        raise InputError(
            f"{arguments.name} has no examples", hint="Advice rules have examples: --list shows "
                "them."
        )
    for one in examples:
        target = arguments.examples / f"{one.name}.cu"
        write_text(one.text, target, overwrite=arguments.force_overwrite)
