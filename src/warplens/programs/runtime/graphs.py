"""Nodes of graphs whose descriptions hold what the runtime knows: kernels, copies, symbols."""

from __future__ import annotations

import struct
from collections.abc import Callable

from warplens.driver import node_parameters as given
from warplens.driver.cells import get_bytes, get_i32
from warplens.driver.entries.nodes import add_work, change_work
from warplens.driver.graphs import NodeWork
from warplens.driver.launching import Shape, arguments_at, checked_call
from warplens.driver.status import DriverError, Status
from warplens.driver.timeline import NodeKind, Stream
from warplens.programs.program import Program
from warplens.programs.runtime.copies import (
    check_direction,
    part_of_symbol,
    rows_work,
    slices_at,
)
from warplens.programs.runtime.streams import host_work
from warplens.programs.runtime.table import I32, U64, Pointer, entry

_KERNEL = "<Q7I4xQQ"
_UNION = 16


def _kernel(program: Program, parameters: int) -> NodeWork:
    """A cudaKernelNodeParams."""
    words = struct.unpack(_KERNEL, get_bytes(parameters, struct.calcsize(_KERNEL)))
    host, gx, gy, gz, bx, by, bz, shared, arguments, extra = words
    function = program.function(host)
    shape = Shape(grid=(gx, gy, gz), block=(bx, by, bz), shared=shared)
    call = checked_call(function, shape, arguments_at(function, arguments, extra))
    return NodeWork(NodeKind.KERNEL, call.work(program.driver), call)


def _copy(program: Program, target: int, source: int, nbytes: int, kind: int) -> NodeWork:
    program.context()
    check_direction(program, target, source, kind)
    work = rows_work(program, (target, source), (nbytes, nbytes), nbytes, 1)
    return NodeWork(NodeKind.MEMCPY, work)


def _slices(program: Program, parameters: int) -> NodeWork:
    """A cudaMemcpy3DParms."""
    found = slices_at(program, parameters)
    width, height, _ = found.extent
    parts = [rows_work(program, sides, steps, width, height) for sides, steps in found.each()]

    def work(stream: Stream) -> Callable[[], float]:
        times = [taken for part in parts if (taken := part(stream)) is not None]
        return lambda: sum(taken() for taken in times)

    return NodeWork(NodeKind.MEMCPY, work)


def _host(program: Program, parameters: int) -> NodeWork:
    """A cudaHostNodeParams."""
    function, data = struct.unpack("<QQ", get_bytes(parameters, 16))
    return NodeWork(NodeKind.HOST, host_work(program, function, data), (function, data))


@entry("cudaGraphAddKernelNode", kind="plain")
def add_kernel(
    program: Program, node: Pointer, graph: Pointer, dependencies: Pointer, count: U64,
    parameters: Pointer,
) -> None:  # fmt: skip
    """A launch."""
    add_work(program.driver, node, graph, dependencies, count, _kernel(program, parameters))


@entry("cudaGraphAddMemcpyNode", kind="plain")
def add_copy(
    program: Program, node: Pointer, graph: Pointer, dependencies: Pointer, count: U64,
    parameters: Pointer,
) -> None:  # fmt: skip
    """A copy of slices of rows."""
    add_work(program.driver, node, graph, dependencies, count, _slices(program, parameters))


@entry("cudaGraphAddMemcpyNode1D", kind="plain")
def add_copy_1d(
    program: Program, node: Pointer, graph: Pointer, dependencies: Pointer, count: U64,
    target: Pointer, source: Pointer, nbytes: U64, kind: I32,
) -> None:  # fmt: skip
    """A copy."""
    made = _copy(program, target, source, nbytes, kind)
    add_work(program.driver, node, graph, dependencies, count, made)


@entry("cudaGraphAddMemcpyNodeToSymbol", kind="plain")
def add_copy_to_symbol(
    program: Program, node: Pointer, graph: Pointer, dependencies: Pointer, count: U64,
    symbol: Pointer, source: Pointer, nbytes: U64, offset: U64, kind: I32,
) -> None:  # fmt: skip
    """A copy to a variable of the device."""
    made = _copy(program, part_of_symbol(program, symbol, nbytes, offset), source, nbytes, kind)
    add_work(program.driver, node, graph, dependencies, count, made)


@entry("cudaGraphAddMemcpyNodeFromSymbol", kind="plain")
def add_copy_from_symbol(
    program: Program, node: Pointer, graph: Pointer, dependencies: Pointer, count: U64,
    target: Pointer, symbol: Pointer, nbytes: U64, offset: U64, kind: I32,
) -> None:  # fmt: skip
    """A copy from a variable of the device."""
    made = _copy(program, target, part_of_symbol(program, symbol, nbytes, offset), nbytes, kind)
    add_work(program.driver, node, graph, dependencies, count, made)


@entry("cudaGraphAddMemsetNode", kind="plain")
def add_fill(
    program: Program, node: Pointer, graph: Pointer, dependencies: Pointer, count: U64,
    parameters: Pointer,
) -> None:  # fmt: skip
    """A fill."""
    program.context()
    made = given.fill_at(program.driver, parameters)
    add_work(program.driver, node, graph, dependencies, count, made)


@entry("cudaGraphAddHostNode", kind="plain")
def add_host(
    program: Program, node: Pointer, graph: Pointer, dependencies: Pointer, count: U64,
    parameters: Pointer,
) -> None:  # fmt: skip
    """A call of a function of the program."""
    add_work(program.driver, node, graph, dependencies, count, _host(program, parameters))


@entry("cudaGraphAddNode", kind="plain")
def add_node(
    program: Program, node: Pointer, graph: Pointer, dependencies: Pointer, edges: Pointer,
    count: U64, parameters: Pointer,
) -> None:  # fmt: skip
    """A node of any kind but copies and memory, which have entries of their own."""
    kind, place = get_i32(parameters), parameters + _UNION
    if kind == NodeKind.KERNEL:
        made = _kernel(program, place)
    elif kind == NodeKind.HOST:
        made = _host(program, place)
    elif kind == NodeKind.MEMCPY:
        raise DriverError(Status.CUDA_ERROR_NOT_SUPPORTED, "cudaGraphAddNode of a copy")
    else:
        made = given.node_at(program.driver, parameters)
    add_work(program.driver, node, graph, dependencies, count, made)


@entry("cudaGraphKernelNodeSetParams", kind="plain")
def set_kernel(program: Program, node: Pointer, parameters: Pointer) -> None:
    """Another launch."""
    change_work(program.driver, node, _kernel(program, parameters))


@entry("cudaGraphExecKernelNodeSetParams", kind="plain")
def set_ready_kernel(
    program: Program, executable: Pointer, node: Pointer, parameters: Pointer
) -> None:
    """Another launch in a graph that was instantiated."""
    change_work(program.driver, node, _kernel(program, parameters), executable)


@entry("cudaGraphHostNodeSetParams", kind="plain")
def set_host(program: Program, node: Pointer, parameters: Pointer) -> None:
    """Another call."""
    change_work(program.driver, node, _host(program, parameters))


@entry("cudaGraphExecHostNodeSetParams", kind="plain")
def set_ready_host(
    program: Program, executable: Pointer, node: Pointer, parameters: Pointer
) -> None:
    """Another call in a graph that was instantiated."""
    change_work(program.driver, node, _host(program, parameters), executable)


@entry("cudaGraphExecMemcpyNodeSetParams1D", kind="plain")
def set_ready_copy(
    program: Program, executable: Pointer, node: Pointer, target: Pointer, source: Pointer,
    nbytes: U64, kind: I32,
) -> None:  # fmt: skip
    """Another copy in a graph that was instantiated."""
    change_work(program.driver, node, _copy(program, target, source, nbytes, kind), executable)


@entry("cudaGraphMemcpyNodeSetParams1D", kind="plain")
def set_copy_1d(
    program: Program, node: Pointer, target: Pointer, source: Pointer, nbytes: U64, kind: I32
) -> None:
    """Another copy."""
    change_work(program.driver, node, _copy(program, target, source, nbytes, kind))


@entry("cudaGraphMemcpyNodeSetParams", kind="plain")
def set_slices(program: Program, node: Pointer, parameters: Pointer) -> None:
    """Another copy of slices of rows."""
    change_work(program.driver, node, _slices(program, parameters))


@entry("cudaGraphExecMemcpyNodeSetParams", kind="plain")
def set_ready_slices(
    program: Program, executable: Pointer, node: Pointer, parameters: Pointer
) -> None:
    """Another copy of slices in a graph that was instantiated."""
    change_work(program.driver, node, _slices(program, parameters), executable)


@entry("cudaGraphExecMemcpyNodeSetParamsToSymbol", kind="plain")
def set_ready_copy_to_symbol(
    program: Program, executable: Pointer, node: Pointer, symbol: Pointer, source: Pointer,
    nbytes: U64, offset: U64, kind: I32,
) -> None:  # fmt: skip
    """Another copy to a variable in a graph that was instantiated."""
    made = _copy(program, part_of_symbol(program, symbol, nbytes, offset), source, nbytes, kind)
    change_work(program.driver, node, made, executable)


@entry("cudaGraphExecMemcpyNodeSetParamsFromSymbol", kind="plain")
def set_ready_copy_from_symbol(
    program: Program, executable: Pointer, node: Pointer, target: Pointer, symbol: Pointer,
    nbytes: U64, offset: U64, kind: I32,
) -> None:  # fmt: skip
    """Another copy from a variable in a graph that was instantiated."""
    made = _copy(program, target, part_of_symbol(program, symbol, nbytes, offset), nbytes, kind)
    change_work(program.driver, node, made, executable)


@entry("cudaGraphExecMemsetNodeSetParams", kind="plain")
def set_ready_fill(
    program: Program, executable: Pointer, node: Pointer, parameters: Pointer
) -> None:
    """Another fill in a graph that was instantiated."""
    change_work(program.driver, node, given.fill_at(program.driver, parameters), executable)
