"""Launch arguments on their way to workers: an array is written once and mapped where needed."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

_SMALL = 1 << 16  # bytes that travel with the task
_given: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Stored:
    """An array in a file of this machine."""

    path: str


class Store:
    """A folder of arrays, which goes away with it."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="warplens-")
        self._known: dict[int, tuple[Any, Stored]] = {}  # the array is held: its id stays its own

    def stored(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments with large arrays in files; the same array is written once."""
        return tuple(self._one(value) for value in arguments)

    def _one(self, value: Any) -> Any:
        if type(value) is not np.ndarray or value.nbytes <= _SMALL or value.dtype.hasobject:
            return value
        known = self._known.get(id(value))
        if known is None:
            path = Path(self._folder.name) / f"{len(self._known)}.npy"
            np.save(path, value)
            known = self._known[id(value)] = (value, Stored(str(path)))
        return known[1]

    def close(self) -> None:
        """Removes the files; what is mapped stays readable."""
        self._folder.cleanup()


def resolved(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments with stored arrays mapped; writes to them reach nobody else."""
    return tuple(_mapped(v.path) if isinstance(v, Stored) else v for v in arguments)


def give(arrays: Mapping[str, Any]) -> None:
    """Arrays by the paths that tasks know them by, for a worker that does not see the files."""
    for path, array in arrays.items():
        if path not in _given:
            _given[path] = np.array(array)


@lru_cache(maxsize=64)
def _mapped(path: str) -> Any:
    given = _given.get(path)
    return np.asarray(np.load(path, mmap_mode="c")) if given is None else given
