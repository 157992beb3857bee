"""Runs work on the GPU in processes of their own, so that an illegal instruction harms no other.

The caller has loaded everything but CUDA; processes are forked from it, so a new one costs a new
context only. A task is a list of items. Its process notes how far it came in memory of the host,
which outlives a context that an illegal instruction has spoilt.
"""

from __future__ import annotations

import multiprocessing as mp
import queue
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

FORK = mp.get_context("fork")

Work = Callable[[list[int]], Any]


class ItemFailed(RuntimeError):
    """One item of a task failed, and it is known which."""

    def __init__(self, item: int, reason: str) -> None:
        super().__init__(reason)
        self.item = item


def _serve(make: Callable[[], Work], pipe: Connection) -> None:
    """A process's life: answers tasks until one fails."""
    work = make()
    pipe.send(("done", None))
    while True:
        try:
            pipe.send(("done", work(pipe.recv())))
        except EOFError:
            return
        except ItemFailed as error:
            pipe.send(("failed", (error.item, str(error))))
            return
        except Exception as error:
            pipe.send(("failed", (None, str(error))))
            return


class _Process:
    """One process with a context."""

    def __init__(self, make: Callable[[], Work]) -> None:
        self._pipe, other = FORK.Pipe()
        self._child = FORK.Process(target=_serve, args=(make, other), daemon=True)
        self._child.start()
        other.close()
        self.answer(60.0)

    def answer(self, seconds: float) -> Any:
        """What it sends next."""
        if not self._pipe.poll(seconds):
            raise RuntimeError("does not end")
        kind, value = self._pipe.recv()
        if kind == "failed":
            item, reason = value
            raise RuntimeError(reason) if item is None else ItemFailed(item, reason)
        return value

    def ask(self, items: list[int], seconds: float) -> Any:
        """The result of a task; raises if it failed."""
        self._pipe.send(items)
        return self.answer(seconds)

    def end(self) -> None:
        """Ends it, whatever it does."""
        self._child.kill()
        self._child.join()
        self._pipe.close()


class Crew:
    """Processes that share a list of tasks."""

    def __init__(self, make: Callable[[], Work], done: Callable[[Any], None],
                 seconds: float, task_seconds: float = 15.0) -> None:  # fmt: skip
        self._make, self._done = make, done
        self._end = time.monotonic() + seconds
        self._task_seconds = task_seconds
        self._todo: queue.Queue[list[int]] = queue.Queue()
        self._lock = threading.Lock()
        self.errors: dict[int, str] = {}

    def run(self, tasks: Sequence[list[int]], processes: int = 12) -> dict[int, str]:
        """Runs what can be run until the time is up; gives the errors of single items."""
        for task in tasks:
            self._todo.put(task)
        threads = [threading.Thread(target=self._live) for _ in range(processes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.errors

    def _live(self) -> None:
        process: _Process | None = None
        while time.monotonic() < self._end:
            try:
                items = self._todo.get(timeout=0.2)
            except queue.Empty:
                if self._todo.unfinished_tasks == 0:
                    break
                continue
            try:
                process = process or _Process(self._make)
                value = process.ask(items, self._task_seconds)
                with self._lock:
                    self._done(value)
            except (RuntimeError, OSError, EOFError) as error:
                if process is not None:
                    process.end()
                process = None
                self._split(items, error)
            self._todo.task_done()
        if process is not None:
            process.end()

    def _split(self, items: list[int], error: Exception) -> None:
        """What to do of a task that failed: all but the item that did it, or its halves."""
        if isinstance(error, ItemFailed):
            self.errors[error.item] = str(error)
            rest = [i for i in items if i != error.item]
            if rest:
                self._todo.put(rest)
        elif len(items) == 1:
            self.errors[items[0]] = str(error)
        else:
            half = len(items) // 2
            self._todo.put(items[:half])
            self._todo.put(items[half:])
