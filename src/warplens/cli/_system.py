"""Options and output for what a whole program did over time."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warplens.errors import InputError

if TYPE_CHECKING:
    from warplens.result.system import SystemTimeline


def add_system_options(parser: Any) -> None:
    """Adds the options about a program's timeline."""
    option = parser.add_argument
    option("--stats", action="store_true", help="print where time goes in a program: calls, "
           "kernels, copies, by Nsight Systems' tables")  # fmt: skip
    option("--report", action="append", default=[], metavar="NAME", help="one of these tables: "
           "cuda_api_sum, cuda_gpu_kern_sum, cuda_gpu_mem_time_sum, cuda_gpu_mem_size_sum, "
           "nvtx_sum "
           "(repeatable)")  # fmt: skip
    option("--perfetto", type=Path, metavar="FILE", help="write the program's timeline as a trace "
           "for ui.perfetto.dev")  # fmt: skip


    option("--cache-control", choices=("all", "none"), default="all",
           help="none: profiled launches of programs find in L2 what earlier work has left, as in "
           "timelines; all (default): caches are empty before each")  # fmt: skip
    option("--profile-from-start", choices=("on", "off"), default="on",
           help="off: profile launches of programs only after cudaProfilerStart()")  # fmt: skip
    option("--disable-profiler-start-stop", action="store_true",
           help="profile also where the program has stopped profiling")  # fmt: skip
    option("--nvtx", action="store_true", help="nothing more: NVTX ranges are always followed")
    for name, which in (("include", "inside"), ("exclude", "outside of")):
        option(f"--nvtx-{name}", action="append", default=[], metavar="RANGES",
               help=f"profile launches {which} NVTX ranges: domain@range,range (started), "
               "[outer/*/inner] or range/ (pushed), regex:EXPR (repeatable)")  # fmt: skip


def system_page(arguments: argparse.Namespace, timeline: SystemTimeline) -> str:
    """The tables that were asked for, in the form that was asked for."""
    from warplens.report.system import NVTX_SUM, REPORTS, system_csv, system_json, system_text

    names = [name.strip() for text in arguments.report for name in text.split(",")]
    for name in names:
        if name not in REPORTS:
            known = ", ".join(REPORTS)
            raise InputError(f"there is no report {name!r}", hint=f"There are {known}.")
    chosen = names or [name for name in REPORTS if name != NVTX_SUM or timeline.ranges]
    if arguments.json:
        return system_json(timeline, chosen)
    if arguments.csv:
        return system_csv(timeline, chosen)
    return system_text(timeline, chosen)


def write_timeline(arguments: argparse.Namespace, timeline: SystemTimeline) -> None:
    """Prints the tables and writes the trace."""
    from warplens.cli._printing import write_text
    from warplens.report.system import perfetto_trace

    if arguments.stats or arguments.report:
        log = getattr(arguments, "log_file", None)
        write_text(system_page(arguments, timeline), log, overwrite=True)
    if arguments.perfetto is not None:
        write_text(perfetto_trace(timeline), arguments.perfetto,
                   overwrite=arguments.force_overwrite)  # fmt: skip
