"""Streams, events and graphs of `torch.cuda`, on the simulated driver's and its modelled time.

PyTorch's own operations have no launches. So a capture notes kernels, and refuses those operations:
replays would leave them out.
"""

from __future__ import annotations

import threading
from typing import Any

from warplens.driver import graphs, timeline
from warplens.driver.machine import Driver
from warplens.errors import ArgumentError, Unsupported
from warplens.frontends.frontend import GiveDriver

_current = threading.local()


class _OfDriver:
    """What knows the process's driver."""

    give_driver: GiveDriver
    device: Any = None  # PyTorch's name of the GPU

    @classmethod
    def driver(cls) -> Driver:
        """The driver, with a context for this thread: PyTorch's first use makes one current."""
        driver = cls.give_driver()
        if not driver.stack:
            driver.stack.append(driver.primary(driver.gpus[0]))
        return driver


class Stream(_OfDriver):
    """A stream; `cuda_stream` is its handle."""

    device_index, device_type = 0, 1

    def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
        driver = self.driver()
        context, low = driver.primary(driver.gpus[0]), max(-5, min(0, priority))
        made = timeline.Stream(number=0, flags=1, priority=low, context=context.number)
        made.number = driver.handle(made)
        context.streams.append(made)
        self._made = made

    @property
    def of_driver(self) -> timeline.Stream:
        """The driver's."""
        return self._made

    @property
    def cuda_stream(self) -> int:
        """The driver's handle."""
        return self.of_driver.number

    def __cuda_stream__(self) -> tuple[int, int]:
        """The handle, as other frameworks ask for it."""
        return 0, self.cuda_stream

    @property
    def priority(self) -> int:
        """As it was asked for."""
        return self.of_driver.priority

    def synchronize(self) -> None:
        """Everything is done already."""

    def query(self) -> bool:
        """Everything is done already."""
        return True

    def record_event(self, event: Event | None = None) -> Event:
        """An event that marks where the stream is."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Later work comes after the event."""
        graphs.wait(self.driver(), self.of_driver, event.of_driver)

    def wait_stream(self, other: Stream) -> None:
        """Later work comes after the other stream's so far."""
        self.wait_event(other.record_event())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.of_driver is other.of_driver

    def __hash__(self) -> int:
        return hash(self.cuda_stream)


class ExternalStream(Stream):
    """A stream that something else made, by its handle."""

    def __init__(self, stream_ptr: int, device: Any = None, **_: Any) -> None:
        self._made = self.driver().stream(stream_ptr)


class _Default(Stream):
    """The default stream of this thread's context."""

    def __init__(self) -> None:
        """It is there already."""

    @property
    def cuda_stream(self) -> int:
        """The null stream."""
        return 0

    @property
    def of_driver(self) -> timeline.Stream:
        """The driver's."""
        return self.driver().stream(0)


DEFAULT = _Default()


def current() -> Stream:
    """The stream that a thread's work goes to."""
    found: Stream = getattr(_current, "stream", DEFAULT)
    return found


class stream:
    """A block whose work goes to a stream; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        self._before = current()
        if self.stream is not None:
            _current.stream = self.stream

    def __exit__(self, *_: object) -> None:
        _current.stream = self._before


class Event(_OfDriver):
    """An event, on modelled time."""

    def __init__(self, enable_timing: bool = False, **_: Any) -> None:
        self.of_driver = timeline.Event(flags=0 if enable_timing else 2)
        self._handle = 0

    @property
    def cuda_event(self) -> int:
        """The driver's handle, made when it is first asked for."""
        self._handle = self._handle or self.driver().handle(self.of_driver)
        return self._handle

    def record(self, stream: Any = None) -> None:
        """Marks where a stream is, the current one if none is given."""
        driver = self.driver()
        if self.of_driver.is_timed:
            driver.keep_times()
        graphs.record(driver, self.of_driver, (stream or current()).of_driver)

    def wait(self, stream: Any = None) -> None:
        """A stream's later work comes after the event."""
        (stream or current()).wait_event(self)

    def elapsed_time(self, end: Event) -> float:
        """The time to a later event in ms."""
        first, last = self.of_driver.moment, end.of_driver.moment
        if first is None or last is None:
            raise ArgumentError("an event that was not recorded has no time")
        return (last.nanoseconds() - first.nanoseconds()) / 1e6

    def query(self) -> bool:
        """Everything is done already."""
        return True

    def synchronize(self) -> None:
        """Everything is done already."""


class CUDAGraph(_OfDriver):
    """Kernels that a capture noted, to be launched again."""

    captures = 0  # under way

    def __init__(self, keep_graph: bool = False) -> None:
        self._made: graphs.ExecutableGraph | None = None
        self._stream: Stream = DEFAULT

    def capture_begin(self, pool: Any = None, **_: Any) -> None:
        """From now on the current stream's kernels are noted."""
        self._stream = current()
        graphs.begin_capture(self.driver(), self._stream.of_driver)
        CUDAGraph.captures += 1

    def capture_end(self) -> None:
        """Ends the capture."""
        CUDAGraph.captures -= 1
        made = graphs.end_capture(self.driver(), self._stream.of_driver)
        self._made = graphs.ExecutableGraph(made)

    def replay(self) -> None:
        """Launches what was noted, in the current stream."""
        if self._made is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        self._made.launch(self.driver(), current().of_driver)

    def reset(self) -> None:
        """Forgets what was noted."""
        self._made = None

    def instantiate(self) -> None:
        """It is already."""

    def pool(self) -> tuple[int, int]:
        """A token for memory shared with other graphs."""
        return 0, 0


class graph:
    """A block that is captured into a graph."""

    def __init__(self, cuda_graph: CUDAGraph, pool: Any = None, stream: Any = None, **_: Any):
        self._graph = cuda_graph
        self._on = globals()["stream"](stream if stream is not None else Stream())

    def __enter__(self) -> None:
        self._on.__enter__()
        self._graph.capture_begin()

    def __exit__(self, *_: object) -> None:
        self._graph.capture_end()
        self._on.__exit__()


def refuse_in_capture(name: str) -> None:
    """Refuses one of PyTorch's operations on "cuda" in a capture."""
    if CUDAGraph.captures and not name.startswith(("empty", "new_empty")):
        raise Unsupported(
            f"PyTorch's {name} in a CUDA graph: it runs on the CPU, and replays would leave it out",
            hint="Capture kernels only, with tensors that were made before.",
        )


def is_capturing() -> bool:
    """Whether the current stream's work is noted."""
    return current().of_driver.capture is not None


def serve(give_driver: GiveDriver) -> None:
    """Says whose streams and events these are."""
    _OfDriver.give_driver = staticmethod(give_driver)


def put_in_place(torch: Any, give_driver: GiveDriver) -> None:
    """Gives `torch.cuda` these names."""
    serve(give_driver)
    _OfDriver.device = torch.device("cuda", 0)
    cuda = torch.cuda
    cuda.Stream, cuda.ExternalStream, cuda.Event = Stream, ExternalStream, Event
    cuda.CUDAGraph, cuda.graph, cuda.stream, cuda.StreamContext = CUDAGraph, graph, stream, stream
    cuda.graph_pool_handle = lambda: (0, 0)
    cuda.is_current_stream_capturing = is_capturing
    cuda.default_stream = lambda *_: DEFAULT
    cuda.current_stream = lambda *_: current()
    cuda.set_stream = lambda to: setattr(_current, "stream", to)
    torch._C._cuda_getCurrentRawStream = lambda _: current().cuda_stream  # TVM FFI asks
    cuda.graphs.CUDAGraph, cuda.graphs.graph = CUDAGraph, graph
