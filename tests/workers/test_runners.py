"""Runners beside each other: the same results, a death costs time only, files travel by content."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from warplens.errors import InputError
from warplens.toolchain.cache import Cache
from warplens.tune import Problem, Search, Space
from warplens.workers import Here, Lost, Runner, Store, in_order, resolved, runner_of
from warplens.workers.processes import Processes

SOURCE = "__global__ void add(float* a) { a[blockIdx.x * blockDim.x + threadIdx.x] += BY; }"


def squared(number: int) -> int:
    """A task that takes longer the smaller its number is."""
    time.sleep(0.02 * (5 - number % 5))
    return number * number


def deadly(path: Path) -> str:
    """The first one to come to the file dies there; nobody survives `always`."""
    if path.name == "always":
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return path.name
    if path.name == "once":
        os.kill(os.getpid(), signal.SIGKILL)
    return path.name


def refused(_: int) -> None:
    """Raises an error of ours."""
    raise InputError("not this one", hint="another")


@dataclass(frozen=True)
class Arrays:
    """A task with arrays."""

    arguments: tuple[Any, ...]


def summed(task: Arrays) -> tuple[float, bool]:
    """Their sum, and whether the file is seen."""
    return float(sum(np.sum(one) for one in resolved(task.arguments))), bool(
        Path(task.arguments[0].path).exists()
    )


@contextmanager
def closing(runner: Runner) -> Iterator[Runner]:
    """Closes it in the end."""
    try:
        yield runner
    finally:
        runner.close()


def test_the_same_in_the_same_order() -> None:
    """Whoever works, and whatever is done first."""
    expected = [n * n for n in range(10)]
    for runner in (Here(), Processes(2)):
        with closing(runner):
            assert list(in_order(runner.results(squared, range(10)))) == expected
            assert list(in_order(runner.results(squared, []))) == []


def grown(runner: Runner) -> list[tuple[int, int]]:
    """Results of tasks of which each one asks for the next two, up to nine."""
    tasks, found = [1], []
    for number, result in runner.results(squared, tasks):
        found.append((number, result))
        tasks += range(len(tasks) + 1, min(len(tasks) + 2, 9) + 1)
    return sorted(found)


def test_tasks_that_come_later() -> None:
    """What is asked for while results come is done, too."""
    expected = [(n, (n + 1) ** 2) for n in range(9)]
    for runner in (Here(), Processes(2)):
        with closing(runner):
            assert grown(runner) == expected


@pytest.mark.long
def test_a_death_costs_time_only(tmp_path: Path) -> None:
    """One task kills its worker once and is done by the next; one always does, and is lost; the
    others, which were open at every death, are not."""
    names = ["a", "once", "b", "always", "c", "d"]
    with closing(Processes(2)) as runner:
        found = list(in_order(runner.results(deadly, [tmp_path / name for name in names])))

    assert found == ["a", "once", "b", Lost("the process died"), "c", "d"]


def test_errors_come_through() -> None:
    """With their text and hint, from another process as from this one."""
    for runner in (Here(), Processes(2)):
        with closing(runner), pytest.raises(InputError, match="not this one") as told:
            list(runner.results(refused, [1]))
        assert told.value.hint == "another"
    with pytest.raises(InputError, match="0 processes"):
        runner_of(None, 0)


def test_entries_travel_between_caches(tmp_path: Path) -> None:
    """By content: what one cache noted another one has, under the same key."""
    one, other = Cache(tmp_path / "one"), Cache(tmp_path / "other")
    one.put("cubin", "before", b"0")
    with one.noting() as noted:
        one.put("cubin", "made", b"1")
        assert one.get("cubin", "before") == b"0" and one.get("cubin", "nothing") is None
    one.put("cubin", "after", b"2")
    for entry in noted:
        other.add(entry)

    assert [entry.data for entry in noted] == [b"1", b"0"]
    assert [other.get("cubin", key) for key in ("made", "before", "after")] == [b"1", b"0", None]
    assert other.entry("cubin", noted[0].name) == noted[0]
    assert other.entry("listing", noted[0].name) is None


def test_a_sweep_in_processes() -> None:
    """Compiled by two processes, the table is the same."""
    kernel = wl.Device("RTX 4060").compile(SOURCE, options=["-DBY=1"])["add"]
    rows = [kernel.sweep(maxrregcount=(None, 32, 24), processes=n).rows() for n in (1, 2)]

    assert rows[0] == rows[1] and len(rows[0]) == 3


@pytest.mark.long
def test_dask_does_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of a scheduler that have a cache of their own: results as here, a death costs time,
    arrays come by content, and nobody compiles what another one has compiled."""
    distributed: Any = pytest.importorskip("distributed")
    here, there = tmp_path / "here", tmp_path / "there"
    monkeypatch.setenv("WARPLENS_CACHE_DIR", str(there))
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        monkeypatch.setenv("WARPLENS_CACHE_DIR", str(here))
        with closing(runner_of(cluster.scheduler_address, None)) as runner:
            assert runner.size == 2 and not runner.has_one_cache
            found = list(in_order(runner.results(squared, range(10))))
            assert found == [n * n for n in range(10)]
            names = ["a", "once", "b"]
            found = list(in_order(runner.results(deadly, [tmp_path / name for name in names])))
            assert found == names
            _arrays(runner)
        _tuned(cluster.scheduler_address, here, there)


def _arrays(runner: Runner) -> None:
    store = Store()
    big = np.arange(1 << 16, dtype=np.float64)
    tasks = [Arrays(store.stored([big])), Arrays(store.stored([big, big]))]
    told = list(in_order(runner.results(summed, tasks)))
    store.close()
    assert [one for one, _ in told] == [big.sum(), 2 * big.sum()]


def summed_or_not(task: Arrays) -> float:
    """The sum of the second array. The first one to come to the file dies with its arrays; a task
    that asks for it always does."""
    path, number = Path(task.arguments[0]), task.arguments[1]
    if number == 5 or (number == 2 and not path.exists()):
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return float(np.sum(resolved(task.arguments[2:])[0]))


@pytest.mark.long
def test_arrays_of_the_dead(tmp_path: Path) -> None:
    """What only a dead worker of Dask's had is there again; a task that always kills is lost."""
    distributed: Any = pytest.importorskip("distributed")
    store = Store()
    big = store.stored([np.arange(1 << 17, dtype=np.float64)])
    tasks = [Arrays((str(tmp_path / "died"), number, *big)) for number in range(6)]
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster, closing(runner_of(cluster.scheduler_address, None)) as runner:
        found = list(in_order(runner.results(summed_or_not, tasks[:5])))
        assert found == [float(np.arange(1 << 17).sum())] * 5
        assert list(runner.results(summed_or_not, tasks[5:])) == [(0, Lost("the process died"))]
    store.close()


def _tuned(scheduler: str, here: Path, there: Path) -> None:
    problem = Problem(
        source=SOURCE, kernel="add", space=Space({"BX": [32, 64], "BY": [1, 2]}),
        grid="4096 // BX", block="BX", args=[np.zeros(4096, np.float32)],
    )  # fmt: skip
    there_first = Search(problem, ("RTX 4060",), scheduler=scheduler, confirm=1).run()
    compiled = sorted(p.name for p in there.glob("cubin/*/*"))
    assert compiled and compiled == sorted(p.name for p in here.glob("cubin/*/*"))
    for path in there.glob("cubin/*/*"):
        path.unlink()
    again = Search(problem, ("RTX 4060",), scheduler=scheduler, confirm=1).run()
    local = Search(problem, ("RTX 4060",), processes=1, confirm=1).run()
    assert there_first.json() == again.json() == local.json()
