"""Options that say who does the work."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warplens.workers import Runner


def add_workers(option: Any) -> None:
    """Adds them to a verb."""
    option("--scheduler", metavar="ADDRESS", help="Dask scheduler, or local")
    option("--processes", type=int, metavar="N", help="processes (default: one per core)")


def runner_for(arguments: argparse.Namespace, tasks: int) -> Runner:
    """Who they ask for: no more processes than there are tasks."""
    from warplens.workers import cores, runner_of

    size = min(cores(), max(1, tasks)) if arguments.processes is None else arguments.processes
    return runner_of(arguments.scheduler, size)
