"""The arguments of a launch as they were before it, for running a block of it again."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from warplens.errors import LaunchError
from warplens.session.tensor_map import TensorMap
from warplens.session.texture import Surface, Texture

KEPT_BYTES = 8 << 20  # arrays up to this size in all are copied before a launch


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptArguments:
    """A launch's arguments as they were: small arrays copied, larger ones remembered weakly."""

    values: tuple[Any, ...]
    is_copied: bool

    def restored(self) -> tuple[Any, ...]:
        """The arguments for another run.

        Raises:
            LaunchError: an array that was too large to copy no longer exists.
        """
        found = []
        for value in self.values:
            alive = value() if isinstance(value, weakref.ref) else value
            if alive is None and isinstance(value, weakref.ref):
                raise LaunchError(
                    "an array of the launch no longer exists; stepping executes the block again",
                    hint="Keep references to the arguments, or step a launch with smaller arrays.",
                )
            found.append(_copied(alive))
        return tuple(found)


def _copied(value: Any) -> Any:
    """An array, or a tensor map of one, with its own content; anything else as it is."""
    if isinstance(value, TensorMap) and isinstance(value.array, np.ndarray):
        return value.over(value.array.copy())
    if isinstance(value, Texture | Surface):
        return value.over(value.array.copy())
    return value.copy() if isinstance(value, np.ndarray) else value


def keep(arguments: tuple[Any, ...]) -> KeptArguments:
    """Remembers arguments before they are changed by a launch."""
    given = (v.array if isinstance(v, TensorMap | Texture | Surface) else v for v in arguments)
    arrays = [value for value in given if isinstance(value, np.ndarray)]
    is_copied = sum(array.nbytes for array in arrays) <= KEPT_BYTES
    values = tuple(
        (value.copy() if is_copied else weakref.ref(value))
        if isinstance(value, np.ndarray) else _copied(value) if is_copied else value
        for value in arguments
    )  # fmt: skip
    return KeptArguments(values=values, is_copied=is_copied)
