"""Graphs: work that was captured from streams, to be done again as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field

from warplens.driver.machine import Driver
from warplens.driver.status import DriverError, Status
from warplens.driver.timeline import Event, Stream, Work


@dataclass(slots=True, eq=False)
class Graph:
    """Work in the order in which it was captured."""

    work: list[Work] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class ExecutableGraph:
    """A graph as it was when it was instantiated."""

    work: tuple[Work, ...]

    def launch(self, driver: Driver, stream: Stream) -> None:
        """Does the work in a stream; branches come one after another."""
        for work in self.work:
            driver.submit(stream, work)


def begin_capture(stream: Stream) -> None:
    """Starts to note a stream's work instead of doing it."""
    if stream.capture is not None:
        raise DriverError(Status.CUDA_ERROR_ILLEGAL_STATE, "the stream is captured already")
    if stream.number in (0, 1):
        raise DriverError(Status.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    stream.capture, stream.began_capture = [], True


def end_capture(driver: Driver, stream: Stream) -> Graph:
    """Ends the capture that began on this stream; streams that joined it leave it."""
    work = stream.capture
    if work is None or not stream.began_capture:
        raise DriverError(Status.CUDA_ERROR_STREAM_CAPTURE_UNMATCHED)
    for other in driver.context().streams:
        if other.capture is work:
            other.capture = None
    stream.capture, stream.began_capture = None, False
    return Graph(work)


def record(driver: Driver, event: Event, stream: Stream) -> None:
    """Marks where a stream is."""

    def mark(stream: Stream) -> None:
        event.moment = stream.now

    event.capture = stream.capture
    if event.is_timed:
        driver.keep_times()
    driver.submit(stream, mark)


def wait(driver: Driver, stream: Stream, event: Event) -> None:
    """Lets a stream's later work come after an event; waiting for a capture's event joins it."""
    if event.capture is not None and stream.capture is None:
        stream.capture = event.capture
        return
    moment = event.moment

    def join(stream: Stream) -> None:
        if moment is not None:
            stream.now = stream.now.later(moment)

    driver.submit(stream, join)
