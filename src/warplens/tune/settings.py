"""What the command line says about searches that a script makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from warplens.tune.result import Tuned

overrides: dict[str, Any] = {}  # settings of a search that take the place of the script's
_listeners: list[Callable[[Tuned], None]] = []


def heard(found: Tuned) -> None:
    """Tells who listens what a search found."""
    for listener in _listeners:
        listener(found)


@contextmanager
def listening(listener: Callable[[Tuned], None], **given: Any) -> Iterator[None]:
    """Within it, searches take the given settings, and the listener gets what they find."""
    saved = dict(overrides)
    overrides.update(given)
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
        overrides.clear()
        overrides.update(saved)
