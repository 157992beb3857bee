"""`warplens list`: GPUs, sections, metrics, rules, opcodes."""

from __future__ import annotations

import argparse
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warplens.metrics.registry import Metric

EPILOG = """examples:
  warplens list gpus
  warplens list metrics bank_conflicts
  warplens list rules
  warplens list opcodes --missing kernel.cu --gpu H200
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "list",
        help="GPUs, sections, metrics, rules of advice, or opcodes",
        description="What warplens knows.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = parser.add_argument
    option("what", choices=("gpus", "sections", "metrics", "rules", "opcodes"))
    option("pattern", nargs="?", help="only names that match this regular expression")
    option("--json", action="store_true", help="print JSON")
    option("--missing", metavar="FILE.cu", help="opcodes of this source that are not supported")
    option("--gpu", default="H200", help="the GPU that --missing compiles for (H200)")
    option("--option", action="append", default=[], help="NVRTC option for --missing")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Executes the verb; returns the exit status."""
    from warplens.errors import InputError

    if arguments.missing is not None:
        if arguments.what != "opcodes":
            raise InputError("--missing goes with `list opcodes`")
        return _missing(arguments)
    lister = {"gpus": _gpus, "sections": _sections, "metrics": _metrics, "rules": _rules,
              "opcodes": _opcodes}  # fmt: skip
    headings, rows = lister[arguments.what]()
    rows = _matching(rows, arguments.pattern)
    if arguments.json:
        print(json.dumps([dict(zip(headings, row, strict=True)) for row in rows], indent=1))
        return 0
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    for row in (headings, *rows):
        print("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip())
    return 0


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
    from warplens.isa.table import all_ops
    from warplens.metrics.classes import load_isa

    load_isa()
    rows: list[tuple[str, ...]] = []
    for op in all_ops():
        name = ".".join((op.opcode, *sorted(op.requires)))
        meaning = op.doc.partition("\n")[0]
        rows.append((name, op.pipe, op.category, " ".join(sorted(op.modifiers)), meaning))
    return ("Opcode", "Pipe", "Category", "Modifiers", "Meaning"), rows


def _missing(arguments: argparse.Namespace) -> int:
    """Every opcode and modifier of a source's kernels that the table does not have."""
    from warplens.api import Device

    module = Device(arguments.gpu).compile(arguments.missing, options=arguments.option)
    gaps: dict[str, int] = {}
    for name in module.kernels:
        for instruction in module.sass(name).instructions:
            gap = _gap(instruction.opcode, instruction.modifiers)
            if gap is not None:
                gaps[gap] = gaps.get(gap, 0) + 1
    for gap, count in sorted(gaps.items()):
        print(f"{gap}  ({count} x)")
    if not gaps:
        print(f"none: every opcode is supported ({len(module.kernels)} kernel(s) looked at)")
    return 1 if gaps else 0


def _gap(opcode: str, modifiers: tuple[str, ...]) -> str | None:
    from warplens.isa.table import find
    from warplens.metrics.classes import load_isa

    load_isa()
    entry = find(opcode, modifiers)
    if entry is None:
        return opcode
    unknown = [name for name in modifiers if name not in entry.modifiers]
    return f"{opcode} with .{' .'.join(unknown)}" if unknown else None
