"""Workers of small launches that are over, kept for the next launch of the same shape.

A new worker costs more than a small kernel takes; programs launch such kernels by the thousand.
"""

from __future__ import annotations

from warplens.execute.launch import Launching
from warplens.execute.worker import Worker

_MOST_KEPT = 64  # workers of a program


def worker_for(launching: Launching) -> Worker:
    """A worker, one that has served such a launch before if there is one."""
    spares = launching.program.spares.get(_shape(launching))
    if spares and _is_plain(launching):
        try:
            worker: Worker = spares.pop()
        except IndexError:  # another thread was faster
            return Worker(launching)
        worker.enter(launching)
        return worker
    return Worker(launching)


def give_back(launching: Launching, workers: tuple[Worker, ...]) -> None:
    """A launch ended well, and all that is wanted of its workers has been read."""
    if not _is_plain(launching) or not all(worker.is_small() for worker in workers):
        return
    known = launching.program.spares
    if sum(map(len, known.values())) + len(workers) > _MOST_KEPT:
        known.clear()
    spares = known.setdefault(_shape(launching), [])
    for worker in workers:
        worker.leave()
        spares.append(worker)


def _shape(launching: Launching) -> object:
    """What a worker's buffers are made for."""
    return (launching.config.block, launching.cluster, launching.local_bytes,
            launching.shared_limit)  # fmt: skip


def _is_plain(launching: Launching) -> bool:
    """Whether nobody watches the launch or has chosen an order: then nobody keeps its workers."""
    config = launching.config
    watched = (config.observer, config.heap_watch, config.snapshots, config.block_order,
               config.warp_order)  # fmt: skip
    return all(one is None for one in watched)
