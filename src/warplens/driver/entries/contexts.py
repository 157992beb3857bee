"""Primary and other contexts, and each thread's stack of them."""

from __future__ import annotations

from warplens.driver.cells import put_i32, put_u32, put_u64
from warplens.driver.entries.table import I32, U32, U64, Pointer, entry
from warplens.driver.machine import Context, Driver
from warplens.driver.status import DriverError, Status

_API_VERSION = 3020
_STACK_SIZE, _PRINTF_SIZE, _HEAP_SIZE = 0, 1, 2
_LIMITS = {_STACK_SIZE: 1024, _PRINTF_SIZE: 1 << 20, _HEAP_SIZE: 8 << 20, 3: 0, 4: 2048, 5: 128,
           6: 0}  # fmt: skip
_LOWEST_PRIORITY, _HIGHEST_PRIORITY = 0, -5


@entry("cuDevicePrimaryCtxRetain")
def retain(driver: Driver, context: Pointer, device: I32) -> None:
    """The primary context, kept alive once more."""
    primary = driver.primary(driver.gpu(device))
    primary.references += 1
    primary.is_destroyed = False
    put_u64(context, primary.number)


@entry("cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease")
def release(driver: Driver, device: I32) -> None:
    """The primary context is needed once less."""
    primary = driver.primary(driver.gpu(device))
    if not primary.references:
        raise DriverError(Status.CUDA_ERROR_INVALID_CONTEXT, "it is not retained")
    primary.references -= 1


@entry("cuDevicePrimaryCtxReset_v2", "cuDevicePrimaryCtxReset")
def reset(driver: Driver, device: I32) -> None:
    """A fresh start after a kernel's fault."""
    driver.primary(driver.gpu(device)).fault = None


@entry("cuDevicePrimaryCtxGetState")
def primary_state(driver: Driver, device: I32, flags: Pointer, is_active: Pointer) -> None:
    """Whether the primary context is in use."""
    primary = driver.primary(driver.gpu(device))
    put_u32(flags, primary.flags)
    put_i32(is_active, int(primary.references > 0))


@entry("cuDevicePrimaryCtxSetFlags_v2", "cuDevicePrimaryCtxSetFlags")
def primary_flags(driver: Driver, device: I32, flags: U32) -> None:
    """How a host would wait; nothing waits here."""
    driver.primary(driver.gpu(device)).flags = flags


def _create(driver: Driver, context: int, flags: int, device: int) -> None:
    made = driver.new_context(driver.gpu(device), flags)
    driver.stack.append(made)
    put_u64(context, made.number)


@entry("cuCtxCreate_v2")
def create(driver: Driver, context: Pointer, flags: U32, device: I32) -> None:
    """A context of its own, current from now on."""
    _create(driver, context, flags, device)


@entry("cuCtxCreate_v3")
def create_with_affinity(
    driver: Driver, context: Pointer, affinity: Pointer, count: I32, flags: U32, device: I32
) -> None:
    """The same; a context always has the whole GPU."""
    _create(driver, context, flags, device)


@entry("cuCtxCreate_v4")
def create_with_parameters(
    driver: Driver, context: Pointer, parameters: Pointer, flags: U32, device: I32
) -> None:
    """The same; a context always has the whole GPU."""
    _create(driver, context, flags, device)


@entry("cuCtxDestroy_v2")
def destroy(driver: Driver, context: Pointer) -> None:
    """Ends a context."""
    gone = driver.forget(context, Context)
    gone.is_destroyed = True
    if driver.stack and driver.stack[-1] is gone:
        driver.stack.pop()


@entry("cuCtxGetCurrent")
def current(driver: Driver, context: Pointer) -> None:
    """The calling thread's context, or none."""
    put_u64(context, driver.stack[-1].number if driver.stack else 0)


@entry("cuCtxSetCurrent")
def set_current(driver: Driver, context: Pointer) -> None:
    """Replaces the calling thread's context."""
    if context:
        driver.stack[-1:] = [driver.thing(context, Context)]
    elif driver.stack:
        driver.stack.pop()


@entry("cuCtxPushCurrent_v2")
def push(driver: Driver, context: Pointer) -> None:
    """Makes a context current until it is popped."""
    driver.stack.append(driver.context_of(context))


@entry("cuCtxPopCurrent_v2")
def pop(driver: Driver, context: Pointer) -> None:
    """Takes the current context away."""
    popped = driver.context_of(0)
    driver.stack.pop()
    if context:
        put_u64(context, popped.number)


@entry("cuCtxGetDevice")
def device(driver: Driver, device: Pointer) -> None:
    """The current context's GPU."""
    put_i32(device, driver.context_of(0).gpu.index)


@entry("cuCtxGetDevice_v2")
def device_of(driver: Driver, device: Pointer, context: Pointer) -> None:
    """A context's GPU."""
    put_i32(device, driver.context_of(context).gpu.index)


@entry("cuCtxSynchronize")
def synchronize(driver: Driver) -> None:
    """Everything is done already; a fault is told again."""
    driver.context()


@entry("cuCtxSynchronize_v2")
def synchronize_of(driver: Driver, context: Pointer) -> None:
    """The same for a context."""
    found = driver.context_of(context)
    if found.fault is not None:
        raise found.fault


@entry("cuCtxGetFlags")
def flags(driver: Driver, flags: Pointer) -> None:
    """The flags it was made with."""
    put_u32(flags, driver.context_of(0).flags)


@entry("cuCtxSetFlags")
def set_flags(driver: Driver, flags: U32) -> None:
    """How a host would wait."""
    driver.context_of(0).flags = flags


@entry("cuCtxGetId")
def identifier(driver: Driver, context: Pointer, number: Pointer) -> None:
    """A number that no other context gets."""
    put_u64(number, driver.context_of(context).number)


@entry("cuCtxGetApiVersion")
def api_version(driver: Driver, context: Pointer, version: Pointer) -> None:
    """The version of the API that a context belongs to."""
    driver.context_of(context)
    put_u32(version, _API_VERSION)


@entry("cuCtxGetLimit")
def limit(driver: Driver, value: Pointer, limit: I32) -> None:
    """A limit: stack, heap and printf buffer."""
    context = driver.context()
    if limit not in _LIMITS:
        raise DriverError(Status.CUDA_ERROR_UNSUPPORTED_LIMIT, f"limit {limit}")
    if limit == _HEAP_SIZE:
        put_u64(value, context.gpu.memory.heap_limit)
    else:
        put_u64(value, context.limits.get(limit, _LIMITS[limit]))


@entry("cuCtxSetLimit")
def set_limit(driver: Driver, limit: I32, value: U64) -> None:
    """Changes a limit; only the heap's has an effect, the others are as large as needed."""
    context = driver.context()
    if limit not in _LIMITS:
        raise DriverError(Status.CUDA_ERROR_UNSUPPORTED_LIMIT, f"limit {limit}")
    context.limits[limit] = value
    if limit == _HEAP_SIZE:
        context.gpu.memory.heap_limit = value


@entry("cuCtxGetStreamPriorityRange")
def priorities(driver: Driver, lowest: Pointer, highest: Pointer) -> None:
    """The priorities a stream may have."""
    if lowest:
        put_i32(lowest, _LOWEST_PRIORITY)
    if highest:
        put_i32(highest, _HIGHEST_PRIORITY)


@entry("cuCtxGetCacheConfig", "cuCtxGetSharedMemConfig")
def cache_config(driver: Driver, value: Pointer) -> None:
    """No preference."""
    put_i32(value, 0)


@entry("cuCtxSetCacheConfig", "cuCtxSetSharedMemConfig")
def set_cache_config(driver: Driver, value: I32) -> None:
    """Preferences that newer GPUs ignore as well."""
    driver.context()


@entry("cuCtxResetPersistingL2Cache")
def reset_persisting(driver: Driver) -> None:
    """Nothing persists in L2."""
    driver.context()


def _share(driver: Driver, context: Context) -> None:
    driver.memory.let_see(context.gpu.index, context.peers | context.gpu.shown)


@entry("cuCtxEnablePeerAccess")
def enable_peer(driver: Driver, peer: Pointer, flags: U32) -> None:
    """Kernels of the current context reach the memory of the peer's GPU."""
    context, other = driver.context(), driver.context_of(peer)
    if other.gpu is context.gpu or flags:
        raise DriverError(Status.CUDA_ERROR_INVALID_DEVICE, "a GPU is no peer of itself")
    if other.gpu.index in context.peers:
        raise DriverError(Status.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
    context.peers.add(other.gpu.index)
    _share(driver, context)


@entry("cuCtxDisablePeerAccess")
def disable_peer(driver: Driver, peer: Pointer) -> None:
    """They no longer do."""
    context, other = driver.context(), driver.context_of(peer)
    if other.gpu.index not in context.peers:
        raise DriverError(Status.CUDA_ERROR_PEER_ACCESS_NOT_ENABLED)
    context.peers.remove(other.gpu.index)
    _share(driver, context)
