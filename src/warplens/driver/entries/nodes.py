"""Nodes of graphs: adding them, and reading and changing what they do."""

from __future__ import annotations

from warplens.driver import node_parameters as given
from warplens.driver.cells import get_i32, get_u64, put_bytes, put_u64
from warplens.driver.entries.captures import nodes_at
from warplens.driver.entries.copies import Fill
from warplens.driver.entries.memory import free_in_graph, graph_allocation
from warplens.driver.entries.table import U64, Pointer, entry
from warplens.driver.graphs import ExecutableGraph, Graph, Node, NodeWork
from warplens.driver.launching import KernelCall
from warplens.driver.machine import Driver
from warplens.driver.status import DriverError, Status
from warplens.driver.timeline import NodeKind


def add_work(
    driver: Driver, node: int, graph: int, dependencies: int, count: int, made: NodeWork
) -> None:
    """A node that comes after others; its handle goes to `node`."""
    before = nodes_at(driver, dependencies, count)
    found = driver.thing(graph, Graph).add(made.kind, made.work, made.given, before)
    put_u64(node, found.number)


@entry("cuGraphAddKernelNode_v2")
def add_kernel(
    driver: Driver, node: Pointer, graph: Pointer, dependencies: Pointer, count: U64,
    parameters: Pointer,
) -> None:  # fmt: skip
    """A launch."""
    made = given.kernel_at(driver, parameters)
    add_work(driver, node, graph, dependencies, count, made)


@entry("cuGraphAddMemcpyNode")
def add_copy(
    driver: Driver, node: Pointer, graph: Pointer, dependencies: Pointer, count: U64,
    parameters: Pointer, context: Pointer,
) -> None:  # fmt: skip
    """A copy."""
    made = given.copy_at(driver, parameters)
    add_work(driver, node, graph, dependencies, count, made)


@entry("cuGraphAddMemsetNode")
def add_fill(
    driver: Driver, node: Pointer, graph: Pointer, dependencies: Pointer, count: U64,
    parameters: Pointer, context: Pointer,
) -> None:  # fmt: skip
    """A fill."""
    made = given.fill_at(driver, parameters)
    add_work(driver, node, graph, dependencies, count, made)


@entry("cuGraphAddHostNode")
def add_host(
    driver: Driver, node: Pointer, graph: Pointer, dependencies: Pointer, count: U64,
    parameters: Pointer,
) -> None:  # fmt: skip
    """A call of a host function."""
    add_work(driver, node, graph, dependencies, count, given.host_at(driver, parameters))


@entry("cuGraphAddChildGraphNode")
def add_child(
    driver: Driver, node: Pointer, graph: Pointer, dependencies: Pointer, count: U64,
    child: Pointer,
) -> None:  # fmt: skip
    """A graph as it is now."""
    add_work(driver, node, graph, dependencies, count, given.child_of(driver, child))


@entry("cuGraphAddEmptyNode")
def add_empty(
    driver: Driver, node: Pointer, graph: Pointer, dependencies: Pointer, count: U64
) -> None:
    """Nothing: a place where edges meet."""
    made = NodeWork(NodeKind.EMPTY, given.nothing)
    add_work(driver, node, graph, dependencies, count, made)


@entry("cuGraphAddEventRecordNode")
def add_record(
    driver: Driver, node: Pointer, graph: Pointer, dependencies: Pointer, count: U64,
    event: Pointer,
) -> None:  # fmt: skip
    """Records an event."""
    add_work(driver, node, graph, dependencies, count, given.recording(driver, event))


@entry("cuGraphAddEventWaitNode")
def add_wait(
    driver: Driver, node: Pointer, graph: Pointer, dependencies: Pointer, count: U64,
    event: Pointer,
) -> None:  # fmt: skip
    """Waits for an event."""
    add_work(driver, node, graph, dependencies, count, given.waiting(driver, event))


@entry("cuGraphAddMemAllocNode")
def add_allocation(
    driver: Driver, node: Pointer, graph: Pointer, dependencies: Pointer, count: U64,
    parameters: Pointer,
) -> None:  # fmt: skip
    """Memory of the graph; where it lies is known at once."""
    owner = driver.thing(graph, Graph)
    made, address = graph_allocation(driver, owner, get_u64(parameters + given.ALLOCATE_BYTES))
    put_u64(parameters + given.ALLOCATE_ADDRESS, address)
    add_work(driver, node, graph, dependencies, count, made)


@entry("cuGraphAddMemFreeNode")
def add_free(
    driver: Driver, node: Pointer, graph: Pointer, dependencies: Pointer, count: U64,
    address: Pointer,
) -> None:  # fmt: skip
    """The end of such memory."""
    add_work(driver, node, graph, dependencies, count, free_in_graph(driver, address))


def _add_any(
    driver: Driver, node: int, graph: int, dependencies: int, count: int, parameters: int
) -> None:
    kind, place = get_i32(parameters), 16
    if kind == NodeKind.MEM_ALLOC:
        add_allocation(driver, node, graph, dependencies, count, parameters + place)
    elif kind == NodeKind.MEM_FREE:
        add_free(driver, node, graph, dependencies, count, get_u64(parameters + place))
    else:
        add_work(driver, node, graph, dependencies, count, given.node_at(driver, parameters))


@entry("cuGraphAddNode")
def add_node(
    driver: Driver, node: Pointer, graph: Pointer, dependencies: Pointer, count: U64,
    parameters: Pointer,
) -> None:  # fmt: skip
    """A node of any kind."""
    _add_any(driver, node, graph, dependencies, count, parameters)


@entry("cuGraphAddNode_v2", "cuGraphAddNode_v3")
def add_node_v2(
    driver: Driver, node: Pointer, graph: Pointer, dependencies: Pointer, edges: Pointer,
    count: U64, parameters: Pointer,
) -> None:  # fmt: skip
    """A node of any kind; edges have no data."""
    _add_any(driver, node, graph, dependencies, count, parameters)


# --- what nodes do -------------------------------------------------------------------------------


def _of_kind(driver: Driver, node: int, kind: NodeKind) -> Node:
    found = driver.thing(node, Node)
    if found.kind is not kind:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"a node of kind {found.kind.name}")
    if found.given is None:
        raise DriverError(Status.CUDA_ERROR_NOT_SUPPORTED, "a captured copy's parameters")
    return found


def change_work(driver: Driver, node: int, made: NodeWork, executable: int = 0) -> None:
    """Other work for a node, or for its place in a graph that was instantiated."""
    found = driver.thing(node, Node)
    if found.kind is not made.kind:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"a node of kind {found.kind.name}")
    if executable:
        driver.thing(executable, ExecutableGraph).replace(found, made.work)
    else:
        found.work, found.given = made.work, made.given


@entry("cuGraphKernelNodeGetParams_v2")
def kernel_parameters(driver: Driver, node: Pointer, parameters: Pointer) -> None:
    """The launch of a node; its arguments can be read for as long as the process lives."""
    call = _of_kind(driver, node, NodeKind.KERNEL).given
    assert isinstance(call, KernelCall)
    shown = given.ShownCall(call)
    shown.write(parameters)
    driver.handle(shown)


@entry("cuGraphKernelNodeSetParams_v2")
def set_kernel(driver: Driver, node: Pointer, parameters: Pointer) -> None:
    """Another launch."""
    change_work(driver, node, given.kernel_at(driver, parameters))


@entry("cuGraphMemcpyNodeGetParams")
def copy_parameters(driver: Driver, node: Pointer, parameters: Pointer) -> None:
    """The copy of a node."""
    data = _of_kind(driver, node, NodeKind.MEMCPY).given
    assert isinstance(data, bytes)
    put_bytes(parameters, data)


@entry("cuGraphMemcpyNodeSetParams")
def set_copy(driver: Driver, node: Pointer, parameters: Pointer) -> None:
    """Another copy."""
    change_work(driver, node, given.copy_at(driver, parameters))


@entry("cuGraphMemsetNodeGetParams")
def fill_parameters(driver: Driver, node: Pointer, parameters: Pointer) -> None:
    """The fill of a node."""
    fill = _of_kind(driver, node, NodeKind.MEMSET).given
    assert isinstance(fill, Fill)
    put_bytes(parameters, given.fill_bytes(fill))


@entry("cuGraphMemsetNodeSetParams")
def set_fill(driver: Driver, node: Pointer, parameters: Pointer) -> None:
    """Another fill."""
    change_work(driver, node, given.fill_at(driver, parameters))


@entry("cuGraphHostNodeSetParams")
def set_host(driver: Driver, node: Pointer, parameters: Pointer) -> None:
    """Another function."""
    change_work(driver, node, given.host_at(driver, parameters))


@entry("cuGraphChildGraphNodeGetGraph")
def child_graph(driver: Driver, node: Pointer, graph: Pointer) -> None:
    """The graph inside of a node."""
    child = _of_kind(driver, node, NodeKind.GRAPH).given
    assert isinstance(child, Graph)
    put_u64(graph, child.number)


@entry("cuGraphMemFreeNodeGetParams")
def free_parameters(driver: Driver, node: Pointer, address: Pointer) -> None:
    """What a node frees."""
    freed = _of_kind(driver, node, NodeKind.MEM_FREE).given
    assert isinstance(freed, int)
    put_u64(address, freed)


@entry("cuGraphExecKernelNodeSetParams_v2")
def set_ready_kernel(
    driver: Driver, executable: Pointer, node: Pointer, parameters: Pointer
) -> None:
    """Another launch in an instantiated graph."""
    change_work(driver, node, given.kernel_at(driver, parameters), executable)


@entry("cuGraphExecMemcpyNodeSetParams")
def set_ready_copy(
    driver: Driver, executable: Pointer, node: Pointer, parameters: Pointer, context: Pointer
) -> None:
    """Another copy in an instantiated graph."""
    change_work(driver, node, given.copy_at(driver, parameters), executable)


@entry("cuGraphExecMemsetNodeSetParams")
def set_ready_fill(
    driver: Driver, executable: Pointer, node: Pointer, parameters: Pointer, context: Pointer
) -> None:
    """Another fill in an instantiated graph."""
    change_work(driver, node, given.fill_at(driver, parameters), executable)


@entry("cuGraphExecHostNodeSetParams")
def set_ready_host(
    driver: Driver, executable: Pointer, node: Pointer, parameters: Pointer
) -> None:
    """Another function in an instantiated graph."""
    change_work(driver, node, given.host_at(driver, parameters), executable)


@entry("cuGraphExecNodeSetParams")
def set_ready_any(
    driver: Driver, executable: Pointer, node: Pointer, parameters: Pointer
) -> None:
    """Other work in an instantiated graph."""
    change_work(driver, node, given.node_at(driver, parameters), executable)


@entry("cuGraphNodeSetParams", "cuGraphNodeSetParams_v2")
def set_any(driver: Driver, node: Pointer, parameters: Pointer) -> None:
    """Other work."""
    change_work(driver, node, given.node_at(driver, parameters))
