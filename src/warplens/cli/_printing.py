"""Options and output that the verbs which print reports share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warplens.programs.ranges import Active, RangeFilter
    from warplens.report.options import PrintOptions
    from warplens.result import LaunchResult, Result


def clock(text: str) -> str | float:
    """What `--clock` means: base, boost, or MHz."""
    try:
        return float(text)
    except ValueError:
        return text


def add_print_options(parser: Any) -> None:
    """Adds ncu's printing options."""
    option = parser.add_argument
    option("--page", choices=("details", "raw", "source"), help="page to print (default: details)")
    option("--csv", action="store_true", help="print CSV, in base units")
    option("--json", action="store_true", help="print JSON, with unrounded numbers")
    option("--print-source", choices=("sass", "cuda"), default="sass",
           help="source page per SASS instruction or per CUDA line (default: sass)")  # fmt: skip
    option("--print-units", choices=("auto", "base"), help="scale units or not (default: auto; "
        "base with --csv)")
    option("--print-details", choices=("header", "body", "all"), default="header",
           help="header rows, the sections' tables, or all (default: header)")  # fmt: skip
    option("--print-metric-name", choices=("label", "name", "label-name"), default="label",
           help="metric names in the first column (default: label)")  # fmt: skip
    option("--print-metric-instances", choices=("none", "values", "details"), default="none",
           help="print instance values of metrics, alone or with correlation IDs (default: "
                "none)")  # fmt: skip
    option("--print-fp", action="store_true", help="print all numbers as floating point")
    option("--lines", type=int, default=5, metavar="N",
           help="source lines to list that take most of the time (default: 5; 0: none)")
    option("--print-summary", choices=("none", "per-gpu", "per-kernel"), default="none",
           help="print minimum, maximum and average over launches (default: none)")  # fmt: skip


def add_filter_options(parser: Any, *, with_kernel: bool = True) -> None:
    """Adds ncu's launch filters."""
    option = parser.add_argument
    if with_kernel:
        option("-k", "--kernel-name", metavar="NAME", help="kernel to profile, or regex:EXPR")
    option("--kernel-name-base", choices=("function", "demangled", "mangled"),
           default="function", help="name that -k matches (default: function)")  # fmt: skip
    option("-c", "--launch-count", type=int, metavar="N", help="profile at most N launches")
    option("-s", "--launch-skip", type=int, default=0, metavar="N", help="skip the first N "
        "launches")


def print_options(arguments: argparse.Namespace) -> PrintOptions:
    """The settings for one output."""
    from warplens.report.options import PrintOptions

    return PrintOptions(
        units=arguments.print_units or ("base" if arguments.csv else "auto"),
        details=arguments.print_details,
        metric_name=arguments.print_metric_name,
        always_float=arguments.print_fp,
        instances=arguments.print_metric_instances,
        separators=not arguments.csv,
        lines=arguments.lines,
    )


def rendered(result: Result, arguments: argparse.Namespace) -> str:
    """The chosen page in the chosen form."""
    from warplens.report import columns, csv, json, summary, terminal

    options = print_options(arguments)
    page = arguments.page or "details"
    if getattr(arguments, "format", "") == "vscode":
        from warplens.report.problems import problems_of

        return problems_of(result)
    if arguments.json:
        return json.json_page(result, page=page)
    if arguments.print_summary != "none":
        per_gpu = arguments.print_summary == "per-gpu"
        if arguments.csv:
            return summary.summary_csv(result, options, per_gpu=per_gpu)
        return summary.summary_page(result, options, per_gpu=per_gpu)
    by_line = arguments.print_source == "cuda"
    if arguments.csv:
        tables = {
            "details": csv.details_csv,
            "raw": csv.raw_csv,
            "source": csv.line_csv if by_line else csv.source_csv,
        }
        return tables[page](result, options)
    if page == "details" and columns.is_comparison(result):
        return columns.columns_page(result, options)
    pages = {
        "details": terminal.details_page,
        "raw": terminal.raw_page,
        "source": terminal.line_page if by_line else terminal.source_page,
    }
    return pages[page](result, options)


def check_free(path: Path | None, *, overwrite: bool) -> None:
    """Before a long run: whether its output can be written.

    Raises:
        ReportError: the file is there already and is not to be overwritten, or has no folder.
    """
    from warplens.errors import ReportError

    if path is None:
        return
    if path.exists() and not overwrite:
        raise ReportError(f"{path} already exists", hint="Use -f to overwrite it.")
    if not path.parent.is_dir():
        raise ReportError(f"cannot write {path}: no such folder")


def write_text(text: str, path: Path | None, *, overwrite: bool) -> None:
    """To a file, naming it afterwards, or to standard output."""
    from warplens.errors import ReportError

    if path is None:
        sys.stdout.write(text)
        return
    check_free(path, overwrite=overwrite)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ReportError(f"cannot write {path}: {error.strerror or error}") from error
    print(path)


class LaunchFilter:
    """Keeps the launches that the filter options ask for, in the order they come."""

    def __init__(self, arguments: argparse.Namespace, *, kernel: str | None) -> None:
        self._kernel = kernel
        self._base = arguments.kernel_name_base
        self._skip = arguments.launch_skip
        self._count = arguments.launch_count
        self._pattern = compiled_pattern(kernel)
        self._matched = 0
        self.seen: list[str] = []
        self._inside = _range_filters(getattr(arguments, "nvtx_include", ()))
        self._outside = _range_filters(getattr(arguments, "nvtx_exclude", ()))

    def keeps(self, names: dict[str, str], ranges: Active | None = None) -> bool:
        """Whether a launch with these names (function, demangled, mangled) is wanted.

        Args:
            ranges: the NVTX ranges around it.
        """
        name = names[self._base]
        if names["function"] not in self.seen:
            self.seen.append(names["function"])
        if self._pattern is not None:
            if self._pattern.search(name) is None:
                return False
        elif self._kernel is not None and self._kernel not in names.values():
            return False
        if ranges is not None and not self._is_inside(ranges):
            return False
        self._matched += 1
        position = self._matched - self._skip
        return position > 0 and (self._count is None or position <= self._count)


    def _is_inside(self, ranges: Active) -> bool:
        if any(one.keeps(ranges) for one in self._outside):
            return False
        return not self._inside or any(one.keeps(ranges) for one in self._inside)


def _range_filters(texts: Sequence[str]) -> list[RangeFilter]:
    if not texts:
        return []
    from warplens.programs.ranges import RangeFilter

    return [RangeFilter.of(text) for text in texts]


def compiled_pattern(kernel: str | None) -> Any:
    """The expression of `regex:EXPR`; None for a plain name."""
    import re

    from warplens.errors import InputError

    if kernel is None or not kernel.startswith("regex:"):
        return None
    try:
        return re.compile(kernel.removeprefix("regex:"))
    except re.error as error:
        raise InputError(f"{kernel}: not a regular expression ({error})") from error


def names_of(launch: LaunchResult) -> dict[str, str]:
    """The names a filter sees."""
    return {
        "function": launch.function_name,
        "demangled": launch.kernel_name,
        "mangled": launch.mangled,
    }


def nothing_matched(seen: list[str]) -> None:
    """ncu's warning for a filter that matched nothing."""
    print("==WARNING== No kernels were profiled.", file=sys.stderr)
    if seen:
        print("Available Kernels:", file=sys.stderr)
        for number, name in enumerate(seen, 1):
            print(f"{number}. {name}", file=sys.stderr)
