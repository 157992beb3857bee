"""Memory pools: of a GPU's memory, of the host's and of managed memory."""

from __future__ import annotations

from warplens.driver.cells import get_i32, get_u64, put_i32, put_u64
from warplens.driver.entries.table import I32, U64, Pointer, entry
from warplens.driver.machine import Driver, Pool, SimulatedGpu
from warplens.driver.memory import DEVICE, MANAGED, PINNED
from warplens.driver.status import DriverError, Status

_RELEASE_THRESHOLD = 4
_RESERVED, _RESERVED_HIGH, _USED, _USED_HIGH = 5, 6, 7, 8
_SWITCHES = {1: 1, 2: 1, 3: 1}  # how pools reuse memory; nothing is reused here
_READ_WRITE = 3
_ACCESS_BYTES = 12  # CUmemAccessDesc
_NOWHERE, _LOCATION_DEVICE, _LOCATIONS_HOST = 0, 1, (2, 3, 4)
_NUMA_CURRENT = 4
_TYPE_PINNED, _TYPE_MANAGED = 1, 2


def _place(driver: Driver, location: int, number: int, kind: int) -> tuple[SimulatedGpu, str]:
    """Whose memory a pool has, and of which kind."""
    if kind not in (_TYPE_PINNED, _TYPE_MANAGED):
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"allocation type {kind}")
    if location == _LOCATION_DEVICE:
        return driver.gpu(number), DEVICE if kind == _TYPE_PINNED else MANAGED
    is_host = location in _LOCATIONS_HOST
    if not is_host and (location != _NOWHERE or kind != _TYPE_MANAGED):
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"memory location {location}")
    return driver.context().gpu, PINNED if kind == _TYPE_PINNED else MANAGED


def _place_at(driver: Driver, location: int, kind: int) -> tuple[SimulatedGpu, str]:
    if get_i32(location) == _NUMA_CURRENT:
        raise DriverError(Status.CUDA_ERROR_NOT_SUPPORTED, "the default pool of a thread's node")
    return _place(driver, get_i32(location), get_i32(location + 4), kind)


@entry("cuMemGetDefaultMemPool")
def default_pool_of(driver: Driver, pool: Pointer, location: Pointer, kind: I32) -> None:
    """The default pool of a place and kind of memory."""
    put_u64(pool, driver.default_pool(*_place_at(driver, location, kind)))


@entry("cuMemGetMemPool")
def current_pool_of(driver: Driver, pool: Pointer, location: Pointer, kind: I32) -> None:
    """The pool that was chosen for a place and kind of memory."""
    put_u64(pool, driver.current_pool(*_place_at(driver, location, kind)))


@entry("cuMemSetMemPool")
def set_pool_of(driver: Driver, location: Pointer, kind: I32, pool: Pointer) -> None:
    """Chooses it."""
    gpu, memory = _place_at(driver, location, kind)
    if driver.thing(pool, Pool).kind != memory:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"the pool is of {memory} memory")
    driver.set_pool(gpu, pool)


@entry("cuDeviceGetDefaultMemPool")
def default_pool(driver: Driver, pool: Pointer, device: I32) -> None:
    """A GPU's default pool."""
    put_u64(pool, driver.default_pool(driver.gpu(device)))


@entry("cuDeviceGetMemPool")
def current_pool(driver: Driver, pool: Pointer, device: I32) -> None:
    """The pool that allocations come from."""
    put_u64(pool, driver.current_pool(driver.gpu(device)))


@entry("cuDeviceSetMemPool")
def set_pool(driver: Driver, device: I32, pool: Pointer) -> None:
    """Chooses it."""
    driver.set_pool(driver.gpu(device), pool)


@entry("cuMemPoolCreate")
def create_pool(driver: Driver, pool: Pointer, properties: Pointer) -> None:
    """A pool of a GPU's, the host's or managed memory."""
    kind, _, location, number = (get_i32(properties + 4 * word) for word in range(4))
    gpu, memory = _place(driver, location, number, kind)
    put_u64(pool, driver.handle(Pool(gpu, kind=memory)))


@entry("cuMemPoolDestroy")
def destroy_pool(driver: Driver, pool: Pointer) -> None:
    """Ends a pool; its memory stays until it is freed."""
    driver.forget(pool, Pool)


@entry("cuMemPoolTrimTo")
def trim_pool(driver: Driver, pool: Pointer, nbytes: U64) -> None:
    """Freed memory is given back at once."""
    driver.thing(pool, Pool)


@entry("cuMemPoolSetAttribute")
def set_pool_attribute(driver: Driver, pool: Pointer, attribute: I32, value: Pointer) -> None:
    """How a pool reuses memory: remembered, without effect."""
    wide = attribute >= _RELEASE_THRESHOLD
    driver.thing(pool, Pool).attributes[attribute] = get_u64(value) if wide else get_i32(value)


@entry("cuMemPoolGetAttribute")
def pool_attribute(driver: Driver, pool: Pointer, attribute: I32, value: Pointer) -> None:
    """What a pool has used, and the above."""
    found = driver.thing(pool, Pool)
    if attribute in _SWITCHES:
        put_i32(value, found.attributes.get(attribute, _SWITCHES[attribute]))
        return
    known = {
        _RELEASE_THRESHOLD: found.attributes.get(attribute, 0),
        _RESERVED: found.used,
        _RESERVED_HIGH: found.most_used,
        _USED: found.used,
        _USED_HIGH: found.most_used,
    }
    if attribute not in known:
        raise DriverError(Status.CUDA_ERROR_NOT_SUPPORTED, f"pool attribute {attribute}")
    put_u64(value, known[attribute])


@entry("cuMemPoolSetAccess")
def set_pool_access(driver: Driver, pool: Pointer, access: Pointer, count: U64) -> None:
    """A pool's own GPU always has access; others get it, to all memory of that GPU."""
    found = driver.thing(pool, Pool)
    for index in range(count):
        place = access + _ACCESS_BYTES * index
        kind, device, flags = (get_i32(place + 4 * word) for word in range(3))
        if kind != _LOCATION_DEVICE or (not flags and device == found.gpu.index):
            raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"access of location {kind}")
        gpu = driver.gpu(device)
        if flags:
            found.access[device] = flags
            driver.show(gpu, found.gpu)
        else:
            found.access.pop(device, None)


@entry("cuMemPoolGetAccess")
def pool_access(driver: Driver, access: Pointer, pool: Pointer, location: Pointer) -> None:
    """The same, asked."""
    found, device = driver.thing(pool, Pool), get_i32(location + 4)
    is_own = device == found.gpu.index
    put_i32(access, _READ_WRITE if is_own else found.access.get(device, 0))
