"""Workers of small launches that are over, kept for the next launch of the same shape.

A new worker costs more than a small kernel takes; programs launch such kernels by the thousand.
"""

from __future__ import annotations

from warplens.execute.launch import Launching
from warplens.execute.worker import Worker

_MOST_SHAPES = 32


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
    if len(workers) != 1 or not _is_plain(launching) or not workers[0].is_small():
        return
    known = launching.program.spares
    if len(known) >= _MOST_SHAPES:
        known.clear()
    spares = known.setdefault(_shape(launching), [])
    if not spares:
        workers[0].leave()
        spares.append(workers[0])


def _shape(launching: Launching) -> object:
    """What a worker's buffers are made for."""
    return (launching.config.block, launching.cluster, launching.local_bytes,
            launching.shared_limit)  # fmt: skip


def _is_plain(launching: Launching) -> bool:
    """Whether nobody watches the launch or has chosen an order: then nobody keeps its workers."""
    config = launching.config
    watched = (config.observer, config.heap_watch, config.snapshots, config.block_order,
               config.warp_order)  # fmt: skip
    return launching.n_workers == 1 and all(one is None for one in watched)
