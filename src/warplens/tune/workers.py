"""Who answers tasks: processes of this machine, or a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from warplens.errors import InputError
from warplens.tune.arguments import resolved
from warplens.tune.evaluate import Answer, Task, answer

_TRIES = 2  # of a task whose worker died


class Workers(Protocol):
    """Answers many tasks."""

    size: int

    def answers(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Answer]]:
        """(number of the task, answer) as they come."""

    def close(self) -> None:
        """Lets the workers go."""


class Here:
    """One task after another in this process."""

    size = 1

    def answers(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Answer]]:
        """In their order."""
        for number, task in enumerate(tasks):
            yield number, answer(task)

    def close(self) -> None:
        """Nothing."""


class Processes:
    """Processes with a core each; one that dies costs its task a second try."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._pool = self._new()

    def _new(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.size, mp_context=context, initializer=_one_core)

    def answers(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Answer]]:
        """As they come."""
        tries = dict.fromkeys(range(len(tasks)), 0)
        while tries:
            died: list[int] = []
            running = {self._pool.submit(answer, tasks[number]): number for number in tries}
            while running:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for one in done:
                    number = running.pop(one)
                    try:
                        found = one.result()
                    except BrokenProcessPool:
                        died.append(number)
                        continue
                    del tries[number]
                    yield number, found
            if died:
                yield from self._again(died, tries)

    def _again(self, died: list[int], tries: dict[int, int]) -> Iterator[tuple[int, Answer]]:
        """A fresh pool; with many tasks open the culprit is not known, so each is tried again."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._new()
        for number in died:
            tries[number] += 1
            if tries[number] >= _TRIES + self.size:
                del tries[number]
                yield number, Answer(problem="the process died")

    def close(self) -> None:
        """Ends the processes."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _one_core() -> None:
    """Settings of a worker: one thread, and interrupts are the parent's business."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("OMP_NUM_THREADS", "1")


class Cluster:
    """Workers of a Dask scheduler, or of a cluster on this machine: processes with a core each.

    Large arrays are in files; workers on other machines get them with their tasks.
    """

    def __init__(self, address: str, size: int) -> None:
        self._is_local = address == "local"
        try:
            from distributed import Client, LocalCluster
        except ImportError as error:
            raise InputError(
                "--scheduler needs Dask", hint="pip install 'warplens[tune]'"
            ) from error
        make: Any = Client
        local: Any = LocalCluster
        self._own: Any = None
        try:
            if self._is_local:
                self._own = local(n_workers=size, threads_per_worker=1, processes=True)
            self._client: Any = make(self._own or address, timeout="20s")
        except (OSError, TimeoutError, ValueError) as error:
            raise InputError(f"no Dask scheduler at {address}: {error}") from error
        threads: dict[str, Any] = self._client.nthreads()
        self.size = max(1, sum(threads.values()))

    def answers(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Answer]]:
        """As they come; Dask tries tasks of a lost worker again."""
        import distributed

        completed: Any = distributed.as_completed
        sent = tasks if self._is_local else [_carrying(task) for task in tasks]
        futures = [self._client.submit(answer, task, pure=False, retries=_TRIES) for task in sent]
        number = {future.key: i for i, future in enumerate(futures)}
        for future in completed(futures):
            if future.status == "finished":
                yield number[future.key], future.result()
            else:
                problem = f"{type(future.exception()).__name__}: {future.exception()}"
                yield number[future.key], Answer(problem=problem)

    def close(self) -> None:
        """Leaves the cluster; one of its own ends."""
        self._client.close()
        if self._own is not None:
            self._own.close()


def _carrying(task: Task) -> Task:
    """The task with its arrays in it, for a worker that may not see this machine's files."""
    return replace(task, arguments=tuple(np.array(v) if isinstance(v, np.ndarray) else v
                                         for v in resolved(task.arguments)))  # fmt: skip


def workers_of(scheduler: str | None, size: int | None) -> Workers:
    """The workers asked for: a Dask scheduler, or as many processes as there are cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    wanted = size or cores or 1
    if scheduler is not None:
        return Cluster(scheduler, wanted)
    return Here() if wanted == 1 else Processes(wanted)
