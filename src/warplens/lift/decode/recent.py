"""What was made of the last kernels' instructions, since it is wanted once per program."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from warplens.sass.model import Instruction

_MOST = 8  # kernels
_Made = TypeVar("_Made")


class Recent(Generic[_Made]):
    """Remembers what a function made of the last kernels: by the identity of their instructions,
    which stay alive with it."""

    def __init__(self, make: Callable[[tuple[Instruction, ...]], _Made]) -> None:
        self._make = make
        self._kept: dict[int, tuple[tuple[Instruction, ...], _Made]] = {}
        self._guard = threading.Lock()

    def of(self, code: tuple[Instruction, ...]) -> _Made:
        """What the function makes of these instructions."""
        with self._guard:
            if id(code) in self._kept:
                return self._kept[id(code)][1]
        made = self._make(code)
        with self._guard:
            self._kept[id(code)] = (code, made)
            while len(self._kept) > _MOST:
                del self._kept[next(iter(self._kept))]
        return made
