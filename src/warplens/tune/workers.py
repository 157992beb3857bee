"""Who answers tasks: processes of this machine, or a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from itertools import islice
from typing import Any, Protocol

import numpy as np

from warplens.errors import InputError
from warplens.tune.arguments import resolved
from warplens.tune.evaluate import Answer, Task, answer

_TRIES = 2  # of a task whose worker died
_AHEAD = 4  # tasks for each worker that are handed out


class Workers(Protocol):
    """Answers many tasks."""

    size: int
    has_one_cache: bool  # whether what one of them puts into its cache is there for the others

    def answers(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Answer]]:
        """(number of the task, answer) as they come."""

    def close(self) -> None:
        """Lets the workers go."""


class Here:
    """One task after another in this process."""

    size = 1
    has_one_cache = True

    def answers(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Answer]]:
        """In their order."""
        for number, task in enumerate(tasks):
            yield number, answer(task)

    def close(self) -> None:
        """Nothing."""


class Processes:
    """Processes with a core each; one that dies costs its task a second try."""

    has_one_cache = True

    def __init__(self, size: int) -> None:
        self.size = size
        self._pool = self._new()

    def _new(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.size, mp_context=context, initializer=_one_core)

    def answers(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Answer]]:
        """As they come; a few are always ahead of the processes, and whoever stops asking for
        answers takes those back."""
        waiting = deque(range(len(tasks)))
        tries: Counter[int] = Counter()
        running: dict[Future[Answer], int] = {}
        try:
            while waiting or running:
                died = self._submit(tasks, waiting, running)
                done = wait(running, return_when=FIRST_COMPLETED).done if running else set()
                for one in done:
                    number = running.pop(one)
                    try:
                        found = one.result()
                    except BrokenProcessPool:
                        died.append(number)
                        continue
                    yield number, found
                if died:
                    yield from self._again(died, tries, waiting, running)
        finally:
            for one in running:
                one.cancel()

    def _submit(
        self, tasks: Sequence[Task], waiting: deque[int], running: dict[Future[Answer], int]
    ) -> list[int]:
        """Keeps the processes busy; gives the tasks that a broken pool did not take."""
        while waiting and len(running) < _AHEAD * self.size:
            number = waiting.popleft()
            try:
                running[self._pool.submit(answer, tasks[number])] = number
            except BrokenProcessPool:
                return [number]
        return []

    def _again(
        self, died: list[int], tries: Counter[int], waiting: deque[int],
        running: dict[Future[Answer], int],
    ) -> Iterator[tuple[int, Answer]]:  # fmt: skip
        """A fresh pool; with many tasks open the culprit is not known, so each is tried again."""
        for one, number in running.items():
            try:
                yield number, one.result()
            except BrokenProcessPool:
                died.append(number)
        running.clear()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._new()
        for number in sorted(died, reverse=True):
            tries[number] += 1
            if tries[number] >= _TRIES + self.size:
                yield number, Answer(problem="the process died")
            else:
                waiting.appendleft(number)

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
        self.has_one_cache = address == "local"
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
            if self.has_one_cache:
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
        number: dict[str, int] = {}
        waiting = iter(range(len(tasks)))

        def submit(most: int) -> list[Any]:
            futures = []
            for one in islice(waiting, most):
                task = tasks[one] if self.has_one_cache else _carrying(tasks[one])
                futures.append(self._client.submit(answer, task, pure=False, retries=_TRIES))
                number[futures[-1].key] = one
            return futures

        running = set(submit(_AHEAD * self.size))
        answered = completed(list(running))
        try:
            for future in answered:
                running.discard(future)
                if future.status == "finished":
                    yield number[future.key], future.result()
                else:
                    problem = f"{type(future.exception()).__name__}: {future.exception()}"
                    yield number[future.key], Answer(problem=problem)
                for more in submit(1):
                    running.add(more)
                    answered.add(more)
        finally:
            self._client.cancel(list(running))

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
