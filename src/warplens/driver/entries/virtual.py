"""Virtual memory management: addresses, physical memory, mapping and access."""

from __future__ import annotations

from warplens.driver.cells import get_bytes, get_i32, put_bytes, put_u64
from warplens.driver.entries.table import I32, U64, Pointer, entry
from warplens.driver.machine import Driver, SimulatedGpu
from warplens.driver.status import DriverError, Status
from warplens.driver.virtual import (
    GRANULARITY,
    Physical,
    around,
    create,
    map_memory,
    release,
    reserve,
    set_access,
    unmap,
)

_PROPERTIES_BYTES = 32  # CUmemAllocationProp
_PINNED, _ON_DEVICE = 1, 1
_ACCESS_BYTES = 12  # CUmemAccessDesc


def _current(driver: Driver) -> SimulatedGpu:
    return driver.stack[-1].gpu if driver.stack else driver.gpus[0]


def _gpu_of(driver: Driver, properties: int) -> SimulatedGpu:
    kind, handles, place = (get_i32(properties + offset) for offset in (0, 4, 8))
    if kind != _PINNED or handles:
        raise DriverError(Status.CUDA_ERROR_NOT_SUPPORTED, "memory shared with other processes")
    return driver.gpu(get_i32(properties + 12)) if place == _ON_DEVICE else driver.gpus[0]


@entry("cuMemGetAllocationGranularity")
def granularity(driver: Driver, nbytes: Pointer, properties: Pointer, option: I32) -> None:
    """What sizes and addresses are multiples of."""
    _gpu_of(driver, properties)
    put_u64(nbytes, GRANULARITY)


@entry("cuMemAddressReserve")
def address_reserve(
    driver: Driver, address: Pointer, nbytes: U64, alignment: U64, wanted: Pointer, flags: U64
) -> None:
    """Addresses; where they are wanted is a hint that is not followed."""
    put_u64(address, reserve(driver, _current(driver), nbytes, alignment))


@entry("cuMemAddressFree")
def address_free(driver: Driver, address: Pointer, nbytes: U64) -> None:
    """Gives addresses back."""
    release(driver, address, nbytes)


@entry("cuMemCreate")
def memory_create(
    driver: Driver, handle: Pointer, nbytes: U64, properties: Pointer, flags: U64
) -> None:
    """Memory without an address."""
    gpu = _gpu_of(driver, properties)
    put_u64(handle, create(driver, gpu, nbytes, get_bytes(properties, _PROPERTIES_BYTES)))


@entry("cuMemRelease")
def memory_release(driver: Driver, handle: U64) -> None:
    """The handle is needed once less; mapped memory stays until it is unmapped."""
    found = driver.thing(handle, Physical)
    found.handles -= 1
    if found.handles == 0:
        driver.forget(handle, Physical)
    found.release_if_unused()


@entry("cuMemRetainAllocationHandle")
def memory_retain(driver: Driver, handle: Pointer, address: Pointer) -> None:
    """A handle of the memory behind an address."""
    found = around(driver, address, 1)
    for mapping in found.mappings.values():
        if mapping.address <= address < mapping.end:
            mapping.physical.handles += 1
            put_u64(handle, driver.handle_of(mapping.physical))
            return
    raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"{address:#x} is not mapped")


@entry("cuMemGetAllocationPropertiesFromHandle")
def memory_properties(driver: Driver, properties: Pointer, handle: U64) -> None:
    """What memory was created with."""
    put_bytes(properties, driver.thing(handle, Physical).properties)


@entry("cuMemMap")
def memory_map(
    driver: Driver, address: Pointer, nbytes: U64, offset: U64, handle: U64, flags: U64
) -> None:
    """Puts memory behind addresses."""
    map_memory(driver, address, nbytes, driver.thing(handle, Physical), offset)


@entry("cuMemUnmap")
def memory_unmap(driver: Driver, address: Pointer, nbytes: U64) -> None:
    """Takes it away."""
    unmap(driver, address, nbytes)


@entry("cuMemSetAccess")
def memory_set_access(
    driver: Driver, address: Pointer, nbytes: U64, rights: Pointer, count: U64
) -> None:
    """Who may do what; the host's own access is always there."""
    wanted = {}
    for place in range(rights, rights + _ACCESS_BYTES * count, _ACCESS_BYTES):
        if get_i32(place) == _ON_DEVICE:
            wanted[driver.gpu(get_i32(place + 4)).index] = get_i32(place + 8)
    set_access(driver, address, nbytes, wanted)


@entry("cuMemGetAccess")
def memory_access(driver: Driver, flags: Pointer, location: Pointer, address: Pointer) -> None:
    """The same, asked."""
    found = around(driver, address, 1)
    device = get_i32(location + 4)
    for mapping in found.mappings.values():
        if mapping.address <= address < mapping.end:
            put_u64(flags, mapping.access.get(device, 0))
            return
    raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"{address:#x} is not mapped")
