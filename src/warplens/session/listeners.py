"""Who is told of launches in this process: scripts under a profiler or a sanitizer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from warplens.sanitize.passes import SanitizeOptions
    from warplens.sanitize.report import Report
    from warplens.sass.model import SassKernel
    from warplens.session.host_memory import HostMemory
    from warplens.session.launch import Launch


class PendingLaunch(Protocol):
    """What a check sees of a launch that is about to run."""

    @property
    def sass(self) -> SassKernel:
        """The kernel's machine code and resources."""

    def sanitized(
        self, arguments: tuple[Any, ...], options: SanitizeOptions, *, keep_results: bool
    ) -> Report:
        """Runs the launch under the sanitizers."""


Check = Callable[[PendingLaunch, tuple[Any, ...]], None]

_listeners: list[Callable[[Launch], None]] = []
_checks: list[Check] = []
_watched: list[HostMemory] = []


@contextmanager
def listening(listener: Callable[[Launch], None]) -> Iterator[None]:
    """Calls `listener` with every launch made in the block; `warplens profile script.py` does."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextmanager
def checking(check: Check) -> Iterator[HostMemory]:
    """Calls `check` before every launch made in the block; `warplens sanitize script.py` does.

    What the host does with device memory is noted meanwhile.
    """
    from warplens.session.host_memory import HostMemory

    host = HostMemory()
    _checks.append(check)
    _watched.append(host)
    try:
        yield host
    finally:
        _checks.remove(check)
        _watched.remove(host)


def watched_memory() -> tuple[HostMemory, ...]:
    """Who wants to know of the host's allocations and frees."""
    return tuple(_watched)


def is_checking() -> bool:
    """Whether launches are checked, so that it matters who writes which memory."""
    return bool(_checks)


def before_launch(pending: PendingLaunch, arguments: tuple[Any, ...]) -> None:
    """Tells every check about a launch that is about to run."""
    for check in tuple(_checks):
        check(pending, arguments)


def after_launch(launch: Launch) -> None:
    """Tells every listener about a finished launch."""
    for listener in tuple(_listeners):
        listener(launch)
