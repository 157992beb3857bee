"""The runner that somebody asks for."""

from __future__ import annotations

import os
import sys

from warplens.errors import InputError
from warplens.workers.runner import Here, Runner


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def runner_of(scheduler: str | None, size: int | None) -> Runner:
    """A Dask scheduler's workers, or as many processes as asked for, else one for each core.

    Args:
        scheduler: an address, or "local" for a cluster of its own on this machine.

    Raises:
        InputError: Dask is not installed, or there is no scheduler at the address.
    """
    if size is not None and size < 1:
        raise InputError(f"{size} processes cannot do anything", hint="Give at least one.")
    wanted = size or cores()
    if scheduler is not None:
        from warplens.workers.cluster import Cluster

        cluster = Cluster(scheduler, wanted)
        if sys.stderr.isatty():
            print(f"Dask's dashboard: {cluster.dashboard}", file=sys.stderr)
        return cluster
    if wanted == 1:
        return Here()
    from warplens.workers.processes import Processes

    return Processes(wanted)
