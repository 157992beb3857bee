"""What every runner does, and the simplest one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Lost:
    """In place of a result: the worker died whenever it was at this task."""

    problem: str = "the process died"


class Runner(Protocol):
    """Does many tasks.

    Attributes:
        size: workers; has_one_cache: whether what one of them puts into its cache is there for the
            others.
    """

    size: int
    has_one_cache: bool

    def results(
        self, work: Callable[[T], R], tasks: Sequence[T],
        group: Callable[[T], Hashable] | None = None,
    ) -> Iterator[tuple[int, R | Lost]]:  # fmt: skip
        """(number of the task, result) as they come; what a task raises is raised.

        Args:
            work: a function of a module, so that it can be sent; called once for each task.
            tasks: may grow before the next result is asked for, until there is none.
            group: tasks that need the same compiled code, for workers without a common disk.
        """

    def close(self) -> None:
        """Lets the workers go."""


class Here:
    """One task after another in this process."""

    size = 1
    has_one_cache = True

    def results(
        self, work: Callable[[T], R], tasks: Sequence[T],
        group: Callable[[T], Hashable] | None = None,
    ) -> Iterator[tuple[int, R | Lost]]:  # fmt: skip
        """In their order."""
        for number, task in enumerate(tasks):
            yield number, work(task)

    def close(self) -> None:
        """Nothing."""


def in_order(answers: Iterable[tuple[int, Any]]) -> Generator[Any]:
    """Results in the order of their tasks, each as soon as all before it are there."""
    waiting: dict[int, Any] = {}
    following = 0
    for number, found in answers:
        waiting[number] = found
        while following in waiting:
            yield waiting.pop(following)
            following += 1
