"""What a task needs on a worker that does not see this machine's files: arrays and compiled code.

Compiled code lies in the cache by content. What a task of a group finds in
a worker's cache or adds to it comes back with its result, goes into the cache here, and is sent
with the group's later tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from warplens.toolchain.cache import Entry, default_cache
from warplens.workers.arrays import Stored, give

_KINDS = frozenset({"cubin", "listing"})  # machine code of a CPU stays on its machine


def itself(array: Any) -> Any:
    """What was sent."""
    return array


def remotely(
    work: Callable[[Any], Any], task: Any, entries: Sequence[Entry], names: Sequence[str],
    arrays: Sequence[Any],
) -> tuple[Any, list[Entry]]:  # fmt: skip
    """On a worker: the result, and what its cache gave or took that was not sent along."""
    cache = default_cache()
    for entry in entries:
        cache.add(entry)
    give(dict(zip(names, arrays, strict=True)))
    with cache.noting() as made:
        found = work(task)
    had = {(one.kind, one.name) for one in entries}
    new = {(one.kind, one.name): one for one in made if one.kind in _KINDS}
    return found, [one for place, one in new.items() if place not in had]


class Shared:
    """Which entries of the cache here the tasks of a group need."""

    def __init__(self) -> None:
        self._known: dict[Hashable, dict[tuple[str, str], None]] = {}

    def keep(self, group: Hashable, made: Sequence[Entry]) -> None:
        """Takes what a task has made."""
        cache = default_cache()
        for entry in made:
            cache.add(entry)
            self._known.setdefault(group, {})[entry.kind, entry.name] = None

    def of(self, group: Hashable) -> list[Entry]:
        """What tasks of the group have made before, as far as the cache still has it."""
        found = (default_cache().entry(*one) for one in self._known.get(group, ()))
        return [one for one in found if one is not None]


def arrays_of(task: Any) -> list[Stored]:
    """The arrays in files that a task's `arguments` name."""
    every = getattr(task, "arguments", ())
    return list(dict.fromkeys(one for one in every if isinstance(one, Stored)))
