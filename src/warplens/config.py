"""What a process sets once: who listens to launches, and how a process is named in reports."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warplens.api import Launch

_listeners: list[Callable[[Launch], None]] = []


@contextmanager
def listening(listener: Callable[[Launch], None]) -> Iterator[None]:
    """Calls `listener` with every launch made in the block; `warplens profile script.py` does."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def announce(launch: Launch) -> None:
    """Tells every listener about a finished launch."""
    for listener in tuple(_listeners):
        listener(launch)


def process_name() -> str:
    """The name of the running program, as reports show it."""
    return Path(sys.argv[0]).name or "python"


def progress_wanted() -> bool:
    """Whether a progress bar may be drawn: only on a terminal."""
    try:
        return os.isatty(sys.stderr.fileno())
    except (OSError, ValueError, AttributeError):
        return False
