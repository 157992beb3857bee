"""Graphs: work with an order, noted node by node or from streams, and done again as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from warplens.driver.machine import Driver
from warplens.driver.memory import DEVICE
from warplens.driver.status import DriverError, Status
from warplens.driver.timeline import Event, Moment, NodeKind, Stream, Work
from warplens.driver.user_objects import Held, UserObject


@dataclass(slots=True, eq=False)
class Node:
    """One piece of work; `given` is what a program asked for, `before` what it comes after."""

    number: int
    graph: Graph
    kind: NodeKind
    work: Work
    given: object
    before: list[Node] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class NodeWork:
    """A node to be: its kind, its work, and what the program gave."""

    kind: NodeKind
    work: Work
    given: object = None


class GraphMemory:
    """Memory that a graph's nodes allocate; it lives as long as the graph or a copy of it."""

    def __init__(self, driver: Driver) -> None:
        self.addresses: list[int] = []
        self.users = 1
        self._driver = driver

    def leave(self) -> None:
        """One graph less; with the last the memory goes."""
        self.users -= 1
        for address in self.addresses if self.users == 0 else ():
            freed = self._driver.memory.free(address, DEVICE)
            self._driver.gpus[freed.device].used_bytes -= freed.nbytes
            self._driver.graph_memory.discard(address)


class Graph:
    """Nodes in the order in which they were added."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.number = 0
        self.nodes: list[Node] = []
        self.memory = GraphMemory(driver)
        self.held = Held()
        self.copies: dict[Node, Node] = {}  # of the graph that this one is a clone of

    def add(self, kind: NodeKind, work: Work, given: object, before: Iterable[Node]) -> Node:
        """One more node."""
        node = Node(0, self, kind, work, given, list(dict.fromkeys(before)))
        for other in node.before:
            if other.graph is not self:
                raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, "a node of another graph")
        node.number = self.driver.handle(node)
        self.nodes.append(node)
        return node

    def remove(self, node: Node) -> None:
        """Ends a node and what refers to it."""
        self.driver.forget(node.number, Node)
        self.nodes.remove(node)
        for other in self.nodes:
            if node in other.before:
                other.before.remove(node)

    def ordered(self) -> list[Node]:
        """The nodes, each behind those that it comes after.

        Raises:
            DriverError: they wait for each other.
        """
        done: dict[Node, None] = {}
        left = list(self.nodes)
        while left:
            ready = [node for node in left if all(other in done for other in node.before)]
            if not ready:
                raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, "the graph has a cycle")
            done.update(dict.fromkeys(ready))
            left = [node for node in left if node not in done]
        return list(done)

    def clone(self) -> Graph:
        """A copy with nodes of its own."""
        made = Graph(self.driver)
        made.memory = self.memory
        made.memory.users += 1
        made.held = self.held.copy()
        for node in self.ordered():
            made.copies[node] = made.add(
                node.kind, node.work, node.given, [made.copies[other] for other in node.before]
            )
        return made


class ExecutableGraph:
    """A graph as it was when it was instantiated."""

    def __init__(self, graph: Graph) -> None:
        self.order = graph.ordered()
        self.before = {node: tuple(node.before) for node in self.order}
        self.work = {node: node.work for node in self.order}
        self.disabled: set[Node] = set()
        self.flags = 0
        self._driver = graph.driver
        self.memory = graph.memory
        self.memory.users += 1
        self.held = graph.held.copy()

    def launch(self, driver: Driver, stream: Stream) -> None:
        """Does the work in a stream; in modelled time branches run side by side."""
        start, ends = stream.now, dict[Node, Moment]()
        for node in self.order:
            stream.now = _latest([ends[other] for other in self.before[node]]) or start
            if node not in self.disabled:
                driver.do(stream, self.work[node])
            ends[node] = stream.now
        stream.now = _latest([*ends.values()]) or start

    def as_work(self) -> Work:
        """The whole as work of a node."""
        return lambda stream: self.launch(self._driver, stream)

    def replace(self, node: Node, work: Work) -> None:
        """Other work for a node of the graph."""
        if node not in self.work:
            raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, "no node of this graph")
        self.work[node] = work

    def update(self, graph: Graph) -> Node | None:
        """The work of another graph of the same shape; gives the node that differs, if any."""
        others = graph.ordered()
        places = {node: place for place, node in enumerate(others)}
        mine = {node: place for place, node in enumerate(self.order)}
        if len(others) != len(self.order):
            return others[-1] if others else self.order[-1]
        for node, other in zip(self.order, others, strict=True):
            before = {mine[one] for one in self.before[node]}
            if node.kind != other.kind or before != {places[one] for one in other.before}:
                return other
        self.work = {n: o.work for n, o in zip(self.order, others, strict=True)}
        return None


def leave(driver: Driver, graph: Graph | ExecutableGraph) -> None:
    """Gives back what a graph holds at its end."""
    graph.memory.leave()
    for ended in graph.held.leave():
        driver.forget(ended.number, UserObject)


def _latest(moments: list[Moment]) -> Moment | None:
    if not moments:
        return None
    first, *rest = dict.fromkeys(moments)
    return Moment((first, *rest)) if rest else first


# --- capturing streams ---------------------------------------------------------------------------


class StreamCapture:
    """A capture under way: the graph, and the nodes that each stream's next one comes after."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.last: dict[Stream, list[Node]] = {}
        self.is_over = False
        self.told: object = None  # handles that a program was shown, for as long as it may look

    def note(self, stream: Stream, work: Work, kind: NodeKind, given: object) -> None:
        """A stream's work as a node."""
        self.last[stream] = [self.graph.add(kind, work, given, self.last.get(stream, ()))]


def capture_of(stream: Stream) -> StreamCapture | None:
    """The capture that a stream is in."""
    found = stream.capture
    assert found is None or isinstance(found, StreamCapture)
    return found


def begin_capture(
    driver: Driver, stream: Stream, graph: Graph | None = None, before: Iterable[Node] = ()
) -> None:
    """Starts to note a stream's work instead of doing it."""
    if stream.capture is not None:
        raise DriverError(Status.CUDA_ERROR_ILLEGAL_STATE, "the stream is captured already")
    if stream.number in (0, 1):
        raise DriverError(Status.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    if graph is None:
        graph = Graph(driver)
        graph.number = driver.handle(graph)
    capture = StreamCapture(graph)
    capture.last[stream] = list(before)
    stream.capture, stream.began_capture = capture, True


def end_capture(driver: Driver, stream: Stream) -> Graph:
    """Ends the capture that began on this stream; streams that joined it leave it.

    Raises:
        DriverError: it did not begin here, or a stream's work was never joined with this one's.
    """
    capture = capture_of(stream)
    if capture is None or not stream.began_capture:
        raise DriverError(Status.CUDA_ERROR_STREAM_CAPTURE_UNMATCHED)
    seen, todo = set[Node](), list(capture.last.get(stream, ()))
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += node.before
    ends = [node for nodes in capture.last.values() for node in nodes]
    for other in capture.last:
        other.capture = None
    capture.is_over = True
    stream.capture, stream.began_capture = None, False
    if any(node not in seen for node in ends):
        raise DriverError(Status.CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
    return capture.graph


def mark(driver: Driver, event: Event) -> Work:
    """Work that records an event: after what its stream comes after, the default stream's after
    that of all streams which wait for it."""
    if event.is_timed:
        driver.keep_times()

    def work(stream: Stream) -> None:
        stream.now = driver.latest(stream)
        event.moment = stream.now

    return work


def join(event: Event) -> Work:
    """Work that waits for an event."""

    def work(stream: Stream) -> None:
        if event.moment is not None:
            stream.now = stream.now.later(event.moment)

    return work


def record(driver: Driver, event: Event, stream: Stream) -> None:
    """Marks where a stream is; in a capture it names the nodes so far, and makes none."""
    capture = capture_of(stream)
    event.capture = capture
    if capture is not None:
        event.after = tuple(capture.last.get(stream, ()))
    else:
        driver.do(stream, mark(driver, event))


def wait(driver: Driver, stream: Stream, event: Event) -> None:
    """Lets a stream's later work come after an event; waiting for a capture's event joins it."""
    capture = event.capture
    if isinstance(capture, StreamCapture):
        if capture.is_over:
            raise DriverError(Status.CUDA_ERROR_CAPTURED_EVENT)
        if stream.capture not in (None, capture):
            raise DriverError(Status.CUDA_ERROR_STREAM_CAPTURE_MERGE)
        stream.capture = capture
        after = [node for node in event.after if isinstance(node, Node)]
        capture.last[stream] = list(dict.fromkeys([*capture.last.get(stream, ()), *after]))
    elif stream.capture is None:
        driver.do(stream, join(event))
    elif event.moment is not None:
        raise DriverError(Status.CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
