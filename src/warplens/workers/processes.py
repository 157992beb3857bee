"""Processes of this machine with a core each."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from warplens.workers.runner import Lost, R, T

_TRIES = 2  # of a task beside others; after that it is tried alone
_AHEAD = 4  # tasks for each worker that are handed out


class Processes:
    """A pool. When a process dies, which of the open tasks was to blame is not known: each is tried
    again, and one that was open at several deaths alone, which decides."""

    has_one_cache = True

    def __init__(self, size: int) -> None:
        self.size = size
        self._pool = self._new()

    def _new(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.size, mp_context=context, initializer=_one_core)

    def results(
        self, work: Callable[[T], R], tasks: Sequence[T],
        group: Callable[[T], Hashable] | None = None,
    ) -> Iterator[tuple[int, R | Lost]]:  # fmt: skip
        """As they come; a few are always ahead of the processes, and whoever stops asking for
        results takes those back."""
        waiting, suspects, known = deque[int](), deque[int](), 0
        deaths: Counter[int] = Counter()
        running: dict[Future[Any], int] = {}
        try:
            while len(tasks) > known or waiting or running or suspects:
                waiting.extend(range(known, len(tasks)))
                known = len(tasks)
                died = [] if suspects else self._submit(work, tasks, waiting, running)
                for one in wait(running, return_when=FIRST_COMPLETED).done if running else ():
                    number = running.pop(one)
                    try:
                        found = one.result()
                    except BrokenProcessPool:
                        died.append(number)
                        continue
                    yield number, found
                if died:
                    yield from self._again(died, deaths, waiting, suspects, running)
                if suspects and not running:
                    number = suspects.popleft()
                    yield number, self._alone(work, tasks[number])
        finally:
            for one in running:
                one.cancel()

    def _submit(
        self, work: Callable[[T], R], tasks: Sequence[T], waiting: deque[int],
        running: dict[Future[Any], int],
    ) -> list[int]:  # fmt: skip
        """Keeps the processes busy; gives the tasks that a broken pool did not take."""
        while waiting and len(running) < _AHEAD * self.size:
            number = waiting.popleft()
            try:
                running[self._pool.submit(work, tasks[number])] = number
            except BrokenProcessPool:
                return [number]
        return []

    def _again(
        self, died: list[int], deaths: Counter[int], waiting: deque[int], suspects: deque[int],
        running: dict[Future[Any], int],
    ) -> Iterator[tuple[int, Any]]:  # fmt: skip
        """A fresh pool, and what was open waits once more."""
        for one, number in running.items():
            try:
                yield number, one.result()
            except BrokenProcessPool:
                died.append(number)
        running.clear()
        self._renew()
        for number in sorted(died, reverse=True):
            deaths[number] += 1
            (suspects if deaths[number] > _TRIES else waiting).appendleft(number)

    def _alone(self, work: Callable[[T], R], task: T) -> R | Lost:
        try:
            return self._pool.submit(work, task).result()
        except BrokenProcessPool:
            self._renew()
            return Lost()

    def _renew(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._new()

    def close(self) -> None:
        """Ends the processes."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _one_core() -> None:
    """Settings of a worker: one thread, and interrupts are the parent's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
