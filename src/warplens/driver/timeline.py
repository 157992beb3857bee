"""Modelled time of streams and events.

A launch's time is modelled only when an event's time is asked for; until then a moment remembers
what it waits for.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Protocol

_MOST_PENDING = 256  # moments in a row that wait to be computed; what they hold is not small


class Moment:
    """A point of modelled time: the latest of some moments and, after it, a duration."""

    __slots__ = ("_before", "_duration", "_nanoseconds", "pending")

    def __init__(
        self, before: tuple[Moment, ...] = (), duration: Callable[[], float] | None = None
    ) -> None:
        self._before = tuple(dict.fromkeys(before))
        self._duration = duration
        self._nanoseconds: float | None = None
        self.pending: int = 1 + max((moment.pending for moment in self._before), default=0)
        if duration is None and not self._before:
            self._nanoseconds, self.pending = 0.0, 0
        elif self.pending > _MOST_PENDING:
            self.nanoseconds()

    def later(self, other: Moment) -> Moment:
        """The later of two."""
        return self if other is self else Moment((self, other))

    def nanoseconds(self) -> float:
        """When this is, in ns after the driver began to count."""
        todo = [self]
        while todo:
            moment = todo[-1]
            waits = [other for other in moment._before if other._nanoseconds is None]
            if waits:
                todo += waits
                continue
            todo.pop()
            moment._compute()
        assert self._nanoseconds is not None
        return self._nanoseconds

    def _compute(self) -> None:
        if self._nanoseconds is not None:
            return
        start = max((other._nanoseconds or 0.0 for other in self._before), default=0.0)
        self._nanoseconds = start + (self._duration() if self._duration is not None else 0.0)
        self._before, self._duration, self.pending = (), None, 0


class NodeKind(IntEnum):
    """CUgraphNodeType: what a piece of work is, for those who look at graphs."""

    KERNEL = 0
    MEMCPY = 1
    MEMSET = 2
    HOST = 3
    GRAPH = 4
    EMPTY = 5
    WAIT_EVENT = 6
    EVENT_RECORD = 7
    MEM_ALLOC = 10
    MEM_FREE = 11


# Work of a stream; gives a function for its modelled duration in ns, or None where none counts.
Work = Callable[["Stream"], Callable[[], float] | None]


class Capture(Protocol):
    """Notes the work of streams instead of doing it."""

    def note(self, stream: Stream, work: Work, kind: NodeKind, given: object) -> None:
        """One more piece of work; `given` is what a program asked for."""


class Stream:
    """Work in order. Everything is done when a call returns; only modelled time runs on."""

    def __init__(self, *, number: int, flags: int = 0, priority: int = 0, context: int = 0) -> None:
        self.number = number
        self.flags = flags
        self.priority = priority
        self.context = context
        self.now = Moment()
        self.capture: Capture | None = None
        self.began_capture = False
        self.attributes: dict[int, bytes] = {}

    @property
    def waits_for_default(self) -> bool:
        """Whether work of the default stream and of this one come one after the other."""
        return not self.flags & 1


class Event:
    """A mark in a stream."""

    def __init__(self, *, flags: int = 0) -> None:
        self.flags = flags
        self.moment: Moment | None = None
        self.capture: Capture | None = None
        self.after: tuple[object, ...] = ()  # the nodes of that capture that it comes after

    @property
    def is_timed(self) -> bool:
        """Whether its time may be asked for (made without CU_EVENT_DISABLE_TIMING)."""
        return not self.flags & 2
