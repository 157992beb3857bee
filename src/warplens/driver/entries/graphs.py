"""Graphs: their nodes and edges, one by one, and launches of the whole."""

from __future__ import annotations

from pathlib import Path

from warplens.driver.cells import get_text, get_u64, put_i32, put_u32, put_u64
from warplens.driver.entries.captures import nodes_at
from warplens.driver.entries.table import I32, U32, U64, Pointer, entry
from warplens.driver.graphs import ExecutableGraph, Graph, Node, leave
from warplens.driver.machine import Driver
from warplens.driver.status import DriverError, Status

_TOPOLOGY_CHANGED = 2  # CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED
_EDGE_BYTES = 8  # CUgraphEdgeData


@entry("cuGraphCreate")
def create(driver: Driver, graph: Pointer, flags: U32) -> None:
    """An empty graph."""
    made = Graph(driver)
    made.number = driver.handle(made)
    put_u64(graph, made.number)


@entry("cuGraphClone")
def clone(driver: Driver, clone: Pointer, graph: Pointer) -> None:
    """A copy."""
    made = driver.thing(graph, Graph).clone()
    made.number = driver.handle(made)
    put_u64(clone, made.number)


@entry("cuGraphNodeFindInClone")
def find_in_clone(driver: Driver, found: Pointer, node: Pointer, clone: Pointer) -> None:
    """The copy of a node."""
    copies = driver.thing(clone, Graph).copies
    put_u64(found, _known(copies.get(driver.thing(node, Node))).number)


def _known(node: Node | None) -> Node:
    if node is None:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, "no copy of that node")
    return node


@entry("cuGraphDestroy")
def destroy(driver: Driver, graph: Pointer) -> None:
    """Ends a graph and its nodes."""
    found = driver.forget(graph, Graph)
    for node in found.nodes:
        driver.forget(node.number, Node)
    leave(driver, found)


@entry("cuGraphDestroyNode")
def destroy_node(driver: Driver, node: Pointer) -> None:
    """Ends a node."""
    found = driver.thing(node, Node)
    found.graph.remove(found)


# --- nodes and edges -----------------------------------------------------------------------------


def _put_nodes(nodes: int, count: int, found: list[Node]) -> None:
    """Writes handles as far as there is room, and how many there are; or only the latter."""
    if nodes:
        room = get_u64(count)
        for i in range(room):
            put_u64(nodes + 8 * i, found[i].number if i < len(found) else 0)
    put_u64(count, len(found))


@entry("cuGraphGetNodes")
def get_nodes(driver: Driver, graph: Pointer, nodes: Pointer, count: Pointer) -> None:
    """Every node."""
    _put_nodes(nodes, count, driver.thing(graph, Graph).nodes)


@entry("cuGraphGetRootNodes")
def get_roots(driver: Driver, graph: Pointer, nodes: Pointer, count: Pointer) -> None:
    """The nodes that come after no other."""
    found = driver.thing(graph, Graph).nodes
    _put_nodes(nodes, count, [node for node in found if not node.before])


@entry("cuGraphGetEdges_v2")
def get_edges(
    driver: Driver, graph: Pointer, sources: Pointer, targets: Pointer, edges: Pointer,
    count: Pointer,
) -> None:  # fmt: skip
    """Every edge."""
    found = [(b, node) for node in driver.thing(graph, Graph).nodes for b in node.before]
    if sources and targets:
        for i, (source, target) in enumerate(found[: get_u64(count)]):
            put_u64(sources + 8 * i, source.number)
            put_u64(targets + 8 * i, target.number)
            if edges:
                put_u64(edges + _EDGE_BYTES * i, 0)
    put_u64(count, len(found))


@entry("cuGraphGetEdges")
def get_edges_plain(
    driver: Driver, graph: Pointer, sources: Pointer, targets: Pointer, count: Pointer
) -> None:
    """Every edge, as CUDA 12 asks for them."""
    get_edges(driver, graph, sources, targets, 0, count)


@entry("cuGraphNodeGetDependencies")
def get_dependencies_plain(driver: Driver, node: Pointer, nodes: Pointer, count: Pointer) -> None:
    """What a node comes after, as CUDA 12 asks for it."""
    get_dependencies(driver, node, nodes, 0, count)


@entry("cuGraphNodeGetDependentNodes")
def get_dependents_plain(driver: Driver, node: Pointer, nodes: Pointer, count: Pointer) -> None:
    """What comes after a node, as CUDA 12 asks for it."""
    get_dependents(driver, node, nodes, 0, count)


@entry("cuGraphNodeGetDependencies_v2")
def get_dependencies(
    driver: Driver, node: Pointer, nodes: Pointer, edges: Pointer, count: Pointer
) -> None:
    """What a node comes after."""
    _put_nodes(nodes, count, driver.thing(node, Node).before)


@entry("cuGraphNodeGetDependentNodes_v2")
def get_dependents(
    driver: Driver, node: Pointer, nodes: Pointer, edges: Pointer, count: Pointer
) -> None:
    """What comes after a node."""
    found = driver.thing(node, Node)
    _put_nodes(nodes, count, [other for other in found.graph.nodes if found in other.before])


@entry("cuGraphAddDependencies_v2")
def add_edges(
    driver: Driver, graph: Pointer, sources: Pointer, targets: Pointer, edges: Pointer, count: U64
) -> None:
    """More edges."""
    _pairs(driver, graph, sources, targets, count, adds=True)


@entry("cuGraphRemoveDependencies_v2")
def remove_edges(
    driver: Driver, graph: Pointer, sources: Pointer, targets: Pointer, edges: Pointer, count: U64
) -> None:
    """Fewer edges."""
    _pairs(driver, graph, sources, targets, count, adds=False)


def _pairs(
    driver: Driver, graph: int, sources: int, targets: int, count: int, *, adds: bool
) -> None:
    known = driver.thing(graph, Graph)
    pairs = zip(nodes_at(driver, sources, count), nodes_at(driver, targets, count), strict=True)
    for source, target in pairs:
        if source.graph is not known or target.graph is not known or (
            (source in target.before) == adds
        ):
            raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, "an edge of no use here")
        if adds:
            target.before.append(source)
        else:
            target.before.remove(source)


@entry("cuGraphNodeGetType")
def node_type(driver: Driver, node: Pointer, kind: Pointer) -> None:
    """What a node does."""
    put_i32(kind, driver.thing(node, Node).kind)


@entry("cuGraphNodeGetContainingGraph")
def containing(driver: Driver, node: Pointer, graph: Pointer) -> None:
    """The graph of a node."""
    put_u64(graph, driver.thing(node, Node).graph.number)


@entry("cuGraphNodeGetLocalId")
def local_id(driver: Driver, node: Pointer, number: Pointer) -> None:
    """A number that no other node of the graph has."""
    found = driver.thing(node, Node)
    put_u32(number, found.graph.nodes.index(found))


@entry("cuGraphGetId", "cuGraphExecGetId")
def graph_id(driver: Driver, graph: Pointer, number: Pointer) -> None:
    """A number that no other graph has."""
    put_u32(number, graph & 0xFFFFFFFF)


@entry("cuGraphDebugDotPrint")
def dot(driver: Driver, graph: Pointer, path: Pointer, flags: U32) -> None:
    """Writes the graph as a picture's description."""
    nodes = driver.thing(graph, Graph).nodes
    number = {node: place for place, node in enumerate(nodes)}
    lines = [f'  n{number[node]} [label="{node.kind.name}"];' for node in nodes]
    lines += [f"  n{number[b]} -> n{number[node]};" for node in nodes for b in node.before]
    Path(get_text(path)).write_text("\n".join(["digraph {", *lines, "}"]) + "\n")


# --- launches ------------------------------------------------------------------------------------


def _instantiate(driver: Driver, executable: int, graph: int, flags: int = 0) -> None:
    made = ExecutableGraph(driver.thing(graph, Graph))
    made.flags = flags
    put_u64(executable, driver.handle(made))


@entry("cuGraphInstantiateWithFlags")
def instantiate(driver: Driver, executable: Pointer, graph: Pointer, flags: U64) -> None:
    """The graph as it is now, ready to be launched."""
    _instantiate(driver, executable, graph, flags)


@entry("cuGraphInstantiateWithParams")
def instantiate_with_parameters(
    driver: Driver, executable: Pointer, graph: Pointer, parameters: Pointer
) -> None:
    """The same."""
    _instantiate(driver, executable, graph)
    put_u32(parameters + 24, 0)  # result_out: no error


@entry("cuGraphInstantiate_v2")
def instantiate_v2(
    driver: Driver, executable: Pointer, graph: Pointer, node: Pointer, log: Pointer, room: U64
) -> None:
    """The same."""
    _instantiate(driver, executable, graph)


@entry("cuGraphExecGetFlags")
def executable_flags(driver: Driver, executable: Pointer, flags: Pointer) -> None:
    """The flags it was made with."""
    put_u64(flags, driver.thing(executable, ExecutableGraph).flags)


@entry("cuGraphExecUpdate_v2")
def update(driver: Driver, executable: Pointer, graph: Pointer, result: Pointer) -> None:
    """The work of another graph of the same shape."""
    other = driver.thing(graph, Graph)
    different = driver.thing(executable, ExecutableGraph).update(other)
    put_i32(result, 0 if different is None else _TOPOLOGY_CHANGED)
    put_u64(result + 8, 0 if different is None else different.number)
    put_u64(result + 16, 0)
    if different is not None:
        raise DriverError(Status.CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "the graphs differ")


@entry("cuGraphNodeSetEnabled")
def set_enabled(driver: Driver, executable: Pointer, node: Pointer, is_enabled: U32) -> None:
    """Leaves a node out, or not."""
    found, which = driver.thing(executable, ExecutableGraph), driver.thing(node, Node)
    (found.disabled.discard if is_enabled else found.disabled.add)(which)


@entry("cuGraphNodeGetEnabled")
def enabled(driver: Driver, executable: Pointer, node: Pointer, answer: Pointer) -> None:
    """The same, asked."""
    found = driver.thing(executable, ExecutableGraph)
    put_u32(answer, int(driver.thing(node, Node) not in found.disabled))


@entry("cuGraphUpload")
def upload(driver: Driver, executable: Pointer, stream: Pointer) -> None:
    """Nothing is left to do before a launch."""
    driver.thing(executable, ExecutableGraph)


@entry("cuGraphLaunch")
def launch(driver: Driver, executable: Pointer, stream: Pointer) -> None:
    """Does the work, once more."""
    driver.context()
    found, queue = driver.thing(executable, ExecutableGraph), driver.stream(stream)
    if queue.capture is not None:
        raise DriverError(Status.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    found.launch(driver, queue)


@entry("cuGraphExecDestroy")
def destroy_executable(driver: Driver, executable: Pointer) -> None:
    """Ends it."""
    leave(driver, driver.forget(executable, ExecutableGraph))


@entry("cuDeviceGraphMemTrim")
def trim(driver: Driver, device: I32) -> None:
    """A graph's memory goes with the graph."""
    driver.gpu(device)
