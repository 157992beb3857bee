"""Streams, events and host functions."""

from __future__ import annotations

from warplens.driver.cells import HOST_FUNCTION, STREAM_CALLBACK
from warplens.driver.entries import streams as driver_streams
from warplens.driver.timeline import NodeKind, Stream, Work
from warplens.programs.program import Program
from warplens.programs.runtime.table import U32, U64, Data, Pointer, entry


@entry("cudaStreamCreate", kind="plain")
def create(program: Program, stream: Pointer) -> None:
    """A stream."""
    program.context()
    driver_streams.create(program.driver, stream, 0)


@entry("cudaEventCreate", kind="plain")
def create_event(program: Program, event: Pointer) -> None:
    """An event that can tell time."""
    program.context()
    driver_streams.create_event(program.driver, event, 0)


@entry("cudaLaunchHostFunc", kind="work")
def host_function(program: Program, stream: Pointer, function: Pointer, data: Pointer) -> None:
    """Calls a function of the program when the stream is there, which is now."""
    program.context()

    work = host_work(program, function, data)
    program.driver.submit(program.driver.stream(stream), work, NodeKind.HOST)


def host_work(program: Program, function: int, data: int) -> Work:
    """A call of a function of the program, as work of a stream."""

    def work(_: Stream) -> None:
        program.print()
        program.peer.call(HOST_FUNCTION, function, data)

    return work


@entry("cudaStreamAddCallback", kind="work")
def callback(
    program: Program, stream: Pointer, function: Pointer, data: Pointer, flags: U32
) -> None:
    """The same with the stream and its state."""
    program.context()

    def work(_: Stream) -> None:
        program.print()
        program.peer.call(STREAM_CALLBACK, function, stream, 0, data)

    program.driver.submit(program.driver.stream(stream), work, NodeKind.HOST)


@entry("__warplens_nvtx", kind="plain", internal=True)
def nvtx(program: Program, kind: U32, number: U64, length: U64, text: Data) -> None:
    """A range of the program begins or ends: its domain's name and its own."""
    now = program.recorder.clock.now if program.recorder is not None else 0.0
    domain, name = (part.decode("utf-8", "replace") for part in (text[:length], text[length:]))
    program.ranges.event(kind, number, domain, name, now, program.process)
