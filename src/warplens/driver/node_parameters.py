"""What programs say of a graph's nodes: the driver API's structures, and the work they mean."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass, field

from warplens.driver.cells import get_bytes, get_u64, put_bytes
from warplens.driver.entries.copies import COPY_3D_BYTES, Fill, copy_3d_work
from warplens.driver.entries.streams import host_work
from warplens.driver.graphs import ExecutableGraph, Graph, NodeWork, join, mark
from warplens.driver.launching import KernelCall, Shape, arguments_at, checked_call
from warplens.driver.machine import Driver
from warplens.driver.modules import Function
from warplens.driver.status import DriverError, Status
from warplens.driver.timeline import Event, NodeKind

_KERNEL, _FILL, _HOST = "<Q7I4xQQQQ", "<QQIIQQ", "<QQ"
_UNION = 16  # CUgraphNodeParams: the kind, then the structure of the kind
_COPY_BEHIND = 16  # CUDA_MEMCPY_NODE_PARAMS: flags and a context, then a CUDA_MEMCPY3D
ALLOCATE_BYTES, ALLOCATE_ADDRESS = 104, 112  # in CUDA_MEM_ALLOC_NODE_PARAMS


def nothing(_: object) -> None:
    """The work of an empty node."""


def kernel_at(driver: Driver, address: int) -> NodeWork:
    """A CUDA_KERNEL_NODE_PARAMS."""
    words = struct.unpack(_KERNEL, get_bytes(address, struct.calcsize(_KERNEL)))
    handle, gx, gy, gz, bx, by, bz, shared, parameters, extra, kernel, _ = words
    function = driver.thing(handle or kernel, Function)
    shape = Shape(grid=(gx, gy, gz), block=(bx, by, bz), shared=shared)
    call = checked_call(function, shape, arguments_at(function, parameters, extra))
    return NodeWork(NodeKind.KERNEL, call.work(driver), call)


@dataclass(slots=True, eq=False)
class ShownCall:
    """A kernel's parameters where a program may read them."""

    call: KernelCall
    cells: list[ctypes.Array[ctypes.c_char]] = field(default_factory=list)
    pointers: ctypes.Array[ctypes.c_uint64] | None = None

    def write(self, address: int) -> None:
        """The call as a CUDA_KERNEL_NODE_PARAMS_v2."""
        self.cells = [ctypes.create_string_buffer(one, len(one)) for one in self.call.arguments]
        places = [ctypes.addressof(cell) for cell in self.cells]
        self.pointers = (ctypes.c_uint64 * max(1, len(places)))(*places)
        shape = self.call.shape
        put_bytes(address, struct.pack(
            _KERNEL, self.call.function.number, *shape.grid, *shape.block, shape.shared,
            ctypes.addressof(self.pointers), 0, 0, 0,
        ))  # fmt: skip


def copy_at(driver: Driver, address: int) -> NodeWork:
    """A CUDA_MEMCPY3D."""
    data = get_bytes(address, COPY_3D_BYTES)
    return NodeWork(NodeKind.MEMCPY, copy_3d_work(driver, data), data)


def fill_at(driver: Driver, address: int) -> NodeWork:
    """A CUDA_MEMSET_NODE_PARAMS."""
    words = struct.unpack(_FILL, get_bytes(address, struct.calcsize(_FILL)))
    target, pitch, value, width, count, rows = words
    if width not in (1, 2, 4):
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"elements of {width} bytes")
    fill = Fill(target, pitch, value & (1 << 8 * width) - 1, width, count, rows)
    return NodeWork(NodeKind.MEMSET, fill.work(driver), fill)


def fill_bytes(fill: Fill) -> bytes:
    """A fill as a CUDA_MEMSET_NODE_PARAMS."""
    return struct.pack(_FILL, fill.target, fill.pitch, fill.value, fill.width, fill.count,
                       fill.rows)  # fmt: skip


def host_at(driver: Driver, address: int) -> NodeWork:
    """A CUDA_HOST_NODE_PARAMS."""
    function, data = struct.unpack(_HOST, get_bytes(address, 16))
    return NodeWork(NodeKind.HOST, host_work(function, data), (function, data))


def child_of(driver: Driver, graph: int) -> NodeWork:
    """A graph inside of a graph: a copy of it as it is now."""
    child = driver.thing(graph, Graph).clone()
    child.number = driver.handle(child)
    return NodeWork(NodeKind.GRAPH, ExecutableGraph(child).as_work(), child)


def recording(driver: Driver, event: int) -> NodeWork:
    """Records an event."""
    found = driver.thing(event, Event)
    return NodeWork(NodeKind.EVENT_RECORD, mark(driver, found), event)


def waiting(driver: Driver, event: int) -> NodeWork:
    """Waits for an event."""
    return NodeWork(NodeKind.WAIT_EVENT, join(driver.thing(event, Event)), event)


def node_at(driver: Driver, parameters: int) -> NodeWork:
    """A CUgraphNodeParams, but for nodes of memory, which have a graph's address to give."""
    kind = int.from_bytes(get_bytes(parameters, 4), "little")
    place = parameters + _UNION
    if kind == NodeKind.EMPTY:
        return NodeWork(NodeKind.EMPTY, nothing)
    if kind == NodeKind.MEMCPY:
        return copy_at(driver, place + _COPY_BEHIND)
    readers = {NodeKind.KERNEL: kernel_at, NodeKind.MEMSET: fill_at, NodeKind.HOST: host_at}
    by_handle = {
        NodeKind.GRAPH: child_of, NodeKind.EVENT_RECORD: recording, NodeKind.WAIT_EVENT: waiting,
    }  # fmt: skip
    for known, read in readers.items():
        if kind == known:
            return read(driver, place)
    for known, make in by_handle.items():
        if kind == known:
            return make(driver, get_u64(place))
    raise DriverError(Status.CUDA_ERROR_NOT_SUPPORTED, f"a graph's node of kind {kind}")
