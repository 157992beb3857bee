"""`warplens list`: GPUs, sections, metrics, rules, opcodes."""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warplens.metrics.registry import Metric

EPILOG = """examples:
  warplens list gpus
  warplens list metrics bank_conflicts
  warplens list rules
  warplens list opcodes HMMA
  warplens list opcodes HMMA --forms           (every form, and what it was compared with)
  warplens list opcodes kernel.cu              (unsupported instructions, per architecture)
  warplens list opcodes kernel.cu --gpu H200 --csv
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "list",
        help="list GPUs, sections, metrics, advice rules, or opcodes",
        description="Lists the GPUs, sections, metrics, advice rules and opcodes that warplens "
        "supports.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = parser.add_argument
    option("what", choices=("gpus", "sections", "metrics", "rules", "opcodes"))
    option("pattern", nargs="?", metavar="PATTERN|FILE.cu",
           help="names that match this regular expression; for opcodes also a source file: every "
           "unsupported instruction of its kernels")  # fmt: skip
    option("--forms", action="store_true",
           help="opcodes: every form (modifiers and operand kinds) with what its meaning was "
           "compared with: recorded on a GPU, exact, inferred or refused")  # fmt: skip
    option("--json", action="store_true", help="print JSON")
    option("--csv", action="store_true", help="print CSV")
    option("-k", "--kernel-name", action="append", default=[], metavar="NAME",
           help="this kernel of FILE.cu only, or this template instance (repeatable)")  # fmt: skip
    option("--gpu", action="append", default=[], metavar="NAME",
           help="compile FILE.cu for this GPU or architecture (default: all; "
                "repeatable)")  # fmt: skip
    option("--option", action="append", default=[], help="NVRTC option for FILE.cu (repeatable)")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Executes the verb; returns the exit status."""
    from warplens.errors import InputError

    source = arguments.what == "opcodes" and _is_source(arguments.pattern)
    if not source and (arguments.gpu or arguments.option or arguments.kernel_name):
        raise InputError("--gpu, --option and -k apply to `list opcodes FILE.cu` only")
    if arguments.forms and (source or arguments.what != "opcodes"):
        raise InputError("--forms applies to `list opcodes` and a pattern of names only")
    if source:
        headings, rows = _missing(arguments)
    elif arguments.forms:
        headings, rows = _forms()
        rows = _matching(rows, arguments.pattern)
    else:
        lister = {"gpus": _gpus, "sections": _sections, "metrics": _metrics, "rules": _rules,
                  "opcodes": _opcodes}  # fmt: skip
        headings, rows = lister[arguments.what]()
        rows = _matching(rows, arguments.pattern)
    if source and not rows and not arguments.json and not arguments.csv:
        print("none: every instruction is supported")
    else:
        _print(headings, rows, arguments)
    return 1 if source and rows else 0


def _print(
    headings: tuple[str, ...], rows: list[tuple[str, ...]], arguments: argparse.Namespace
) -> None:
    if arguments.json:
        print(json.dumps([dict(zip(headings, row, strict=True)) for row in rows], indent=1))
    elif arguments.csv:
        csv.writer(sys.stdout, lineterminator="\n").writerows((headings, *rows))
    else:
        widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
        for row in (headings, *rows):
            print("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip())


Table = tuple[tuple[str, ...], list[tuple[str, ...]]]


def _matching(rows: list[tuple[str, ...]], pattern: str | None) -> list[tuple[str, ...]]:
    from warplens.errors import InputError

    if pattern is None:
        return rows
    try:
        expression = re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise InputError(f"{pattern!r} is not a regular expression: {error}") from error
    return [row for row in rows if expression.search(row[0])]


def _gpus() -> Table:
    from warplens.gpus.spec import list_gpus

    headings = ("Name", "CC", "Architecture", "SMs", "Boost MHz", "DRAM GB/s", "Aliases")
    rows: list[tuple[str, ...]] = [
        (
            spec.name,
            spec.compute_capability,
            spec.architecture,
            str(spec.sm_count),
            f"{spec.boost_clock_mhz:g}",
            f"{spec.dram_bandwidth_bytes_per_second / 1e9:.0f}",
            ", ".join(spec.aliases),
        )
        for spec in list_gpus()
    ]
    return headings, rows


def _sections() -> Table:
    from warplens.metrics.registry import all_sections

    rows: list[tuple[str, ...]] = [
        (spec.identifier, spec.title, ", ".join(sorted(spec.sets))) for spec in all_sections()
    ]
    return ("Identifier", "Display Name", "Sets"), rows


def _metrics() -> Table:
    from warplens.metrics.registry import all_metrics

    rows: list[tuple[str, ...]] = [
        (one.name, one.kind, one.unit, _offered(one), one.basis, one.doc) for one in all_metrics()
    ]
    return ("Name", "Type", "Unit", "Values", "Basis", "Description"), rows


def _offered(metric: Metric) -> str:
    from warplens.metrics.registry import suffixes

    first = dict.fromkeys(suffix.partition(".")[0] for suffix in suffixes(metric))
    return " ".join(f".{suffix}" for suffix in first if suffix)


def _rules() -> Table:
    from warplens.analysis.advice import rules

    rows: list[tuple[str, ...]] = [
        (one.identifier, one.title, one.section, one.doc.partition("\n")[0]) for one in rules()
    ]
    return ("Identifier", "Title", "Section", "Fires When"), rows


def _opcodes() -> Table:
    """One row per opcode; per architecture yes, refused, or nothing where it does not exist."""
    from warplens.isa.existing import ARCHITECTURES
    from warplens.lift.coverage import coverage

    headings = ("Opcode", *(f"sm_{sm}" for sm in ARCHITECTURES), "Pipe", "Category", "Meaning",
                "Refused forms", "Modifiers")  # fmt: skip
    rows: list[tuple[str, ...]] = []
    for one in coverage():
        answer = "yes" if one.is_supported else "refused"
        there = (answer if sm in one.architectures else "" for sm in ARCHITECTURES)
        rows.append((one.opcode, *there, one.pipe, one.category, one.meaning,
                     "; ".join(one.refused), " ".join(one.modifiers)))  # fmt: skip
    return headings, rows


def _forms() -> Table:
    """One row per form of an instruction on sm_90."""
    from warplens.isa.forms import table

    rows: list[tuple[str, ...]] = [
        (one.name, one.status, str(one.inputs or ""), one.where, "yes" if one.in_corpus else "")
        for one in table().values()
    ]
    return ("Form", "Status", "Inputs", "Where or why", "In compiled code"), rows


def _is_source(text: str | None) -> bool:
    return text is not None and (text.endswith((".cu", ".cuh")) or Path(text).is_file())


def _missing(arguments: argparse.Namespace) -> Table:
    """Every instruction of a source's kernels that is refused, per architecture."""
    from warplens.errors import CompileError
    from warplens.isa.existing import ARCHITECTURES
    from warplens.session.device import Device

    headings = ("Architecture", "Kernel", "Offset", "Line", "SASS", "Reason", "Instead")
    rows: list[tuple[str, ...]] = []
    for name in arguments.gpu or [f"sm_{sm}" for sm in ARCHITECTURES]:
        try:
            module = Device(name).compile(arguments.pattern, options=arguments.option)
        except CompileError as error:
            if arguments.gpu:
                raise
            first = next((text for text in error.log.splitlines() if "error" in text), "")
            rows.append((name, "", "", "", "", f"does not compile: {first.strip()}", ""))
            continue
        for kernel in arguments.kernel_name or module.kernels:
            for gap in module.gaps(kernel):
                line = f"{Path(gap.file).name}:{gap.line}" if gap.line else ""
                rows.append((f"sm_{gap.sm}", gap.kernel, f"{gap.offset:#06x}", line, gap.sass,
                             gap.reason, gap.advice))  # fmt: skip
    return headings, rows
