"""Graphs by nodes and by capture: order, edges, changes, memory; results beside NumPy's."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np
import pytest

from tests.driver.calls import Api, pointer
from warplens.driver.status import Status

KERNEL, COPY, FILL, HOST = 0, 1, 2, 3


def launch_parameters(api: Api, name: str, *values: Any) -> Any:
    """A CUDA_KERNEL_NODE_PARAMS for one block of 32 threads, and what it points to."""
    cells = (ctypes.c_uint64 * len(values))(*(ctypes.addressof(value) for value in values))
    words = struct.pack("<Q7I4xQQQQ", api.function(name), 1, 1, 1, 32, 1, 1, 0,
                        ctypes.addressof(cells), 0, 0, 0)  # fmt: skip
    buffer = ctypes.create_string_buffer(words, len(words))
    buffer.kept = (cells, values)  # type: ignore[attr-defined]
    return buffer


def add(api: Api, name: str, graph: int, before: list[int], *rest: Any) -> int:
    """A node of a graph."""
    nodes = (ctypes.c_uint64 * max(1, len(before)))(*before)
    found: int = api.value(name, graph, nodes, len(before), *rest)
    return found


def scale(api: Api, graph: int, before: list[int], address: int, factor: float) -> int:
    """A node that runs x = factor * x + 2 over 32 floats."""
    values = (pointer(address), ctypes.c_float(factor), ctypes.c_int(32))
    return add(api, "cuGraphAddKernelNode_v2", graph, before,
               launch_parameters(api, "scale", *values))  # fmt: skip


def fill(api: Api, graph: int, before: list[int], address: int, value: float) -> int:
    """A node that sets 32 floats."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    words = ctypes.create_string_buffer(struct.pack("<QQIIQQ", address, 0, bits, 4, 32, 1), 40)
    return add(api, "cuGraphAddMemsetNode", graph, before, words, 0)


def ready(api: Api, graph: int) -> int:
    """The graph instantiated."""
    found: int = api.value("cuGraphInstantiateWithFlags", graph, 0)
    return found


def nodes_of(api: Api, name: str, thing: int, *between: int) -> list[int]:
    """Handles that a function with an array and a count gives."""
    count = ctypes.c_uint64()
    api(name, thing, 0, *between, count)
    found = (ctypes.c_uint64 * max(1, count.value))()
    api(name, thing, found, *between, count)
    return list(found)[: count.value]


def test_nodes_run_in_the_order_of_their_edges(api: Api) -> None:
    """A fill that was added last, and comes first by its edge, is done first; at every launch."""
    x = np.zeros(32, np.float32)
    address, graph = api.array(x), api.value("cuGraphCreate", 0)
    double = scale(api, graph, [], address, 2)
    triple = scale(api, graph, [double], address, 3)
    one = fill(api, graph, [], address, 1)
    edge = [(ctypes.c_uint64 * 1)(node) for node in (one, double)]
    api("cuGraphAddDependencies_v2", graph, edge[0], edge[1], 0, 1)
    executable, stream = ready(api, graph), api.value("cuStreamCreate", 1)
    for _ in range(2):
        api("cuGraphLaunch", executable, stream)

    assert np.array_equal(api.read(address, x), np.full(32, 3 * (2 * 1 + 2) + 2))
    assert nodes_of(api, "cuGraphGetNodes", graph) == [double, triple, one]
    assert nodes_of(api, "cuGraphGetRootNodes", graph) == [one]
    assert nodes_of(api, "cuGraphNodeGetDependencies_v2", triple, 0) == [double]
    assert nodes_of(api, "cuGraphNodeGetDependentNodes_v2", one, 0) == [double]
    kinds = []
    for node in (double, one):
        kind = ctypes.c_int32()
        api("cuGraphNodeGetType", node, kind)
        kinds.append(kind.value)
    assert kinds == [KERNEL, FILL]


def test_a_cycle_is_refused(api: Api) -> None:
    """Nodes that wait for each other make no executable graph."""
    address, graph = api.array(np.zeros(32, np.float32)), api.value("cuGraphCreate", 0)
    first = scale(api, graph, [], address, 2)
    second = scale(api, graph, [first], address, 2)
    ends = [(ctypes.c_uint64 * 1)(node) for node in (second, first)]
    api("cuGraphAddDependencies_v2", graph, ends[0], ends[1], 0, 1)

    assert api.status("cuGraphInstantiateWithFlags", ctypes.c_uint64(), graph, 0) == (
        Status.CUDA_ERROR_INVALID_VALUE
    )


def test_an_instantiated_graph_is_changed(api: Api) -> None:
    """Other parameters, a disabled node and an update change later launches, not the graph."""
    x = np.ones(32, np.float32)
    address, graph = api.array(x), api.value("cuGraphCreate", 0)
    first = scale(api, graph, [], address, 2)
    second = scale(api, graph, [first], address, 3)
    executable, stream = ready(api, graph), api.value("cuStreamCreate", 1)
    values = (pointer(address), ctypes.c_float(10), ctypes.c_int(32))
    changed = launch_parameters(api, "scale", *values)
    api("cuGraphExecKernelNodeSetParams_v2", executable, first, changed)
    api("cuGraphNodeSetEnabled", executable, second, 0)
    api("cuGraphLaunch", executable, stream)
    assert np.array_equal(api.read(address, x), np.full(32, 12))

    other = api.value("cuGraphCreate", 0)
    scale(api, other, [scale(api, other, [], address, 0)], address, 5)
    api("cuGraphExecUpdate_v2", executable, other, (ctypes.c_uint64 * 3)())
    api("cuGraphNodeSetEnabled", executable, second, 1)
    api("cuGraphLaunch", executable, stream)
    assert np.array_equal(api.read(address, x), np.full(32, 5 * 2 + 2))

    different, result = api.value("cuGraphCreate", 0), (ctypes.c_uint64 * 3)()
    fill(api, different, [fill(api, different, [], address, 0)], address, 1)
    assert api.status("cuGraphExecUpdate_v2", executable, different, result) == (
        Status.CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
    )


def test_parameters_are_told(api: Api) -> None:
    """A kernel node shows grid, block and its arguments' bytes, as it was given them."""
    address, graph = api.array(np.zeros(32, np.float32)), api.value("cuGraphCreate", 0)
    node = scale(api, graph, [], address, 2.5)
    told = ctypes.create_string_buffer(72)
    api("cuGraphKernelNodeGetParams_v2", node, told)
    words = struct.unpack("<Q7I4xQQQQ", told.raw)
    places = (ctypes.c_uint64 * 3).from_address(words[8])

    assert words[1:8] == (1, 1, 1, 32, 1, 1, 0)
    assert ctypes.c_uint64.from_address(places[0]).value == address
    assert ctypes.c_float.from_address(places[1]).value == 2.5


def test_copies_host_functions_and_children(api: Api) -> None:
    """A child graph, a copy to the host and a host function come one after the other."""
    x, seen = np.ones(32, np.float32), np.zeros(32, np.float32)
    address, child = api.array(x), api.value("cuGraphCreate", 0)
    scale(api, child, [], address, 4)
    graph = api.value("cuGraphCreate", 0)
    inner = add(api, "cuGraphAddChildGraphNode", graph, [], child)
    words = [0, 0, 0, 0, 2, 0, address, 0, 0, 128, 1]
    words += [0, 0, 0, 0, 1, seen.ctypes.data, 0, 0, 0, 128, 1, 128, 1, 1]
    parameters = ctypes.create_string_buffer(struct.pack("<25Q", *words), 200)
    copied = add(api, "cuGraphAddMemcpyNode", graph, [inner], parameters, 0)
    sums: list[float] = []
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: sums.append(float(seen.sum())))
    function = ctypes.cast(call, ctypes.c_void_p).value or 0
    host = ctypes.create_string_buffer(struct.pack("<QQ", function, 0), 16)
    add(api, "cuGraphAddHostNode", graph, [copied], host)
    api("cuGraphLaunch", ready(api, graph), api.value("cuStreamCreate", 1))

    assert sums == [32 * 6.0]


def test_streams_fork_and_join_in_a_capture(api: Api) -> None:
    """Work of a stream that waited for the capture's event becomes a branch; unjoined it fails."""
    a, b = (api.array(np.ones(32, np.float32)) for _ in range(2))
    main, side = api.value("cuStreamCreate", 1), api.value("cuStreamCreate", 1)
    fork, joined = api.value("cuEventCreate", 2), api.value("cuEventCreate", 2)
    arguments = (ctypes.c_float(2), ctypes.c_int(32))

    def capture(joins: bool) -> tuple[int, int]:
        api("cuStreamBeginCapture_v2", main, 0)
        api.launch("scale", 1, 32, pointer(a), *arguments, stream=main)
        api("cuEventRecord", fork, main)
        api("cuStreamWaitEvent", side, fork, 0)
        api.launch("scale", 1, 32, pointer(b), *arguments, stream=side)
        api.launch("scale", 1, 32, pointer(a), *arguments, stream=main)
        api("cuEventRecord", joined, side)
        if joins:
            api("cuStreamWaitEvent", main, joined, 0)
            api.launch("scale", 1, 32, pointer(b), *arguments, stream=main)
        graph = ctypes.c_uint64()
        return api.status("cuStreamEndCapture", main, graph), graph.value

    status, graph = capture(joins=True)
    api("cuGraphLaunch", ready(api, graph), main)
    edges = ctypes.c_uint64()
    api("cuGraphGetEdges_v2", graph, 0, 0, 0, edges)

    assert status == 0
    assert edges.value == 4  # a diamond
    for address in (a, b):
        assert np.array_equal(api.read(address, np.zeros(32, np.float32)), np.full(32, 10))
    assert capture(joins=False)[0] == Status.CUDA_ERROR_STREAM_CAPTURE_UNJOINED


def test_branches_take_time_side_by_side(api: Api) -> None:
    """Two branches of a graph take the modelled time of one; one after the other the sum."""
    addresses = [api.array(np.ones(32, np.float32)) for _ in range(2)]
    first, last = api.value("cuEventCreate", 0), api.value("cuEventCreate", 0)
    api.driver.keep_times()
    stream, times = api.value("cuStreamCreate", 1), []
    for is_chain in (False, True):
        graph = api.value("cuGraphCreate", 0)
        node = scale(api, graph, [], addresses[0], 2)
        scale(api, graph, [node] if is_chain else [], addresses[1], 2)
        executable = ready(api, graph)
        api("cuEventRecord", first, stream)
        api("cuGraphLaunch", executable, stream)
        api("cuEventRecord", last, stream)
        times.append(api.value("cuEventElapsedTime_v2", first, last, kind=ctypes.c_float))

    assert times[1] == pytest.approx(2 * times[0], rel=0.02)


def test_memory_of_a_graph(api: Api) -> None:
    """Memory allocated in a capture serves every launch and goes with the graph."""
    x = np.ones(32, np.float32)
    address, stream = api.array(x), api.value("cuStreamCreate", 1)
    before = api.driver.gpus[0].used_bytes
    api("cuStreamBeginCapture_v2", stream, 0)
    scratch = api.value("cuMemAllocAsync", 128, stream)
    api("cuMemcpyDtoDAsync_v2", scratch, address, 128, stream)
    api.launch("scale", 1, 32, pointer(scratch), ctypes.c_float(3), ctypes.c_int(32),
               stream=stream)  # fmt: skip
    api("cuMemcpyDtoDAsync_v2", address, scratch, 128, stream)
    api("cuMemFreeAsync", scratch, stream)
    graph = ctypes.c_uint64()
    api("cuStreamEndCapture", stream, graph)
    executable = ready(api, graph.value)
    for _ in range(2):
        api("cuGraphLaunch", executable, stream)
    found = api.read(address, x)
    api("cuGraphExecDestroy", executable)
    api("cuGraphDestroy", graph.value)

    assert np.array_equal(found, np.full(32, 3 * (3 + 2) + 2))
    assert api.driver.gpus[0].used_bytes == before
