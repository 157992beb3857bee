"""Device, pinned, managed and registered memory; what pointers are."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from warplens.driver.cells import get_i32, get_u64, put_i32, put_u32, put_u64
from warplens.driver.entries.table import I32, U32, U64, Pointer, entry
from warplens.driver.graphs import Graph, NodeWork, capture_of
from warplens.driver.machine import Driver, Pool
from warplens.driver.memory import DEVICE, MANAGED, PINNED, REGISTERED
from warplens.driver.status import DriverError, Status
from warplens.driver.timeline import NodeKind

_PITCH = 512
_TYPE_HOST, _TYPE_DEVICE = 1, 2
_MAPPED_FLAG = 2  # CU_MEMHOSTALLOC_DEVICEMAP: all pinned memory is
_READ_WRITE = 3


def _allocate(driver: Driver, nbytes: int, kind: str, pool: int = 0) -> int:
    context = driver.context()
    owner = driver.thing(pool, Pool) if pool else None
    gpu = context.gpu if owner is None else owner.gpu
    on_device = kind == DEVICE
    if on_device and gpu.used_bytes + nbytes > gpu.spec.dram_size_bytes:
        raise DriverError(
            Status.CUDA_ERROR_OUT_OF_MEMORY,
            f"{nbytes} bytes; {gpu.spec.name} has {gpu.spec.dram_size_bytes - gpu.used_bytes} left",
        )
    address = driver.memory.allocate(
        nbytes, kind=kind, device=gpu.index, context=context.number, pool=pool
    )
    if on_device:
        gpu.used_bytes += nbytes
    if owner is not None:
        owner.used += nbytes
        owner.most_used = max(owner.most_used, owner.used)
    return address


def _free(driver: Driver, address: int, *kinds: str) -> None:
    freed = driver.memory.free(address, *kinds)
    if freed.kind == DEVICE:
        driver.gpus[freed.device].used_bytes -= freed.nbytes
    with suppress(DriverError):  # the pool may have ended before its memory
        driver.thing(freed.pool, Pool).used -= freed.nbytes


@entry("cuMemAlloc_v2")
def alloc(driver: Driver, address: Pointer, nbytes: U64) -> None:
    """Device memory."""
    put_u64(address, _allocate(driver, nbytes, DEVICE))


@entry("cuMemAllocManaged")
def alloc_managed(driver: Driver, address: Pointer, nbytes: U64, flags: U32) -> None:
    """Memory that the host and kernels reach through one pointer."""
    put_u64(address, _allocate(driver, nbytes, MANAGED))


@entry("cuMemAllocPitch_v2")
def alloc_pitch(
    driver: Driver, address: Pointer, pitch: Pointer, width: U64, height: U64, element: U32
) -> None:
    """Rows that begin at multiples of 512 bytes."""
    step = -(-width // _PITCH) * _PITCH
    put_u64(pitch, step)
    put_u64(address, _allocate(driver, step * height, DEVICE))


@entry("cuMemFree_v2")
def free(driver: Driver, address: Pointer) -> None:
    """Ends device or managed memory, whoever's context is current."""
    driver.look_for_fault()
    if address in driver.graph_memory:
        driver.graph_memory.discard(address)
    elif address:
        _free(driver, address, DEVICE, MANAGED)


@entry("cuMemAllocAsync")
def alloc_async(driver: Driver, address: Pointer, nbytes: U64, stream: Pointer) -> None:
    """Device memory from the current pool, in a stream's order."""
    _alloc_of_pool(driver, address, nbytes, driver.current_pool(driver.context().gpu), stream)


@entry("cuMemAllocFromPoolAsync")
def alloc_from_pool(
    driver: Driver, address: Pointer, nbytes: U64, pool: Pointer, stream: Pointer
) -> None:
    """Memory from a pool, of the pool's kind, in a stream's order."""
    _alloc_of_pool(driver, address, nbytes, pool, stream)


def _alloc_of_pool(driver: Driver, address: int, nbytes: int, pool: int, stream: int) -> None:
    queue = driver.stream(stream)
    capture = capture_of(queue)
    if capture is None:
        put_u64(address, _allocate(driver, nbytes, driver.thing(pool, Pool).kind, pool))
        return
    made, where = graph_allocation(driver, capture.graph, nbytes)
    driver.submit(queue, made.work, made.kind, made.given)
    put_u64(address, where)


def graph_allocation(driver: Driver, graph: Graph, nbytes: int) -> tuple[NodeWork, int]:
    """A node that allocates, and where: a graph's memory lies at one place in all its launches."""
    address = _allocate(driver, nbytes, DEVICE)
    graph.memory.addresses.append(address)

    def allocate(_: object) -> None:
        driver.graph_memory.add(address)

    return NodeWork(NodeKind.MEM_ALLOC, allocate, (address, nbytes)), address


def free_in_graph(driver: Driver, address: int) -> NodeWork:
    """A node that ends such memory: it may not be freed again before the next launch."""
    return NodeWork(
        NodeKind.MEM_FREE, lambda _: driver.graph_memory.discard(address), address
    )


@entry("cuMemFreeAsync")
def free_async(driver: Driver, address: Pointer, stream: Pointer) -> None:
    """Ends device memory in a stream's order."""
    queue = driver.stream(stream)
    if queue.capture is not None:
        made = free_in_graph(driver, address)
        driver.submit(queue, made.work, made.kind, made.given)
    elif address in driver.graph_memory:
        driver.graph_memory.discard(address)
    elif address:
        _free(driver, address, DEVICE, *_kinds_of_pools(driver, address))


def _kinds_of_pools(driver: Driver, address: int) -> tuple[str, ...]:
    found = driver.memory.allocation(address)
    return (MANAGED, PINNED) if found is not None and found[1].pool else ()


@entry("cuMemHostAlloc")
def host_alloc(driver: Driver, address: Pointer, nbytes: U64, flags: U32) -> None:
    """Pinned host memory; kernels reach it through the same pointer."""
    put_u64(address, _allocate(driver, nbytes, PINNED))


@entry("cuMemAllocHost_v2")
def alloc_host(driver: Driver, address: Pointer, nbytes: U64) -> None:
    """The same without flags."""
    put_u64(address, _allocate(driver, nbytes, PINNED))


@entry("cuMemFreeHost")
def free_host(driver: Driver, address: Pointer) -> None:
    """Ends pinned memory, whoever's context is current."""
    driver.look_for_fault()
    if address:
        _free(driver, address, PINNED)


@entry("cuMemHostRegister_v2")
def host_register(driver: Driver, address: Pointer, nbytes: U64, flags: U32) -> None:
    """Pins a range of the program's own memory."""
    context = driver.context()
    driver.memory.register(
        address, nbytes, device=context.gpu.index, context=context.number
    )


@entry("cuMemHostUnregister")
def host_unregister(driver: Driver, address: Pointer) -> None:
    """Ends that."""
    driver.context()
    driver.memory.unregister(address)


@entry("cuMemHostGetDevicePointer_v2")
def host_device_pointer(driver: Driver, address: Pointer, host: Pointer, flags: U32) -> None:
    """How kernels reach pinned memory."""
    driver.context()
    put_u64(address, driver.memory.device_address(host))


@entry("cuMemHostGetFlags")
def host_flags(driver: Driver, flags: Pointer, host: Pointer) -> None:
    """Pinned memory is always mapped."""
    driver.context()
    driver.memory.device_address(host)
    put_u32(flags, _MAPPED_FLAG)


@entry("cuMemGetInfo_v2")
def info(driver: Driver, left: Pointer, total: Pointer) -> None:
    """Free and total device memory."""
    gpu = driver.context().gpu
    put_u64(left, gpu.spec.dram_size_bytes - gpu.used_bytes)
    put_u64(total, gpu.spec.dram_size_bytes)


@entry("cuMemGetAddressRange_v2")
def address_range(driver: Driver, base: Pointer, nbytes: Pointer, address: Pointer) -> None:
    """The allocation that holds an address."""
    driver.context()
    found = driver.memory.allocation(address)
    if found is None:
        raise DriverError(Status.CUDA_ERROR_NOT_FOUND, f"{address:#x} is not allocated")
    if base:
        put_u64(base, found[0])
    if nbytes:
        put_u64(nbytes, found[1].nbytes)


# --- what a pointer is ---------------------------------------------------------------------------


def _not_ours(address: int) -> DriverError:
    return DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"{address:#x} is no memory of a device")


def _write_attribute(driver: Driver, data: int, attribute: int, address: int) -> None:
    found = driver.memory.allocation(address)
    segment = driver.memory.find(address)
    if found is None and segment is None:
        raise _not_ours(address)
    base, allocation = found if found is not None else (0, None)
    on_host = allocation is not None and allocation.kind in (PINNED, REGISTERED)
    has_host = on_host or (allocation is not None and allocation.kind == MANAGED)
    device = 0 if allocation is None else allocation.device
    start = base if allocation is not None or segment is None else segment.base
    nbytes = segment.size if segment is not None else 0
    writers: dict[int, tuple[Callable[[int, int], None], int]] = {
        1: (put_u64, 0 if allocation is None else allocation.context),
        2: (put_u32, _TYPE_HOST if on_host else _TYPE_DEVICE),
        3: (put_u64, address),
        4: (put_u64, address if has_host else 0),
        6: (put_u32, 1),
        7: (put_u64, 0 if allocation is None else allocation.number),
        8: (put_u32, int(allocation is not None and allocation.kind == MANAGED)),
        9: (put_i32, device),
        10: (put_u32, 0),
        11: (put_u64, start),
        12: (put_u64, nbytes),
        13: (put_u32, 1),
        14: (put_u64, 0),
        15: (put_u32, 0),
        16: (put_u32, _READ_WRITE),
        17: (put_u64, 0 if allocation is None else allocation.pool),
    }
    if attribute not in writers:
        raise DriverError(Status.CUDA_ERROR_NOT_SUPPORTED, f"pointer attribute {attribute}")
    if attribute == 4 and not has_host:
        raise _not_ours(address)
    put, value = writers[attribute]
    put(data, value)


@entry("cuPointerGetAttribute")
def pointer_attribute(driver: Driver, data: Pointer, attribute: I32, address: Pointer) -> None:
    """One fact about a pointer."""
    _write_attribute(driver, data, attribute, address)


@entry("cuPointerGetAttributes")
def pointer_attributes(
    driver: Driver, count: U32, attributes: Pointer, data: Pointer, address: Pointer
) -> None:
    """Several facts; those of memory that no device knows are 0, as on hardware."""
    narrow = (2, 6, 8, 9, 10, 13, 15, 16)
    for index in range(count):
        attribute, place = get_i32(attributes + 4 * index), get_u64(data + 8 * index)
        try:
            _write_attribute(driver, place, attribute, address)
        except DriverError as error:
            if error.status is not Status.CUDA_ERROR_INVALID_VALUE:
                raise
            if attribute == 9:
                put_i32(place, -2)
            else:
                (put_u32 if attribute in narrow else put_u64)(place, 0)


@entry("cuPointerSetAttribute")
def set_pointer_attribute(
    driver: Driver, value: Pointer, attribute: I32, address: Pointer
) -> None:
    """Copies are always synchronous, which is the only thing that can be asked for."""
    if driver.memory.find(address) is None:
        raise _not_ours(address)


# --- hints about managed memory ------------------------------------------------------------------


@entry("cuMemAdvise", "cuMemAdvise_v2")
def advise(driver: Driver, address: Pointer, nbytes: U64, advice: I32, location: U64) -> None:
    """Managed memory is near to everybody."""
    driver.context()


@entry("cuMemPrefetchAsync")
def prefetch(driver: Driver, address: Pointer, nbytes: U64, device: I32, stream: Pointer) -> None:
    """Managed memory is near to everybody."""
    driver.stream(stream)


@entry("cuMemPrefetchAsync_v2")
def prefetch_to(driver: Driver, address: Pointer, nbytes: U64, location: U64) -> None:
    """Managed memory is near to everybody."""
    driver.context()
