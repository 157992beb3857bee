"""The arguments of a launch as they were before it, for running a block of it again."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from warplens.errors import LaunchError
from warplens.execute import buffers
from warplens.session.tensor_map import TensorMap
from warplens.session.texture import Surface, Texture

KEPT_BYTES = 8 << 20  # arrays up to this size in all are copied before a launch
_SMALL_BYTES = 1 << 16  # smaller ones have no pages of their own


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
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


def _kept(value: Any, taken: list[buffers.Bytes]) -> Any:
    """An argument with its own content, of a larger array in a buffer that is noted in `taken`."""
    if type(value) is not np.ndarray or value.nbytes < _SMALL_BYTES or value.dtype.hasobject:
        return _copied(value)
    taken.append(buffers.take(value.nbytes, most=2))
    copy = taken[-1][: value.nbytes].view(value.dtype).reshape(value.shape)
    copy[...] = value
    return copy


def keep(arguments: tuple[Any, ...]) -> KeptArguments:
    """Remembers arguments before they are changed by a launch."""
    given = (v.array if isinstance(v, TensorMap | Texture | Surface) else v for v in arguments)
    arrays = [value for value in given if isinstance(value, np.ndarray)]
    is_copied = sum(array.nbytes for array in arrays) <= KEPT_BYTES
    taken: list[buffers.Bytes] = []
    values = tuple(
        _kept(value, taken) if is_copied
        else weakref.ref(value) if isinstance(value, np.ndarray) else value
        for value in arguments
    )  # fmt: skip
    kept = KeptArguments(values=values, is_copied=is_copied)
    for buffer in taken:
        weakref.finalize(kept, buffers.give_back, buffer).atexit = False
    return kept
