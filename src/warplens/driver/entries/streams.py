"""Streams, events and host functions."""

from __future__ import annotations

from warplens.driver.cells import (
    HOST_FUNCTION,
    STREAM_CALLBACK,
    called,
    get_bytes,
    put_bytes,
    put_f32,
    put_i32,
    put_u32,
    put_u64,
)
from warplens.driver.entries.table import I32, U32, U64, Pointer, entry
from warplens.driver.graphs import record, wait
from warplens.driver.machine import Driver
from warplens.driver.status import DriverError, Status
from warplens.driver.timeline import Event, NodeKind, Stream, Work

_ATTRIBUTE_BYTES = 64


def _create(driver: Driver, stream: int, flags: int, priority: int) -> None:
    context = driver.context()
    made = Stream(number=0, flags=flags, priority=priority, context=context.number)
    made.number = driver.handle(made)
    context.streams.append(made)
    put_u64(stream, made.number)


@entry("cuStreamCreate")
def create(driver: Driver, stream: Pointer, flags: U32) -> None:
    """A stream."""
    if flags & ~1:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"flags {flags:#x}")
    _create(driver, stream, flags, 0)


@entry("cuStreamCreateWithPriority")
def create_with_priority(driver: Driver, stream: Pointer, flags: U32, priority: I32) -> None:
    """A stream whose priority is remembered."""
    _create(driver, stream, flags, max(-5, min(0, priority)))


@entry("cuStreamDestroy_v2")
def destroy(driver: Driver, stream: Pointer) -> None:
    """Ends a stream."""
    gone = driver.forget(stream, Stream)
    driver.context_of(gone.context).streams.remove(gone)


@entry("cuStreamSynchronize", "cuStreamQuery")
def synchronize(driver: Driver, stream: Pointer) -> None:
    """Everything is done already; a fault is told again."""
    driver.look_for_fault()
    if driver.stream(stream).capture is not None:
        raise DriverError(Status.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)


@entry("cuStreamSetAttribute")
def set_attribute(driver: Driver, stream: Pointer, attribute: I32, value: Pointer) -> None:
    """Hints about L2, synchronisation and priority, which are remembered."""
    driver.stream(stream).attributes[attribute] = get_bytes(value, _ATTRIBUTE_BYTES)


@entry("cuStreamGetAttribute")
def attribute(driver: Driver, stream: Pointer, attribute: I32, value: Pointer) -> None:
    """What was set, or nothing."""
    found = driver.stream(stream).attributes.get(attribute, bytes(_ATTRIBUTE_BYTES))
    put_bytes(value, found)


@entry("cuStreamCopyAttributes")
def copy_attributes(driver: Driver, target: Pointer, source: Pointer) -> None:
    """Sets what another stream has."""
    driver.stream(target).attributes.update(driver.stream(source).attributes)


@entry("cuStreamAttachMemAsync")
def attach_memory(driver: Driver, stream: Pointer, address: U64, nbytes: U64, flags: U32) -> None:
    """Managed memory is the host's and every stream's at any time."""
    driver.context()
    driver.stream(stream)


@entry("cuStreamWaitEvent")
def wait_event(driver: Driver, stream: Pointer, event: Pointer, flags: U32) -> None:
    """Later work of the stream comes after the event."""
    driver.context()
    wait(driver, driver.stream(stream), driver.thing(event, Event))


@entry("cuStreamGetCtx")
def context(driver: Driver, stream: Pointer, context: Pointer) -> None:
    """The stream's context."""
    put_u64(context, driver.stream(stream).context)


@entry("cuStreamGetCtx_v2")
def context_v2(driver: Driver, stream: Pointer, context: Pointer, green: Pointer) -> None:
    """The stream's context; none is a green one."""
    put_u64(context, driver.stream(stream).context)
    if green:
        put_u64(green, 0)


@entry("cuStreamGetDevice")
def device(driver: Driver, stream: Pointer, device: Pointer) -> None:
    """The stream's GPU."""
    put_i32(device, driver.context_of(driver.stream(stream).context).gpu.index)


@entry("cuStreamGetFlags")
def flags(driver: Driver, stream: Pointer, flags: Pointer) -> None:
    """The flags it was made with."""
    put_u32(flags, driver.stream(stream).flags)


@entry("cuStreamGetPriority")
def priority(driver: Driver, stream: Pointer, priority: Pointer) -> None:
    """The priority it was made with."""
    put_i32(priority, driver.stream(stream).priority)


@entry("cuStreamGetId")
def identifier(driver: Driver, stream: Pointer, number: Pointer) -> None:
    """A number that no other stream of the context has."""
    put_u64(number, driver.stream(stream).number)


@entry("cuStreamAddCallback")
def add_callback(
    driver: Driver, stream: Pointer, callback: Pointer, data: Pointer, flags: U32
) -> None:
    """Calls a host function when the stream is there, which is now."""

    def work(_: Stream) -> None:
        called(STREAM_CALLBACK, callback, stream, 0, data)

    driver.submit(driver.stream(stream), work, NodeKind.HOST)


def host_work(function: int, data: int) -> Work:
    """A call of a host function as work of a stream."""

    def work(_: Stream) -> None:
        called(HOST_FUNCTION, function, data)

    return work


@entry("cuLaunchHostFunc")
def host_function(driver: Driver, stream: Pointer, function: Pointer, data: Pointer) -> None:
    """Calls a host function when the stream is there, which is now."""
    given = (function, data)
    driver.submit(driver.stream(stream), host_work(*given), NodeKind.HOST, given)


# --- events --------------------------------------------------------------------------------------


@entry("cuEventCreate")
def create_event(driver: Driver, event: Pointer, flags: U32) -> None:
    """An event."""
    driver.context()
    put_u64(event, driver.handle(Event(flags=flags)))


@entry("cuEventDestroy_v2")
def destroy_event(driver: Driver, event: Pointer) -> None:
    """Ends an event."""
    driver.forget(event, Event)


@entry("cuEventRecord")
def record_event(driver: Driver, event: Pointer, stream: Pointer) -> None:
    """Marks where the stream is."""
    driver.look_for_fault()
    record(driver, driver.thing(event, Event), driver.stream(stream))


@entry("cuEventRecordWithFlags")
def record_with_flags(driver: Driver, event: Pointer, stream: Pointer, flags: U32) -> None:
    """Marks where the stream is."""
    driver.look_for_fault()
    record(driver, driver.thing(event, Event), driver.stream(stream))


@entry("cuEventSynchronize", "cuEventQuery")
def synchronize_event(driver: Driver, event: Pointer) -> None:
    """What was recorded is done."""
    driver.context()
    driver.thing(event, Event)


@entry("cuEventElapsedTime_v2", "cuEventElapsedTime")
def elapsed(driver: Driver, milliseconds: Pointer, start: Pointer, end: Pointer) -> None:
    """The modelled time between two events."""
    if not start or not end:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, "no event")
    first, last = driver.thing(start, Event), driver.thing(end, Event)
    if first.moment is None or last.moment is None or not (first.is_timed and last.is_timed):
        raise DriverError(Status.CUDA_ERROR_INVALID_HANDLE, "an event that was not recorded")
    put_f32(milliseconds, (last.moment.nanoseconds() - first.moment.nanoseconds()) / 1e6)
