"""A Dask scheduler's workers, or a Dask cluster of this machine."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np

from warplens.errors import InputError
from warplens.workers.carried import Shared, arrays_of, itself, remotely
from warplens.workers.runner import Lost, R, T

_AHEAD = 4  # tasks for each worker that are handed out


class Cluster:
    """Dask's workers; it tries the tasks of one that died again.

    On other machines an array is sent once and kept there by its content, and compiled code comes
    and goes as `carried` says. The scheduler keeps the array, too: scattered data is lost with the
    worker that has it.

    Attributes:
        dashboard: the address of the page on which Dask shows its tasks.
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
        self.dashboard = str(self._client.dashboard_link)
        self._shared, self._sent = Shared(), dict[str, Any]()

    def results(
        self, work: Callable[[T], R], tasks: Sequence[T],
        group: Callable[[T], Hashable] | None = None,
    ) -> Iterator[tuple[int, R | Lost]]:  # fmt: skip
        """As they come."""
        import distributed

        completed: Any = distributed.as_completed
        number: dict[str, int] = {}
        following = count()
        answered, running = completed(), set[Any]()

        def submit() -> None:
            while len(number) < len(tasks) and len(running) < _AHEAD * self.size:
                one = next(following)
                future = self._submitted(work, tasks[one], group)
                number[future.key] = one
                running.add(future)
                answered.add(future)

        submit()
        try:
            for future in answered:
                running.discard(future)
                place = number[future.key]
                yield place, self._result(future, tasks[place], group)
                submit()
        finally:
            self._client.cancel(list(running))

    def _submitted(
        self, work: Callable[[T], R], task: T, group: Callable[[T], Hashable] | None
    ) -> Any:
        if self.has_one_cache:
            return self._client.submit(work, task, pure=False)
        entries = self._shared.of(group(task)) if group else []
        arrays = arrays_of(task)
        for one in arrays:
            if one.path not in self._sent:
                self._sent[one.path] = self._kept(np.load(one.path))
        names = [one.path for one in arrays]
        sent = [self._sent[name] for name in names]
        return self._client.submit(remotely, work, task, entries, names, sent, pure=False)

    def _kept(self, array: Any) -> Any:
        """An array as a task that gives it, which Dask does again where it is lost."""
        from dask.base import tokenize

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self._client.submit(itself, array, key=f"array-{tokenize(array)}")

    def _result(self, future: Any, task: T, group: Callable[[T], Hashable] | None) -> Any:
        """What the task gave; `Lost` where the worker died at it again and again."""
        import distributed

        if future.status == "error" and isinstance(future.exception(), distributed.KilledWorker):
            return Lost()
        found = future.result()
        if self.has_one_cache:
            return found
        result, made = found
        if group:
            self._shared.keep(group(task), made)
        return result

    def close(self) -> None:
        """Leaves the cluster; one of its own ends."""
        self._sent.clear()
        self._client.close()
        if self._own is not None:
            self._own.close()
