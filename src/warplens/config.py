"""What a process sets once: who listens to launches, and how a process is named in reports."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warplens.api import Kernel, Launch, LaunchShape

Check = Callable[["Kernel", "LaunchShape", "tuple[Any, ...]"], None]

_listeners: list[Callable[[Launch], None]] = []
_checks: list[Check] = []


@contextmanager
def listening(listener: Callable[[Launch], None]) -> Iterator[None]:
    """Calls `listener` with every launch made in the block; `warplens profile script.py` does."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextmanager
def checking(check: Check) -> Iterator[None]:
    """Calls `check` before every launch made in the block; `warplens sanitize script.py` does."""
    _checks.append(check)
    try:
        yield
    finally:
        _checks.remove(check)


def check_launch(kernel: Kernel, shape: LaunchShape, arguments: tuple[Any, ...]) -> None:
    """Tells every check about a launch that is about to run."""
    for check in tuple(_checks):
        check(kernel, shape, arguments)


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
