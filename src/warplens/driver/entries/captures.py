"""Capturing streams into graphs."""

from __future__ import annotations

import ctypes

from warplens.driver.cells import get_u64, put_i32, put_u64
from warplens.driver.entries.table import I32, U32, U64, Pointer, entry
from warplens.driver.graphs import (
    Graph,
    Node,
    StreamCapture,
    begin_capture,
    capture_of,
    end_capture,
)
from warplens.driver.machine import Driver
from warplens.driver.status import DriverError, Status

_CAPTURING = 1
_REPLACE = 1  # CU_STREAM_SET_CAPTURE_DEPENDENCIES


def nodes_at(driver: Driver, address: int, count: int) -> list[Node]:
    """The nodes of an array of handles."""
    return [driver.thing(get_u64(address + 8 * i), Node) for i in range(count)]


@entry("cuStreamBeginCapture_v2")
def begin(driver: Driver, stream: Pointer, mode: I32) -> None:
    """From now on the stream's work is noted."""
    driver.context()
    begin_capture(driver, driver.stream(stream))


@entry("cuStreamBeginCaptureToGraph")
def begin_to_graph(
    driver: Driver, stream: Pointer, graph: Pointer, dependencies: Pointer, edges: Pointer,
    count: U64, mode: I32,
) -> None:  # fmt: skip
    """The same, into a graph that is there already."""
    driver.context()
    before = nodes_at(driver, dependencies, count)
    begin_capture(driver, driver.stream(stream), driver.thing(graph, Graph), before)


@entry("cuStreamEndCapture")
def end(driver: Driver, stream: Pointer, graph: Pointer) -> None:
    """What was noted, as a graph."""
    put_u64(graph, end_capture(driver, driver.stream(stream)).number)


@entry("cuStreamIsCapturing")
def is_capturing(driver: Driver, stream: Pointer, status: Pointer) -> None:
    """Whether work is noted."""
    put_i32(status, _CAPTURING if driver.stream(stream).capture is not None else 0)


def _info(driver: Driver, stream: int, status: int, number: int) -> StreamCapture | None:
    capture = capture_of(driver.stream(stream))
    put_i32(status, 0 if capture is None else _CAPTURING)
    if capture is not None and number:
        put_u64(number, capture.graph.number)
    return capture


def _full_info(
    driver: Driver, stream: int, status: int, number: int, graph: int, nodes: int, count: int
) -> None:
    capture = _info(driver, stream, status, number)
    if capture is None:
        return
    if graph:
        put_u64(graph, capture.graph.number)
    last = capture.last.get(driver.stream(stream), [])
    capture.told = (ctypes.c_uint64 * max(1, len(last)))(*(node.number for node in last))
    if nodes:
        put_u64(nodes, ctypes.addressof(capture.told))
    if count:
        put_u64(count, len(last))


@entry("cuStreamGetCaptureInfo")
def info(driver: Driver, stream: Pointer, status: Pointer, number: Pointer) -> None:
    """Whether work is noted, and a number of the capture."""
    _info(driver, stream, status, number)


@entry("cuStreamGetCaptureInfo_v2")
def info_v2(
    driver: Driver, stream: Pointer, status: Pointer, number: Pointer, graph: Pointer,
    nodes: Pointer, count: Pointer,
) -> None:  # fmt: skip
    """The same, with the graph and the nodes that the next one comes after."""
    _full_info(driver, stream, status, number, graph, nodes, count)


@entry("cuStreamGetCaptureInfo_v3")
def info_v3(
    driver: Driver, stream: Pointer, status: Pointer, number: Pointer, graph: Pointer,
    nodes: Pointer, edges: Pointer, count: Pointer,
) -> None:  # fmt: skip
    """The same; edges have no data."""
    _full_info(driver, stream, status, number, graph, nodes, count)
    if edges:
        put_u64(edges, 0)


def _update(driver: Driver, stream: int, nodes: int, count: int, flags: int) -> None:
    queue = driver.stream(stream)
    capture = capture_of(queue)
    if capture is None:
        raise DriverError(Status.CUDA_ERROR_ILLEGAL_STATE, "the stream is not captured")
    known = [] if flags == _REPLACE else capture.last.get(queue, [])
    capture.last[queue] = list(dict.fromkeys([*known, *nodes_at(driver, nodes, count)]))


@entry("cuStreamUpdateCaptureDependencies")
def update(driver: Driver, stream: Pointer, nodes: Pointer, count: U64, flags: U32) -> None:
    """What the next node comes after."""
    _update(driver, stream, nodes, count, flags)


@entry("cuStreamUpdateCaptureDependencies_v2")
def update_v2(
    driver: Driver, stream: Pointer, nodes: Pointer, edges: Pointer, count: U64, flags: U32
) -> None:
    """The same; edges have no data."""
    _update(driver, stream, nodes, count, flags)


@entry("cuThreadExchangeStreamCaptureMode")
def exchange_mode(driver: Driver, mode: Pointer) -> None:
    """Nothing that a mode could forbid is unsafe here."""
