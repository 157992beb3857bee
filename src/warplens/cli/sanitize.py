"""`warplens sanitize`: memory errors, races, uninitialised reads and bad synchronisation."""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warplens.cli._printing import add_filter_options, write_text
from warplens.cli._program import is_whole, sanitize_program
from warplens.cli.profile import add_launch_options

if TYPE_CHECKING:
    from warplens.sanitize.passes import SanitizeOptions
    from warplens.sanitize.report import Report
    from warplens.session.host_memory import HostMemory
    from warplens.session.listeners import PendingLaunch

EPILOG = """examples:
  warplens sanitize reduce.cu -k 'reduce<256>' --grid 16 --block 256 \\
      --arg 'i32[4096]=arange' --arg 'i32[1]=0' --arg i32=4096
  warplens sanitize --tool racecheck,synccheck script.py
  warplens sanitize reduce.cu ... --save findings.sarif --error-exitcode 86
  warplens sanitize reduce.cu ... --schedules 20         does a race change the result?

`warplens profile --help` explains --arg. Formats of --save: .json, .sarif, .html, or text.
exit status: 0 clean, 1 findings (or --error-exitcode), 2 broken call or failed script
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "sanitize",
        help="check for memory errors, races and synchronisation errors",
        description="Executes a kernel or a script and reports memory errors (memcheck), races in "
        "shared and global memory (racecheck), reads of uninitialised memory (initcheck) and "
        "synchronisation errors (synccheck).",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", metavar="FILE",
                        help="a .cu file, a cubin, a Python script, or a program")
    add_launch_options(parser.add_argument_group("launch (for .cu files and cubins)"))
    checks = parser.add_argument_group("checks")
    option = checks.add_argument
    option("--tool", action="append", default=[], metavar="NAME",
           help="memcheck, racecheck, initcheck, synccheck or all (default: all; "
                "repeatable)")  # fmt: skip
    option("--schedules", type=int, default=0, metavar="N",
           help="also run N other orders of warps and blocks and compare results")  # fmt: skip
    option("--schedule-seed", type=int, default=1, metavar="SEED", help="seed of the first order "
        "(default: 1)")
    option("--lane-blocks", type=int, default=128, metavar="N",
           help="blocks checked for races within a warp (default: 128)")  # fmt: skip
    option("--leak-check", choices=("full", "no"), default="no",
           help="report device memory that a script or program does not free (default: "
                "no)")  # fmt: skip
    option("--suppressions", type=Path, metavar="FILE",
           help="leave out the findings that this TOML file names")  # fmt: skip
    add_filter_options(checks)
    report = parser.add_argument_group("report")
    option = report.add_argument
    option("--print-limit", type=int, default=100, metavar="N", help="findings to print (default: "
        "100; 0: all)")
    option("--print-level", choices=("info", "warn", "error"), default="warn",
           help="least severity to print; info includes harmless races (default: "
                "warn)")  # fmt: skip
    option("--json", action="store_true", help="print JSON")
    option("--format", choices=("text", "vscode"), default="text",
           help="vscode: findings as lines for an editor's problem matcher (default: text)")
    option("--error-exitcode", type=int, metavar="N", help="exit status if there are findings and "
        "the program succeeded (default: 1)")
    option("--log-file", type=Path, metavar="FILE", help="write the report to this file")
    option("--save", type=Path, action="append", default=[], metavar="FILE",
           help="also write the findings as .json, .sarif, .html or text (repeatable)")  # fmt: skip
    option("-f", "--force-overwrite", action="store_true", help="overwrite existing files")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Executes the verb; returns the exit status."""
    _check_before_running(arguments)
    reports: list[Report] = []
    status = 0
    whole = is_whole(arguments)
    if whole:
        status = sanitize_program(
            arguments, reports, partial(_checked, arguments), partial(_of_host, arguments)
        )
    elif arguments.target.endswith(".py"):
        status = _sanitize_script(arguments, reports)
    else:
        _sanitize_kernel(arguments, reports)
    if arguments.suppressions is not None:
        from warplens.sanitize.suppressions import read_suppressions, without_suppressed

        rules = read_suppressions(arguments.suppressions)
        reports = [without_suppressed(report, rules) for report in reports]
    _write(arguments, reports)
    if any(reports) and not status:
        status = 1 if arguments.error_exitcode is None else int(arguments.error_exitcode)
    if whole:
        from warplens.programs.process import end_like

        end_like(status)
    return status


def _checked(
    arguments: argparse.Namespace, pending: PendingLaunch, values: tuple[Any, ...]
) -> Report:
    return pending.sanitized(values, _options(arguments), keep_results=False)


def _of_host(arguments: argparse.Namespace, host: HostMemory) -> list[Report]:
    """The host's mistakes with device memory, as if a kernel had made them."""
    from warplens.sanitize.report import Report

    mistakes = [*host.findings, *(host.leaks() if arguments.leak_check == "full" else ())]
    if not mistakes or "memcheck" not in _tools(arguments):
        return []
    name = Path(arguments.target).name
    return [Report(kernel=name, findings=tuple(mistakes), tools=("memcheck",))]


def _tools(arguments: argparse.Namespace) -> tuple[str, ...]:
    from warplens.sanitize.passes import chosen_tools

    names = [name.strip() for text in arguments.tool for name in text.split(",") if name.strip()]
    return chosen_tools(names or ["all"])


def _check_before_running(arguments: argparse.Namespace) -> None:
    """Refuses what would fail only after a long run."""
    from warplens.errors import InputError, ReportError

    _tools(arguments)
    if arguments.suppressions is not None:
        from warplens.sanitize.suppressions import read_suppressions

        read_suppressions(arguments.suppressions)
    for name in ("print_limit", "schedules"):
        if getattr(arguments, name) < 0:
            raise InputError(f"--{name.replace('_', '-')} is negative")
    if arguments.lane_blocks < 1:
        raise InputError("--lane-blocks is less than 1")
    status = arguments.error_exitcode
    if status is not None and not 0 <= status <= 255:
        raise InputError(f"--error-exitcode {status} is outside 0 to 255")
    for path in (*arguments.save, *([arguments.log_file] if arguments.log_file else [])):
        if path.exists() and not arguments.force_overwrite:
            raise ReportError(f"{path} already exists", hint="Use -f to overwrite it.")


def _options(arguments: argparse.Namespace) -> SanitizeOptions:
    from warplens.sanitize.passes import SanitizeOptions

    return SanitizeOptions(
        tools=_tools(arguments),
        schedules=arguments.schedules,
        seed=arguments.schedule_seed,
        lane_blocks=arguments.lane_blocks,
    )


def _sanitize_kernel(arguments: argparse.Namespace, reports: list[Report]) -> None:
    """Runs the kernel of a file once per GPU."""
    from warplens.cli.profile import prepared_launch, save_arguments
    from warplens.session.options import LaunchOptions

    options = LaunchOptions(max_steps=arguments.max_steps, max_seconds=arguments.max_seconds)
    for gpu in dict.fromkeys(arguments.gpu or ["H200"]):
        kernel, configuration, values = prepared_launch(arguments, gpu, options)
        report = kernel[configuration].sanitized(
            tuple(values), _options(arguments), keep_results=True
        )
        (sys.stderr if arguments.json else sys.stdout).write(report.output)
        save_arguments(arguments, values)
        reports.append(report)


def _sanitize_script(arguments: argparse.Namespace, reports: list[Report]) -> int:
    """Runs a script; every launch is checked first and then runs as usual."""
    from warplens.cli._printing import LaunchFilter, nothing_matched
    from warplens.cli._script import put_driver_in_place, refuse_launch_options, run_script
    from warplens.naming import bare_name
    from warplens.session.listeners import checking

    script = Path(arguments.target)
    refuse_launch_options(arguments, script)
    chosen = LaunchFilter(arguments, kernel=arguments.kernel_name)

    def check(pending: PendingLaunch, values: tuple[Any, ...]) -> None:
        names = {
            "function": bare_name(pending.sass.demangled),
            "demangled": pending.sass.demangled,
            "mangled": pending.sass.name,
        }
        if chosen.keeps(names):
            reports.append(pending.sanitized(values, _options(arguments), keep_results=False))

    put_driver_in_place(arguments, timed=False, prints=True, required=False)
    with checking(check) as host:
        status = run_script(script, arguments.script_arguments, quiet=arguments.json)
    reports += _of_host(arguments, host)
    if not reports:
        nothing_matched(chosen.seen)
    return status


def _write(arguments: argparse.Namespace, reports: list[Report]) -> None:
    from warplens.sanitize.json import report_json
    from warplens.sanitize.problems import report_problems
    from warplens.sanitize.text import report_text

    show_info = arguments.print_level == "info"
    if arguments.format == "vscode":
        page = report_problems(reports, show_info=show_info)
    elif arguments.json:
        page = report_json(reports)
    else:
        page = report_text(reports, print_limit=arguments.print_limit, show_info=show_info)
    write_text(page, arguments.log_file, overwrite=arguments.force_overwrite)
    # With --json standard output is the JSON and nothing else.
    with redirect_stdout(sys.stderr if arguments.json else sys.stdout):
        for path in arguments.save:
            write_text(_formatted(path, reports), path, overwrite=arguments.force_overwrite)


def _formatted(path: Path, reports: list[Report]) -> str:
    """The findings in the format that a file's name asks for."""
    from warplens.sanitize.html import document
    from warplens.sanitize.json import report_json
    from warplens.sanitize.sarif import report_sarif
    from warplens.sanitize.text import report_text

    suffix = path.suffix.lower()
    if suffix == ".json":
        return report_json(reports)
    if suffix == ".sarif":
        return report_sarif(reports)
    if suffix in (".html", ".htm"):
        return document(reports)
    return report_text(reports, print_limit=0, show_info=True)
